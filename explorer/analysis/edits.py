"""What if: changes (see changes.py) made to a running model, and what they do."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from explorer.analysis import rules
from explorer.analysis.stream import stages
from explorer.changes import CHANGING, FITTING, PAIRED, SUBLAYERS, Change, write
from explorer.config import Config
from explorer.trace import Edit, Trace, trace
from explorer.transformer import Transformer

# From changes to edits


def install(changes: Sequence[Change], config: Config, other: Trace | None = None) -> dict[str, list[Edit]]:
    """The changes as edits for `trace(model, ..., edits=...)`; `other` is the trace that patches are taken from.

    What puts another value in a place is done before what changes it, so that a ReLU installed later leaves a neuron
    off that was switched off before. Raises ValueError, in one sentence, for what this model does not have.
    """
    edits: dict[str, list[Edit]] = {}
    for _, change in _in_order(changes):
        for path, edit in _edits(change, config, other):
            edits.setdefault(path, []).append(edit)
    return edits


def _in_order(changes: Sequence[Change]) -> list[tuple[int, Change]]:
    """The changes with their numbers, in the order in which they are made."""
    return sorted(enumerate(changes), key=lambda one: one[1].action in CHANGING)


def _edits(change: Change, config: Config, other: Trace | None) -> Iterator[tuple[str, Edit]]:
    if change.action == "patch":
        yield change.path, _patch(change, other)
        return
    if change.stack not in config.stacks:
        raise ValueError(f"{write([change])} names the {change.stack}, and this model has only the {config.stacks[0]}.")
    if change.action == "unplaced":
        yield f"{change.stack}.embedding.positions", lambda value, _: torch.zeros_like(value)
        return
    for layer, sublayer in places(change, config):
        path = f"{change.stack}.layers.{layer}.{sublayer}"
        yield _edit(change, path)


def exists(change: Change, config: Config) -> bool:
    """Whether a model of this configuration has the place that a change is made at."""
    try:
        install([change], config)
    except ValueError:
        return False
    return True


def places(change: Change, config: Config) -> list[tuple[int, str]]:
    """The layers and sublayers of its stack in which a change is made. Raises ValueError for what this model lacks."""
    crossing = change.stack == "decoder" and len(config.stacks) > 1
    there = [name for name in SUBLAYERS.values() if name != "cross_attention" or crossing]
    if change.sublayer is None:
        return [(layer, name) for layer in range(config.layers) for name in there if name in FITTING[change.action]]
    text = write([change])
    if change.sublayer not in there:
        raise ValueError(f"{text} names cross-attention, which only the decoder of an encoder-decoder has.")
    for what, number, count in (
        ("layer", change.layer, config.layers),
        ("head", change.head, config.heads),
        ("neuron", change.neuron, config.d_ff),
    ):
        if number is not None and number >= count:
            raise ValueError(f"{text} names {what} {number}, and this model has {count}, from 0 to {count - 1}.")
    return [(change.layer, change.sublayer)]


def _edit(change: Change, path: str) -> tuple[str, Edit]:
    """Where a sublayer is edited, and how."""
    action, head = change.action, change.head
    if action in ("off", "scale", "mean"):
        if head is not None:
            return f"{path}.heads", _changing(change, lambda value: value[head])
        if change.neuron is not None:
            return f"{path}.activated", _changing(change, lambda value: value[:, change.neuron])
        return f"{path}.output", _changing(change, lambda value: value)
    if action in PAIRED:
        return f"{path}.masked_scores", _blocking(change)
    if action == "unscaled":
        return f"{path}.scores", _replacing(head, lambda so_far: so_far[f"{path}.raw_scores"].tensor)
    if action == "unmasked":
        return f"{path}.allowed", lambda value, _: torch.ones_like(value)
    if action == "unlinked":
        return f"{path}_residual.sum", lambda value, so_far: so_far[f"{path}.output"].tensor
    if action in ("relu", "gelu"):
        bend = {"relu": functional.relu, "gelu": functional.gelu}[action]
        return f"{path}.activated", lambda value, so_far: bend(so_far[f"{path}.hidden"].tensor)
    return f"{path}.weights", _replacing(
        head, lambda so_far: rules.weights(so_far, path, action).expand_as(so_far[f"{path}.scores"].tensor)
    )


def _changing(change: Change, part: Callable[[Tensor], Tensor]) -> Edit:
    """Switch off, scale or level a part of a value, found by indexing; its positions are the axis before the last, or
    the only one."""

    def edit(value: Tensor, so_far: Trace) -> Tensor:
        changed = value.clone()
        found = part(changed)
        if change.action == "off":
            found.zero_()
        elif change.action == "scale":
            found.mul_(change.factor)
        else:
            found.copy_(found.mean(0, keepdim=True).expand_as(found))
        return changed

    return edit


def _replacing(head: int | None, other: Callable[[Trace], Tensor]) -> Edit:
    """Put another value in the place of one head's part, or of the whole."""

    def edit(value: Tensor, so_far: Trace) -> Tensor:
        changed = value.clone()
        which = slice(None) if head is None else head
        changed[which] = other(so_far)[which]
        return changed

    return edit


def _blocking(change: Change) -> Edit:
    query, key = change.pair

    def edit(value: Tensor, so_far: Trace) -> Tensor:
        _, queries, keys = value.shape
        if query >= queries or key >= keys:
            raise ValueError(
                f"{write([change])} names a pair beyond the {queries} queries and {keys} keys of this text."
            )
        changed = value.clone()
        row = changed[slice(None) if change.head is None else slice(change.head, change.head + 1), query]
        if change.action == "block":
            row[:, key] = -math.inf
        else:
            row[:, torch.arange(keys) != key] = -math.inf
        if (row == -math.inf).all(-1).any():
            raise ValueError(f"{write([change])} leaves query {query} nothing to look at; leave it at least one key.")
        return changed

    return edit


def _patch(change: Change, other: Trace | None) -> Edit:
    text = write([change])
    if other is None:
        raise ValueError(f"{text} takes a value from a second sentence; give one.")
    if change.path not in other:
        raise ValueError(f"{text} names no value of the second sentence's pass.")
    taken = other[change.path]
    axes = [axis for axis, name in enumerate(taken.axes) if name in ("position", "query", "key")]

    def edit(value: Tensor, so_far: Trace) -> Tensor:
        if change.position is None:
            if value.shape != taken.tensor.shape:
                ours, theirs = (tuple(tensor.shape) for tensor in (value, taken.tensor))
                raise ValueError(f"{text} needs as many tokens in both: here it is {ours}, in the second {theirs}.")
            return taken.tensor.clone()
        if not axes:
            raise ValueError(f"{text} names a position, but this value has none.")
        axis, lengths = axes[0], (value.shape[axes[0]], taken.tensor.shape[axes[0]])
        if change.position >= min(lengths):
            raise ValueError(f"{text} names a position beyond the {lengths[0]} tokens here or the {lengths[1]} there.")
        here, there = value.clone(), taken.tensor
        slot, source = here.select(axis, change.position), there.select(axis, change.position)
        if slot.shape != source.shape:
            raise ValueError(
                f"{text} needs as many tokens in both: {tuple(slot.shape)} here, {tuple(source.shape)} there."
            )
        slot.copy_(source)
        return here

    return edit


# Before and after


@dataclass(frozen=True)
class Run:
    """A model and what it reads, source and target (None for a stack that it lacks), to be run with changes made to it.

    `other` is the trace of the second sentence, from which patches are taken.
    """

    model: Transformer
    source: Tensor | None
    target: Tensor | None
    other: Trace | None = None

    def edits(self, changes: Sequence[Change]) -> dict[str, list[Edit]]:
        """The changes as edits. Raises ValueError as `install` does."""
        return install(changes, self.model.config, self.other)

    def trace(self, changes: Sequence[Change] = ()) -> Trace:
        """The pass with these changes made. Raises ValueError for what this model or these texts do not have."""
        return trace(self.model, self.source, self.target, self.edits(changes))


def same(before: Trace, after: Trace) -> bool:
    """Whether two passes recorded the same numbers, bit for bit."""
    return before.keys() == after.keys() and all(
        before[path].tensor.shape == after[path].tensor.shape and _equal(before[path].tensor, after[path].tensor)
        for path in before
    )


def _equal(first: Tensor, second: Tensor) -> bool:
    return bool(((first == second) | (first.isnan() & second.isnan())).all())


def fitting(run: Run, changes: Sequence[Change]) -> list[int]:
    """Which of the changes (by number) can be made to this model over these texts, each after those before it that can.

    One with which the pass has numbers that are not finite cannot.
    """

    def fits(made: Sequence[Change]) -> bool:
        try:
            seen = run.trace(made)
        except ValueError:
            return False
        return all(_finite(path, value.tensor) for path, value in seen.items())

    if fits(changes):
        return list(range(len(changes)))
    kept: list[int] = []
    for number in range(len(changes)):
        if fits([changes[at] for at in (*kept, number)]):
            kept.append(number)
    return kept


def _finite(path: str, tensor: Tensor) -> bool:
    """Whether all numbers are finite, or minus infinity where a score is masked."""
    masked = path.endswith(".masked_scores")
    return bool((tensor.isfinite() | (tensor == -math.inf) if masked else tensor.isfinite()).all())


def idle(run: Run, changes: Sequence[Change]) -> list[int]:
    """Which of the changes (by number) change nothing: without it, and with all the others, the pass is the same.

    One pass tells of a change that is alone in its places. Where several meet in one, each is left out in turn.
    """
    moved: set[int] = set()
    places: dict[str, set[int]] = {}

    def watched(number: int, edit: Edit) -> Edit:
        def watch(value: Tensor, so_far: Trace) -> Tensor:
            found = edit(value, so_far)
            if not _equal(value, found):
                moved.add(number)
            return found

        return watch

    installed: dict[str, list[Edit]] = {}
    for number, change in _in_order(changes):
        for path, edit in _edits(change, run.model.config, run.other):
            installed.setdefault(path, []).append(watched(number, edit))
            places.setdefault(path, set()).add(number)
    edited = trace(run.model, run.source, run.target, installed)
    met = {number for numbers in places.values() if len(numbers) > 1 for number in numbers}

    def changes_nothing(number: int) -> bool:
        if number not in moved or number not in met:
            return number not in moved
        others = [*changes[:number], *changes[number + 1 :]]
        return same(edited, run.trace(others))

    return [number for number in range(len(changes)) if changes_nothing(number)]


@dataclass(frozen=True)
class Shift:
    """How far a stage of the stream moved between two passes, by position: the length of the difference, `size`, and
    as a share of the length before, `share`, each [position]."""

    path: str
    layer: int | None
    kind: str
    size: Tensor
    share: Tensor


def shifts(before: Trace, after: Trace, stack: str | None = None) -> list[Shift]:
    """The change through depth. Raises ValueError, with both numbers, when the texts differ in length."""
    found = []
    for stage in stages(before, stack):
        first, second = before[stage.path].tensor, after[stage.path].tensor
        if first.shape != second.shape:
            raise ValueError(f"The texts have {len(first)} and {len(second)} tokens; compare two of the same length.")
        size = (second - first).norm(dim=-1)
        found.append(Shift(stage.path, stage.layer, stage.kind, size, size / first.norm(dim=-1)))
    return found
