"""The few ways in which values are computed: a lookup, a sum of products, a wave, a mask, a softmax.

Each form computes a whole value from its inputs (`whole`) and lays one cell out in numbers (`cell`).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from explorer.config import PAD, Config
from explorer.glossary.terms import Arithmetic, Condition, Factor, Index, Outer, Role, Term
from explorer.trace import Trace

MOST_TERMS = 1024  # a sum of more terms than this (a softmax over the vocabulary) has its smallest ones put together
WAVELENGTH = 10000  # 2 pi times this is the longest wave of the sinusoidal positions


@dataclass(frozen=True)
class Cell:
    """One cell at work: its inputs as factors.

    `tensor` finds the numbers of a path, `describe` its symbol and role, `other` the arithmetic of another cell.
    """

    path: str
    index: Index
    trace: Trace
    sources: Mapping[str, str]
    tensor: Callable[[str, Trace], Tensor]
    describe: Callable[[str], tuple[str, Role]]
    other: Callable[[str, Index, Trace], Arithmetic]

    @property
    def recorded(self) -> float:
        return float(self.tensor(self.path, self.trace)[self.index])

    @property
    def width(self) -> int:
        return self.tensor(self.path, self.trace).shape[-1]

    def place(self, axes: str) -> dict[str, int]:
        """Which number each letter of the result's axes stands for here."""
        if "(" in axes:
            *rest, joint = self.index
            return dict(zip(_letters(axes), (*rest, *divmod(joint, self.trace.config.d_k)), strict=True))
        return dict(zip(axes, self.index, strict=True))

    def factor(self, name: str, index: Index) -> Factor:
        path = self.sources[name]
        symbol, role = self.describe(path)
        return Factor(float(self.tensor(path, self.trace)[index]), symbol, path, index, role)

    def row(self, name: str, start: Index) -> list[Factor]:
        """All factors along an input's last axis."""
        path = self.sources[name]
        numbers = self.tensor(path, self.trace)[start].tolist()
        symbol, role = self.describe(path)
        return [Factor(float(number), symbol, path, (*start, at), role) for at, number in enumerate(numbers)]

    def factors(self, what: str, axes: str, place: Mapping[str, int], summed: str | None) -> list[Factor]:
        """A part of a product: one factor, or one for each place along the axis that is summed over."""
        config = self.trace.config
        if not axes:
            return [Factor(float(_constant(what, config)), _SYMBOLS[what])]
        if " - " in what:
            first, second = (
                self.factors(name, part, place, summed)
                for name, part in zip(what.split(" - "), axes.split(" - "), strict=True)
            )
            second = second * (len(first) // len(second))
            return [
                replace(one, number=one.number - two.number, symbol=f"({one.symbol} - {two.symbol})", minus=two)
                for one, two in zip(first, second, strict=True)
            ]
        if " of " in what:
            function, name = what.split(" of ")
            (one,) = self.factors(name, axes, place, summed)
            number = _function(function, torch.tensor(one.number, dtype=torch.float64), config).item()
            return [replace(one, number=number, symbol=_function_symbol(function, config))]
        path = self.sources[what]
        index = self._index(axes, place, summed)
        numbers = self.tensor(path, self.trace)[index]
        symbol, role = self.describe(path)
        if summed is None or summed not in axes:
            return [Factor(float(numbers), symbol, path, index, role)]
        at = index.index(slice(None))
        return [
            Factor(float(number), symbol, path, (*index[:at], count, *index[at + 1 :]), role)
            for count, number in enumerate(numbers.tolist())
        ]

    def _index(self, axes: str, place: Mapping[str, int], summed: str | None) -> tuple:
        index = []
        for part in axes.replace("(", " (").replace(")", ") ").split():
            if part.startswith("("):
                head, column = part[1:-1]
                index.append(place[head] * self.trace.config.d_k + place[column])
            else:
                index.extend(slice(None) if letter == summed else place.get(letter, 0) for letter in part)
        return tuple(index)


@dataclass(frozen=True)
class Given:
    """An input of the model or a parameter: nothing is computed."""

    def whole(self, values: Mapping[str, Tensor], recorded: Tensor, config: Config) -> Tensor:
        return recorded

    def cell(self, of: Cell) -> dict:
        return {"form": "given", "computed": of.recorded}


@dataclass(frozen=True)
class Lookup:
    """The rows of a table that the ids name."""

    def whole(self, values, recorded, config):
        return values["table"][values["ids"]]

    def cell(self, of):
        position, column = of.index
        row = of.factor("ids", (position,))
        entry = of.factor("table", (int(row.number), column))
        return {
            "form": "lookup",
            "computed": entry.number,
            "terms": (Term(entry.number, (entry,)),),
            "outer": Outer("lookup", row.symbol, row.number, (row,)),
        }


@dataclass(frozen=True)
class Sum:
    """A sum of products in Einstein's notation, maybe divided.

    `axes` are those of the result, a letter each; letters in brackets share one axis, as the heads share the rows of
    W_Q. A product is a row of (what, axes); an axis that the result lacks is summed over. `what` is an input's part,
    a constant (see `_constant`), a function of an input (`gate of hidden`), or a difference of two (`x - mean`).
    """

    axes: str
    products: tuple[tuple[tuple[str, str], ...], ...]
    divisor: tuple[str, str] | None = None

    def whole(self, values, recorded, config):
        sizes = {"h": config.heads}
        plain = _letters(self.axes)
        total = 0
        for product in self.products:
            names = [_letters(axes.split(" - ")[0]) for _, axes in product if axes]
            tensors = [_split(_tensor(what, values, config), axes, sizes) for what, axes in product if axes]
            kept = "".join(letter for letter in plain if any(letter in name for name in names))
            result = torch.einsum(f"{','.join(names)}->{kept}", *tensors)
            for what, axes in product:
                result = result if axes else result * _constant(what, config)
            total = total + result[tuple(slice(None) if letter in kept else None for letter in plain)]
        if self.divisor:
            what, axes = self.divisor
            total = total / (_tensor(what, values, config) if axes else _constant(what, config))
        return total if plain == self.axes else total.flatten(-2)

    def cell(self, of):
        place = of.place(self.axes)
        terms = []
        for product in self.products:
            letters = "".join(_letters(axes.split(" - ")[0]) for _, axes in product)
            summed = next((letter for letter in letters if letter not in place), None)
            columns = [of.factors(what, axes, place, summed) for what, axes in product]
            count = max(map(len, columns))
            for row in zip(*(column * (count // len(column)) for column in columns), strict=True):
                terms.append(Term(math.prod(factor.number for factor in row), tuple(row)))
        outer = None
        computed = math.fsum(term.value for term in terms)
        if self.divisor:
            (divisor,) = of.factors(*self.divisor, place, None)
            outer = Outer("divide", divisor.symbol, divisor.number, (divisor,))
            computed /= divisor.number
        copied = not outer and len(terms) == 1 and len(terms[0].factors) == 1
        return {
            "form": "copy" if copied else "sum",
            "computed": computed,
            "terms": tuple(terms),
            "outer": outer,
        }


@dataclass(frozen=True)
class Wave:
    """The place in the text as waves: a sine in the even columns, its cosine in the odd ones."""

    def whole(self, values, recorded, config):
        length, width = recorded.shape
        column = torch.arange(width, device=recorded.device)
        power = (column - column % 2).double() / width
        angle = torch.arange(length, device=recorded.device).double()[:, None] / WAVELENGTH**power
        return torch.where(column % 2 == 0, angle.sin(), angle.cos())

    def cell(self, of):
        position, column = of.index
        even = column - column % 2
        place = Factor(float(position), "i")
        frequency = Factor(WAVELENGTH ** (-even / of.width), rf"{WAVELENGTH}^{{-{even}/{of.width}}}")
        angle = place.number * frequency.number
        name = "cos" if column % 2 else "sin"
        return {
            "form": "wave",
            "computed": getattr(math, name)(angle),
            "terms": (Term(angle, (place, frequency)),),
            "outer": Outer(name, rf"\{name}", angle),
        }


@dataclass(frozen=True)
class Allowed:
    """Which query may look at which key: not at what comes later, or not at padding."""

    causal: bool

    def whole(self, values, recorded, config):
        queries, keys = (torch.arange(length, device=recorded.device) for length in recorded.shape)
        if self.causal:
            return keys <= queries[:, None]
        return (values["ids"] != PAD).expand(recorded.shape)

    def cell(self, of):
        conditions = self.conditions(of)
        return {
            "form": "condition",
            "computed": float(all(condition.holds for condition in conditions)),
            "conditions": conditions,
        }

    def conditions(self, of: Cell) -> tuple[Condition, ...]:
        query, key = of.index
        if self.causal:
            holds = key <= query
            words = {
                True: {
                    "en": f"Key {key} does not come after query {query}.",
                    "ko": f"키 {key}번은 쿼리 {query}번보다 뒤에 오지 않습니다.",
                },
                False: {
                    "en": f"Key {key} comes after query {query}, and the future is hidden.",
                    "ko": f"키 {key}번은 쿼리 {query}번보다 뒤에 오므로 가려집니다.",
                },
            }
            return (Condition(holds, rf"{key} \le {query}" if holds else rf"{key} > {query}", words[holds]),)
        token = of.factor("ids", (key,))
        holds = token.number != PAD
        words = {
            True: {"en": f"Key {key} is not padding.", "ko": f"키 {key}번은 패딩이 아닙니다."},
            False: {"en": f"Key {key} is padding.", "ko": f"키 {key}번은 패딩이므로 가려집니다."},
        }
        latex = rf"t_{{{key}}} = {token.number:.0f}" + (rf" \ne {PAD}" if holds else "")
        return (Condition(holds, latex, words[holds], (token,)),)


@dataclass(frozen=True)
class Masked:
    """The scores that are allowed; minus infinity in place of the others."""

    def whole(self, values, recorded, config):
        return torch.where(values["allowed"], values["scores"], -math.inf)

    def cell(self, of):
        _, query, key = of.index
        score, allowed = of.factor("scores", of.index), of.factor("allowed", (query, key))
        holds = bool(allowed.number)
        words = {
            True: {
                "en": f"Query {query} may look at key {key}.",
                "ko": f"쿼리 {query}번은 키 {key}번을 볼 수 있습니다.",
            },
            False: {
                "en": f"Query {query} may not look at key {key}.",
                "ko": f"쿼리 {query}번은 키 {key}번을 볼 수 없습니다.",
            },
        }
        itself = Condition(holds, f"A_{{{query},{key}}} = {int(holds)}", words[holds], (allowed,))
        reasons = of.other(allowed.path, allowed.index, of.trace)
        return {
            "form": "mask",
            "computed": score.number if holds else -math.inf,
            "terms": (Term(score.number, (score,)),) if holds else (),
            "conditions": (itself, *(() if reasons.edited else reasons.conditions)),
        }


@dataclass(frozen=True)
class Softmax:
    """Shares that sum to 1: e to the power of each score, over the sum of all of these along the last axis."""

    def whole(self, values, recorded, config):
        scores = values["scores"]
        powers = (scores - scores.amax(-1, keepdim=True)).exp()
        return powers / powers.sum(-1, keepdim=True)

    def cell(self, of):
        *row, own = of.index
        scores = of.row("scores", tuple(row))
        # Shares do not change when all scores move together; only far from 0 would e^s leave the range of numbers.
        highest = max(score.number for score in scores)
        shift = highest if 600 < abs(highest) < math.inf else 0.0
        terms = [Term(math.exp(score.number - shift), (score,), "exp") for score in scores]
        total, share = math.fsum(term.value for term in terms), terms[own].value
        if len(terms) > MOST_TERMS:
            order = sorted(range(len(terms)), key=lambda number: (number != own, -terms[number].value))
            kept, small = sorted(order[: MOST_TERMS // 4]), order[MOST_TERMS // 4 :]
            together = Term(math.fsum(terms[number].value for number in small), (), "exp", len(small))
            terms = [*(terms[number] for number in kept), together]
        shifted = f" {-shift:+g}" if shift else ""
        return {
            "form": "softmax",
            "computed": share / total if total else math.nan,
            "terms": tuple(terms),
            "outer": Outer("softmax", f"e^{{{scores[own].symbol}{shifted}}}", share, (scores[own],)),
        }


Form = Given | Lookup | Sum | Wave | Allowed | Masked | Softmax


# Constants and functions that stand in formulas.


def _constant(name: str, config: Config) -> float:
    return {
        "d_model": config.d_model,
        "root of d_model": math.sqrt(config.d_model),
        "root of d_k": math.sqrt(config.d_k),
    }[name]


_SYMBOLS = {
    "d_model": r"d_{\text{model}}",
    "root of d_model": r"\sqrt{d_{\text{model}}}",
    "root of d_k": r"\sqrt{d_k}",
}


def _function(name: str, number: Tensor, config: Config) -> Tensor:
    if name == "deviation":
        return (number + config.epsilon).sqrt()
    if config.activation == "relu":
        return (number > 0).to(number.dtype)
    return 0.5 * torch.erfc(-number / math.sqrt(2))


def _function_symbol(name: str, config: Config) -> str:
    if name == "deviation":
        return r"\sqrt{\sigma^2 + \epsilon}"
    return "[h > 0]" if config.activation == "relu" else r"\Phi(h)"


def _tensor(what: str, values: Mapping[str, Tensor], config: Config) -> Tensor:
    """An input, a function of one (`gate of hidden`), or a difference of two (`x - mean`)."""
    if " - " in what:
        first, second = what.split(" - ")
        return values[first] - values[second]
    if " of " in what:
        function, name = what.split(" of ")
        return _function(function, values[name], config)
    return values[what]


def _letters(axes: str) -> str:
    return axes.replace("(", "").replace(")", "")


def _split(tensor: Tensor, axes: str, sizes: Mapping[str, int]) -> Tensor:
    """Give letters in brackets, (hc), an axis each; the first letter's size is known."""
    if "(" not in axes:
        return tensor
    return tensor.unflatten(axes.index("("), (sizes[axes[axes.index("(") + 1]], -1))
