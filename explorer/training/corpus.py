"""The text that the models read: public sources, and sentences of the project's own grammar.

A folder of plain text files goes in (the README says where each comes from); documents come out, split into
training and held-out by a digest of their own text, so the split is the same on every machine and in every order.
"""

import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from explorer.training import grammar

HELD_OUT_SHARE = 0.02  # of stories and lines
HELD_OUT_PAIRS = 0.08  # of the pairs' meanings: there are few of them


@dataclass(frozen=True)
class Source:
    """A file of the corpora folder, what it is called where it comes from, and under which licence it is published."""

    file: str
    title: str
    licence: str
    language: str


TINYSTORIES = Source("tinystories.en.txt", "TinyStories (Eldan & Li 2023)", "CDLA-Sharing-1.0", "en")
PRATHAM = Source("pratham.en.txt", "Pratham Books picture stories", "CC BY 4.0", "en")
STORYBOOK_EN = Source("african_storybook.en.txt", "African Storybook", "CC BY 3.0", "en")
STORYBOOK_KO = Source("african_storybook.ko.txt", "African Storybook, Korean", "CC BY 4.0", "ko")
CHATBOT = Source("chatbot.ko.txt", "Songys chatbot sentences", "MIT", "ko")
SPOKEN = Source("3i4k.ko.txt", "3i4K spoken Korean", "CC BY-SA 4.0", "ko")
PAIRS = Source(
    "pairs.en-ko.tsv",
    "English-Korean pairs: Tatoeba (CC BY 2.0 FR), StyleKQC with kosp2e and KorSTS captions (CC BY-SA 4.0), "
    "African Storybook (CC BY), school sentences of jungyeul/korean-parallel-corpora (CC BY-SA 3.0)",
    "as named",
    "en-ko",
)
SOURCES = (TINYSTORIES, PRATHAM, STORYBOOK_EN, STORYBOOK_KO, CHATBOT, SPOKEN, PAIRS)


class CorpusError(ValueError):
    """A text file is missing from the corpora folder, or is not what it should be."""


def is_held_out(text: str, share: float = HELD_OUT_SHARE) -> bool:
    """Whether a document is kept for evaluation, by a digest of its text."""
    return zlib.crc32(text.encode()) < share * 2**32


def documents(folder: Path, source: Source, held_out: bool = False) -> list[str]:
    """A source's documents: stories where the file has blank lines between them, else small groups of its lines.

    Lines alone would teach a model that every text ends after a sentence. A line's group is made after the split,
    so that no line is in both halves.
    """
    text = read(folder, source)
    if source in (CHATBOT, SPOKEN):
        lines = [line for line in text.splitlines() if line.strip() and is_held_out(line) == held_out]
        return groups(lines, random.Random(0))
    stories = (story.strip() for story in text.split("\n\n"))
    return [story for story in stories if story and is_held_out(story) == held_out]


def read(folder: Path, source: Source) -> str:
    try:
        return (folder / source.file).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CorpusError(
            f"{folder / source.file} is missing ({source.title}). "
            "The README says where each text comes from; give the folder with --corpora."
        ) from None


def groups(lines: list[str], chance: random.Random, largest: int = 8) -> list[str]:
    """Lines joined into documents of one to `largest` lines, in a shuffled order."""
    lines = list(lines)
    chance.shuffle(lines)
    remaining = iter(lines)
    result = []
    while group := list(islice(remaining, chance.randint(1, largest))):
        result.append("\n".join(group))
    return result


@dataclass(frozen=True)
class SentencePair:
    """An English sentence and its Korean, and where they come from."""

    english: str
    korean: str
    source: str


def natural_pairs(folder: Path, held_out: bool = False) -> list[SentencePair]:
    """Pairs written by people. Split by meaning, since ten paraphrases of one request would leak otherwise.

    For training only Korean in the polite 해요체 is kept, the level of the grammar: mixed levels pull a small model
    apart. Of the paraphrases of one meaning the first three are kept.
    """
    pairs, of_meaning = [], {}
    for line in read(folder, PAIRS).splitlines():
        english, korean, source, meaning = line.split("\t")
        if is_held_out(meaning, HELD_OUT_PAIRS) != held_out:
            continue
        if not held_out:
            if not korean.rstrip(".?!").endswith("요") or len(english) > 120:
                continue
            of_meaning[meaning] = of_meaning.get(meaning, 0) + 1
            if of_meaning[meaning] > 3:
                continue
        pairs.append(SentencePair(english, korean, source))
    return pairs


def cycle(items: list, seed: int) -> Iterator:
    """The items again and again, in a new order each time."""
    chance = random.Random(seed)
    while True:
        order = list(items)
        chance.shuffle(order)
        yield from order


def grammar_documents(seed: int, write: Callable[[grammar.Pair], str]) -> Iterator[str]:
    """Sentences of the grammar, one side of each pair, a few to a document."""
    chance = random.Random(seed)
    pairs = grammar.training_pairs(seed)
    while True:
        yield "\n".join(write(pair) for pair in islice(pairs, chance.randint(1, 8)))


def reading(folder: Path, seed: int) -> list[tuple[float, Iterator[str]]]:
    """What encoder and decoder read: (share of the tokens, endless documents). A quarter is Korean."""
    stories = documents(folder, PRATHAM) + documents(folder, STORYBOOK_EN)
    korean_pairs = groups([pair.korean for pair in natural_pairs(folder)], random.Random(seed))
    return [
        (0.67, cycle(documents(folder, TINYSTORIES), seed)),
        (0.04, cycle(stories, seed)),
        (0.03, grammar_documents(seed, lambda pair: pair.english)),
        (0.10, grammar_documents(seed, lambda pair: pair.korean)),
        (0.08, cycle(documents(folder, SPOKEN), seed)),
        (0.03, cycle(documents(folder, CHATBOT), seed)),
        (0.01, cycle(documents(folder, STORYBOOK_KO), seed)),
        (0.04, cycle(korean_pairs, seed)),
    ]


def translating(folder: Path, seed: int) -> list[tuple[float, Iterator[tuple[str, str]]]]:
    """What the encoder-decoder reads: (share of the tokens, endless English-Korean pairs)."""
    natural = [(pair.english, pair.korean) for pair in natural_pairs(folder)]
    grammatical = ((pair.english, pair.korean) for pair in grammar.training_pairs(seed))
    return [(0.92, grammatical), (0.08, cycle(natural, seed))]


def mix(sources: list[tuple[float, Iterator]], size: Callable) -> Iterator:
    """Items of several sources, so that each has its share of the total size: whoever is furthest behind is next."""
    taken = [0.0] * len(sources)
    while True:
        behind = min(range(len(sources)), key=lambda i: taken[i] / sources[i][0])
        item = next(sources[behind][1])
        taken[behind] += size(item)
        yield item
