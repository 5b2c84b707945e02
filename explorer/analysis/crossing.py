"""Cross-attention from outside: where a translation looks, and what becomes of it without the words it looks at.

Attention says where a head looked, not what the model needed. So each source token is taken away in turn and the
prediction made again, in two ways: its vector is hidden from every cross-attention of the decoder, or it is hidden
from the encoder as well, whose other vectors otherwise still carry what they gathered from it. A hidden token is one
that the mask does not allow.

Attention: Bahdanau et al. 2015, Vaswani et al. 2017. Against reading it as an explanation: Jain and Wallace 2019.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.config import BOS, EOS
from explorer.trace import Trace
from explorer.transformer import Transformer, everything, everything_before

AT_ONCE = 1_024  # rows of logits in one batch, 4,096 numbers each


@dataclass(frozen=True)
class Effects:
    """What each row of the target predicts, and what becomes of that without single tokens of the source.

    keys            the source positions that were hidden, one after the other
    predicted       the token that is first at each row, [row]; `probability` is its own, [row]
    hidden, unread  its probability when the source token is hidden from the decoder, or from both stacks, [key, row]
    instead         the token that is first when it is hidden from the decoder, [key, row]
    """

    keys: tuple[int, ...]
    predicted: Tensor
    probability: Tensor
    hidden: Tensor
    unread: Tensor
    instead: Tensor

    @property
    def loss(self) -> Tensor:
        """How much of the probability goes with the token that is hidden from the decoder, [key, row]."""
        return self.probability - self.hidden


def effects(model: Transformer, source: Tensor, target: Tensor, keys: Sequence[int] | None = None) -> Effects:
    """Hide source tokens (all of them, or those at `keys`) one at a time and predict every row again.

    Raises ValueError for a model without cross-attention, and for a source of a single token: without it there would
    be nothing to look at.
    """
    if model.config.architecture != "encoder-decoder":
        raise ValueError(f"{model.config.name} has no cross-attention; choose an encoder-decoder.")
    if len(source) < 2:
        raise ValueError(f"A source of {len(source)} token has none to spare; give at least 2.")
    keys = tuple(range(len(source)) if keys is None else keys)
    before = everything_before(target)
    with torch.inference_mode():
        allowed = everything(target, source)
        memory = model.encoder(source, everything(source, source))

        def probabilities(memory: Tensor, allowed: Tensor) -> Tensor:
            return model.predict(model.decoder(target, before, memory, allowed)).softmax(-1)

        usual = probabilities(memory, allowed)
        predicted = usual.argmax(-1)
        hidden, unread, instead = [], [], []
        size = max(1, AT_ONCE // len(target))
        for first in range(0, len(keys), size):
            others = torch.arange(len(source)) != torch.tensor(keys[first : first + size]).unsqueeze(-1)
            without = allowed & others.unsqueeze(-2)
            found = probabilities(memory, without)
            hidden.append(_of(found, predicted))
            instead.append(found.argmax(-1))
            apart = model.encoder(source, everything(source, source) & others.unsqueeze(-2))
            unread.append(_of(probabilities(apart, without), predicted))
    return Effects(keys, predicted, _of(usual, predicted), torch.cat(hidden), torch.cat(unread), torch.cat(instead))


def _of(probabilities: Tensor, tokens: Tensor) -> Tensor:
    """The probability of one token a row, [..., row]."""
    return probabilities.gather(-1, tokens.expand(probabilities.shape[:-1]).unsqueeze(-1)).squeeze(-1)


def looks(trace: Trace) -> Tensor:
    """The weights of cross-attention, averaged over every layer and head, [query, key]."""
    found = trace.select("decoder.layers.*.cross_attention.weights").values()
    if not found:
        raise ValueError("This pass has no cross-attention; take that of an encoder-decoder.")
    return torch.stack([value.tensor.mean(0) for value in found]).mean(0)


@dataclass(frozen=True)
class Verdict:
    """How far attention tells what a prediction needs, over the rows of a target.

    Each row is one of three: `same`, where the token that is looked at most is also the one whose loss costs most;
    `other`, where another token costs most; `none`, where no single token costs more than `MATTERS`.
    `row` and `key` are the pair that misleads most: the most weight on a word ([BOS] and [EOS] are none) whose loss
    does not cost as much; None where there is no such pair. `needed` is the token that this row needs most; None where
    it needs none.
    """

    same: int
    other: int
    none: int
    row: int | None
    key: int | None
    needed: int | None


MATTERS = 0.05  # of probability: what the loss of a token must cost to count


def verdict(weights: Tensor, found: Effects, source: Tensor) -> Verdict:
    """Compare weights, [query, key], with what hiding each key from the decoder costs.

    Raises ValueError when not every source token was hidden.
    """
    if len(found.keys) != weights.shape[-1]:
        raise ValueError(f"{len(found.keys)} of {weights.shape[-1]} source tokens were hidden; hide each of them.")
    loss = found.loss.mT
    most, needed = loss.max(-1)
    needy = most > MATTERS
    same = needy & (needed == weights.argmax(-1))
    idle = weights * (loss <= MATTERS) * _words(source)
    counts = {"same": int(same.sum()), "other": int((needy & ~same).sum()), "none": int((~needy).sum())}
    if not idle.any():
        return Verdict(**counts, row=None, key=None, needed=None)
    row, key = divmod(int(idle.argmax()), idle.shape[-1])
    return Verdict(**counts, row=row, key=key, needed=int(needed[row]) if needy[row] else None)


@dataclass(frozen=True)
class Order:
    """How far the word order turns: of the `pairs` of rows that look at different source tokens, `crossed` look at
    them in the opposite order."""

    crossed: int
    pairs: int


def order(weights: Tensor, source: Tensor) -> Order:
    """The order in which rows look at the source, each at the token with most of its weight, [BOS] and [EOS] apart."""
    words = _words(source)
    if not words.any():
        return Order(0, 0)
    place = weights.masked_fill(~words, -1).argmax(-1)
    later = torch.ones(len(place), len(place), dtype=torch.bool).triu(1)
    ahead = place.unsqueeze(0) - place.unsqueeze(1)
    return Order(int(((ahead < 0) & later).sum()), int(((ahead != 0) & later).sum()))


def _words(source: Tensor) -> Tensor:
    return (source != BOS) & (source != EOS)
