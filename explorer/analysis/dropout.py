"""Dropout as in training (Srivastava et al. 2014), drawn for a pass that would do without it.

In training some numbers of each sublayer's output and of each embedding are set to 0 at random, and the others divided
by the share that stays, so that their expected size is the same. In use nothing is dropped.
"""

import torch
from torch import Tensor

from explorer.trace import Edit, Trace


def edits(plain: Trace, seed: int) -> dict[str, list[Edit]]:
    """One draw for every place of a pass where training would have dropped, as edits that repeat it."""
    share = plain.config.dropout
    generator = torch.Generator().manual_seed(seed)
    found: dict[str, list[Edit]] = {}
    for path, value in plain.items():
        name = path.split(".")[-2:]
        if name[-1] == "output" and name[0] in ("embedding", "self_attention", "cross_attention", "feed_forward"):
            kept = torch.rand(value.tensor.shape, generator=generator) >= share
            found[path] = [_drop(kept, 1 - share)]
    return found


def _drop(kept: Tensor, stays: float) -> Edit:
    def drop(value: Tensor, _: Trace) -> Tensor:
        return torch.where(kept, value / stays, torch.zeros_like(value))

    return drop
