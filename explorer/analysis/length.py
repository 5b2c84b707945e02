"""What a model does with texts longer than those that it was trained on.

The models have no limit: positions are waves, which go on for ever. Whether the weights make sense of far positions is
another question, and is measured here on bundled sentences in two languages (see `memory.sentences`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from explorer.config import BOS, EOS, MASK
from explorer.transformer import Transformer

REACH = 512  # positions that are measured: twice as many as the models that read long texts were trained on
STRETCH = 64  # positions that are averaged; so far, too, the text is moved on from one run to the next
STRUNG = (1, 2, 3, 4, 6, 10)  # sentences that an encoder-decoder, trained on single ones, is given at once
EVERY = 7  # of an encoder's tokens one in so many is masked

Losses = Iterator[tuple[Tensor, Tensor]]  # the places that were predicted, and the loss at each


@dataclass(frozen=True)
class Stretch:
    """The positions `first` to `last` and the loss there, in nats a token, over `tokens` predictions."""

    first: int
    last: int
    loss: float
    tokens: int


@dataclass(frozen=True)
class Strung:
    """The loss of a translation, in nats a token, when `sentences` are translated at once, of `source` tokens."""

    sentences: int
    source: float
    loss: float
    tokens: int


def losses(model: Transformer, text: Sequence[int]) -> list[Stretch]:
    """The loss of an encoder or a decoder by position, on one long text (its ids, without special tokens).

    The text is a ring that is read from many places, so that the same tokens come by at every stretch of positions:
    what differs from stretch to stretch is the place. A decoder predicts the next token; an encoder every seventh
    one, which is masked. Raises ValueError where the text is shorter than what is read at once.
    """
    read = {"decoder": _next_token, "encoder": _masked_tokens}[model.config.architecture]
    sums: dict[int, list[float]] = {}
    with torch.inference_mode():
        for places, found in read(model, text):
            for place, loss in zip((places // STRETCH).tolist(), found.tolist(), strict=True):
                sums.setdefault(place, []).append(loss)
    return [
        Stretch(place * STRETCH, place * STRETCH + STRETCH - 1, sum(found) / len(found), len(found))
        for place, found in sorted(sums.items())
    ]


def strung(
    model: Transformer, encode: Callable[[str], list[int]], english: Sequence[str], korean: Sequence[str]
) -> list[Strung]:
    """The loss of an encoder-decoder on the same pairs of sentences, given one by one, two by two and so on.

    `encode` gives a text's ids, without special tokens.
    Raises ValueError when the two have not the same number of sentences.
    """
    if len(english) != len(korean):
        raise ValueError(f"There are {len(english)} sentences and {len(korean)} translations; each needs one.")
    found = []
    with torch.inference_mode():
        for together in STRUNG:
            sums, tokens, read = 0.0, 0, []
            for start in range(0, len(english), together):
                pairs = slice(start, start + together)
                source = torch.tensor([BOS, *encode(" ".join(english[pairs])), EOS])
                target = torch.tensor([BOS, *encode(" ".join(korean[pairs])), EOS])
                logits = model.predict(model.vectors(source, target[:-1]))
                sums += float(functional.cross_entropy(logits, target[1:], reduction="sum"))
                tokens += len(target) - 1
                read.append(len(source))
            found.append(Strung(together, sum(read) / len(read), sums / tokens, tokens))
    return found


def _ring(ids: Sequence[int]) -> list[tuple[Tensor, Tensor]]:
    """A text read from many places, and where each of its tokens stands in the ring, [REACH] both."""
    flat = torch.tensor(ids)
    if len(flat) < REACH:
        raise ValueError(f"The text has {len(flat)} tokens; {REACH} are read at once.")
    ring = torch.arange(len(flat))
    return [(flat.roll(-start)[:REACH], ring.roll(-start)[:REACH]) for start in range(0, len(flat), STRETCH)]


def _next_token(model: Transformer, ids: Sequence[int]) -> Losses:
    for text, _ in _ring(ids):
        logits = model.predict(model.vectors(None, torch.cat([torch.tensor([BOS]), text[:-1]])))
        yield torch.arange(REACH), functional.cross_entropy(logits, text, reduction="none")


def _masked_tokens(model: Transformer, ids: Sequence[int]) -> Losses:
    for text, places in _ring(ids):
        hidden = (places % EVERY == 0).nonzero().squeeze(-1)
        read = torch.cat([torch.tensor([BOS]), text.index_fill(0, hidden, MASK)[:-2], torch.tensor([EOS])])
        hidden = hidden[hidden < REACH - 2]
        logits = model.predict(model.vectors(read, None)[hidden + 1])
        yield hidden + 1, functional.cross_entropy(logits, text[hidden], reduction="none")
