"""What the heads of models with different numbers of heads do with the same text."""

from dataclasses import dataclass

from explorer.analysis.attention import measures, overlap
from explorer.trace import Trace

ASKED = ("itself", "previous", "next", "first", "same")


@dataclass(frozen=True)
class Habits:
    """The heads of one pass, taken together.

    `most`: for each question (see `attention.Measures`) the share of its weight that the head which does it most gives;
    None where no head can. `spread`: the mean evenness of all heads. `overlap`: the weight that two heads of a layer
    give to the same keys, on average; None for a single head.
    """

    most: dict[str, float | None]
    spread: float | None
    overlap: float | None


def habits(trace: Trace, kind: str) -> Habits:
    """The habits of all heads of a kind of attention, such as `decoder.self_attention`."""
    stack, _, name = kind.partition(".")
    rows = [row for row in measures(trace) if row.stack == stack and row.kind == name]
    most = {ask: _largest([getattr(row, ask) for row in rows]) for ask in ASKED}
    spreads = [row.spread for row in rows if row.spread is not None]
    pairs = []
    for path in dict.fromkeys(row.path for row in rows):
        alike = overlap(trace, path)
        pairs += [float(alike[i, j]) for i in range(len(alike)) for j in range(i) if not alike[i, j].isnan()]
    return Habits(most, _mean(spreads), _mean(pairs))


def _largest(found: list[float | None]) -> float | None:
    return max((share for share in found if share is not None), default=None)


def _mean(found: list[float]) -> float | None:
    return sum(found) / len(found) if found else None
