"""What an attention head does: where it looks, what it adds, and why its scores are scaled and masked as they are.

An attention is named by its module's path, `decoder.layers.0.self_attention`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer import glossary
from explorer.analysis.stream import parameter, read_by, sublayers
from explorer.trace import Trace

RANDOM_WIDTHS = (16, 32, 64, 128)


def attentions(trace: Trace) -> list[str]:
    """The paths of all attentions, in the order of the pass."""
    return [sub.path for sub in sublayers(trace) if sub.kind.endswith("_attention")]


def spread(weights: Tensor, allowed: Tensor) -> Tensor:
    """How evenly each query's weights lie over the keys that it may look at, [..., query]: 0 on one, 1 on all alike.

    The entropy of the weights over the largest that as many keys allow. A query with a single key has no choice: NaN.
    """
    entropy = -torch.special.xlogy(weights, weights).sum(-1)
    largest = allowed.sum(-1).to(weights.dtype).log()
    return torch.where(largest > 0, (entropy / largest).clamp(0, 1), math.nan)


@dataclass(frozen=True)
class Measures:
    """A head in plain words: how much weight its queries give to ..., on average.

    itself, previous, next   the query's own token and those beside it (None in cross-attention, where query and key
                             stand in different texts, so that equal places mean nothing)
    first                    the first token of the text that is looked at
    same                     the same token elsewhere in it
    spread                   see `spread`

    Only queries that may look at such a key are counted (the first token has none before it); None where there are
    none at all.
    """

    stack: str
    layer: int
    kind: str
    head: int
    path: str
    itself: float | None
    previous: float | None
    next: float | None
    first: float | None
    same: float | None
    spread: float | None


def measures(trace: Trace) -> list[Measures]:
    """The measures of every head, in the order of the pass."""
    rows = []
    for sub in sublayers(trace):
        if not sub.kind.endswith("_attention"):
            continue
        weights, allowed = trace[f"{sub.path}.weights"].tensor, trace[f"{sub.path}.allowed"].tensor
        kinds = _kinds(trace, sub.path, crossing=sub.kind == "cross_attention")
        shares = {name: _share(weights, allowed, keys) for name, keys in kinds.items()}
        spreads = spread(weights, allowed)
        for head in range(len(weights)):
            own = {name: None if share is None else float(share[head]) for name, share in shares.items()}
            known = spreads[head][~spreads[head].isnan()]
            own["spread"] = float(known.mean()) if len(known) else None
            rows.append(Measures(sub.stack, sub.layer, sub.kind, head, sub.path, **own))
    return rows


def _kinds(trace: Trace, path: str, crossing: bool) -> dict[str, Tensor | None]:
    """For each measure the pairs that it asks about, [query, key]."""
    asking, asked = _ids(trace, path)
    query, key = torch.arange(len(asking)).unsqueeze(-1), torch.arange(len(asked))
    same = asking.unsqueeze(-1) == asked
    return {
        "itself": None if crossing else query == key,
        "previous": None if crossing else key == query - 1,
        "next": None if crossing else key == query + 1,
        "first": (key == 0).expand_as(same),
        "same": same if crossing else same & (query != key),
    }


def _ids(trace: Trace, path: str) -> tuple[Tensor, Tensor]:
    """The ids of the text that asks and of the one that is asked."""
    asking = trace[f"{path.split('.')[0]}.embedding.ids"].tensor
    if path.endswith("self_attention"):
        return asking, asking
    return asking, trace[glossary.inputs(f"{path}.allowed", trace)["ids"]].tensor


def _share(weights: Tensor, allowed: Tensor, keys: Tensor | None) -> Tensor | None:
    """The weight on some keys, [head], averaged over the queries that may look at one of them and have a choice."""
    if keys is None:
        return None
    able = (keys & allowed).any(-1) & (allowed.sum(-1) > 1)  # with one key allowed, all weight is there, in any head
    if not able.any():
        return None
    return (weights * (keys & allowed)).sum(-1)[:, able].mean(-1)


@dataclass(frozen=True)
class Contributions:
    """An attention's output in parts: with `bias`, [d_model], the `parts`, [head, query, d_model], add up to it.

    `share`, [head, query], is each part's share of output minus bias, along its direction: the shares of a query add
    up to 1, and one below 0 pulls the other way. `size`, [head, query], is each part's length.
    """

    parts: Tensor
    bias: Tensor
    share: Tensor
    size: Tensor


def contributions(trace: Trace, path: str) -> Contributions:
    """What each head adds to its attention's output: its slice of the columns of W_O, times what it gathered."""
    heads = trace[f"{path}.heads"].tensor
    slices = parameter(trace, f"{path}.w_o.weight").unflatten(-1, (heads.shape[0], heads.shape[-1]))
    parts = torch.einsum("hqv,dhv->hqd", heads, slices)
    whole = parts.sum(0)
    share = (parts * whole).sum(-1) / whole.square().sum(-1)
    return Contributions(parts, parameter(trace, f"{path}.w_o.bias"), share, parts.norm(dim=-1))


def stacked(given: Contributions, query: int) -> Tensor:
    """A query's parts, head by head, then the bias, then their sum, which is the output: [head + 2, d_model]."""
    rows = torch.cat([given.parts[:, query], given.bias.unsqueeze(0)])
    return torch.cat([rows, rows.sum(0, keepdim=True)])


@dataclass(frozen=True)
class Saturation:
    """Scores of keys and queries of width d_k, divided by its root (`scaled`) or not, before and after softmax.

    `deviation` of the scores; the `largest` weight of a query and the `spread` of its weights, averaged over queries.
    """

    d_k: int
    scaled: bool
    deviation: float
    largest: float
    spread: float


def random_saturation(keys: int = 32, samples: int = 200, seed: int = 0) -> list[Saturation]:
    """Why scores are scaled: random queries and keys of mean 0 and variance 1, wider and wider.

    The deviation of the unscaled scores grows as the root of d_k. `samples` queries have `keys` keys each.
    """
    generator = torch.Generator().manual_seed(seed)
    rows = []
    for d_k in RANDOM_WIDTHS:
        query = torch.randn(samples, 1, d_k, generator=generator, dtype=torch.float64)
        key = torch.randn(samples, keys, d_k, generator=generator, dtype=torch.float64)
        raw = (query @ key.mT).squeeze(-2)
        everywhere = torch.ones_like(raw, dtype=torch.bool)
        rows += [_saturation(d_k, False, raw, everywhere), _saturation(d_k, True, raw / math.sqrt(d_k), everywhere)]
    return rows


def saturation(trace: Trace, path: str, head: int) -> tuple[Saturation, Saturation]:
    """The same for this head's own scores over the keys allowed: without the scaling, and with it."""
    allowed = trace[f"{path}.allowed"].tensor
    d_k = trace[f"{path}.queries"].tensor.shape[-1]
    return (
        _saturation(d_k, False, trace[f"{path}.raw_scores"].tensor[head], allowed),
        _saturation(d_k, True, trace[f"{path}.scores"].tensor[head], allowed),
    )


def unscaled_weights(trace: Trace, path: str, head: int) -> Tensor:
    """What this head's weights would be if its scores were not divided by the root of d_k, [query, key]."""
    raw, allowed = trace[f"{path}.raw_scores"].tensor[head], trace[f"{path}.allowed"].tensor
    return raw.masked_fill(~allowed, -math.inf).softmax(-1)


def _saturation(d_k: int, scaled: bool, scores: Tensor, allowed: Tensor) -> Saturation:
    """Averaged over the queries that have more than one key to choose from."""
    choosing = allowed.sum(-1) > 1
    weights = scores.masked_fill(~allowed, -math.inf).softmax(-1)
    return Saturation(
        d_k,
        scaled,
        deviation=float(scores[allowed].std(correction=0)),
        largest=float(weights.amax(-1)[choosing].mean()),
        spread=float(spread(weights, allowed)[choosing].mean()),
    )


@dataclass(frozen=True)
class Masks:
    """One head's weights, [query, key], under the right mask and under two wrong ones.

    right        minus infinity before the softmax: nothing forbidden, and each row adds up to 1
    zero         a score of 0 before the softmax: e^0 = 1, so a forbidden key still gets weight
    afterwards   the softmax over every key, then zeros: nothing forbidden, but a row no longer adds up to 1
    forbidden    for each of the three, the weight that a query gives to forbidden keys, [query]
    total        for each of the three, the sum of a query's weights, [query]
    """

    right: Tensor
    zero: Tensor
    afterwards: Tensor
    forbidden: dict[str, Tensor]
    total: dict[str, Tensor]


def masks(trace: Trace, path: str, head: int) -> Masks:
    """The right mask beside two wrong ones, on this head's own scores. Where all is allowed the three are equal."""
    scores, allowed = trace[f"{path}.scores"].tensor[head], trace[f"{path}.allowed"].tensor
    made = {
        "right": scores.masked_fill(~allowed, -math.inf).softmax(-1),
        "zero": scores.masked_fill(~allowed, 0).softmax(-1),
        "afterwards": scores.softmax(-1) * allowed,
    }
    return Masks(
        **made,
        forbidden={name: (weights * ~allowed).sum(-1) for name, weights in made.items()},
        total={name: weights.sum(-1) for name, weights in made.items()},
    )


@dataclass(frozen=True)
class Product:
    """One place of a head's width: the query's number there, the key's, and their product."""

    place: int
    query: float
    key: float
    product: float


def products(trace: Trace, path: str, head: int, query: int, key: int) -> list[Product]:
    """How one raw score is made: the products of a pair, place by place, which add up to it."""
    q, k = trace[f"{path}.queries"].tensor[head, query], trace[f"{path}.keys"].tensor[head, key]
    pairs = zip(q.tolist(), k.tolist(), (q * k).tolist(), strict=True)
    return [Product(place, *numbers) for place, numbers in enumerate(pairs)]


def received(trace: Trace, path: str) -> Tensor:
    """The weight that each key is given, [head, key], on average over the queries that may look at it."""
    weights, allowed = trace[f"{path}.weights"].tensor, trace[f"{path}.allowed"].tensor
    return weights.sum(-2) / allowed.sum(-2).clamp(min=1)


@dataclass(frozen=True)
class Asked:
    """What the heads of an attention give to some keys: `share`, [head], and `chance`, if all weights were alike."""

    share: Tensor
    chance: float


def on_keys(trace: Trace, path: str, places: Sequence[int]) -> Asked | None:
    """The weight on the keys at some places, averaged over the queries that may look at one of them and at another.

    None where there is no such query. Raises IndexError for a place that the text does not have.
    """
    weights, allowed = trace[f"{path}.weights"].tensor, trace[f"{path}.allowed"].tensor
    asked = torch.zeros(allowed.shape[-1], dtype=torch.bool)
    asked[list(places)] = True
    able = (asked & allowed).any(-1) & (~asked & allowed).any(-1)
    if not able.any():
        return None
    share = (weights * (asked & allowed)).sum(-1)[:, able].mean(-1)
    chance = ((asked & allowed).sum(-1) / allowed.sum(-1))[able].mean()
    return Asked(share, float(chance))


def sliced_query(trace: Trace, path: str, head: int, query: int) -> Tensor:
    """What a head's query would be if the head read only its own slice of the vector, [d_k], bias included.

    The slice has the width of a head. Heads do not work so: each reads the whole vector (compare `queries`).
    """
    queries = trace[f"{path}.queries"].tensor
    own = slice(head * queries.shape[-1], (head + 1) * queries.shape[-1])
    x = trace[read_by(trace, f"{path}.queries")].tensor[query]
    return parameter(trace, f"{path}.w_q.weight")[own, own] @ x[own] + parameter(trace, f"{path}.w_q.bias")[own]


def overlap(trace: Trace, path: str) -> Tensor:
    """How much two heads look at the same, [head, head]: the weight that both give, averaged over queries.

    1 on the diagonal; 0 where no key gets weight from both. A query with a single key, where heads cannot differ, does
    not count; NaN where no query has a choice.
    """
    weights, choosing = trace[f"{path}.weights"].tensor, trace[f"{path}.allowed"].tensor.sum(-1) > 1
    return torch.minimum(weights.unsqueeze(0), weights.unsqueeze(1)).sum(-1)[..., choosing].mean(-1)


def reading(trace: Trace, path: str, head: int) -> Tensor:
    """How strongly a head's query depends on each number of the vector, [d_model]: the size of W_Q's columns there."""
    d_k = trace[f"{path}.queries"].tensor.shape[-1]
    return parameter(trace, f"{path}.w_q.weight")[head * d_k : (head + 1) * d_k].norm(dim=0)
