"""What a model does with texts longer than those that it was trained on.

The models have no limit: positions are waves, which go on for ever. Whether the weights make sense of far positions is
another question, and is measured here on bundled sentences in two languages (see `memory.sentences`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor
from torch.nn import functional

from explorer.config import BOS, EOS, MASK
from explorer.transformer import Transformer

REACH = 512  # positions that are measured: twice as many as the models that read long texts were trained on
STRETCH = 64  # positions that are averaged; so far, too, the text is moved on from one run to the next
PAIRS = 24  # sentences of a text and its translation that are read at once, moved on by a quarter of that
PAIR_STRETCH = 32  # positions that are averaged there, since such a model was trained on single sentences
EVERY = 7  # of an encoder's tokens one in so many is masked

Encoded = Sequence[Sequence[int]]
Losses = Iterator[tuple[Tensor, Tensor]]  # the places that were predicted, and the loss at each


@dataclass(frozen=True)
class Stretch:
    """The positions `first` to `last` and the loss there, in nats a token, over `tokens` predictions."""

    first: int
    last: int
    loss: float
    tokens: int


def losses(model: Transformer, english: Encoded, korean: Encoded) -> list[Stretch]:
    """The loss by position, on sentences (ids without special tokens) strung together to one long text.

    The text is a ring that is read from many places, so that the same tokens come by at every stretch of positions:
    what differs from stretch to stretch is the place. A decoder predicts the next English token; an encoder every
    seventh one, which is masked; an encoder-decoder the Korean sentences, in the order of the English ones.
    Raises ValueError where the texts are shorter than what is read at once.
    """
    kinds = {"decoder": _next_token, "encoder": _masked_tokens, "encoder-decoder": _translation}
    stretch = PAIR_STRETCH if len(model.config.stacks) > 1 else STRETCH
    sums: dict[int, list[float]] = {}
    with torch.inference_mode():
        for places, found in kinds[model.config.architecture](model, english, korean):
            for place, loss in zip((places // stretch).tolist(), found.tolist(), strict=True):
                sums.setdefault(place, []).append(loss)
    return [
        Stretch(place * stretch, place * stretch + stretch - 1, sum(found) / len(found), len(found))
        for place, found in sorted(sums.items())
        if 2 * len(found) >= len(sums[0])  # where the longest texts end there are too few to compare
    ]


def _ring(sentences: Encoded) -> list[tuple[Tensor, Tensor]]:
    """A text read from many places, and where each of its tokens stands in the ring, [REACH] both."""
    flat = torch.tensor(list(chain.from_iterable(sentences)))
    if len(flat) < REACH:
        raise ValueError(f"The sentences have {len(flat)} tokens together; {REACH} are read at once.")
    ring = torch.arange(len(flat))
    return [(flat.roll(-start)[:REACH], ring.roll(-start)[:REACH]) for start in range(0, len(flat), STRETCH)]


def _next_token(model: Transformer, english: Encoded, korean: Encoded) -> Losses:
    for text, _ in _ring(english):
        logits = model.predict(model.vectors(None, torch.cat([torch.tensor([BOS]), text[:-1]])))
        yield torch.arange(REACH), functional.cross_entropy(logits, text, reduction="none")


def _masked_tokens(model: Transformer, english: Encoded, korean: Encoded) -> Losses:
    for text, places in _ring(english):
        hidden = (places % EVERY == 0).nonzero().squeeze(-1)
        read = torch.cat([torch.tensor([BOS]), text.index_fill(0, hidden, MASK)[:-2], torch.tensor([EOS])])
        hidden = hidden[hidden < REACH - 2]
        logits = model.predict(model.vectors(read, None)[hidden + 1])
        yield hidden + 1, functional.cross_entropy(logits, text[hidden], reduction="none")


def _translation(model: Transformer, english: Encoded, korean: Encoded) -> Losses:
    if len(english) != len(korean) or len(english) < PAIRS:
        raise ValueError(f"There are {len(english)} and {len(korean)} sentences; {PAIRS} pairs are read at once.")
    for start in range(0, len(english), PAIRS // 4):
        chosen = [(start + i) % len(english) for i in range(PAIRS)]
        source = torch.tensor([BOS, *chain.from_iterable(english[i] for i in chosen), EOS])
        target = torch.tensor([BOS, *chain.from_iterable(korean[i] for i in chosen), EOS])
        logits = model.predict(model.vectors(source, target[:-1]))
        yield torch.arange(len(target) - 1), functional.cross_entropy(logits, target[1:], reduction="none")
