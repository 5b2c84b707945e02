"""From logits to the one token that is written: temperature, then top-k, then top-p, over the whole vocabulary."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Sampling:
    """What each step leaves of a distribution.

    `tempered`, [vocabulary]: the softmax of the logits divided by the temperature. `order`: ids, the likeliest first.
    `kept`, [vocabulary]: who may be drawn. `shares`, [vocabulary]: the chances of the draw, 0 for the others.
    `by_k` and `by_p` are the mass of `tempered` that each filter takes away, `after_k` and `count` how many are left.
    """

    tempered: Tensor
    order: Tensor
    kept: Tensor
    shares: Tensor
    by_k: float
    by_p: float
    after_k: int
    count: int


def sample(logits: Tensor, temperature: float = 1.0, k: int = 0, p: float = 1.0) -> Sampling:
    """The chances with which a token is drawn from logits, [vocabulary].

    The `k` likeliest stay (0: all). Of these, shared out anew, the likeliest stay whose sum first reaches `p`
    (Holtzman et al. 2020); there is always one. Raises ValueError for a temperature of 0 or less, a negative k, or a p
    outside (0, 1].
    """
    if not temperature > 0:
        raise ValueError(f"The temperature is {temperature}; choose one above 0.")
    if k < 0:
        raise ValueError(f"k is {k}; choose 0 for all tokens, or how many.")
    if not 0 < p <= 1:
        raise ValueError(f"p is {p}; choose one above 0 and up to 1.")
    tempered = (logits.double() / temperature).softmax(-1)
    mass, order = tempered.sort(descending=True, stable=True)
    after_k = min(k, len(order)) if k else len(order)
    head = mass[:after_k]
    before = (head / head.sum()).cumsum(0) - head / head.sum()  # what the likelier ones have together
    count = after_k if p == 1 else max(1, int((before < p).sum()))
    kept = torch.zeros_like(tempered, dtype=torch.bool)
    kept[order[:count]] = True
    shares = torch.where(kept, tempered, 0) / mass[:count].sum()
    return Sampling(
        tempered, order, kept, shares, float(mass[after_k:].sum()), float(mass[count:after_k].sum()), after_k, count
    )


def draw(found: Sampling, seed: int | None = None) -> int:
    """One token by its chance; another each time, unless a seed says which."""
    generator = torch.Generator()
    if seed is None:
        generator.seed()
    else:
        generator.manual_seed(seed)
    return int(torch.multinomial(found.shares, 1, generator=generator))
