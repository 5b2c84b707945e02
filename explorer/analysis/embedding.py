"""The entrance: which tokens lie close to each other, how context moves them, and what depends on the text's length."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from explorer.analysis.stream import Stage, last_stack, position, stages
from explorer.config import SPECIAL_TOKENS, Config
from explorer.trace import Trace
from explorer.transformer import Transformer, sinusoids


@dataclass(frozen=True)
class Neighbour:
    """A token, and how alike its embedding is to another's: by direction alone, and with the lengths in it."""

    id: int
    cosine: float
    dot: float


def nearest(table: Tensor, token: int, count: int = 10, by: Literal["cosine", "dot"] = "cosine") -> list[Neighbour]:
    """The tokens whose embeddings lie closest to one token's, in the matrix E of [vocabulary, d_model].

    The token itself and the special tokens are left out. Raises ValueError for a token that E does not have.
    """
    if not 0 <= token < len(table):
        raise ValueError(f"There is no token {token}; the embedding has {len(table)}, from 0 to {len(table) - 1}.")
    table = table.detach()
    likeness = {"dot": table @ table[token], "cosine": functional.cosine_similarity(table, table[token].unsqueeze(0))}
    order = likeness[by].argsort(descending=True, stable=True).tolist()
    chosen = [id for id in order if id != token and id >= len(SPECIAL_TOKENS)][:count]
    return [Neighbour(id, float(likeness["cosine"][id]), float(likeness["dot"][id])) for id in chosen]


@dataclass(frozen=True)
class Map:
    """The stream of a stack in two dimensions: `points`, [stage, position, 2].

    One basis for all stages, so that a token's points are its way through depth: the two directions, `basis`,
    [2, d_model], along which all these vectors differ most (principal component analysis), around their `centre`.
    `explained`: the share of all variance along each; the rest cannot be seen in the plane. Both are 0 where all
    vectors are the same.
    """

    stages: tuple[Stage, ...]
    points: Tensor
    basis: Tensor
    centre: Tensor
    explained: tuple[float, float]


def plane(trace: Trace, stack: str | None = None) -> Map:
    """A map of the sentence's vectors layer by layer, of the stack that predicts unless another is named.

    Each direction's sign is arbitrary, and set so that its largest component is positive: the same text, the same map.
    """
    found = tuple(stages(trace, stack or last_stack(trace)))
    vectors = torch.stack([trace[stage.path].tensor for stage in found]).double()
    flat = vectors.flatten(0, 1)
    centre = flat.mean(0)
    _, lengths, directions = torch.linalg.svd(flat - centre, full_matrices=False)
    basis = directions[:2]
    basis = basis * basis.gather(1, basis.abs().argmax(1, keepdim=True)).sign()
    variance = lengths.square()
    total = variance.sum()
    same = total <= flat.square().sum() * torch.finfo(flat.dtype).eps  # what rounding leaves of vectors that are equal
    share = variance[:2] * 0 if same else variance[:2] / total
    return Map(found, (vectors - centre) @ basis.mT, basis, centre, (float(share[0]), float(share[1])))


@dataclass(frozen=True)
class Count:
    """How many parameters a part has. `part` is `embedding`, `self_attention`, `cross_attention`, `feed_forward` or
    `norm`; `stack` and `layer` say where it stands (None for what all share, or for a stack's last norm)."""

    part: str
    stack: str | None
    layer: int | None
    parameters: int


def parameters(model: Transformer) -> list[Count]:
    """The model's parameters, part by part, in its own order: together all there are, each counted once.

    None of these numbers depends on the length of a text.
    """
    counts: dict[tuple[str, str | None, int | None], int] = {}
    for path, weight in model.named_parameters():
        stack, *rest = path.split(".")
        layer = int(rest[1]) if rest[0] == "layers" else None
        if rest[0] == "embedding":
            key = ("embedding", None, None)
        elif "norm" in rest:
            key = ("norm", stack, layer)
        else:
            key = (rest[2], stack, layer)
        counts[key] = counts.get(key, 0) + weight.numel()
    return [Count(*key, count) for key, count in counts.items()]


@dataclass(frozen=True)
class Wave:
    """One sine and cosine pair of the positions: places `pair` = (2i, 2i + 1) of the vector.

    `frequency` in radians a token, `wavelength` in tokens: after so many the wave is where it was.
    """

    pair: tuple[int, int]
    frequency: float
    wavelength: float


def waves(d_model: int) -> list[Wave]:
    """The sinusoids that positions are made of, from the fastest (2 pi tokens) to the slowest."""
    angles = sinusoids(2, d_model)[1].unflatten(-1, (-1, 2))
    frequencies = torch.atan2(angles[:, 0], angles[:, 1]).tolist()
    return [Wave((2 * i, 2 * i + 1), f, 2 * math.pi / f) for i, f in enumerate(frequencies)]


@dataclass(frozen=True)
class Growth:
    """What a text of `length` tokens asks of a model: what stays and what grows.

    parameters   the same for every length
    stream       numbers in the residual stream at one place: length x d_model
    scores       in one head's matrix: length x length
    all_scores   over all heads and layers of the stacks, as if source and target were both that long
    """

    length: int
    parameters: int
    stream: int
    scores: int
    all_scores: int


def growth(model: Transformer, lengths: Sequence[int]) -> list[Growth]:
    """The sizes for several lengths."""
    config = model.config
    total = sum(count.parameters for count in parameters(model))
    return [Growth(n, total, n * config.d_model, n * n, n * n * config.heads * attentions(config)) for n in lengths]


def attentions(config: Config) -> int:
    """How many attentions the model has: one a layer, and another in each layer that looks at another stack."""
    return config.layers * (len(config.stacks) + (len(config.stacks) > 1))


def alike(trace: Trace, first: int, second: int, stack: str | None = None) -> list[float]:
    """The cosine between two positions' vectors at each stage of the stream: how context draws them apart or together.

    Raises ValueError, with both numbers, for a position that the text does not have.
    """
    stack = stack or last_stack(trace)
    one, other = position(trace, first, stack), position(trace, second, stack)
    vectors = [trace[stage.path].tensor for stage in stages(trace, stack)]
    return [float(functional.cosine_similarity(x[one], x[other], dim=0)) for x in vectors]
