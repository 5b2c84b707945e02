"""The pass that follows from what a reader has chosen, and where in it the reader looks."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import streamlit as st

from explorer import changes, checkpoints, passes, reader
from explorer.address import Choices
from explorer.config import MASK, MAX_TOKENS, Config, longest_translation
from explorer.passes import Ids, Pass
from explorer.tokens import Token, cut
from explorer.words import Words, verbatim

if TYPE_CHECKING:
    from explorer.analysis.generation import Generated

MAX_CHARACTERS = 20_000  # of a text that is cut into tokens at all: far more than the tokens that a model reads


@dataclass(frozen=True)
class Reading:
    """A text as a stack reads it: its tokens, how many the whole text has, and whether that is more than fit."""

    tokens: tuple[Token, ...]
    total: int
    characters: int

    @property
    def counted(self) -> bool:
        """Whether the whole text was cut into tokens; a text of very many characters is not."""
        return self.characters <= MAX_CHARACTERS

    @property
    def too_long(self) -> bool:
        return self.total > MAX_TOKENS or not self.counted

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(token.id for token in self.tokens)


@dataclass(frozen=True)
class Attention:
    """One attention of a model, of which each layer has one: the stack that asks, and whether another one is asked."""

    stack: str
    crossing: bool = False

    @property
    def code(self) -> str:
        """How a link names it: `decoder.self`, `decoder.cross`."""
        return f"{self.stack}.{'cross' if self.crossing else 'self'}"

    @property
    def sublayer(self) -> str:
        return "cross_attention" if self.crossing else "self_attention"

    def path(self, layer: int | str) -> str:
        """Where it stands in a layer: `decoder.layers.0.self_attention`."""
        return f"{self.stack}.layers.{layer}.{self.sublayer}"


@dataclass(frozen=True)
class View:
    """What a page draws: the recorded pass of the texts at hand, and where in it the reader looks.

    `run` is the pass with the reader's changes made to the model, those that fit it and these texts; `plain` the one
    without. `tokens[stack]` are the tokens of the trace's positions; `stack` is the one that predicts, and `focus` a
    position in it. `own` is the model's own translation, where it is what the decoder reads; the model writes it
    unchanged, so that both passes read the same.
    """

    words: Words
    choices: Choices
    run: Pass
    tokens: dict[str, tuple[Token, ...]]
    layer: int
    head: int
    focus: int
    own: "Generated | None" = None
    fitting: Ids = ()  # the reader's changes that are made, by number
    other: tuple[Ids, Ids] = passes.NO_OTHER  # what the pass of the second sentence reads, source and target

    @property
    def plain(self) -> Pass:
        """The pass of the same texts through the model as it is."""
        return passes.run(self.choices.model, *self.run.ids) if self.edited else self.run

    @property
    def second(self) -> Pass | None:
        """The pass of the second sentence through the model as it is, while there is one."""
        return passes.run(self.choices.model, *self.other) if any(self.other) else None

    @property
    def edited(self) -> bool:
        """Whether something is changed in the model."""
        return bool(self.run.changes)

    def again(self, ids: tuple[Ids, Ids] | None = None, model: str | None = None, more: str = "") -> Pass:
        """Another pass with the reader's changes, as many as fit: over other ids (source and target), in another
        model, or with more changes, as a text. Raises ValueError where one of these cannot be made.
        """
        if not (ids or model or more):
            return self.run
        name, read = model or self.choices.model, ids or self.run.ids
        other = _second(self.choices, passes.model(name).config, read[1]) if any(self.run.other) else passes.NO_OTHER
        made = self.run.changes
        if made and (ids or model):
            asked = changes.read(made)
            made = changes.write([asked[number] for number in passes.fitting(name, *read, made, other)])
        asked = ";".join(filter(None, (made, more)))
        return passes.edited(name, *read, asked, other) if asked else passes.run(name, *read)

    def followed(self) -> "View":
        """The same pass, seen where the reader looks by now."""
        layer, head, focus = _where(reader.choices(), self.tokens[self.stack], self.config)
        return replace(self, layer=layer, head=head, focus=focus)

    @property
    def trace(self):
        return self.run.trace

    @property
    def config(self) -> Config:
        return self.run.config

    @property
    def stack(self) -> str:
        return self.config.stacks[-1]

    @property
    def attentions(self) -> list[Attention]:
        """The attentions of each layer, those of the stack that predicts first."""
        first, *others = (Attention(stack) for stack in self.config.stacks[::-1])
        return [first, *(Attention(first.stack, crossing=True) for _ in others), *others]

    def over(self, run: Pass) -> "View":
        """The same view of another pass over the same texts, for instance an edited one."""
        return replace(self, run=run)

    def token(self, id: int) -> Token:
        """An entry of the vocabulary."""
        return passes.tokenizer().token(id)

    def stack_of(self, path: str) -> str:
        """The stack that computes a value; the predicting one for what comes after the stacks."""
        stack = path.partition(".")[0]
        return stack if stack in self.tokens else self.stack

    def layer_of(self, path: str) -> int | None:
        """The layer in which a value is computed."""
        names = path.split(".")
        return int(names[2]) if names[1:2] == ["layers"] else None

    def tokens_of(self, path: str, axis: str) -> tuple[Token, ...] | None:
        """The tokens along an axis of a recorded value; None for an axis that is not a text's positions."""
        if axis not in ("position", "query", "key"):
            return None
        if axis == "key" and ".cross_attention." in path:
            return self.tokens[self.config.stacks[0]]
        return self.tokens[self.stack_of(path)]

    def place_in(self, stack: str) -> int:
        """The position that the reader follows in a stack: the focus where it predicts, an option in the other."""
        if stack == self.stack:
            return self.focus
        return min(reader.whole("from", 1, 1_000_000), len(self.tokens[stack]) - 1)

    def look_at(self, stack: str, position: int) -> None:
        """Follow another position of a stack: for callbacks."""
        if stack == self.stack:
            reader.choose(focus=position)
        else:
            reader.set_option("from", str(position))


class Nothing(Exception):
    """There is no pass to show; `say` tells the reader why, and what to do."""

    def __init__(self, say: Callable[[Words], None]):
        self.say = say


def current() -> View:
    """The pass of the texts at hand. Raises Nothing, for the frame to say, where there is none."""
    st.session_state.view = found = of(reader.choices())
    if found.choices.focus not in (None, found.focus):
        reader.gave_way("at", str(found.choices.focus), str(found.focus))
    if found.own is not None:
        _say_translation(found.own, found.words)
    return found


def of(chosen: Choices) -> View:
    """The pass of these choices: those at hand, or others to set beside them. Raises Nothing where there is none."""
    said = reader.words()
    try:
        with st.spinner(said("working")):
            return _view(chosen, said)
    except checkpoints.CheckpointError as error:
        found = error
        raise Nothing(lambda words: broken(found)) from error


def broken(error: checkpoints.CheckpointError) -> None:
    """Say which file is missing or altered, and that the other models keep working where they do."""
    reason = verbatim(str(error))
    try:
        passes.tokenizer()  # without it no model can read
        others = len(reader.models()) > 1
    except checkpoints.CheckpointError:
        others = False
    st.error(reader.words()("broken", reason=reason) if others else reason)


def _view(chosen: Choices, words: Words) -> View:
    known = reader.models()
    if not known:
        raise checkpoints.CheckpointError("There is no trained model. Train one with `python -m explorer.training`.")
    if blank(chosen.text):
        raise Nothing(lambda words: st.info(words("nothing")))
    config = known[chosen.model]
    read = {
        stack: _tokens(stack, chosen, config)
        for stack in config.stacks
        if stack != "decoder" or not translates_itself(chosen)
    }
    source = tuple(token.id for token in read.get("encoder", ()))
    own = None
    if translates_itself(chosen):
        own = passes.translation(chosen.model, source, longest_translation(len(source)))
        read["decoder"] = tuple(passes.tokenizer().tokens(passes.decoder_ids(own)))
    target = tuple(token.id for token in read.get("decoder", ()))
    run = passes.run(chosen.model, source, target)
    fitting: Ids = ()
    other = _second(chosen, config, target)
    if chosen.edits:
        fitting = passes.fitting(chosen.model, source, target, changes.write(chosen.edits), other)
        if fitting:
            made = changes.write([chosen.edits[number] for number in fitting])
            run = passes.edited(chosen.model, source, target, made, other)
    tokens = read[config.stacks[-1]]
    for stack, texts in read.items():
        if len(texts) != run.trace[f"{stack}.embedding.ids"].tensor.shape[0]:
            raise ValueError(f"{len(texts)} tokens were read, but the {stack} has another number of positions.")
    return View(words, chosen, run, read, *_where(chosen, tokens, config), own, fitting, other)


def _second(chosen: Choices, config: Config, target: Ids) -> tuple[Ids, Ids]:
    """What the pass of the second sentence reads, source and target; nothing while there is none.

    In an encoder-decoder the second sentence is another source, and the decoder reads the same target.
    """
    if blank(chosen.other):
        return passes.NO_OTHER
    ids = reading(chosen.other, config.stacks[0]).ids
    return ((), ids) if config.architecture == "decoder" else (ids, target if len(config.stacks) > 1 else ())


def _say_translation(own: "Generated", words: Words) -> None:
    """Write the model's own translation under the empty box."""
    text = passes.tokenizer().decode(own.ids)
    said = "" if own.finished else f" :gray[{words('target.unfinished', n=len(own.ids))}]"
    st.session_state.translation.markdown(f"{verbatim(text)}{said}")


def translates_itself(chosen: Choices) -> bool:
    """Whether the decoder reads the model's own translation."""
    return chosen.architecture == "encoder-decoder" and blank(chosen.target)


def blank(text: str) -> bool:
    """Whether nothing of a text can be seen."""
    return not any(character.isprintable() and not character.isspace() for character in text)


def _where(chosen: Choices, tokens: tuple[Token, ...], config: Config) -> tuple[int, int, int]:
    """Layer, head and position that the reader looks at, the nearest that there are."""
    focus = _usual_focus(chosen, tokens) if chosen.focus is None else min(chosen.focus, len(tokens) - 1)
    return min(chosen.layer, config.layers - 1), min(chosen.head, config.heads - 1), focus


def _usual_focus(chosen: Choices, tokens: tuple[Token, ...]) -> int:
    """The position whose prediction is of interest: an encoder's first mask, the middle of a model's own translation
    (at its end it only says that it ends), the last token of a text that was given.
    """
    if chosen.architecture == "encoder":
        return next((i for i, token in enumerate(tokens) if token.id == MASK), 1)
    return len(tokens) // 2 if translates_itself(chosen) else len(tokens) - 1


def _tokens(stack: str, chosen: Choices, config: Config) -> tuple[Token, ...]:
    """What a stack reads of its text; Nothing where that is too long and its beginning was not asked for."""
    text = chosen.target if stack == "decoder" and config.architecture == "encoder-decoder" else chosen.text
    read = reading(text, stack)
    if not read.too_long:
        return read.tokens
    if not chosen.cut:
        raise Nothing(lambda words: _too_long(words, read))
    said = "cut.shown" if read.counted else "cut.shown_characters"
    st.caption(reader.words()(said, n=read.total if read.counted else read.characters, limit=MAX_TOKENS))
    return read.tokens


def _too_long(words: Words, reading: Reading) -> None:
    said = words("too_long", n=reading.total, limit=MAX_TOKENS)
    if not reading.counted:
        said = words("too_many_characters", n=reading.characters, limit=MAX_TOKENS)
    st.warning(said)
    st.button(words("cut", limit=MAX_TOKENS), on_click=reader.choose, kwargs={"cut": True})


def reading(text: str, stack: str) -> Reading:
    """A text as a stack reads it, cut to the tokens that fit; an encoder's text keeps its end, [EOS]."""
    return _reading(text[:MAX_CHARACTERS], stack, len(text))


@st.cache_resource(show_spinner=False, max_entries=64)
def _reading(text: str, stack: str, characters: int) -> Reading:
    read = passes.tokenizer()
    tokens = read.encoder_input(text) if stack == "encoder" else read.decoder_input(text)
    return Reading(tuple(cut(tokens, MAX_TOKENS)), len(tokens), characters)
