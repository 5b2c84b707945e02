"""Two passes side by side: which token stands for which, and by how much the numbers differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from torch import Tensor
from torch.nn import functional

from explorer.trace import Trace

Verdict = Literal["apart", "leans", "blind", "wrong"]
LEANING = 2.0  # how many times the odds must change to count


@dataclass(frozen=True)
class Alignment:
    """Which position of one text stands for which of another: `pairs` of (left, right), in order.

    `equal` of them are the same token; in the others a token stands in another's place. `left` and `right` say how
    many positions each text has.
    """

    pairs: tuple[tuple[int, int], ...]
    equal: int
    left: int
    right: int

    @property
    def replaced(self) -> int:
        return len(self.pairs) - self.equal

    @property
    def same(self) -> bool:
        """Whether both are the same text."""
        return self.equal == self.left == self.right

    @property
    def enough(self) -> bool:
        """Whether two positions or more can be compared, or all that there are."""
        return len(self.pairs) >= min(2, max(self.left, self.right))

    def right_of(self, place: int) -> int | None:
        return next((right for left, right in self.pairs if left == place), None)

    def left_of(self, place: int) -> int | None:
        return next((left for left, right in self.pairs if right == place), None)


def align(left: Sequence[int], right: Sequence[int]) -> Alignment:
    """Equal ids in order, the longest runs first (Ratcliff and Metzener 1988); between them as many as they replace.

    Where fewer tokens are equal than replaced, the texts have little in common and only equal ones are paired.
    """
    equal, replaced = [], []
    for tag, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal":
            equal += zip(range(a, b), range(c, d), strict=True)
        elif b - a == d - c:
            replaced += zip(range(a, b), range(c, d), strict=True)
    pairs = equal if len(equal) < len(replaced) else sorted(equal + replaced)
    return Alignment(tuple(pairs), len(equal), len(left), len(right))


def difference(left: Tensor, right: Tensor, rows: Alignment, columns: Alignment | None = None) -> Tensor:
    """Right minus left over the aligned rows, [pair, ...], and over aligned columns where these are positions too."""
    return chosen(right, rows, columns, 1) - chosen(left, rows, columns, 0)


def chosen(value: Tensor, rows: Alignment, columns: Alignment | None, side: int) -> Tensor:
    """The rows, and columns, of one side's value (0 left, 1 right) that have a partner."""
    found = value[[pair[side] for pair in rows.pairs]]
    return found if columns is None else found[:, [pair[side] for pair in columns.pairs]]


def total_variation(left: Tensor, right: Tensor) -> Tensor:
    """The share of a distribution that would have to move to make the other of it, for those along the last axis."""
    return (left.double() - right.double()).abs().sum(-1) / 2


def total_variation_rows(left: Tensor, right: Tensor, rows: Alignment) -> list[float]:
    """`total_variation` for each aligned row of two matrices of probabilities."""
    return total_variation(chosen(left, rows, None, 0), chosen(right, rows, None, 1)).tolist()


def candidates(left: Tensor, right: Tensor, count: int = 6) -> list[int]:
    """The ids that are among the likeliest on either side, the likeliest of all first."""
    ids = {*left.topk(count).indices.tolist(), *right.topk(count).indices.tolist()}
    return sorted(ids, key=lambda id: (-max(float(left[id]), float(right[id])), id))


def likeness(left: Tensor, right: Tensor, rows: Alignment) -> float:
    """The mean cosine of the vectors that stand for each other."""
    pair = (chosen(value, rows, None, side).double() for side, value in enumerate((left, right)))
    return float(functional.cosine_similarity(*pair, dim=-1).mean())


@dataclass(frozen=True)
class Furthest:
    """The head whose weights differ most for one query, and the share of its weight that lies elsewhere."""

    layer: int
    head: int
    share: float


def furthest(left: Trace, right: Trace, kind: str, columns: Alignment, rows: tuple[int, int]) -> Furthest:
    """Of all heads of an attention (`decoder.*.self_attention`) in two passes of one model: the one that differs most.

    `rows` is the query's position on each side. A key without a partner counts with its whole weight.
    """
    best = None
    for layer in range(left.config.layers):
        path = f"{kind.replace('*', f'layers.{layer}')}.weights"
        one, other = left[path].tensor[:, rows[0]].double(), right[path].tensor[:, rows[1]].double()
        first, second = ([pair[side] for pair in columns.pairs] for side in (0, 1))
        alone = (1 - one[:, first].sum(-1)) + (1 - other[:, second].sum(-1))
        shares = ((one[:, first] - other[:, second]).abs().sum(-1) + alone) / 2
        head = int(shares.argmax())
        if best is None or float(shares[head]) > best.share:
            best = Furthest(layer, head, float(shares[head]))
    return best


def verdict(left: tuple[float, float], right: tuple[float, float]) -> tuple[Verdict, float]:
    """Whether two sentences are told apart by two answers, and how many times the odds change from one to the other.

    Each side holds the probabilities of the left sentence's answer and of the right one's. `apart`: each answer is the
    likelier one where it belongs; `leans`: the odds change in the right direction, but do not turn; `blind`: they
    change less than LEANING times; `wrong`: they change in the other direction.
    """
    least = 1e-12
    factor = (left[0] + least) * (right[1] + least) / ((left[1] + least) * (right[0] + least))
    if 1 / LEANING < factor < LEANING:
        return "blind", factor
    if factor < 1:
        return "wrong", factor
    return ("apart" if left[0] > left[1] and right[1] > right[0] else "leans"), factor
