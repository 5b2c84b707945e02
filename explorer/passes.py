"""The models and the recorded passes that the app keeps at hand, shared by every visitor and never changed.

A pass is found again by the model's name and the ids that it read: whatever else changes on the screen, it is the
same pass. Each cache is bounded. torch is imported here, and only when a model is first needed.
"""

from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

import streamlit as st

from explorer import checkpoints, serving
from explorer.changes import read
from explorer.config import BOS, Config
from explorer.tokens import Token, Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

    from explorer.analysis.attention import Saturation
    from explorer.analysis.cache import Saved
    from explorer.analysis.crossing import Effects
    from explorer.analysis.edits import Run
    from explorer.analysis.generation import Beam, Generated, Settings, Step
    from explorer.analysis.length import Stretch, Strung
    from explorer.analysis.lessons import Batch, Drift, Question
    from explorer.analysis.memory import Firing
    from explorer.analysis.norms import Gradient, Padded
    from explorer.analysis.predictions import Answer
    from explorer.analysis.proof import Proof, Reference
    from explorer.analysis.reach import Reach
    from explorer.trace import Trace, Value
    from explorer.transformer import Transformer

Ids = tuple[int, ...]

NO_OTHER: tuple[Ids, Ids] = ((), ())
PADDINGS = (0, 1, 2, 4, 8, 16)  # [PAD] tokens behind a text
WELL_KNOWN = 50  # how often a model read a word in training that it knows well
MOST_KNOWN = 8_000  # words that are tried in the place of another
BUNDLED = 4  # sentences from which the gradients at the start are measured

# torch draws for all threads from one stream, and whatever is built of its modules is drawn at first, even where
# trained weights then take that place. Held while that is done, so that a seed gives each reader the same model.
_drawing = Lock()


@dataclass(frozen=True)
class Pass:
    """One recorded pass: the model, what it read (None for a stack that it lacks), and all that it computed."""

    model: "Transformer"
    source: "Tensor | None"
    target: "Tensor | None"
    trace: "Trace"
    changes: str = ""  # what was changed in the model, as a text (see changes.py)
    other: tuple[Ids, Ids] = NO_OTHER  # what was read in the pass from which patches are taken

    @property
    def config(self) -> Config:
        return self.model.config

    @property
    def ids(self) -> tuple[Ids, Ids]:
        """What it read, source and target, as it is found again: an empty tuple for a stack that the model lacks."""
        source, target = (() if ids is None else tuple(ids.tolist()) for ids in (self.source, self.target))
        return source, target

    def value(self, path: str) -> "Value":
        """A recorded value or a parameter, with the names of its axes."""
        return self.trace.value(path)


@st.cache_resource(show_spinner=False)
def tokenizer() -> Tokenizer:
    """The tokenizer of all models. Raises CheckpointError when its file is missing or altered."""
    try:
        return Tokenizer.load(checkpoints.TOKENIZER)
    except ValueError as error:
        raise checkpoints.CheckpointError(
            f"{checkpoints.TOKENIZER.name} is missing or cannot be read. "
            f"Restore it with `git checkout -- explorer/checkpoints/{checkpoints.TOKENIZER.name}`."
        ) from error


@st.cache_resource(show_spinner=False, max_entries=24)
def card(name: str) -> dict:
    """What is known about a model. Raises CheckpointError when its card is missing or cannot be read."""
    return checkpoints.card(name)


@st.cache_resource(show_spinner=False, max_entries=24)
def model(name: str) -> "Transformer":
    """A trained model. Raises CheckpointError when a file of it is missing or altered."""
    serving.prepare()
    with _drawing:
        return checkpoints.load(name)


@st.cache_resource(show_spinner=False, max_entries=12)
def growing(name: str, share: float) -> "Transformer":
    """A model after a share of its training: 0 as its seed made it, 1 as it ships, else one of the snapshots.

    Raises CheckpointError when a snapshot is missing or altered.
    """
    import torch

    from explorer.transformer import Transformer

    if share == 1:
        return model(name)
    about = card(name)
    with _drawing:
        if share:
            return checkpoints.load(name, checkpoints.SNAPSHOTS[share])
        with torch.random.fork_rng():
            torch.manual_seed(about["seed"])  # as the training begins
            return Transformer(Config(**about["config"])).eval().requires_grad_(False)


@st.cache_resource(show_spinner=False, max_entries=24)
def growing_run(name: str, share: float, source: Ids, target: Ids) -> Pass:
    """The pass of a model after a share of its training (see `growing`)."""

    return _pass(growing(name, share), source, target)


@st.cache_resource(show_spinner=False, max_entries=12)
def run(name: str, source: Ids, target: Ids) -> Pass:
    """The pass of a model over ids, an empty tuple for a stack that it lacks."""

    return _pass(model(name), source, target)


def _pass(made: "Transformer", source: Ids, target: Ids) -> Pass:
    from explorer.trace import trace

    read = (_tensor(source), _tensor(target))
    return Pass(made, *read, trace(made, *read))


def _tensor(ids: Ids) -> "Tensor | None":
    """Ids as a model reads them; nothing for a stack that it lacks."""
    import torch

    return torch.tensor(ids) if ids else None


@st.cache_resource(show_spinner=False, max_entries=12)
def edited(name: str, source: Ids, target: Ids, changes: str, other: tuple[Ids, Ids] = NO_OTHER) -> Pass:
    """The pass with the changes that a text names made to the model; `other` is what the second sentence's pass reads.

    Raises ValueError for changes that do not fit this model or these texts (see `fitting`).
    """
    made = _changeable(name, source, target, other)
    return Pass(made.model, made.source, made.target, made.trace(read(changes)), changes, other)


def _changeable(name: str, source: Ids, target: Ids, other: tuple[Ids, Ids]) -> "Run":
    """A pass as it is run again with changes."""
    from explorer.analysis.edits import Run

    plain = run(name, source, target)
    return Run(plain.model, plain.source, plain.target, run(name, *other).trace if any(other) else None)


@st.cache_resource(show_spinner=False, max_entries=64)
def fitting(name: str, source: Ids, target: Ids, changes: str, other: tuple[Ids, Ids] = NO_OTHER) -> Ids:
    """Which of the changes (by number) can be made to this model over these texts, each after those before it.

    One that leaves no finite numbers does not fit either.
    """
    from explorer.analysis import edits

    return tuple(edits.fitting(_changeable(name, source, target, other), read(changes)))


@st.cache_resource(show_spinner=False, max_entries=64)
def idle(name: str, source: Ids, target: Ids, changes: str, other: tuple[Ids, Ids] = NO_OTHER) -> Ids:
    """Which of the changes (by number) change nothing (see analysis.edits.idle)."""
    from explorer.analysis import edits

    return tuple(edits.idle(_changeable(name, source, target, other), read(changes)))


@st.cache_resource(show_spinner=False, max_entries=12)
def dropped(name: str, source: Ids, target: Ids, seed: int) -> "Trace":
    """The pass with one draw of dropout, as in training."""
    from explorer.analysis import dropout
    from explorer.trace import trace

    plain = run(name, source, target)
    return trace(plain.model, plain.source, plain.target, dropout.edits(plain.trace, seed))


@st.cache_resource(show_spinner=False, max_entries=64)
def others_turned(name: str, source: Ids, target: Ids, path: str, place: int) -> "Reach":
    """How a sublayer's output at a place moves when every other token's vector is turned around."""
    from explorer.analysis import reach

    plain = run(name, source, target)
    return reach.others_turned(plain.model, plain.source, plain.target, plain.trace, path, place)


Sentence = tuple[str, list[Token]]  # a bundled one, and the tokens that a stack reads of it


@st.cache_resource(show_spinner=False, max_entries=4)
def firings(name: str) -> "tuple[dict[str, Firing], dict[str, list[Sentence]]]":
    """What the neurons of each feed-forward layer do over the bundled sentences, by path, and these by stack."""
    from explorer.analysis import memory

    made, read = model(name), tokenizer()
    english, korean = (memory.sentences(language) for language in memory.LANGUAGES)
    both = (*english, *korean)
    texts = {"encoder": english, "decoder": korean} if len(made.config.stacks) > 1 else {made.config.stacks[0]: both}
    reading = {"encoder": read.encoder_input, "decoder": read.decoder_input}
    seen = {stack: [(text, reading[stack](text)) for text in found] for stack, found in texts.items()}
    ids = {stack: [[token.id for token in tokens] for _, tokens in found] for stack, found in seen.items()}
    none = [None] * max(map(len, ids.values()))
    pairs = list(zip(ids.get("encoder", none), ids.get("decoder", none), strict=True))
    return memory.firings(made, pairs), seen


@st.cache_resource(show_spinner=False, max_entries=24)
def masked_in_turn(name: str, source: Ids, places: Ids) -> "list[Answer]":
    """What an encoder makes of each of these places when it alone is masked."""
    import torch

    from explorer.analysis.predictions import in_turn

    return in_turn(model(name), torch.tensor(source), places)


@st.cache_resource(show_spinner=False, max_entries=24)
def sizes(name: str) -> dict[str, int]:
    """How many parameters each part of a model has."""
    from explorer.analysis.sizes import parameters

    return parameters(model(name))


@st.cache_resource(show_spinner=False, max_entries=24)
def far(name: str) -> "list[Stretch] | list[Strung]":
    """A model's loss on longer and longer texts (see analysis.length), made of the bundled sentences."""
    from explorer.analysis.length import losses, strung
    from explorer.analysis.memory import sentences

    def encode(text: str) -> list[int]:
        return [token.id for token in tokenizer().encode(text)]

    if len(model(name).config.stacks) > 1:
        return strung(model(name), encode, sentences("en"), sentences("ko"))
    return losses(model(name), encode(" ".join(sentences("en"))))


@st.cache_resource(show_spinner=False, max_entries=64)
def translation(name: str, source: Ids, limit: int) -> "Generated":
    """What an encoder-decoder makes of a source by itself (see analysis.generation.greedy)."""
    import torch

    from explorer.analysis.generation import greedy

    return greedy(model(name), torch.tensor(source), limit)


@st.cache_resource(show_spinner=False, max_entries=24)
def without(name: str, source: Ids, target: Ids, keys: Ids) -> "Effects":
    """What an encoder-decoder predicts without single tokens of its source (see analysis.crossing.effects)."""
    import torch

    from explorer.analysis.crossing import effects

    return effects(model(name), torch.tensor(source), torch.tensor(target), keys)


@st.cache_resource(show_spinner=False, max_entries=64)
def alternatives(name: str, word: str, spaced: bool) -> tuple[str, ...]:
    """Words that could stand in the place of one (see analysis.swaps), from those that a model read most in training.

    None for Korean words of an encoder-decoder, whose own Korean is not counted.
    """
    from explorer.analysis import swaps

    column = 1 if name.startswith("encoder-decoder") else 0
    counts = checkpoints.word_counts()
    known = sorted((w for w in counts if counts[w][column] >= WELL_KNOWN), key=lambda w: -counts[w][column])
    read = tokenizer()

    def pieces(text: str) -> list[int]:
        return [token.id for token in read.encode(text)]

    return tuple(swaps.alternatives(word, spaced, known[:MOST_KNOWN], pieces, model(name).embedding.detach()))


@st.cache_resource(show_spinner=False)
def random_scores() -> "list[Saturation]":
    """What dividing by the root of d_k does to random scores (see analysis.attention.random_saturation)."""
    from explorer.analysis.attention import random_saturation

    return random_saturation()


@st.cache_resource(show_spinner=False, max_entries=24)
def padded(name: str, source: Ids, target: Ids, path: str) -> "list[Padded]":
    """Batch norm against layer norm on the vectors at a path, with more and more padding (see analysis.norms)."""
    from explorer.analysis import norms

    plain = run(name, source, target)
    return norms.padded(plain.model, plain.source, plain.target, path, PADDINGS)


@st.cache_resource(show_spinner=False, max_entries=12)
def gradients(_config: Config, architecture: str, heads: int) -> "list[Gradient]":
    """The gradients of fresh models in both norm orders, on some of the bundled sentences (see analysis.norms).

    The same whichever norm order the configuration has, so it is found again by architecture and heads alone.
    """
    import torch

    from explorer.analysis import memory, norms

    read, pairs = tokenizer(), zip(memory.sentences("en")[:BUNDLED], memory.sentences("ko")[:BUNDLED], strict=True)
    ids = {
        "encoder": lambda one, other: (read.encoder_input(one), None),
        "decoder": lambda one, other: (None, read.decoder_input(one)),
        "encoder-decoder": lambda one, other: (read.encoder_input(one), read.decoder_input(other)),
    }[architecture]
    texts = [[tokens and torch.tensor([token.id for token in tokens]) for tokens in ids(*pair)] for pair in pairs]
    with _drawing:
        return norms.gradients(_config, texts)


@st.cache_resource(show_spinner=False, max_entries=2_000)
def step(name: str, source: Ids, ids: Ids, settings: "Settings", chosen: int | None = None) -> "Step":
    """The token that a model writes after `ids` (see analysis.generation.step)."""

    from explorer.analysis import generation

    return generation.step(model(name), _tensor(source), ids, settings, chosen)


@st.cache_resource(show_spinner=False, max_entries=64)
def drift(name: str, source: Ids, truth: Ids, given: int, most: int) -> "Drift":
    """What a model writes after the beginning of a text, beside what it expects of the text itself (see lessons)."""

    from explorer.analysis import lessons

    return lessons.drift(model(name), _tensor(source), truth, given, most)


@st.cache_resource(show_spinner=False, max_entries=64)
def read_twice(name: str, source: Ids, question: "Question", masked: bool) -> "tuple[Tensor, Tensor]":
    """The losses of a decoder in one pass, as in training, and step by step, as in use; with its mask or without."""

    from explorer.analysis import lessons
    from explorer.trace import silent, unmasked

    asked = (model(name), _tensor(source), question, silent if masked else unmasked)
    return lessons.all_at_once(*asked), lessons.step_by_step(*asked)


@st.cache_resource(show_spinner=False, max_entries=64)
def written(name: str, start: Ids, most: int, masked: bool) -> Ids:
    """What a decoder writes after some ids, always the likeliest token; with its mask or without."""
    from explorer.analysis import lessons
    from explorer.trace import silent, unmasked

    return lessons.written(model(name), start, most, silent if masked else unmasked)


@st.cache_resource(show_spinner=False, max_entries=24)
def batch(name: str, sources: tuple[Ids, ...], questions: "tuple[Question, ...]") -> "Batch":
    """Several texts read at once, filled up with padding (see analysis.lessons.batch)."""
    from explorer.analysis import lessons

    return lessons.batch(model(name), sources, questions)


@st.cache_resource(show_spinner=False, max_entries=64)
def saved(name: str, source: Ids, ids: Ids) -> "Saved":
    """What a key-value cache saves a decoder at the last of these ids (see analysis.cache.saved)."""
    import torch

    from explorer.analysis import cache

    return cache.saved(model(name), _tensor(source), torch.tensor(ids))


@st.cache_resource(show_spinner=False, max_entries=24)
def beam(name: str, source: Ids, start: Ids, width: int, limit: int) -> "Beam":
    """The tree of a whole beam search (see analysis.generation.beam)."""

    from explorer.analysis import generation

    *_, last = generation.beam(model(name), _tensor(source), start, width, limit)
    return last


@st.cache_resource(show_spinner=False, max_entries=64)
def proof(name: str, source: Ids, target: Ids, changes: str = "", other: tuple[Ids, Ids] = NO_OTHER) -> "Proof":
    """What the check of a pass against torch.nn and against its own inputs found."""
    from explorer.analysis.proof import check

    checked = edited(name, source, target, changes, other) if changes else run(name, source, target)
    return check(checked.model, checked.trace, checked.source, checked.target, _twin(name))


@st.cache_resource(show_spinner=False, max_entries=24)
def _twin(name: str) -> "Reference":
    """The model's weights in torch.nn."""
    from explorer.analysis.proof import reference

    trained = model(name)
    with _drawing:
        return reference(trained)


def decoder_ids(generated: "Generated") -> Ids:
    """What the decoder reads once it has written this."""
    return (BOS, *generated.ids)
