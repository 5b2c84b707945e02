"""How far a change reaches: change something of other tokens, and see whose vectors differ, and by how much."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.analysis.stream import Stage, position, read_by, stages
from explorer.trace import Trace, trace
from explorer.transformer import Transformer


@dataclass(frozen=True)
class Reach:
    """How one token's output of a sublayer moved: the largest difference, and how many of its numbers stayed."""

    difference: float
    unchanged: int
    of: int


def others_turned(
    model: Transformer, source: Tensor | None, target: Tensor | None, plain: Trace, path: str, place: int
) -> Reach:
    """Turn every other token's vector around (x becomes -x) where a sublayer reads, and compare its output at `place`.

    `path` names the sublayer, `decoder.layers.1.feed_forward` or `...self_attention`; `plain` is the pass as it was.
    """
    stack = path.split(".")[0]
    place = position(plain, place, stack)
    first = "hidden" if path.endswith("feed_forward") else "queries"

    def turn(value: Tensor, _: Trace) -> Tensor:
        turned = -value
        turned[place] = value[place]
        return turned

    entrance = read_by(plain, f"{path}.{first}")
    moved = trace(model, source, target, edits={entrance: [turn]})[f"{path}.output"].tensor[place]
    before = plain[f"{path}.output"].tensor[place]
    return Reach(float((moved - before).abs().max()), int((moved == before).sum()), before.numel())


@dataclass(frozen=True)
class Spread:
    """Two passes of texts of the same length, compared: `difference`, [stage, position], is the largest of a vector's
    numbers; `equal`, [stage, position], says that all of them are the same bits."""

    stages: tuple[Stage, ...]
    difference: Tensor
    equal: Tensor


def spread(before: Trace, after: Trace, stack: str | None = None) -> Spread:
    """Where the stream of a stack, by default the one that predicts, differs between two passes.

    Raises ValueError, with both lengths, when the texts are not of one length.
    """
    found = tuple(stages(before, stack))
    differences, equal = [], []
    for stage in found:
        one, other = before[stage.path].tensor, after[stage.path].tensor
        if one.shape != other.shape:
            raise ValueError(f"The texts have {len(one)} and {len(other)} tokens; compare texts of one length.")
        differences.append((one - other).abs().amax(-1))
        equal.append((one == other).all(-1))
    return Spread(found, torch.stack(differences), torch.stack(equal))


def replaced(ids: Sequence[int], place: int, id: int) -> tuple[int, ...]:
    """The ids with another at one place."""
    return (*ids[:place], id, *ids[place + 1 :])
