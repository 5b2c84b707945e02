"""One cell of a value, laid out as the numbers of its formula."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Words = Mapping[str, str]  # one text for each language: {"en": ..., "ko": ...}
Index = tuple[int, ...]
Role = Literal["id", "signed", "query", "key", "value", "score", "mask", "weight", "probability", "parameter"]


@dataclass(frozen=True)
class Factor:
    """A number in a formula, and the cell it comes from: `path[index]`, or no path for a constant.

    With `minus` the number is the cell less another one: x - mu.
    """

    number: float
    symbol: str
    path: str | None = None
    index: Index = ()
    role: Role = "signed"
    minus: "Factor | None" = None


@dataclass(frozen=True)
class Term:
    """One summand: the product of its factors, or e to the power of its only one.

    `count` is more than one where so many small terms were put together; it then has no factors.
    """

    value: float
    factors: tuple[Factor, ...]
    function: Literal["product", "exp"] = "product"
    count: int = 1


@dataclass(frozen=True)
class Outer:
    """What is done to the sum of the terms.

    divide    the sum over `number`            softmax   `number`, e to the cell's own score, over the sum
    sin, cos  of the sum, an angle             lookup    the term is a row of a table: the one that `factors` names
    """

    name: Literal["divide", "softmax", "sin", "cos", "lookup"]
    symbol: str
    number: float
    factors: tuple[Factor, ...] = ()


@dataclass(frozen=True)
class Condition:
    """One reason why a query may look at a key or may not: in numbers (LaTeX) and in words."""

    holds: bool
    latex: str
    words: Words
    factors: tuple[Factor, ...] = ()


@dataclass(frozen=True)
class Arithmetic:
    """How one cell came about: `computed` = `outer` of the sum of `terms`, beside what the model recorded.

    form    given: an input or a parameter, nothing is computed     copy: another cell's number, moved
            lookup: a cell of a table        sum: a sum of products (one or many), maybe divided
            softmax, wave: see Outer         mask: the score where `conditions` allow it, else minus infinity
            condition: 1 where all `conditions` hold, else 0
    """

    path: str
    index: Index
    form: str
    symbol: str
    formula: str
    recorded: float
    computed: float
    terms: tuple[Term, ...] = ()
    outer: Outer | None = None
    conditions: tuple[Condition, ...] = ()
    edited: bool = False

    @property
    def total(self) -> float:
        """The sum of all terms."""
        return math.fsum(term.value for term in self.terms)

    def largest(self, count: int = 4) -> tuple[Term, ...]:
        """The terms of the largest size, in the order of the sum."""
        named = [number for number, term in enumerate(self.terms) if term.count == 1]
        chosen = sorted(named, key=lambda number: -abs(self.terms[number].value))[:count]
        return tuple(self.terms[number] for number in sorted(chosen))

    def rest(self, count: int = 4) -> Term | None:
        """All other terms as one, so that it and `largest` add up to `total`; None when there are no others."""
        number = sum(term.count for term in self.terms) - len(self.largest(count))
        if not number:
            return None
        return Term(self.total - math.fsum(term.value for term in self.largest(count)), (), count=number)
