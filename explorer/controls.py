"""The shared controls, what they have chosen, and the pass that follows from it.

The choices belong to the app, not to the widgets: a widget shows a choice and, when it is touched, changes it. So
nothing is lost when a widget is not drawn, and labels may change with the language while the choices stay.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from explorer import address, checkpoints, passes
from explorer.address import Change, Choices
from explorer.config import MASK, MAX_TOKENS, Config
from explorer.passes import Pass
from explorer.tokens import MASK_TEXT, Token
from explorer.words import LANGUAGES, Words, verbatim

if TYPE_CHECKING:
    from explorer.analysis.generation import Generated

PAGES = (  # files and groups, in the order of the navigation
    ("overview", "pass"),
    ("start", "pass"),
    ("embedding", "pass"),
    ("attention", "pass"),
    ("heads", "pass"),
    ("residuals", "pass"),
    ("feed_forward", "pass"),
    ("prediction", "pass"),
    ("cross_attention", "pass"),
    ("generation", "try"),
    ("values", "every"),
)
SIDE_BY_SIDE = 7  # pages whose titles fit beside each other
MAX_CHARACTERS = 20_000  # of a text that is cut into tokens at all: far more than the tokens that a model reads
FIRST_TEXT = {
    "en": "The cat sat on the mat because it was tired.",
    "ko": "고양이가 피곤해서 매트 위에 앉았다.",
}
EXAMPLES = {
    "encoder": (
        "The little [MASK] was very happy.",
        "Lily went to the [MASK] with her mom.",
        "오늘 날씨가 정말 [MASK].",
    ),
    "decoder": (
        "Once upon a time, there was a little",
        "The cat sat on the mat because it was",
        "고양이가 피곤해서",
    ),
    "encoder-decoder": (
        "The doctor is in the kitchen.",
        "I did not buy the red car.",
        "The child who found the book is happy.",
    ),
}


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
class View:
    """What a page draws: the recorded pass of the texts at hand, and where in it the reader looks.

    `tokens[stack]` are the tokens of the trace's positions; `stack` is the one that predicts, and `focus` a position
    in it. `own` is the model's own translation, where it is what the decoder reads.
    """

    words: Words
    choices: Choices
    run: Pass
    tokens: dict[str, tuple[Token, ...]]
    layer: int
    head: int
    focus: int
    own: "Generated | None" = None

    @property
    def trace(self):
        return self.run.trace

    @property
    def config(self) -> Config:
        return self.run.config

    @property
    def stack(self) -> str:
        return self.config.stacks[-1]

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


# The frame


def within_frame() -> None:
    """First line of every page: hand over to app.py when Streamlit starts the page's file on its own.

    It does so for the first visit after the server's start, as long as no visit has said what the pages are.
    """
    if not st.session_state.get("framed"):
        st.navigation(page_list(Words("en")), position="hidden")
        st.rerun()


def page_list(words: Words) -> dict[str, list] | list:
    """The pages for `st.navigation`: side by side while there is room for their titles, then under their groups."""
    pages = [
        (st.Page(f"pages/{name}.py", title=words(f"page.{name}"), url_path=name, default=name == PAGES[0][0]), group)
        for name, group in PAGES
    ]
    groups = list(dict.fromkeys(group for _, group in pages))
    if len(pages) <= SIDE_BY_SIDE:
        return [page for page, _ in pages]
    return {words(f"group.{name}"): [page for page, group in pages if group == name] for name in groups}


def begin() -> Words:
    """Read the address where a visit begins or goes back in history, and return the words of the chosen language."""
    state = st.session_state
    if "choices" not in state:
        language = "ko" if (st.context.locale or "").lower().startswith("ko") else "en"
        if st.query_params.get("lang") in LANGUAGES:
            language = st.query_params["lang"]
        _read(Choices(language=language, text=FIRST_TEXT[language]))
    elif get_script_run_ctx().is_history_navigation:
        kept = state.choices
        target = "" if address.carries(kept.target) else kept.target
        _read(replace(kept, target=target, head=0, focus=None, cut=False))
    state.view, state.asked = None, []
    return Words(state.choices.language)


def _read(otherwise: Choices) -> None:
    found, changes = address.read(st.query_params.to_dict(), models(), list(LANGUAGES), otherwise)
    st.session_state.choices, st.session_state.changes = found, changes


def models() -> dict[str, Config]:
    """The trained models by name, with their sizes; the plain sizes where a card cannot be read."""
    return {name: _config(name) for name in checkpoints.available()}


def _config(name: str) -> Config:
    architecture, norm, heads = name.rsplit("-", 2)
    try:
        return Config(**passes.card(name)["config"])
    except checkpoints.CheckpointError:  # the reader is told when this model is chosen
        return Config(architecture, norm, int(heads))


def choices() -> Choices:
    """What this visitor has chosen. To change it, use `choose`."""
    return st.session_state.choices


def choose(**chosen: object) -> None:
    """Change choices by name, for the run that follows: a callback of a widget that is not one of the frame's."""
    for name, value in chosen.items():
        setattr(st.session_state.choices, name, value)
    if "text" in chosen:
        st.session_state.choices.focus, st.session_state.choices.cut = None, False
    st.session_state.changes = []


def switch(architecture: str | None = None, norm: str | None = None) -> None:
    """Choose another architecture or norm order, and the nearest heads, layer and head that it has. For callbacks."""
    choose(architecture=architecture or choices().architecture, norm=norm or choices().norm)
    _model()


def option(name: str, usual: str = "", offered: Sequence[str] | None = None) -> str:
    """What the reader chose on a page, under a short name that stands in the address while the page is shown.

    Another page that asks for the same name shares the choice. A value that is not `offered` gives way to `usual`,
    and the page says so.
    """
    if name not in st.session_state.asked:
        st.session_state.asked.append(name)
    chosen = choices().options.get(name)
    if chosen is None:
        return usual
    if offered is not None and chosen not in offered:
        choices().options[name] = usual
        words = Words(choices().language)
        st.info(words("changed.option", name=name, given=verbatim(_short(chosen)), used=verbatim(usual)))
        return usual
    return chosen


def whole(name: str, usual: int, below: int) -> int:
    """A page's option as a whole number below a limit; the usual one where it is none."""
    given = option(name)
    return int(given) if given.isdecimal() and len(given) < 10 and int(given) < below else usual


def place_in(view: View, stack: str) -> int:
    """The position that the reader follows in a stack: the focus in the one that predicts, an option in the other."""
    if stack == view.stack:
        return view.focus
    return min(whole("from", 1, 1_000_000), len(view.tokens[stack]) - 1)


def look_at(view: View, stack: str, position: int) -> None:
    """Follow another position of a stack: for callbacks."""
    if stack == view.stack:
        choose(focus=position)
    else:
        set_option("from", str(position))


def set_option(name: str, value: str) -> None:
    """Choose a page's option: for callbacks."""
    choices().options[name] = value
    st.session_state.changes = []


def open_value(path: str, index: Sequence[int] | None = None) -> None:
    """Go to the page of all values and open one there, with one of its cells. For callbacks on any page."""
    names = path.split(".")
    if names[1:2] == ["layers"]:
        choose(layer=int(names[2]))
    set_option("v", path)
    set_option("c", ",".join(map(str, index)) if index is not None else "")
    st.session_state.go = "values"


def cell(shape: Sequence[int], name: str = "c") -> tuple[int, ...] | None:
    """The cell that the reader chose (an option), where a value of this shape has it."""
    asked = option(name).split(",")
    if len(asked) != len(shape) or not all(at.isdecimal() and len(at) < 10 for at in asked):
        return None
    index = tuple(map(int, asked))
    return index if all(at < size for at, size in zip(index, shape, strict=True)) else None


def words() -> Words:
    """The words of the chosen language."""
    return Words(choices().language)


def examples() -> None:
    """Ready sentences for the chosen architecture."""
    words = Words(choices().language)
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="examples"):
        st.markdown(f":gray[{words('start.examples')}]", width="content")
        for number, text in enumerate(EXAMPLES[choices().architecture]):
            st.button(verbatim(text), key=f"example {number}", type="tertiary", on_click=choose, kwargs={"text": text})


def pick_option(name: str, offered: Sequence[str], written: Callable[[str], str], usual: str, label: str = "") -> str:
    """A segmented control for a page's option (see `option`), which it returns."""
    key = f"option {name}"
    # Always set: on another page the same key is another widget, which would begin with nothing.
    st.session_state[key] = option(name, usual, offered)
    st.segmented_control(
        label or name,
        offered,
        key=key,
        format_func=written,
        required=True,
        label_visibility="visible" if label else "collapsed",
        on_change=lambda: set_option(name, st.session_state[key]),
    )
    return st.session_state[key]


def look_for(sentences: Sequence[tuple[str, str]]) -> None:
    """Ready sentences, each with what to look for in it, which is said once the sentence is on the screen."""
    words = Words(choices().language)
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="examples"):
        st.markdown(f":gray[{words('look_for')}]", width="content")
        for number, (text, _) in enumerate(sentences):
            st.button(verbatim(text), key=f"look {number}", type="tertiary", on_click=choose, kwargs={"text": text})
    for text, point in sentences:
        if text == choices().text:
            st.markdown(f":violet-background[{words('look_for.now')}] {point}")


def sidebar(words: Words) -> None:
    """Draw the shared controls."""
    chosen, known = choices(), models()
    kinds = address.architectures(known)
    translates = chosen.architecture == "encoder-decoder"
    st.html('<div class="brand"><span>Transformer Explorer</span></div>')

    def typed():
        choose(text=st.session_state.s)

    _show("s", chosen.text)
    label = words("text.source" if translates else "text")
    with st.container(key="counted-text"):
        st.text_area(label, key="s", height=92, on_change=typed)
        st.markdown(_count(chosen.text, chosen.architecture.partition("-")[0], words))
    if not address.carries(chosen.text):
        st.caption(words("address.long", n=len(chosen.text), limit=address.LONGEST))
    if translates:
        _target(words)
    if kinds:
        _pick("arch", "architecture", words("architecture"), kinds, lambda kind: words(f"architecture.{kind}"), _model)
        orders = address.norms(known, chosen.architecture)
        _pick("norm", "norm", words("norm"), orders, lambda norm: words(f"norm.{norm}"), _model)
        counts = address.head_counts(known, chosen.architecture, chosen.norm)
        _pick("heads", "heads", words("heads"), counts, str, _model)
        layers = range(known[chosen.model].layers)
        _pick("layer", "layer", words("layer"), layers, str)
    _pick("lang", "language", words("language"), list(LANGUAGES), LANGUAGES.get)


def _pick(
    key: str, name: str, label: str, offered: Sequence, written: Callable, then: Callable[[], None] | None = None
) -> None:
    """A segmented control for one choice."""
    _show(key, getattr(choices(), name))

    def touched():
        choose(**{name: st.session_state[key]})
        if then:
            then()

    st.segmented_control(
        label, offered, key=key, format_func=written, required=True, width="stretch", on_change=touched
    )


def _show(key: str, value: object) -> None:
    """Let a widget show a choice. Only where it shows another: what is being typed is not to be written over."""
    if st.session_state.get(key) != value:
        st.session_state[key] = value


def _model() -> None:
    """After another model was chosen: the nearest heads and norm that it has, and its nearest layer and head."""
    chosen, known = choices(), models()
    asked = {"arch": chosen.architecture, "norm": chosen.norm, "heads": str(chosen.heads)}
    asked |= {"layer": str(chosen.layer), "head": str(chosen.head)}
    found, _ = address.read(asked, known, list(LANGUAGES), chosen)
    choose(norm=found.norm, heads=found.heads, layer=found.layer, head=found.head)


def _count(text: str, stack: str, words: Words) -> str:
    """How many tokens a text has of those that fit; how many characters, where it has too many to be cut at all."""
    try:
        reading = _read_text(text, stack)
    except checkpoints.CheckpointError:  # without a tokenizer there are no tokens; the page says so
        return ""
    said = words("tokens.of", n=reading.total, limit=MAX_TOKENS)
    if not reading.counted:
        said = words("characters", n=reading.characters)
    return f":{'red' if reading.too_long else 'gray'}[{said}]"


def _target(words: Words) -> None:
    """The text that the decoder reads: the reader's, or, while the box is empty, the model's own translation."""
    chosen = choices()

    def typed():
        choose(target=st.session_state.t, written_for=address.fingerprint(chosen.text) if st.session_state.t else "")

    _show("t", chosen.target)
    count = f":gray[{words('target.own')}]" if _own(chosen) else _count(chosen.target, "decoder", words)
    with st.container(key="counted-target"):
        st.text_area(words("text.target"), key="t", height=68, on_change=typed, placeholder=words("target.empty"))
        st.markdown(count)
    if _own(chosen):
        st.session_state.translation = st.empty()
    elif chosen.written_for != address.fingerprint(chosen.text):
        st.caption(words("target.other"))
        st.button(words("target.clear"), type="tertiary", on_click=choose, kwargs={"target": "", "written_for": ""})


def notices(words: Words) -> None:
    """Say what was changed in the address that this visit came with."""
    changes: list[Change] = st.session_state.changes
    if changes:
        said = [
            words("changed.one", name=words(f"address.{change.name}"), given=verbatim(_short(change.given)),
                  used=verbatim(change.used))
            for change in changes
        ]  # fmt: skip
        st.info(" ".join([words("changed"), *said]))


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"


def badge(words: Words) -> None:
    """Say whether every number on the screen was checked, and by how much the worst of them is off."""
    view: View | None = st.session_state.view
    if view is None:
        return
    with st.spinner(words("checking")):
        proof = passes.proof(view.choices.model, *view.run.ids)
    figure = f"{proof.error:.1e}".replace("e-0", "e−").replace("e-", "e−")
    said = words("checked" if proof.ok else "unchecked", error=figure)
    with st.popover(said, type="tertiary"):
        prose = words.prose("frame")
        st.markdown(prose["proof" if proof.ok else "proof failed"])
        for part in proof.parts:
            index = ", ".join(map(str, part.index))
            mark = ":green[✓]" if part.ok else ":red[✗]"
            figure = words("proof.part", n=part.compared, error=f"{part.error:.1e}".replace("-", "−"))
            st.markdown(f"{mark} **{words(f'proof.{part.name}')}** {figure}  \n`{part.path}[{index}]`")


def share(page: str, words: Words) -> None:
    """Write the address of what is on the screen."""
    query = address.write(choices(), st.session_state.asked)
    st.session_state.address = query
    _ADDRESS(key="address", data={"query": query, "page": page, "language": words.language})


# The pass at hand


class Nothing(Exception):
    """There is no pass to show; `say` tells the reader why, and what to do."""

    def __init__(self, say: Callable[[Words], None]):
        self.say = say


def current() -> View:
    """The pass of the texts at hand. Raises Nothing, for the frame to say, where there is none."""
    said = words()
    try:
        with st.spinner(said("working")):
            st.session_state.view = _view(said)
    except checkpoints.CheckpointError as error:
        found = error
        raise Nothing(lambda words: broken(found)) from error
    return st.session_state.view


def broken(error: checkpoints.CheckpointError) -> None:
    """Say which file is missing or altered, and that the other models keep working where they do."""
    reason = verbatim(str(error))
    try:
        passes.tokenizer()  # without it no model can read
        others = len(models()) > 1
    except checkpoints.CheckpointError:
        others = False
    st.error(words()("broken", reason=reason) if others else reason)


def _view(words: Words) -> View:
    chosen, known = choices(), models()
    if not known:
        raise checkpoints.CheckpointError("There is no trained model. Train one with `python -m explorer.training`.")
    if _blank(chosen.text):
        raise Nothing(lambda words: st.info(words("nothing")))
    config = known[chosen.model]
    read = {stack: _tokens(stack, chosen, config) for stack in config.stacks if stack != "decoder" or not _own(chosen)}
    source = tuple(token.id for token in read.get("encoder", ()))
    own = None
    if _own(chosen):
        own = passes.translation(chosen.model, source, min(MAX_TOKENS - 1, 2 * len(source) + 16))
        read["decoder"] = tuple(passes.tokenizer().tokens(passes.decoder_ids(own)))
        _say_translation(own, words)
    target = tuple(token.id for token in read.get("decoder", ()))
    run = passes.run(chosen.model, source, target)
    tokens = read[config.stacks[-1]]
    for stack, texts in read.items():
        if len(texts) != run.trace[f"{stack}.embedding.ids"].tensor.shape[0]:
            raise ValueError(f"{len(texts)} tokens were read, but the {stack} has another number of positions.")
    focus = _usual_focus(tokens, config) if chosen.focus is None else min(chosen.focus, len(tokens) - 1)
    layer, head = min(chosen.layer, config.layers - 1), min(chosen.head, config.heads - 1)
    return View(words, chosen, run, read, layer, head, focus, own)


def _say_translation(own: "Generated", words: Words) -> None:
    """Write the model's own translation under the empty box."""
    text = passes.tokenizer().decode(own.ids)
    said = "" if own.finished else f" :gray[{words('target.unfinished', n=len(own.ids))}]"
    st.session_state.translation.markdown(f"{verbatim(text)}{said}")


def _own(chosen: Choices) -> bool:
    """Whether the decoder reads the model's own translation."""
    return chosen.architecture == "encoder-decoder" and _blank(chosen.target)


def _blank(text: str) -> bool:
    """Whether nothing of a text can be seen."""
    return not any(character.isprintable() and not character.isspace() for character in text)


def _usual_focus(tokens: tuple[Token, ...], config: Config) -> int:
    """The position whose prediction is of interest: an encoder's first mask, a decoder's last token."""
    if config.architecture != "encoder":
        return len(tokens) - 1
    return next((i for i, token in enumerate(tokens) if token.id == MASK), 1)


def _tokens(stack: str, chosen: Choices, config: Config) -> tuple[Token, ...]:
    """What a stack reads of its text; Nothing where that is too long and its beginning was not asked for."""
    text = chosen.target if stack == "decoder" and config.architecture == "encoder-decoder" else chosen.text
    reading = _read_text(text, stack)
    if not reading.too_long:
        return reading.tokens
    if not chosen.cut:
        raise Nothing(lambda words: _too_long(words, reading))
    said = "cut.shown" if reading.counted else "cut.shown_characters"
    st.caption(words()(said, n=reading.total if reading.counted else reading.characters, limit=MAX_TOKENS))
    return reading.tokens


def _too_long(words: Words, reading: Reading) -> None:
    said = words("too_long", n=reading.total, limit=MAX_TOKENS)
    if not reading.counted:
        said = words("too_many_characters", n=reading.characters, limit=MAX_TOKENS)
    st.warning(said)
    st.button(words("cut", limit=MAX_TOKENS), on_click=choose, kwargs={"cut": True})


def _read_text(text: str, stack: str) -> Reading:
    return _reading(text[:MAX_CHARACTERS], stack, len(text))


@st.cache_resource(show_spinner=False, max_entries=64)
def _reading(text: str, stack: str, characters: int) -> Reading:
    """A text as a stack reads it, cut to the tokens that fit; an encoder's text keeps its end, [EOS]."""
    read = passes.tokenizer()
    tokens = read.encoder_input(text) if stack == "encoder" else read.decoder_input(text)
    kept = tokens[:MAX_TOKENS]
    if stack == "encoder" and len(tokens) > MAX_TOKENS:
        kept = [*tokens[: MAX_TOKENS - 1], replace(tokens[-1], start=kept[-1].start, end=kept[-1].start)]
    return Reading(tuple(kept), len(tokens), characters)


def mask(group: Sequence[Token]) -> None:
    """Write [MASK] in the place of a token, or of those that share a character with it. For callbacks."""
    text = choices().text
    start, end = group[0].start + group[0].spaces, group[-1].end
    choose(text=f"{text[:start]}{MASK_TEXT}{text[end:]}")


# Streamlit can add an address to the browser's history but not replace it there. This component can, so that going
# back leads to the page before and not through every choice. It also says which language the page is in.
_ADDRESS = st.components.v2.component(
    "explorer_address",
    js="""export default function ({ data }) {
  const search = `?${data.query}`;
  if (window.location.search !== search) {
    window.history.replaceState(window.history.state, "", `${window.location.pathname}${search}`);
  }
  document.documentElement.lang = data.language;
}
""",
)
