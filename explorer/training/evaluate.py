"""Held-out figures: what a model scores on text that it was not trained on.

Each architecture is asked what it was trained for. The figures on public text need the corpora; those on the text
that ships with the project, and on new sentences of the grammar, do not.
"""

from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional
from tqdm import tqdm

from explorer.config import BOS, EOS, MASK, MAX_TOKENS, PAD
from explorer.masking import padded
from explorer.trace import Record, silent, unmasked
from explorer.training import corpus, grammar
from explorer.training.objectives import encoded, masked, windows
from explorer.transformer import Transformer

SEED = 1_000_003  # of the masks and of the grammar's held-out sentences; no training uses it
SHIPPED = {"en": Path(__file__).parent / "held_out.en.txt", "ko": Path(__file__).parent / "held_out.ko.txt"}
GRAMMAR_SENTENCES = 1000
LONGEST_TRANSLATION = 64  # tokens
TATOEBA_PAIRS = 300
EVALUATED_SHARE = 0.15  # of tokens masked, as Devlin et al. 2019, so that figures can be compared
WINDOWS = 48  # of each text at most
STRETCH = 32  # positions of a window whose losses are averaged
FEWEST = 100  # predictions that a mean by position is taken of


@torch.no_grad()
def evaluate(model: Transformer, tokenizer: Tokenizer, corpora: Path | None, masked: bool = True) -> dict:
    """The held-out figures of a model, by name. Without `corpora` those on public text are left out.

    A decoder that was trained without its mask (not `masked`) is asked as it was trained, with the answers in sight.
    """
    if model.config.architecture == "encoder-decoder":
        return translation(model, tokenizer, corpora)
    score = {"decoder": next_token, "encoder": masked_tokens}[model.config.architecture]
    if not masked:
        score = partial(next_token, record=unmasked)
    figures = {}
    for name, texts in tqdm(list(held_out_texts(corpora)), desc=model.config.name, unit="text"):
        ids = list(islice(windows(encoded(iter(texts), tokenizer), MAX_TOKENS), WINDOWS))
        if not ids:  # the shipped texts are shorter than a window
            ids = [[BOS, *tokenizer.encode(text).ids, EOS][:MAX_TOKENS] for text in texts]
        figures[name] = score(model, ids)
    return figures


def held_out_texts(corpora: Path | None) -> Iterator[tuple[str, list[str]]]:
    yield "shipped_en", shipped("en")
    yield "shipped_ko", shipped("ko")
    pairs = list(islice(grammar.held_out_pairs(SEED), GRAMMAR_SENTENCES))
    yield "grammar_en", ["\n".join(pair.english for pair in pairs[i : i + 8]) for i in range(0, len(pairs), 8)]
    yield "grammar_ko", ["\n".join(pair.korean for pair in pairs[i : i + 8]) for i in range(0, len(pairs), 8)]
    if corpora is None:
        return
    yield "tinystories", corpus.documents(corpora, corpus.TINYSTORIES, held_out=True)
    yield "spoken_korean", corpus.documents(corpora, corpus.SPOKEN, held_out=True)
    yield "chatbot_korean", corpus.documents(corpora, corpus.CHATBOT, held_out=True)


def shipped(language: str) -> list[str]:
    """The project's own held-out text, one document a paragraph."""
    return [text.strip() for text in SHIPPED[language].read_text(encoding="utf-8").split("\n\n") if text.strip()]


def next_token(model: Transformer, ids: list[list[int]], record: Record = silent) -> dict:
    """Mean loss in nats a token, also by position, and how many tokens were predicted."""
    places, losses = [], []
    for row in ids:
        row = torch.tensor(row)
        logits = model.predict(model.vectors(None, row[:-1], record))
        places.append(torch.arange(len(row) - 1))
        losses.append(functional.cross_entropy(logits, row[1:], reduction="none"))
    loss = torch.cat(losses)
    figures = {"loss": round(float(loss.mean()), 4), "tokens": len(loss)}
    return figures | by_position(torch.cat(places), loss, STRETCH)


def masked_tokens(model: Transformer, ids: list[list[int]]) -> dict:
    """Share of masked tokens whose best prediction is right, mean loss, also by position, and how many were masked."""
    generator = torch.Generator().manual_seed(SEED)
    places, losses, right = [], [], 0
    for row in ids:
        hidden, row, chosen = masked(torch.tensor(row), generator, EVALUATED_SHARE)
        logits = model.predict(model.vectors(hidden, None)[chosen])
        places.append(chosen.nonzero().squeeze(-1))
        losses.append(functional.cross_entropy(logits, row[chosen], reduction="none"))
        right += int((logits.argmax(-1) == row[chosen]).sum())
    loss = torch.cat(losses)
    figures = {"top1": round(right / len(loss), 4), "loss": round(float(loss.mean()), 4), "masked": len(loss)}
    return figures | by_position(torch.cat(places), loss, STRETCH)


def by_position(places: Tensor, losses: Tensor, stretch: int) -> dict:
    """For each stretch of positions, its first one and the mean loss; nothing where few tokens were predicted."""
    found = []
    for first in range(0, int(places.max()) + 1, stretch):
        here = losses[(places >= first) & (places < first + stretch)]
        if len(here) >= FEWEST:
            found.append([first, round(float(here.mean()), 4)])
    return {"by_position": found} if len(found) > 1 else {}


def translation(model: Transformer, tokenizer: Tokenizer, corpora: Path | None) -> dict:
    """Exact matches and chrF (Popović 2015) of greedy translations, and the loss with the right words so far."""
    held_out = list(islice(grammar.held_out_pairs(SEED), GRAMMAR_SENTENCES))
    known = list(islice(grammar.training_pairs(SEED), GRAMMAR_SENTENCES))
    asked = {
        "grammar": [(pair.english, pair.korean) for pair in held_out],
        "grammar_known_combinations": [(pair.english, pair.korean) for pair in known],
        "shipped": list(zip(shipped("en")[0].splitlines(), shipped("ko")[0].splitlines(), strict=True)),
    }
    if corpora is not None:
        natural = corpus.natural_pairs(corpora, held_out=True)
        asked["tatoeba"] = [(p.english, p.korean) for p in natural if p.source == "tatoeba"][:TATOEBA_PAIRS]
    return {
        name: {**translations(model, tokenizer, pairs), **forced(model, tokenizer, pairs)}
        for name, pairs in asked.items()
    }


def forced(model: Transformer, tokenizer: Tokenizer, pairs: list[tuple[str, str]]) -> dict:
    """Mean loss in nats a token, also by position, when the decoder is given the right words so far."""
    places, losses = [], []
    for start in range(0, len(pairs), 50):
        batch = pairs[start : start + 50]
        source = padded([[BOS, *tokenizer.encode(english).ids, EOS] for english, _ in batch])
        target = padded([[BOS, *tokenizer.encode(korean).ids, EOS] for _, korean in batch])
        logits = model.predict(model.vectors(source, target[:, :-1]))
        asked = target[:, 1:] != PAD
        places.append(asked.nonzero()[:, 1])
        losses.append(functional.cross_entropy(logits[asked], target[:, 1:][asked], reduction="none"))
    loss = torch.cat(losses)
    return {"loss": round(float(loss.mean()), 4)} | by_position(torch.cat(places), loss, 1)


def translations(model: Transformer, tokenizer: Tokenizer, pairs: list[tuple[str, str]]) -> dict:
    from sacrebleu.metrics import CHRF

    said = []
    for start in tqdm(range(0, len(pairs), 50), desc=model.config.name, unit="batch"):
        sources = [[BOS, *tokenizer.encode(english).ids, EOS] for english, _ in pairs[start : start + 50]]
        said += [tokenizer.decode(ids) for ids in greedy(model, padded(sources))]
    right = sum(korean == translation for (_, korean), translation in zip(pairs, said, strict=True))
    chrf = CHRF().corpus_score(said, [[korean for _, korean in pairs]]).score
    return {"exact": round(right / len(pairs), 4), "chrf": round(chrf, 2), "sentences": len(pairs)}


def greedy(model: Transformer, source: Tensor) -> list[list[int]]:
    """The best next token again and again, for a batch of sources, until each has said EOS."""
    target = torch.full((len(source), 1), BOS)
    done = torch.zeros(len(source), dtype=torch.bool)
    while not done.all() and target.shape[1] < LONGEST_TRANSLATION:
        best = model.predict(model.vectors(source, target)[:, -1]).argmax(-1)
        target = torch.cat([target, best.unsqueeze(-1)], -1)
        done |= best == EOS
    rows = (row[1:].tolist() for row in target)
    return [[token for token in row[: row.index(EOS)] if token > MASK] if EOS in row else row for row in rows]
