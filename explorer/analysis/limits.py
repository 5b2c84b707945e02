"""One colour limit for a kind of value, so that its layers can be compared."""

import re

import torch

from explorer.trace import Trace

SHARE = 99  # per cent of the numbers, by size, that the colours tell apart; the few beyond have the end colour


def limit(trace: Trace, path: str) -> float | None:
    """Where the colours of a value end: the 99th percentile of its size over all layers; None if nothing is there."""
    kind = re.sub(r"\.layers\.\d+\.", ".layers.*.", path)
    sizes = [value.tensor.float().abs().flatten() for value in trace.select(kind).values()]
    finite = torch.cat([size[size.isfinite()] for size in sizes]) if sizes else torch.empty(0)
    if not len(finite):
        return None
    at = max(1, round(SHARE / 100 * len(finite)))
    return float(finite.kthvalue(at).values) or float(finite.max()) or None


def nearest(trace: Trace, path: str, layer: int) -> str | None:
    """The value or parameter that a path means in a pass: in the given layer, or its like in another stack, or none."""
    stacks = dict.fromkeys(found.partition(".")[0] for found in trace if "." in found)
    _, _, rest = path.partition(".")
    wanted = [path, *[f"{stack}.{rest}" for stack in stacks]]
    wanted = [re.sub(r"\.layers\.\d+\.", f".layers.{layer}.", found) for found in wanted]
    return next((found for found in wanted if found in trace or found in trace.parameters), None)
