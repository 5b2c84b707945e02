"""The tokenizer: one byte-level BPE for both languages (Sennrich et al. 2016; on bytes as in Radford et al. 2019)."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from explorer.config import SPECIAL_TOKENS, Config
from explorer.training import corpus

SEED = 20  # of the grammar's sentences in the sample
CHARACTERS = 6_000_000  # of stories: enough for counts that no longer change the merges, and balanced against Korean
SENTENCES = 120_000


def build(corpora: Path, path: Path) -> None:
    """Learn the merges from the training half of the corpora and write them to `path`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=Config.vocabulary,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(sample(corpora), trainer)
    learnt = json.loads(tokenizer.to_str())
    # The library would find added tokens inside any text; here a person who types "[BOS]" means five characters.
    learnt["added_tokens"] = []
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(learnt, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


def sample(corpora: Path) -> Iterator[str]:
    """English and Korean in about equal number of words."""
    taken = 0
    for story in corpus.documents(corpora, corpus.TINYSTORIES):
        yield story
        taken += len(story)
        if taken > CHARACTERS:
            break
    for source in (corpus.PRATHAM, corpus.STORYBOOK_EN, corpus.STORYBOOK_KO, corpus.CHATBOT, corpus.SPOKEN):
        yield from corpus.documents(corpora, source)
    for pair in corpus.natural_pairs(corpora):
        yield pair.korean
    for pair in islice(corpus.grammar.training_pairs(SEED), SENTENCES):
        yield pair.english
        yield pair.korean
