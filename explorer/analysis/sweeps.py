"""Sweeps: many changes of a running model, each tried alone, and what each does to one logit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from explorer.analysis.edits import Run, places
from explorer.analysis.stream import position, stages
from explorer.changes import ATTENTION, Change
from explorer.config import Config
from explorer.trace import Trace, trace


@dataclass(frozen=True)
class Step:
    """One pass of a sweep: what was changed, the logit that came of it and its `effect`, the difference from before.

    `done` of `total` passes have been made, this one included.
    """

    done: int
    total: int
    change: Change
    logit: float
    effect: float


def heads(config: Config) -> list[Change]:
    """Each head of each attention switched off, a change each."""
    return [
        Change("off", stack, layer, sublayer, head=head)
        for stack, layer, sublayer in _all(config)
        if sublayer in ATTENTION
        for head in range(config.heads)
    ]


def sublayers(config: Config) -> list[Change]:
    """Each sublayer switched off, a change each."""
    return [Change("off", *place) for place in _all(config)]


def neurons(config: Config, stack: str, layer: int) -> list[Change]:
    """Each neuron of one feed-forward layer switched off, a change each."""
    return [Change("off", stack, layer, "feed_forward", neuron=neuron) for neuron in range(config.d_ff)]


def patches(here: Trace, other: Trace, stack: str) -> list[Change]:
    """A stack's stream patched from another sentence: each stage at each position that both have, a change each."""
    ids = f"{stack}.embedding.ids"
    length = min(len(one[ids].tensor) for one in (here, other))
    return [
        Change("patch", path=stage.path, position=place) for stage in stages(here, stack) for place in range(length)
    ]


def _all(config: Config) -> list[tuple[str, int, str]]:
    return [
        (stack, layer, sublayer) for stack in config.stacks for layer, sublayer in places(Change("off", stack), config)
    ]


def sweep(run: Run, tries: Sequence[Change], place: int, token: int, changes: Sequence[Change] = ()) -> Iterator[Step]:
    """The effect of each change in `tries` on a token's logit at a position, one pass after the other.

    `changes` are made in every pass, and in the one that is compared with. A caller that stops listening stops the
    sweep, and keeps what it has. Raises ValueError, at the first step, for what this model does not have.
    """
    plain = run.trace(changes)
    place = position(plain, place)
    before = float(plain["logits"].tensor[place, token])
    installed = [run.edits([*changes, change]) for change in tries]
    for number, (change, edits) in enumerate(zip(tries, installed, strict=True)):
        if _already(plain, run.other, change):
            yield Step(number + 1, len(tries), change, before, 0.0)
            continue
        logit = float(trace(run.model, run.source, run.target, edits)["logits"].tensor[place, token])
        yield Step(number + 1, len(tries), change, logit, logit - before)


def _already(plain: Trace, other: Trace | None, change: Change) -> bool:
    """Whether a patch of one position would put there what is there already, bit for bit: no pass needs to tell."""
    if change.action != "patch" or change.position is None or plain[change.path].axes[0] != "position":
        return False
    here, there = (one[change.path].tensor[change.position] for one in (plain, other))
    return torch.equal(here, there)
