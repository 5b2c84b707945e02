"""Text that a model writes itself, one token after the other.

A step that somebody looks at is a whole pass over all that was written so far: slower than keeping keys and values, and
the same (see cache.py). Where only the words count, keys and values are kept.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from torch import Tensor

from explorer.analysis.cache import Cache
from explorer.analysis.sampling import Sampling, sample
from explorer.config import BOS, EOS
from explorer.transformer import Transformer

Stop = Literal["end", "limit"]  # it wrote [EOS], or as many tokens as it was allowed to

LOOP_TIMES, LOOP_TOKENS = 3, 6  # the same words so many times, and so many tokens in all, are a loop


@dataclass(frozen=True)
class Generated:
    """The ids that a model wrote, without [BOS] and [EOS], and whether it came to an end or ran into the limit."""

    ids: tuple[int, ...]
    finished: bool


def greedy(model: Transformer, source: Tensor, limit: int) -> Generated:
    """Translate source ids, of shape [position], always taking the likeliest next token, up to `limit` of them.

    Raises ValueError for a model that does not translate.
    """
    if model.config.architecture != "encoder-decoder":
        raise ValueError(f"{model.config.name} does not translate; choose an encoder-decoder.")
    ids, cache = [BOS], Cache(model, source)
    while len(ids) <= limit:
        logits, cache = cache.read(torch.tensor(ids[-1:]))
        following = int(logits[-1].argmax())
        if following == EOS:
            return Generated(tuple(ids[1:]), finished=True)
        ids.append(following)
    return Generated(tuple(ids[1:]), finished=False)


# By chance, step by step


@dataclass(frozen=True)
class Settings:
    """How the next token is drawn: see sampling.py. A temperature of 0 always takes the likeliest; k of 0 keeps all.

    Raises ValueError for a temperature below 0 or without end, a negative k, or a p outside (0, 1].
    """

    temperature: float = 1.0
    k: int = 0
    p: float = 1.0
    seed: int = 0

    def __post_init__(self):
        if not 0 <= self.temperature < float("inf"):
            raise ValueError(
                f"The temperature is {self.temperature}; choose 0 (always the likeliest) or a number above."
            )
        if self.k < 0:
            raise ValueError(f"k is {self.k}; choose 0 for all tokens, or how many.")
        if not 0 < self.p <= 1:
            raise ValueError(f"p is {self.p}; choose one above 0 and up to 1.")


@dataclass(frozen=True)
class Candidate:
    """A token that could have been written: its `probability` by the model, and its `chance` under the settings."""

    id: int
    probability: float
    chance: float


@dataclass(frozen=True)
class Loop:
    """The same `length` tokens, `times` times in a row at the end of a text."""

    length: int
    times: int


@dataclass(frozen=True)
class Step:
    """One token written.

    `ids` is the decoder's text so far, this token included, from [BOS] on. `draw`, from 0 to 1, is the random number
    that decided, `rank` the token's place among all by probability (1 is first), `candidates` the likeliest tokens,
    this one among them or not. `stop` says why this is the last step, where it is.
    """

    ids: tuple[int, ...]
    chosen: Candidate
    rank: int
    draw: float
    candidates: tuple[Candidate, ...]
    stop: Stop | None
    loop: Loop | None


def write(
    model: Transformer,
    source: Tensor | None,
    start: Sequence[int],
    settings: Settings | None = None,
    limit: int = 60,
    shown: int = 10,
) -> Iterator[Step]:
    """Go on with a text, `start` (ids from [BOS] on), for up to `limit` tokens, handing out each as it is written.

    The random number of a step hangs on the seed and the token's position alone: a run that is stopped, rewound and
    gone on with writes the same, and one that branches is as repeatable. `shown` candidates are listed.
    Raises ValueError for a model that writes no text, and for an empty start.
    """
    if "decoder" not in model.config.stacks:
        raise ValueError(f"{model.config.name} fills masks in and writes no text; choose one with a decoder.")
    if not start:
        raise ValueError("There is nothing to go on with; start with [BOS] at least.")
    settings = settings or Settings()
    ids = tuple(start)
    for number in range(limit):
        found = step(model, source, ids, settings, shown=shown)
        if number == limit - 1 and not found.stop:
            found = replace(found, stop="limit")
        yield found
        if found.stop:
            return
        ids = found.ids


def step(
    model: Transformer,
    source: Tensor | None,
    ids: Sequence[int],
    settings: Settings,
    chosen: int | None = None,
    shown: int = 10,
) -> Step:
    """Write one token after `ids`: the one that is drawn, or the one that was `chosen` in its place.

    Raises ValueError for a chosen token that the vocabulary does not have.
    """
    with torch.inference_mode():
        logits = model.predict(model.vectors(source, torch.tensor(ids)))[-1]
    if chosen is not None and not 0 <= chosen < len(logits):
        raise ValueError(f"There is no token {chosen}; the vocabulary has {len(logits)}.")
    probabilities, chances = logits.double().softmax(-1), distribution(logits, settings)
    draw = _draw(settings.seed, len(ids))
    if chosen is None:
        chosen = int(chances.order[_place(chances, draw)])

    def candidate(id: int) -> Candidate:
        return Candidate(id, float(probabilities[id]), float(chances.shares[id]))

    # The model's own order: under a low temperature most chances are 0, and say nothing of who comes next.
    order = probabilities.sort(descending=True, stable=True).indices.tolist()
    ids = (*ids, chosen)
    stop: Stop | None = "end" if chosen == EOS else None
    again, listed = loop(ids[1:-1] if stop else ids[1:]), tuple(map(candidate, order[:shown]))
    return Step(ids, candidate(chosen), order.index(chosen) + 1, draw, listed, stop, again)


def mean_log_probability(steps: Sequence[Step]) -> float:
    """The mean log probability, by the model, of the tokens that were written: how a beam search compares texts."""
    return sum(math.log(step.chosen.probability) for step in steps) / len(steps)


def distribution(logits: Tensor, settings: Settings) -> Sampling:
    """The chances of the next draw, over the whole vocabulary, from logits of shape [vocabulary].

    The largest logit is taken off all of them first: it changes no chance, and keeps a tiny temperature from dividing
    its way to infinity.
    """
    shifted = logits.double() - logits.double().max()
    if settings.temperature == 0:
        return sample(shifted, torch.finfo(torch.float64).tiny, k=1)
    return sample(shifted, settings.temperature, settings.k, settings.p)


def _draw(seed: int, position: int) -> float:
    generator = torch.Generator().manual_seed(seed)
    return float(torch.rand(position + 1, generator=generator, dtype=torch.float64)[-1])


def _place(chances: Sampling, draw: float) -> int:
    """Where a random number from 0 to 1 falls, if each token takes up its chance of that line, the likeliest first."""
    line = chances.shares[chances.order[: chances.count]].cumsum(0)
    return min(int(torch.searchsorted(line, draw, right=True)), chances.count - 1)


def loop(ids: Sequence[int]) -> Loop | None:
    """The shortest run of tokens that a text ends by repeating, or None."""
    for length in range(1, len(ids) // LOOP_TIMES + 1):
        last = tuple(ids[len(ids) - length :])
        times = 1
        while tuple(ids[len(ids) - (times + 1) * length : len(ids) - times * length]) == last:
            times += 1
        if times >= LOOP_TIMES and times * length >= LOOP_TOKENS:
            return Loop(length, times)
    return None


# Beam search


@dataclass(frozen=True)
class Node:
    """A token in the tree of a beam search, after those of its `parent` (a node's number; None for the first).

    `log_probability` is its own, `total` that of all from the start to it. `kept` says that the search went on with it
    or ended there (`finished`, it is [EOS]); the others were passed over.
    """

    number: int
    parent: int | None
    depth: int
    id: int
    log_probability: float
    total: float
    kept: bool
    finished: bool

    @property
    def probability(self) -> float:
        """Its own, after the text of its parent."""
        return math.exp(self.log_probability)

    @property
    def mean(self) -> float:
        """The mean log probability of the tokens from the start to it."""
        return self.total / self.depth


@dataclass(frozen=True)
class Beam:
    """A beam search so far: all `nodes`, and the ends of the texts that it holds, the best first.

    Texts are compared by the mean log probability of their tokens, [EOS] included: by the sum alone the shortest would
    win. Finished ones come before those that are still open. `stop` is None while it goes on; "limit" says that a text
    was still open when the search had to end.
    """

    nodes: tuple[Node, ...]
    ends: tuple[Node, ...]
    stop: Stop | None = field(default=None)

    def ids(self, node: Node) -> tuple[int, ...]:
        """The tokens that lead to a node, without [BOS] and [EOS]."""
        found = []
        at: int | None = node.number
        while at is not None:
            found.append(self.nodes[at].id)
            at = self.nodes[at].parent
        return tuple(id for id in reversed(found) if id != EOS)


def beam(
    model: Transformer, source: Tensor | None, start: Sequence[int] = (BOS,), width: int = 4, limit: int = 60
) -> Iterator[Beam]:
    """Look for a likely text by keeping the `width` likeliest at each step; hands out the tree after each.

    A finished text keeps its place among them, so the search ends once every place is taken by one, or at the limit.
    With a width of 1 it is greedy. Raises ValueError for a model that writes no text, or a width below 1.
    """
    if "decoder" not in model.config.stacks:
        raise ValueError(f"{model.config.name} fills masks in and writes no text; choose one with a decoder.")
    if width < 1:
        raise ValueError(f"The width is {width}; keep at least 1 text.")
    nodes: list[Node] = []
    open_texts: list[tuple[Node | None, tuple[int, ...]]] = [(None, tuple(start))]
    finished: list[Node] = []
    for depth in range(limit):
        grown = _grow(model, source, open_texts, width, depth, len(nodes))
        kept = sorted(grown, key=lambda node: -node.total)[: width - len(finished)]
        numbers = {node.number for node in kept}
        nodes += [replace(node, kept=node.number in numbers) for node in grown]
        texts = {node.number if node else None: ids for node, ids in open_texts}
        finished += [nodes[node.number] for node in kept if node.finished]
        open_texts = [(nodes[node.number], (*texts[node.parent], node.id)) for node in kept if not node.finished]
        stop: Stop | None = "end" if not open_texts else "limit" if depth == limit - 1 else None
        going = [node for node, _ in open_texts]
        best_first = [sorted(ends, key=lambda node: node.mean, reverse=True) for ends in (finished, going)]
        yield Beam(tuple(nodes), (*best_first[0], *best_first[1]), stop)
        if stop:
            return


def _grow(model, source, open_texts, width: int, depth: int, first: int) -> list[Node]:
    """The likeliest next tokens of each open text, as nodes that are not kept yet."""
    targets = torch.tensor([ids for _, ids in open_texts])
    sources = None if source is None else source.expand(len(targets), -1)
    with torch.inference_mode():
        logits = model.predict(model.vectors(sources, targets))[:, -1]
    best = logits.double().log_softmax(-1).topk(min(width, logits.shape[-1]))
    grown = []
    for (parent, _), values, ids in zip(open_texts, best.values.tolist(), best.indices.tolist(), strict=True):
        before, number = (parent.total, parent.number) if parent else (0.0, None)
        for value, id in zip(values, ids, strict=True):
            at = first + len(grown)
            grown.append(Node(at, number, depth + 1, id, value, before + value, kept=False, finished=id == EOS))
    return grown
