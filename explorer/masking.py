"""Rows of ids made ready to be asked: filled up to one length with [PAD], some of their tokens hidden behind [MASK]."""

from collections.abc import Sequence

import torch
from torch import Tensor

from explorer.config import MASK, MASKED_SHARE, PAD


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Rows of ids filled up with [PAD] to the longest, [row, position]."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])


def to_hide(ids: Tensor, generator: torch.Generator, share: float = MASKED_SHARE) -> Tensor:
    """Which tokens to hide, of the shape of the ids, [..., position]: a share of the ordinary ones.

    At least one of each row, if it has one, so that every row has a question. Special tokens stay, also a [MASK] that
    was typed: what stood there nobody knows.
    """
    ordinary = ids > MASK
    drawn = torch.rand(ids.shape, generator=generator).masked_fill(~ordinary, 2.0)
    return (drawn < share) | (ordinary & (drawn == drawn.min(-1, keepdim=True).values))
