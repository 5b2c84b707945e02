"""Who pushed this token's logit: direct contributions of every part of the pass, which add up to it exactly.

A logit is a dot product of the last vector with a token's embedding, and the last vector is a sum of what was there
and what each sublayer added, brought through norms. A norm's mean is linear, its scale is not: with each scale frozen
at what it was in this pass, every step is linear, and the logit falls into parts. A direction, `directions`, is
carried back from the output for that: what a part adds to the logit is its dot product with the direction at the place
where it joined the stream. With the norm after the sum it is carried back through each later norm.

Direct means: not by way of what later sublayers made of it. An encoder's parts in an encoder-decoder reach the output
only by way of cross-attention, so they have none of their own.
"""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from explorer import glossary
from explorer.analysis.attention import contributions
from explorer.analysis.stream import last_stack, parameter, position, sublayers
from explorer.trace import Trace

Against = int | Literal["mean"] | None


@dataclass(frozen=True)
class Part:
    """One contribution to a logit.

    kind is `token` or `position` (the two halves of the embedding), `head` (with its number), `attention_bias`,
    `feed_forward`, `norm_bias`, or `edit`: what an edited pass holds that does not follow from its own parts.
    """

    kind: str
    path: str
    layer: int | None
    head: int | None
    value: float


@dataclass(frozen=True)
class Attribution:
    """The parts of one token's logit at one position (less what it was compared with), and the logit."""

    position: int
    token: int
    against: Against
    parts: tuple[Part, ...]
    logit: float

    @property
    def total(self) -> float:
        """The sum of the parts."""
        return sum(part.value for part in self.parts)


def attribute(trace: Trace, place: int, token: int, against: Against = None) -> Attribution:
    """The direct contributions to the logit of `token` at a position, the norms' scales frozen.

    With `against`, to the difference from another token's logit or from the `mean` of all: what raises every logit
    alike changes no probability, and is left out so. Raises ValueError for a position beyond the text.
    """
    place = position(trace, place)
    stack = last_stack(trace)
    back = directions(trace, place, token, against)
    parts = []

    def add(kind: str, path: str, vector: Tensor, where: str, layer: int | None = None, head: int | None = None):
        parts.append(Part(kind, path, layer, head, float(vector @ back[where])))

    entrance = f"{stack}.embedding"
    add("token", f"{entrance}.scaled", trace[f"{entrance}.scaled"].tensor[place], f"{entrance}.output")
    add("position", f"{entrance}.positions", trace[f"{entrance}.positions"].tensor[place], f"{entrance}.output")
    for sub in sublayers(trace, stack):
        joined = f"{sub.residual}.sum"
        if sub.kind == "feed_forward":
            add("feed_forward", f"{sub.path}.output", trace[f"{sub.path}.output"].tensor[place], joined, sub.layer)
        else:
            found = contributions(trace, sub.path)
            for head, vectors in enumerate(found.parts):
                add("head", f"{sub.path}.heads", vectors[place], joined, sub.layer, head)
            add("attention_bias", f"{sub.path}.w_o.bias", found.bias, joined, sub.layer)
        if sub.norm_after:
            bias = f"{sub.residual}.norm.bias"
            add("norm_bias", bias, parameter(trace, bias), sub.leaves, sub.layer)
    if f"{stack}.norm.output" in trace:
        bias = f"{stack}.norm.bias"
        add("norm_bias", bias, parameter(trace, bias), f"{stack}.norm.output")

    logits = trace["logits"].tensor[place]
    logit = float(logits[token] if against is None else logits[token] - _compared(logits, against))
    if trace.edits:
        parts.append(Part("edit", "logits", None, None, logit - sum(part.value for part in parts)))
    return Attribution(place, token, against, tuple(parts), logit)


def directions(trace: Trace, place: int, token: int, against: Against = None) -> dict[str, Tensor]:
    """The direction, [d_model], along which a vector added to the stream pushes the logit, for each place to add it.

    Keys are paths: the embedding's output, each residual sum, and the output of each norm after a sum and of the last.
    """
    table = parameter(trace, glossary.inputs("logits", trace)["table"])
    direction = table[token] if against is None else table[token] - _compared(table, against)
    stack = last_stack(trace)
    found = {}
    if f"{stack}.norm.output" in trace:
        found[f"{stack}.norm.output"] = direction
        direction = _through(trace, f"{stack}.norm", place, direction)
    for sub in reversed(sublayers(trace, stack)):
        if sub.norm_after:
            found[sub.leaves] = direction
            direction = _through(trace, f"{sub.residual}.norm", place, direction)
        found[f"{sub.residual}.sum"] = direction
    found[f"{stack}.embedding.output"] = direction
    return found


def neurons(trace: Trace, path: str, place: int, token: int, against: Against = None) -> Tensor:
    """What each neuron of the feed-forward layer at `path` adds to the logit, [d_ff].

    With the part of W_2's bias (`feed_forward_bias`) they add up to the layer's part. Zero for a layer of a stack that
    does not predict.
    """
    place = position(trace, place)
    columns = parameter(trace, f"{path}.w_2.weight")
    if path.split(".")[0] != last_stack(trace):
        return columns.new_zeros(columns.shape[1])
    back = directions(trace, place, token, against)[f"{path}_residual.sum"]
    return trace[f"{path}.activated"].tensor[place] * (back @ columns)


def feed_forward_bias(trace: Trace, path: str, place: int, token: int, against: Against = None) -> float:
    """What the bias of W_2 adds to the logit."""
    back = directions(trace, position(trace, place), token, against)
    return float(parameter(trace, f"{path}.w_2.bias") @ back[f"{path}_residual.sum"])


def _compared(rows: Tensor, against: int | Literal["mean"]) -> Tensor:
    """The row of the token to compare with, or the mean of all rows."""
    return rows.mean(0) if against == "mean" else rows[against]


def _through(trace: Trace, norm: str, place: int, direction: Tensor) -> Tensor:
    """A direction on the far side of a norm, carried to its near side, with the scale that it had in this pass.

    The norm takes x to gain * (x - mean x) / sigma + bias. The dot product with the direction is the same as that of
    x with gain * direction / sigma, less its own mean.
    """
    sigma = (trace[f"{norm}.variance"].tensor[place] + trace.config.epsilon).sqrt()
    pulled = parameter(trace, f"{norm}.weight") * direction / sigma
    return pulled - pulled.mean()
