"""What a pass over one token more computes again, and what is new: the reason for keeping keys and values."""

from dataclasses import dataclass

from explorer.trace import Trace


@dataclass(frozen=True)
class Repeated:
    """How many of a pass's numbers were there a step before (`again`) and how many were not (`new`).

    `cached` of those that were there are keys and values. `difference` is the largest between the two passes, as a
    share of the number where that is greater than 1.
    """

    again: int
    new: int
    cached: int
    difference: float


def repeated(before: Trace, after: Trace) -> Repeated:
    """Compare a pass with the one over one token less. Masked cells, at minus infinity in both, do not differ.

    Raises ValueError when a value of the second is smaller than in the first, so that it cannot be a step on.
    """
    again = new = cached = 0
    difference = 0.0
    for path, value in after.items():
        old, now = before[path].tensor, value.tensor
        if any(one > other for one, other in zip(old.shape, now.shape, strict=True)):
            raise ValueError(f"{path} has shape {tuple(old.shape)} before and {tuple(now.shape)} after: no step on.")
        same = now[tuple(slice(size) for size in old.shape)]
        again, new = again + old.numel(), new + now.numel() - old.numel()
        if path.endswith((".keys", ".values")):
            cached += old.numel()
        other = same != old
        if other.any():
            one, two = same[other].double(), old[other].double()
            difference = max(difference, float((one - two).abs().div(two.abs().clamp(min=1)).max()))
    return Repeated(again, new, cached, difference)
