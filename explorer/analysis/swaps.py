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
from explorer.analysis.rules import RULES, Rule, Swap
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


# By whole words


def allowed(trace: Trace, path: str, queries: Sequence[Word], keys: Sequence[Word]) -> Tensor:
    """Whether one word may look at another, [query, key]: whether its last piece may look at the other's first."""
    mask = trace[f"{path}.allowed"].tensor
    rows, columns = [word.places[-1] for word in queries], [word.places[0] for word in keys]
    return mask[rows][:, columns]


def by_words(trace: Trace, path: str, rule: Rule, queries: Sequence[Word], keys: Sequence[Word]) -> Tensor:
    """The weights by one rule between whole words, [head, query, key]; one head for a rule that has none."""
    if rule == "learned":
        weights = trace[f"{path}.weights"].tensor
        given = torch.stack([weights[..., list(word.places)].sum(-1) for word in keys], -1)
        return torch.stack([given[:, list(word.places)].mean(1) for word in queries], 1)
    query, key = (
        torch.stack([vectors[list(word.places)].mean(0) for word in words])
        for vectors, words in zip(rules.embeddings(trace, path), (queries, keys), strict=True)
    )
    scores = rules.score(query, key, rule)
    return scores.masked_fill(~allowed(trace, path, queries, keys), -math.inf).softmax(-1).unsqueeze(0)


Words = tuple[Sequence[Word], Sequence[Word]]  # of an attention: those that ask, and those that are asked


def swapped(before: Trace, after: Trace, path: str, words: Words, swapped_words: Words) -> list[Swap]:
    """What each rule makes of a swap, by whole words (see rules.swapped); `words` are those of the sentence before.

    Raises ValueError, with both numbers, when the sentences have not as many words.
    """
    for one, other in zip(words, swapped_words, strict=True):
        if len(one) != len(other):
            raise ValueError(f"The sentences have {len(one)} and {len(other)} words; swap one word for one word.")
    kept = torch.tensor([one.text == other.text for one, other in zip(words[0], swapped_words[0], strict=True)])
    found = []
    for rule in RULES:
        first, second = by_words(before, path, rule, *words), by_words(after, path, rule, *swapped_words)
        moved = total_variation(first, second)
        others = float(moved[:, kept].mean()) if kept.any() else 0.0
        found.append(Swap(rule, moved, others, torch.equal(first, second)))
    return found


def between_kept(before: Trace, after: Trace, path: str) -> dict[Rule, float] | None:
    """By how much at most a score changed between two tokens that both stayed, for each rule.

    None where no such pair is left. Raises ValueError as `rules.swapped` does, when the sentences differ in length.
    """
    rules.as_long(before, after, path)
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
