"""The residual stream as a row of stages, read from the trace: at the entrance and after each sublayer.

Nothing here asks for the norm order: a norm that ran after the sum belongs to what the sublayer hands on, one that ran
before it belongs to what the sublayer read.
"""

from dataclasses import dataclass

from torch import Tensor

from explorer import glossary
from explorer.trace import Trace


@dataclass(frozen=True)
class Sublayer:
    """One attention or feed-forward layer and the residual connection around it.

    kind is `self_attention`, `cross_attention` or `feed_forward`; `path` its module (`decoder.layers.0.feed_forward`);
    `norm_after` says that its norm stands after the sum.
    """

    stack: str
    layer: int
    kind: str
    path: str
    norm_after: bool

    @property
    def residual(self) -> str:
        """The path of its residual connection."""
        return f"{self.path}_residual"

    @property
    def leaves(self) -> str:
        """The path of the stream that it hands on."""
        return f"{self.residual}.norm.output" if self.norm_after else f"{self.residual}.sum"


@dataclass(frozen=True)
class Stage:
    """The stream at one place: at the entrance (kind `embedding`, no layer) or after a sublayer."""

    path: str
    layer: int | None
    kind: str


def last_stack(trace: Trace) -> str:
    """The stack that predicts."""
    return trace.config.stacks[-1]


def sublayers(trace: Trace, stack: str | None = None) -> list[Sublayer]:
    """The sublayers of a stack (of all stacks where none is named), in the order of the pass."""
    found = []
    for path in trace:
        if path.endswith("_residual.input") and (stack is None or path.startswith(f"{stack}.")):
            residual = path.removesuffix(".input")
            owner, _, layer, name = residual.split(".")
            after = trace.before(f"{residual}.sum", f"{residual}.norm.output")
            kind = name.removesuffix("_residual")
            found.append(Sublayer(owner, int(layer), kind, residual.removesuffix("_residual"), after))
    return found


def stages(trace: Trace, stack: str | None = None) -> list[Stage]:
    """The stream of a stack, by default the one that predicts: at the entrance, then after each sublayer."""
    stack = stack or last_stack(trace)
    entrance = Stage(f"{stack}.embedding.output", None, "embedding")
    return [entrance, *(Stage(sub.leaves, sub.layer, sub.kind) for sub in sublayers(trace, stack))]


def after_layer(trace: Trace, layer: int, stack: str | None = None) -> Stage:
    """The stream that a layer of a stack hands on, by default of the one that predicts."""
    return [stage for stage in stages(trace, stack) if stage.layer == layer][-1]


def parameter(trace: Trace, path: str) -> Tensor:
    """A parameter's numbers, apart from training."""
    return trace.parameters[path].detach()


def read_by(trace: Trace, path: str) -> str:
    """The path of the vectors that a linear map or a norm read to make the value at `path`."""
    return glossary.inputs(path, trace)["x"]


def position(trace: Trace, place: int, stack: str | None = None) -> int:
    """A position of a stack's text as a number from 0; -1 is the last.

    Raises ValueError, with both numbers, when the text is shorter.
    """
    length = len(trace[f"{stack or last_stack(trace)}.embedding.ids"].tensor)
    if not -length <= place < length:
        raise ValueError(f"A text of {length} tokens has no position {place}; choose one from 0 to {length - 1}.")
    return place % length
