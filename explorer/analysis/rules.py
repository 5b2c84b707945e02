"""From rules to attention: ways to share out attention, from the plainest to the learned, and what is wrong with each.

alike        every word that may be looked at counts the same
distance     near words count more: the softmax of minus the distance in tokens
embeddings   like words count more: the softmax of the products of their embeddings, as they enter the model without
             their positions, divided by the root of their width: attention without queries and keys of its own
learned      what the model does

The first three can take the place of the learned weights in a running model (see edits.py).
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn import functional

from explorer import glossary
from explorer.trace import Trace

Rule = Literal["alike", "distance", "embeddings", "learned"]

RULES: tuple[Rule, ...] = get_args(Rule)
LOOK_ALIKE = 0.4  # two tokens look alike from this cosine of their embeddings on


def scores(trace: Trace, path: str, rule: Rule) -> Tensor:
    """The scores by one rule in the attention at `path`, before its mask: [query, key], or for `learned` with heads,
    [head, query, key]. Their softmax under the mask are the rule's weights.

    Raises ValueError for a rule that does not exist.
    """
    if rule not in RULES:
        raise ValueError(f"There is no rule {rule!r}; choose one of {', '.join(RULES)}.")
    if rule == "learned":
        return trace[f"{path}.scores"].tensor
    query, key = (vectors.to(trace[f"{path}.scores"].tensor) for vectors in embeddings(trace, path))
    return score(query, key, rule)


def score(query: Tensor, key: Tensor, rule: Rule) -> Tensor:
    """The scores of a rule that is not learned between vectors that ask and vectors that are asked, [query, key]."""
    if rule == "alike":
        return torch.zeros_like(query[:, :1] @ key[:, :1].mT)
    if rule == "distance":
        apart = torch.arange(len(query)).unsqueeze(-1) - torch.arange(len(key))
        return -apart.abs().to(query)
    return query @ key.mT / math.sqrt(query.shape[-1])


def weights(trace: Trace, path: str, rule: Rule) -> Tensor:
    """The weights by one rule in the attention at `path`, under its mask: [query, key], or for `learned` with heads,
    [head, query, key].

    Raises ValueError for a rule that does not exist.
    """
    found = scores(trace, path, rule)
    if rule == "learned":
        return trace[f"{path}.weights"].tensor
    return found.masked_fill(~trace[f"{path}.allowed"].tensor, -math.inf).softmax(-1)


def embeddings(trace: Trace, path: str) -> tuple[Tensor, Tensor]:
    """The embeddings of the words that ask and of those that are asked, before positions, [position, d_model]."""
    asking = trace[f"{path.split('.')[0]}.embedding.scaled"].tensor
    if path.endswith("self_attention"):
        return asking, asking
    ids = glossary.inputs(f"{path}.allowed", trace)["ids"]
    return asking, trace[f"{ids.removesuffix('.ids')}.scaled"].tensor


@dataclass(frozen=True)
class Rung:
    """One rule on one sentence: its `weights`, [head, query, key] (a single head for a rule that has none), and

    itself       the weight that a word gives to itself, on average over queries and heads (None in cross-attention)
    look_alikes  the weight that it gives to other places whose embedding looks like its own, the same word included;
                 over the queries that have one, None where there is none
    """

    rule: Rule
    weights: Tensor
    itself: float | None
    look_alikes: float | None


def ladder(trace: Trace, path: str) -> list[Rung]:
    """All four rules in the attention at `path`, for the sentence of this trace."""
    query, key = embeddings(trace, path)
    allowed = trace[f"{path}.allowed"].tensor
    crossing = not path.endswith("self_attention")
    own = torch.zeros_like(allowed) if crossing else torch.eye(len(query), dtype=torch.bool)
    cosine = functional.normalize(query, dim=-1) @ functional.normalize(key, dim=-1).mT
    alike = (cosine >= LOOK_ALIKE) & ~own & allowed
    rungs = []
    for rule in RULES:
        made = weights(trace, path, rule)
        made = made if made.dim() == 3 else made.unsqueeze(0)
        asked = alike.any(-1)
        share = (made * alike).sum(-1)[:, asked]
        itself = None if crossing else float(made.diagonal(dim1=-2, dim2=-1).mean())
        rungs.append(Rung(rule, made, itself, float(share.mean()) if asked.any() else None))
    return rungs
