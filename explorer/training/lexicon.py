"""The words of the English-Korean grammar, read from the tables in ``lexicon/``."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_name("lexicon")


@dataclass(frozen=True)
class Entry:
    """One word as a dictionary would list it."""

    english: str
    korean: str
    part: str


@dataclass(frozen=True)
class Noun:
    english: str
    korean: str
    classes: tuple[str, ...]
    number: str  # count, mass, plural (only plural in English) or unique ("the moon")
    plural: str
    counter: str
    pronoun: str  # he or she where the word itself tells; otherwise empty


@dataclass(frozen=True)
class Verb:
    english: str
    past: str
    ing: str  # empty where the progressive would be unnatural in one of the languages
    korean: str
    irregular: str
    objects: tuple[str, ...]


@dataclass(frozen=True)
class Adjective:
    english: str
    korean: str
    irregular: str
    use: str  # both, attributive or predicative
    nouns: tuple[str, ...]


@dataclass(frozen=True)
class Place:
    english: str
    korean: str
    preposition: str
    article: str

    @property
    def phrase(self) -> str:
        return f"the {self.english}" if self.article == "the" else self.english


@dataclass(frozen=True)
class Time:
    english: str
    korean: str
    tense: str


@dataclass(frozen=True)
class Word:
    english: str
    korean: str
    part: str
    note: str


def _table(name: str) -> list[list[str]]:
    with open(FOLDER / f"{name}.tsv", encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]


NOUNS = [Noun(e, k, tuple(c.split()), n, p, u, g) for e, k, c, n, p, u, g in _table("nouns")]
VERBS = [Verb(e, p, i, k, x, tuple(o.split(" "))) for e, p, i, k, x, o in _table("verbs")]
ADJECTIVES = [Adjective(e, k, x, u, tuple(n.split(" "))) for e, k, x, u, n in _table("adjectives")]
PLACES = [Place(*row) for row in _table("places")]
TIMES = [Time(*row) for row in _table("times")]
WORDS = [Word(*row) for row in _table("words")]


def nouns_for(selection: tuple[str, ...]) -> tuple[Noun, ...]:
    """The nouns a verb or adjective fits: a class, or ``class:word`` for a single word."""
    # "class:two words" never occurs in the tables: only one-word nouns are picked singly.
    found = []
    for noun in NOUNS:
        if any(c in selection or f"{c}:{noun.english}" in selection for c in noun.classes):
            found.append(noun)
    return tuple(found)


def part(name: str) -> list[Word]:
    """The small words of one part of speech."""
    return [word for word in WORDS if word.part == name]


@cache
def words() -> tuple[Entry, ...]:
    """Every word of the lexicon; a word with two Korean meanings is listed once for each."""
    entries = [Entry(n.english, n.korean, "noun") for n in NOUNS]
    entries += [Entry(p.english, p.korean, "noun") for p in PLACES]
    entries += [Entry(v.english, v.korean, "verb") for v in VERBS]
    entries += [Entry(a.english, a.korean, "adjective") for a in ADJECTIVES]
    entries += [Entry(t.english, t.korean, "time") for t in TIMES]
    entries += [Entry(w.english, w.korean, w.part) for w in WORDS]
    return tuple(entries)
