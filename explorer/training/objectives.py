"""What each architecture is trained to do: how its batches are made of text, and how its loss is computed.

decoder           next token: each position predicts the token after it
encoder           masked tokens: a quarter of the tokens are replaced by [MASK], and those are predicted (Devlin et al.
                  2019, there 15 %; more masks teach more a step, Wettig et al. 2023; always the mask itself, since
                  here a prediction is only ever asked of a mask)
encoder-decoder   translation, with teacher forcing: the decoder reads BOS, y1, ..., and predicts y1, ..., EOS

One decoder more is trained without its mask, to show what the mask is for: its answers stand in sight.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from explorer.config import BOS, EOS, MASK, MASKED_SHARE, MAX_TOKENS, PAD
from explorer.masking import padded, to_hide
from explorer.trace import Record, silent, unmasked
from explorer.training import corpus
from explorer.transformer import Transformer

BATCH_TOKENS = 2048  # small: with few tokens to read, more steps teach more than larger ones
LOGIT_ROWS = 256
SHORT_BATCHES = 0.4  # of an encoder's batches: it sees whole windows and short texts, since readers type both

Batch = tuple[Tensor, ...]


@dataclass(frozen=True)
class Objective:
    """`batches(folder, tokenizer, seed)` yields batches for ever; `loss(model, batch)` is in nats a predicted token."""

    name: str
    batches: Callable[[Path, Tokenizer, int], Iterator[Batch]]
    loss: Callable[[Transformer, Batch], Tensor]
    tokens: Callable[[Batch], int]  # read in a batch, padding not counted


def encoded_documents(folder: Path, tokenizer: Tokenizer, seed: int) -> Iterator[list[int]]:
    """Token ids of the mixed documents, each ended by EOS."""
    sources = [(share, encoded(texts, tokenizer)) for share, texts in corpus.reading(folder, seed)]
    return corpus.mix(sources, len)


def encoded(texts: Iterator[str], tokenizer: Tokenizer) -> Iterator[list[int]]:
    for text in texts:
        yield [*tokenizer.encode(text).ids, EOS]


def windows(texts: Iterator[list[int]], length: int) -> Iterator[list[int]]:
    """Texts one after the other, each begun by BOS, cut into windows of `length`; a cut text goes on after a new BOS.

    So every window begins with BOS, as everything that a reader types does.
    """
    window = [BOS]
    for text in texts:
        for token in (*text, BOS):
            window.append(token)
            if len(window) == length:
                yield window
                window = [BOS]


def next_token_batches(folder: Path, tokenizer: Tokenizer, seed: int) -> Iterator[Batch]:
    """Windows of ids, [batch, position]."""
    stream = windows(encoded_documents(folder, tokenizer, seed), MAX_TOKENS)
    while True:
        yield (torch.tensor([next(stream) for _ in range(BATCH_TOKENS // MAX_TOKENS)]),)


def next_token_loss(model: Transformer, batch: Batch, record: Record = silent) -> Tensor:
    (ids,) = batch
    return mean_loss(model, model.vectors(None, ids[:, :-1], record).flatten(0, 1), ids[:, 1:].flatten())


def unmasked_loss(model: Transformer, batch: Batch) -> Tensor:
    """Next token with the mask left out: all positions but the last see what they are asked for."""
    return next_token_loss(model, batch, unmasked)


def mean_loss(model: Transformer, vectors: Tensor, expected: Tensor) -> Tensor:
    """Cross-entropy of the predictions from vectors, [row, d_model], in nats a token; padding is not asked.

    Taken a few rows at a time: their logits then stay in the processor's cache, which halves the time.
    """
    pieces = zip(vectors.split(LOGIT_ROWS), expected.split(LOGIT_ROWS), strict=True)
    losses = [
        functional.cross_entropy(model.predict(rows), ids, ignore_index=PAD, reduction="sum") for rows, ids in pieces
    ]
    return torch.stack(losses).sum() / (expected != PAD).sum()


def masked_batches(folder: Path, tokenizer: Tokenizer, seed: int) -> Iterator[Batch]:
    """(ids with masks, ids as they were, where the masks are), each [batch, position]."""
    chance = random.Random(seed)
    generator = torch.Generator().manual_seed(seed)
    texts = encoded_documents(folder, tokenizer, seed)
    stream = windows(texts, MAX_TOKENS)
    ends = sentence_ends(tokenizer)
    while True:
        if chance.random() < SHORT_BATCHES:
            rows = [excerpt(next(texts), ends, chance) for _ in range(BATCH_TOKENS // 40)]
            ids = padded(rows)
        else:
            ids = torch.tensor([next(stream) for _ in range(BATCH_TOKENS // MAX_TOKENS)])
        yield masked(ids, generator)


def sentence_ends(tokenizer: Tokenizer) -> frozenset[int]:
    """The tokens after which a new sentence may begin."""
    return frozenset(
        i for i in range(tokenizer.get_vocab_size()) if tokenizer.decode([i]).endswith((".", "?", "!", '"', "\n"))
    )


def excerpt(text: list[int], ends: frozenset[int], chance: random.Random) -> list[int]:
    """A few sentences of a text as a reader would type them: BOS, at most 62 tokens, EOS."""
    starts = [0] + [i + 1 for i, token in enumerate(text[:-2]) if token in ends]
    start = chance.choice(starts)
    limit = start + chance.randint(8, 62)
    stops = [i + 1 for i, token in enumerate(text[:-1]) if token in ends and start < i + 1 <= limit]
    stop = stops[-1] if stops else min(limit, len(text) - 1)
    return [BOS, *text[start:stop], EOS]


def masked(ids: Tensor, generator: torch.Generator, share: float = MASKED_SHARE) -> Batch:
    """Replace a share of the ordinary tokens by MASK (see explorer.masking)."""
    chosen = to_hide(ids, generator, share)
    return ids.masked_fill(chosen, MASK), ids, chosen


def masked_loss(model: Transformer, batch: Batch) -> Tensor:
    asked, ids, chosen = batch
    return mean_loss(model, model.vectors(asked, None)[chosen], ids[chosen])


def translation_batches(folder: Path, tokenizer: Tokenizer, seed: int) -> Iterator[Batch]:
    """(source, target), each [batch, position]; pairs of like length together, so that little is padding."""
    chance = random.Random(seed)
    pairs = corpus.mix(
        [(share, encoded_pairs(texts, tokenizer)) for share, texts in corpus.translating(folder, seed)],
        lambda pair: len(pair[0]) + len(pair[1]),
    )
    while True:
        pool = sorted((next(pairs) for _ in range(6000)), key=lambda pair: len(pair[0]) + len(pair[1]))
        batches, batch, size = [], [], 0
        for pair in pool:
            batch.append(pair)
            size += len(pair[0]) + len(pair[1])
            if size >= BATCH_TOKENS:
                batches.append(batch)
                batch, size = [], 0
        chance.shuffle(batches)
        for batch in batches:
            sources, targets = zip(*batch, strict=True)
            yield padded(list(sources)), padded(list(targets))


def encoded_pairs(pairs: Iterator[tuple[str, str]], tokenizer: Tokenizer) -> Iterator[tuple[list[int], list[int]]]:
    for english, korean in pairs:
        yield [BOS, *tokenizer.encode(english).ids, EOS], [BOS, *tokenizer.encode(korean).ids, EOS]


def translation_loss(model: Transformer, batch: Batch) -> Tensor:
    source, target = batch
    return mean_loss(model, model.vectors(source, target[:, :-1]).flatten(0, 1), target[:, 1:].flatten())


def count(batch: Batch) -> int:
    """Tokens read, padding not counted."""
    return sum(int((ids != PAD).sum()) for ids in batch)


OBJECTIVES = {
    "decoder": Objective("next token", next_token_batches, next_token_loss, count),
    "encoder": Objective("masked tokens", masked_batches, masked_loss, lambda batch: count(batch[:1])),
    "encoder-decoder": Objective("translation", translation_batches, translation_loss, count),
}
WITHOUT_MASK = Objective("next token, without the mask", next_token_batches, unmasked_loss, count)
