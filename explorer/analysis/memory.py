"""A feed-forward layer read as a memory of keys and values (Geva et al. 2021): a hypothesis, and a way of looking.

Each neuron has a row of W_1, a direction that it probes a token's vector for (the key), a gate (the activation), and
a column of W_2 that it adds to the output in proportion (the value). A layer is named by its module's path,
`decoder.layers.2.feed_forward`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from explorer import glossary
from explorer.analysis.stream import last_stack, parameter, position, read_by
from explorer.trace import Trace
from explorer.transformer import FeedForward, Transformer

LANGUAGES = ("en", "ko")

Ids = Sequence[int]


@dataclass(frozen=True)
class Probe:
    """How one token's vector x meets each row of W_1, each [d_ff].

    `dot` is the row's product with x, `cosine` the same without the two lengths; `dot` and `bias` add up to `hidden`.
    """

    x: Tensor
    dot: Tensor
    cosine: Tensor
    bias: Tensor
    hidden: Tensor


def probe(trace: Trace, path: str, place: int) -> Probe:
    """The similarity of the vector that the layer reads at a position with each of its directions."""
    place = position(trace, place, path.split(".")[0])
    x = trace[read_by(trace, f"{path}.hidden")].tensor[place]
    rows = parameter(trace, f"{path}.w_1.weight")
    bias = parameter(trace, f"{path}.w_1.bias")
    cosine = functional.cosine_similarity(rows, x.unsqueeze(0), dim=-1)
    return Probe(x, rows @ x, cosine, bias, trace[f"{path}.hidden"].tensor[place])


@dataclass(frozen=True)
class Gate:
    """What passes the gate under GELU and under ReLU, at the same hidden values.

    `open`, [position]: the share of neurons with a hidden value above 0, the same for both. `gelu` and `relu`,
    [position, d_ff]: what each hands on; `used` names the one that this model has. ReLU shuts the others to exactly 0,
    GELU lets up to -0.17 of them through: `leak`, [position], is that part of all that GELU hands on, by size.
    """

    open: Tensor
    gelu: Tensor
    relu: Tensor
    leak: Tensor
    used: str


def gate(trace: Trace, path: str) -> Gate:
    """The share of neurons that pass, at each position, and both activations of the recorded hidden values."""
    hidden = trace[f"{path}.hidden"].tensor
    gelu, relu = functional.gelu(hidden), hidden.relu()
    leak = gelu.clamp(max=0).abs().sum(-1) / gelu.abs().sum(-1)
    return Gate((hidden > 0).to(hidden.dtype).mean(-1), gelu, relu, leak, trace.config.activation)


@dataclass(frozen=True)
class Composition:
    """An output mixed from templates: `parts`, [d_ff, d_model], and `bias`, [d_model], add up to `output`.

    `size`, [d_ff], is the length of each part; `order` the neurons from the largest part to the smallest.
    """

    parts: Tensor
    bias: Tensor
    output: Tensor
    size: Tensor
    order: Tensor


def compose(trace: Trace, path: str, place: int) -> Composition:
    """Each neuron's part in the layer's output at a position: its activation times its column of W_2."""
    place = position(trace, place, path.split(".")[0])
    columns = parameter(trace, f"{path}.w_2.weight").mT
    parts = trace[f"{path}.activated"].tensor[place].unsqueeze(-1) * columns
    size = parts.norm(dim=-1)
    bias, output = parameter(trace, f"{path}.w_2.bias"), trace[f"{path}.output"].tensor[place]
    return Composition(parts, bias, output, size, size.argsort(descending=True, stable=True))


def sentences(language: str) -> tuple[str, ...]:
    """The bundled sentences; line i of one language says what line i of the other says.

    Raises ValueError for a language that has none.
    """
    if language not in LANGUAGES:
        raise ValueError(f"There are no sentences in {language!r}; choose one of {', '.join(LANGUAGES)}.")
    text = (Path(__file__).parent / f"memory_text.{language}.txt").read_text(encoding="utf-8")
    return tuple(text.splitlines())


@dataclass(frozen=True)
class Firing:
    """What a layer's neurons did over many texts: `activated`, [token, d_ff], of tokens one text after the other.

    `text` and `place`, each [token], say which text a token is of, and where in it.
    """

    activated: Tensor
    text: Tensor
    place: Tensor

    def strongest(self, neuron: int, count: int = 10) -> list["Fired"]:
        """The tokens in context that fire a neuron most, the strongest first."""
        values = self.activated[:, neuron]
        order = values.argsort(descending=True, stable=True)[:count]
        return [Fired(int(self.text[i]), int(self.place[i]), float(values[i])) for i in order]


@dataclass(frozen=True)
class Fired:
    """A token in its text (by number, as given to `firing`), and what a neuron said to it."""

    text: int
    place: int
    value: float


def firing(model: Transformer, texts: Sequence[tuple[Ids | None, Ids | None]], path: str) -> Firing:
    """The layer's activations over texts, each a pair of source and target ids (None for a stack that is not there).

    Tokens are those of the stack that the layer belongs to.
    """
    return firings(model, texts)[path]


def firings(model: Transformer, texts: Sequence[tuple[Ids | None, Ids | None]]) -> dict[str, Firing]:
    """The activations of every feed-forward layer over texts, by the layer's path (see `firing`).

    Only these are kept of each pass, and no predictions made: twice as fast as recording all.
    """
    paths = {module: path for path, module in model.named_modules() if isinstance(module, FeedForward)}
    found: dict[str, list[Tensor]] = {path: [] for path in paths.values()}

    def keep(module: nn.Module, name: str, value: Tensor, axes: str) -> Tensor:
        if name == "activated":
            found[paths[module]].append(value)
        return value

    with torch.inference_mode():
        for pair in texts:
            model.vectors(*(None if ids is None else torch.tensor(ids) for ids in pair), keep)
    return {path: _joined(rows) for path, rows in found.items()}


def _joined(texts: list[Tensor]) -> Firing:
    number = torch.cat([torch.full((len(rows),), text) for text, rows in enumerate(texts)])
    return Firing(torch.cat(texts), number, torch.cat([torch.arange(len(rows)) for rows in texts]))


Reading = Literal["direct", "normed-again", "other-stack"]


@dataclass(frozen=True)
class Promotion:
    """What a neuron's column of W_2 says in words: `effect`, [vocabulary], its push on each token's logit, per unit.

    How far that holds is `reading`:
    direct         norm first: the column stays in the stream to the end, and meets the last norm's centring and gain,
                   which are in `effect`; what is not is the norm's scale, one positive number a position
    normed-again   norm after the sum: every later norm centres and stretches it anew, so `effect`, the bare product
                   with the embeddings, is only a hint
    other-stack    an encoder's layer in an encoder-decoder: its stream never meets the output, so even less
    """

    effect: Tensor
    reading: Reading

    def promoted(self, count: int = 10) -> tuple[Tensor, Tensor]:
        """The tokens pushed up most: ids and effects."""
        found = self.effect.topk(min(count, len(self.effect)))
        return found.indices, found.values

    def suppressed(self, count: int = 10) -> tuple[Tensor, Tensor]:
        """The tokens pushed down most: ids and effects."""
        found = self.effect.topk(min(count, len(self.effect)), largest=False)
        return found.indices, found.values


def value(trace: Trace, path: str, neuron: int) -> Promotion:
    """The value side of a neuron: its column of W_2, read through the output embedding."""
    column = parameter(trace, f"{path}.w_2.weight")[:, neuron]
    table = parameter(trace, glossary.inputs("logits", trace)["table"])
    stack = path.split(".")[0]
    if stack != last_stack(trace):
        return Promotion(table @ column, "other-stack")
    if f"{stack}.norm.output" not in trace:
        return Promotion(table @ column, "normed-again")
    gain = parameter(trace, f"{stack}.norm.weight")
    return Promotion(table @ (gain * (column - column.mean())), "direct")
