"""One word for another: which words could stand in its place, and what each rule of attention makes of the swap.

Two words seldom have as many pieces. Then the sentences are compared by whole words: a word's attention is the mean
over its pieces, and what it is given the sum over them (Clark et al. 2019); the rules share out by words instead of
tokens, and a word's embedding is the mean of its pieces'.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from explorer import glossary
from explorer.analysis import rules
from explorer.analysis.compare import total_variation
from explorer.analysis.rules import RULES, Rule
from explorer.tokens import Token
from explorer.trace import Trace


@dataclass(frozen=True)
class Word:
    """A whole word of a text: the places of its tokens, and the characters `text` that they spell, from `start` on.

    A special token is a word, and so are signs that stand together.
    """

    places: tuple[int, ...]
    text: str
    start: int
    special: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def of_letters(self) -> bool:
        """Whether it is a word that another could stand for."""
        return not self.special and any(map(str.isalpha, self.text))


def whole_words(tokens: Sequence[Token]) -> list[Word]:
    """The words of a text, in their order; together they hold every token."""
    found: list[Word] = []
    end = 0  # of the characters that were read
    for place, token in enumerate(tokens):
        fresh = token.text[max(0, end - token.start) :]
        text, last = fresh.lstrip(), found[-1] if found else None
        if last is None or last.special or token.special or not _goes_on(last.text, fresh):
            found.append(Word((place,), text, token.end - len(text), token.special))
        else:
            start = last.start if last.text else token.end - len(text)
            found[-1] = Word((*last.places, place), last.text + text, start)
        end = max(end, token.end)
    return found


def _goes_on(word: str, fresh: str) -> bool:
    """Whether a token that brings these characters belongs to the word before it; a space goes with what follows."""
    if not fresh or fresh[0].isspace():
        return not fresh
    return not word or _letter(fresh[0]) == _letter(word[-1])


def _letter(character: str) -> bool:
    return character.isalnum() or character in "'’"


def alternatives(
    word: str, spaced: bool, known: Sequence[str], pieces: Callable[[str], list[int]], table: Tensor, count: int = 6
) -> list[str]:
    """Known words that have as many pieces as a word, those of the most similar embeddings first.

    A Korean word carries its particle or ending, so words that end alike come before the others.
    `spaced` says whether a space stands before the word, `pieces` cuts a text into ids, `table` is the embedding
    matrix, [vocabulary, d_model]. A capital is kept, and so is the script.
    """
    before, ids = " " * spaced, pieces(" " * spaced + word)
    capital = word[:1].isupper()
    same_script = [
        other.capitalize() if capital else other for other in known if other[0].isascii() == word[0].isascii()
    ]
    found = [(other, pieces(before + other)) for other in same_script if other.lower() != word.lower()]
    found = [(other, others) for other, others in found if len(others) == len(ids)]
    if not found:
        return []
    likeness = functional.cosine_similarity(
        torch.stack([table[others].mean(0) for _, others in found]), table[ids].mean(0).unsqueeze(0)
    )
    if not word[-1].isascii():
        likeness += 2 * torch.tensor([other[-1] == word[-1] for other, _ in found])
    return [found[at][0] for at in likeness.argsort(descending=True, stable=True).tolist()[:count]]


# By tokens, or by whole words

Part = tuple[int, ...]  # the places of what is compared as one: of a token alone, or of a whole word
Parts = tuple[Sequence[Part], Sequence[Part]]  # of an attention: those that ask, and those that are asked


def alone(trace: Trace, path: str) -> Parts:
    """Each token of an attention by itself."""
    _, queries, keys = trace[f"{path}.weights"].tensor.shape
    return [(place,) for place in range(queries)], [(place,) for place in range(keys)]


def allowed(trace: Trace, path: str, parts: Parts) -> Tensor:
    """Whether one part may look at another, [query, key]: whether its last token may look at the other's first."""
    mask, (queries, keys) = trace[f"{path}.allowed"].tensor, parts
    return mask[[part[-1] for part in queries]][:, [part[0] for part in keys]]


def by_parts(trace: Trace, path: str, rule: Rule, parts: Parts) -> Tensor:
    """The weights by one rule between the parts, [head, query, key]; one head for a rule that has none."""
    queries, keys = parts
    if rule == "learned":
        weights = trace[f"{path}.weights"].tensor
        given = torch.stack([weights[..., list(part)].sum(-1) for part in keys], -1)
        return torch.stack([given[:, list(part)].mean(1) for part in queries], 1)
    query, key = (
        torch.stack([vectors[list(part)].mean(0) for part in of])
        for vectors, of in zip(rules.embeddings(trace, path), parts, strict=True)
    )
    scores = rules.score(query, key, rule)
    return scores.masked_fill(~allowed(trace, path, parts), -math.inf).softmax(-1).unsqueeze(0)


@dataclass(frozen=True)
class Swap:
    """How far a rule's weights moved when words of the sentence were swapped for others: `before` and `after`, each
    [head, query, key].

    `moved`, [head, query]: the share of its attention that a query now gives elsewhere, from 0 to 1. `others` is its
    mean over the queries that were not swapped themselves, for the rule as a whole, and `unmoved` says that no weight
    anywhere changed by a single bit.
    """

    rule: Rule
    before: Tensor
    after: Tensor
    moved: Tensor
    others: float
    unmoved: bool


def swapped(
    before: Trace, after: Trace, path: str, parts: Parts | None = None, swapped_parts: Parts | None = None
) -> list[Swap]:
    """What each rule makes of a swap: the same attention in two sentences of as many parts.

    The parts are those of the sentence before and of the one after; without them, each token is one. Raises ValueError,
    with both numbers, when one sentence has more of them.
    """
    parts, swapped_parts = parts or alone(before, path), swapped_parts or alone(after, path)
    for one, other in zip(parts, swapped_parts, strict=True):
        if len(one) != len(other):
            raise ValueError(
                f"The sentences have {len(one)} and {len(other)} parts; swap a word for one with as many pieces, "
                "or compare by whole words."
            )
    kept = torch.tensor(
        [
            _ids(before, path, part) == _ids(after, path, other)
            for part, other in zip(parts[0], swapped_parts[0], strict=True)
        ]
    )
    found = []
    for rule in RULES:
        first, second = by_parts(before, path, rule, parts), by_parts(after, path, rule, swapped_parts)
        moved = total_variation(first, second)
        others = float(moved[:, kept].mean()) if kept.any() else 0.0
        found.append(Swap(rule, first, second, moved, others, torch.equal(first, second)))
    return found


def _ids(trace: Trace, path: str, part: Part) -> list[int]:
    """What is read at the places of a part of those that ask."""
    return trace[f"{path.split('.')[0]}.embedding.ids"].tensor[list(part)].tolist()


def between_kept(before: Trace, after: Trace, path: str) -> dict[Rule, float] | None:
    """By how much at most a score changed between two tokens that both stayed, for each rule.

    None where no such pair is left. Raises ValueError, with both numbers, when the sentences differ in length.
    """
    queries, keys = zip(*(one[f"{path}.weights"].tensor.shape[1:] for one in (before, after)), strict=True)
    if queries[0] != queries[1] or keys[0] != keys[1]:
        raise ValueError(
            f"The sentences have {queries[0]} and {queries[1]} tokens here, and their sources {keys[0]} and {keys[1]}; "
            "swap a word for one with as many pieces."
        )
    allowed_pairs = before[f"{path}.allowed"].tensor
    asking = asked = f"{path.split('.')[0]}.embedding.ids"
    if not path.endswith("self_attention"):
        asked = glossary.inputs(f"{path}.allowed", before)["ids"]
    query, key = (before[ids].tensor == after[ids].tensor for ids in (asking, asked))
    kept = query.unsqueeze(-1) & key & allowed_pairs
    if not kept.any():
        return None
    found = {}
    for rule in RULES:
        change = (rules.scores(before, path, rule) - rules.scores(after, path, rule)).abs()
        found[rule] = float(change[..., kept].max())
    return found
