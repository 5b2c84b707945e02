"""Which words the models have read, and how often: so that the explorer can say where a sentence leaves their world."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from explorer.checkpoints import SEEN, words
from explorer.training import corpus, grammar
from explorer.training.objectives import BATCH_TOKENS

RAREST = 3  # words read less often are left out: a word met once or twice is as good as unknown
SENTENCES = 200_000  # of the grammar, about as many as a translator reads
TOKENS_A_WORD = 1.5


def build(corpora: Path, budget_tokens: int, seed: int, path: Path = SEEN) -> None:
    """Count the words of what encoder and decoder read within a budget, and of what the encoder-decoder reads."""
    texts = corpus.mix(corpus.reading(corpora, seed), lambda text: max(1, len(text.split())))
    reading = Counter()
    while reading.total() * TOKENS_A_WORD < budget_tokens:
        reading.update(word.text for word in words("\n".join(islice(texts, BATCH_TOKENS))))
    translating = count(pair.english for pair in islice(grammar.training_pairs(seed), SENTENCES))
    translating += count(pair.english for pair in corpus.natural_pairs(corpora))
    lines = [
        f"{word}\t{reading[word]}\t{translating[word]}"
        for word in sorted(reading.keys() | translating.keys())
        if max(reading[word], translating[word]) >= RAREST
    ]
    path.write_text("\n".join(["word\treading\ttranslating", *lines]) + "\n", encoding="utf-8")


def count(texts: Iterable[str]) -> Counter:
    return Counter(word.text for text in texts for word in words(text))
