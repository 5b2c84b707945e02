"""The explorer without the app: a text, a model, and every number of its pass, for notebooks and the command line."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from explorer import changes, checkpoints, export, frames, glossary
from explorer.analysis import edits as editing
from explorer.analysis.generation import greedy
from explorer.analysis.limits import limit
from explorer.analysis.predictions import prediction
from explorer.config import BOS, MASK, MAX_TOKENS, longest_translation
from explorer.tokens import Token, Tokenizer, cut
from explorer.trace import Trace, Value, trace
from explorer.transformer import Transformer

if TYPE_CHECKING:
    import altair
    import pandas

load = export.load
models = checkpoints.available

USUAL = "decoder-pre-4"
POSITIONS = ("position", "query", "key")  # axes along which a text runs


@dataclass(frozen=True)
class Recording(Mapping[str, Value]):
    """A model's pass over a text: every recorded value by its path, in the order computed.

    `recording["decoder.layers.0.self_attention.weights"]` is a Value, with `.tensor` and `.axes`; a parameter's path,
    such as `decoder.layers.0.self_attention.w_q.weight`, is found too. `tokens[stack]` are the tokens of the
    positions, `trace` is the pass itself, `model` the torch module, and `about` says in words where all this is from.
    """

    name: str
    model: Transformer
    trace: Trace
    tokens: Mapping[str, tuple[Token, ...]]
    about: Mapping[str, str]

    def __getitem__(self, path: str) -> Value:
        try:
            return self.trace.value(path)
        except KeyError:
            raise KeyError(_unknown(path, [*self.trace, *self.trace.parameters])) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.trace)

    def __len__(self) -> int:
        return len(self.trace)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(tokens)} tokens in the {stack}" for stack, tokens in self.tokens.items())
        return f"<{len(self)} values of {self.name}: {sizes}>"

    def select(self, pattern: str) -> dict[str, Value]:
        """The recorded values whose path fits a pattern: `select("*.self_attention.weights")`."""
        return {path: value for path, value in self.items() if fnmatchcase(path, pattern)}

    def frame(self, path: str, **places: int) -> "pandas.DataFrame":
        """A value as a table, one row for each number: `frame("decoder.layers.0.self_attention.weights", head=1)`.

        Raises ValueError for an axis that the value lacks, or a place that the axis lacks.
        """
        value = _part(path, self[path], places)
        return frames.frame(value, labels(self.trace, self.tokens, path, value))

    def chart(self, path: str, **places: int) -> "altair.Chart | altair.LayerChart | altair.FacetChart":
        """A value as a chart of Altair: bars along one axis, cells of two, panels of three.

        Raises ValueError as `frame` does, and for more numbers than a chart can show, naming the axes to choose from.
        """
        from explorer.views import cells

        value = _part(path, self[path], places)
        if value.tensor.numel() > cells.MOST:
            left = ", ".join(f"{axis}=…" for axis, size in zip(value.axes, value.tensor.shape, strict=True) if size > 1)
            raise ValueError(
                f"{path} has {value.tensor.numel():,} numbers, and a chart shows {cells.MOST:,} at most; "
                f"choose a part of it, with {left}."
            )
        role = glossary.entry(path, self.trace).role
        kind = {"probability": "weight", "mask": "weight"}.get(role, role)
        drawn = frames.frame(value, labels(self.trace, self.tokens, path, value))
        if path.endswith("attention.weights"):  # a masked weight is 0, and so may be one that is not masked
            allowed = self[path.removesuffix("weights") + "allowed"].tensor.expand(self[path].tensor.shape)
            drawn["masked"] = ~_part(path, Value(allowed, self[path].axes), places).tensor.flatten().numpy()
        return cells.cells(
            drawn,
            weight=kind == "weight",
            limit=None if kind in ("weight", "id") or path not in self.trace else limit(self.trace, path),
            title=path,
        )

    def predictions(self, count: int = 5, position: int | None = None) -> list[tuple[str, float]]:
        """The likeliest tokens and their probabilities at a position: an encoder's first mask, or the last token.

        Raises ValueError for a position that the text lacks, and for more tokens than the vocabulary has.
        """
        vocabulary = self.model.config.vocabulary
        if not 1 <= count <= vocabulary:
            raise ValueError(f"There are {vocabulary} tokens to expect, so 1 to {vocabulary} predictions, not {count}.")
        tokens = self.tokens[self.model.config.stacks[-1]]
        if position is None:
            position = len(tokens) - 1
            if self.model.config.architecture == "encoder":
                position = next((at for at, token in enumerate(tokens) if token.id == MASK), 1)
        if not 0 <= position < len(tokens):
            raise ValueError(f"There is no position {position}; the text has {len(tokens)}, from 0 on.")
        best = prediction(self.trace, position, count).best
        return [(_tokenizer().token(id).label, share) for id, share in best]

    def save(self, path: str | Path, pattern: str = "*") -> Path:
        """Write the recorded values (or those that fit a pattern) to a `.safetensors` or `.npz` file; see `load`.

        Raises ValueError for another ending, and for a pattern that fits no value.
        """
        path, chosen = Path(path), self.select(pattern)
        if not chosen:
            raise ValueError(_unknown(pattern, list(self)))
        path.write_bytes(export.file(path.suffix, chosen, self.about))
        return path


def read(
    text: str, model: str = USUAL, *, target: str = "", edits: str = "", other: str = "", beginning: bool = False
) -> Recording:
    """Run a model over a text and keep every number. `models()` names the models there are.

    `target` is what the decoder of an encoder-decoder reads; where it is empty, the model's own translation. `edits`
    are changes of the model, `"off:d0a.h2"` (see changes.py), and `other` the second sentence, from which patches are
    taken. A text of more tokens than the models were trained on is an error, unless its `beginning` is asked for.
    Raises ValueError for what cannot be read, and CheckpointError for a model whose files are missing or altered.
    """
    if model not in models():
        raise ValueError(
            f"There is no model {model!r}; choose one of {', '.join(models()) or 'none: train one first'}."
        )
    if not text.strip():
        raise ValueError("The text is empty; write some words.")
    made = _model(model)
    config = made.config
    if target.strip() and len(config.stacks) < 2:
        raise ValueError(f"{model} reads one text; a target is for an encoder-decoder.")
    tokens = {config.stacks[0]: _tokens(text, config.stacks[0], beginning)}
    if len(config.stacks) > 1:
        tokens["decoder"] = _tokens(target, "decoder", beginning) if target.strip() else _own(made, tokens["encoder"])
    ids = _ids(tokens)
    second = None
    if other.strip():
        first = config.stacks[0]
        second = trace(made, **{**ids, **_ids({first: _tokens(other, first, beginning=True)})})
    asked = changes.read(edits)
    recorded = trace(made, **ids, edits=editing.install(asked, config, second))
    said = about(model, text, target, edits, other, tokens)
    return Recording(model, made, recorded, tokens, said)


def about(
    model: str, text: str, target: str, edits: str, other: str, tokens: Mapping[str, tuple[Token, ...]]
) -> dict[str, str]:
    """Where the values of a pass come from, in words; what is empty is left out."""
    said = {"model": model, "text": text, "target": target, "changes": edits, "second text": other}
    said |= {f"tokens of the {stack}": " ".join(token.label for token in read) for stack, read in tokens.items()}
    return {name: words for name, words in said.items() if words}


def lines(
    path: str,
    text: str,
    model: str,
    *,
    target: str = "",
    edits: str = "",
    other: str = "",
    beginning: bool = False,
    index: tuple[int, ...] | None = None,
) -> str:
    """The lines of Python that make a value anew, in a notebook, or one number of it, at `index`.

    Without a path, the whole pass.
    """
    asked = [repr(text), repr(model)]
    asked += [f"{name}={said!r}" for name, said in (("target", target), ("edits", edits), ("other", other)) if said]
    asked += ["beginning=True"] if beginning else []
    call = f"seen = explorer.read({', '.join(asked)})"
    if len(call) > 64:
        call = "seen = explorer.read(\n    " + ",\n    ".join(asked) + ",\n)"
    at = f"[{', '.join(map(str, index))}]" if index else ""
    value = f"seen[{path!r}].tensor{at}" if path else "dict(seen)"
    return f"import explorer\n\n{call}\n{value}"


def labels(recorded: Trace, tokens: Mapping[str, tuple[Token, ...]], path: str, value: Value) -> dict[str, list[str]]:
    """What stands at each place of a value's axes, for those that run along a text."""
    stacks = list(tokens)
    own = path.partition(".")[0]
    found = {}
    for axis in value.axes:
        if axis in POSITIONS and path in recorded:
            stack = stacks[0] if axis == "key" and ".cross_attention." in path else own if own in tokens else stacks[-1]
            found[axis] = [token.label for token in tokens[stack]]
    return found


def _part(path: str, value: Value, places: Mapping[str, int]) -> Value:
    """A value at one place of some of its axes, these left out."""
    index: list[int | slice] = [slice(None)] * len(value.axes)
    for axis, place in places.items():
        if axis not in value.axes:
            raise ValueError(f"{path} has no axis {axis}; it has {', '.join(value.axes)}.")
        size = value.tensor.shape[value.axes.index(axis)]
        if not 0 <= place < size:
            raise ValueError(f"{path} has {size} places along {axis}, from 0 to {size - 1}; {place} is none of them.")
        index[value.axes.index(axis)] = place
    return Value(value.tensor[tuple(index)], tuple(axis for axis in value.axes if axis not in places))


def _unknown(path: str, known: list[str]) -> str:
    near = get_close_matches(path, known, 3, 0.5)
    return f"There is no value {path!r} in this pass{'; near it: ' + ', '.join(near) if near else ''}."


@lru_cache(maxsize=6)
def _model(name: str) -> Transformer:
    return checkpoints.load(name)


@lru_cache(maxsize=1)
def _tokenizer() -> Tokenizer:
    return Tokenizer.load(checkpoints.TOKENIZER)


def _tokens(text: str, stack: str, beginning: bool) -> tuple[Token, ...]:
    read = _tokenizer()
    found = read.encoder_input(text) if stack == "encoder" else read.decoder_input(text)
    if len(found) > MAX_TOKENS and not beginning:
        raise ValueError(
            f"The text has {len(found):,} tokens, and the models were trained on {MAX_TOKENS} at most; "
            "shorten it, or read its beginning alone."
        )
    return tuple(cut(found, MAX_TOKENS))


def _own(model: Transformer, source: tuple[Token, ...]) -> tuple[Token, ...]:
    """What an encoder-decoder's decoder reads when it translates by itself."""
    ids = torch.tensor([token.id for token in source])
    return tuple(_tokenizer().tokens((BOS, *greedy(model, ids, longest_translation(len(source))).ids)))


def _ids(tokens: Mapping[str, tuple[Token, ...]]) -> dict[str, Tensor]:
    names = {"encoder": "source", "decoder": "target"}
    return {names[stack]: torch.tensor([token.id for token in read]) for stack, read in tokens.items()}
