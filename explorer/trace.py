"""One forward pass, recorded: every value that the model computed, by path, in the order of computation.

The model hands each value to a recorder, a plain function

    record(module, name, value, axes) -> value

and goes on with what it returns. `silent` returns the value and does nothing else, so a model in training is
an ordinary torch module. `Trace.record` files the value. An edit is a function that returns another value;
since the model goes on with that, everything after it follows, and what-if questions need no code in the model.
Nothing is stored on the model: one loaded model serves any number of passes at once.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import torch
from torch import Tensor, nn

Record = Callable[[nn.Module, str, Tensor, str], Tensor]


def silent(module: nn.Module, name: str, value: Tensor, axes: str) -> Tensor:
    """Record nothing."""
    return value


def unmasked(module: nn.Module, name: str, value: Tensor, axes: str) -> Tensor:
    """Record nothing, and let every query look at every key: the model goes on without its masks."""
    return torch.ones_like(value) if name == "allowed" else value


@dataclass(frozen=True)
class Value:
    """A recorded tensor and the names of its axes, one word each: `("head", "query", "key")`."""

    tensor: Tensor
    axes: tuple[str, ...]


Edit = Callable[[Tensor, "Trace"], Tensor]


class Trace(Mapping[str, Value]):
    """The values of one forward pass by path (`decoder.layers.2.self_attention.scores`), in the order computed.

    `edits` maps a path to functions that take the value and the trace so far and return the value to go on with;
    several at one path are applied in order. `config` is the model's own (None for a module that has none), for what
    no tensor shows: the epsilon of its norms, its activation. A trace equals itself alone.
    """

    __eq__, __hash__ = object.__eq__, object.__hash__

    def __init__(self, model: nn.Module, edits: Mapping[str, Sequence[Edit]] | None = None):
        self.config = getattr(model, "config", None)
        self.parameters = dict(model.named_parameters(remove_duplicate=False))
        self.edits = dict(edits or {})
        self._paths = {module: path for path, module in model.named_modules()}
        self._values: dict[str, Value] = {}
        self._order: dict[str, int] = {}

    def record(self, module: nn.Module, name: str, value: Tensor, axes: str) -> Tensor:
        """File a value under its module's path and its own name; return it, edited where an edit asks for that."""
        path = f"{self._paths[module]}.{name}".lstrip(".")
        if path in self._values:
            raise ValueError(f"{path} was recorded twice in one pass; give the second value a name of its own.")
        names = tuple(axes.split())
        if len(names) != value.dim():
            raise ValueError(f"{path} has {value.dim()} axes, {tuple(value.shape)}, but is recorded with {names}.")
        for edit in self.edits.get(path, ()):
            edited = edit(value, self)
            if edited.shape != value.shape:
                raise ValueError(
                    f"An edit of {path} returned shape {tuple(edited.shape)} in place of {tuple(value.shape)}."
                )
            value = edited
        self._order[path] = len(self._values)
        self._values[path] = Value(value.detach(), names)
        return value

    def __getitem__(self, path: str) -> Value:
        return self._values[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def value(self, path: str) -> Value:
        """A recorded value, or a parameter of the model with names for its axes. Raises KeyError for another path."""
        if path in self._values:
            return self._values[path]
        tensor = self.parameters[path].detach()
        table = path.endswith("embedding.weight")
        return Value(tensor, ("vocabulary", "d_model") if table else ("output", "input")[2 - tensor.dim() :])

    def before(self, first: str, second: str) -> bool:
        """Whether both values were computed, and `first` before `second`."""
        return self._order.get(first, math.inf) < self._order.get(second, -math.inf)

    def select(self, pattern: str) -> dict[str, Value]:
        """The values whose path fits a pattern: `select("encoder.layers.*.self_attention.weights")`."""
        return {path: value for path, value in self.items() if fnmatchcase(path, pattern)}


def trace(
    model: nn.Module,
    source: Tensor | None = None,
    target: Tensor | None = None,
    edits: Mapping[str, Sequence[Edit]] | None = None,
) -> Trace:
    """Run the model once on token ids (each of shape [position]) and return everything that it computed.

    Raises ValueError when an edit names a value that this model does not compute.
    """
    recorded = Trace(model, edits)
    with torch.inference_mode():
        model(source, target, record=recorded.record)
    if missed := recorded.edits.keys() - recorded.keys():
        raise ValueError(f"This model computes no {', '.join(sorted(missed))}, so it cannot be edited there.")
    return recorded
