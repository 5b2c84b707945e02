"""A chart as the app draws it: its looks, made once, and the numbers that it shows, sent each time.

Altair takes some 35 ms to build a chart and to check it, and marks, encodings, titles and sizes are the same at each
click. So a chart's function has them made by a cached one, from words and counts alone, over tables that have only a
name, and returns them with the tables. What the looks must know of the numbers, such as where an axis ends, they take
from parameters, which expressions in them name.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import altair as alt
import pandas as pd

Table = Mapping[str, Sequence]  # columns of one length by name: lists, arrays, or those of a DataFrame


def columns(names: Sequence[str], rows: Iterable[Sequence]) -> dict[str, Sequence]:
    """Rows as columns of these names. Raises ValueError where there is no row, or one of another length."""
    return dict(zip(names, zip(*rows, strict=True), strict=True))


@dataclass(frozen=True)
class Plot:
    """A chart over named tables.

    `specification` is Vega-Lite without data, shared by all readers and never changed. `tables` are its data by name,
    `numbers` the values of its parameters by name, all of them.
    """

    specification: Mapping
    tables: Mapping[str, Table]
    numbers: Mapping[str, float] = field(default_factory=dict)

    def filled(self) -> dict:
        """The specification with its numbers, without its tables. Raises KeyError for a parameter that has none."""
        filled = dict(self.specification)
        if "params" in filled:
            filled["params"] = [
                one if "select" in one else {**one, "value": self.numbers[one["name"]]} for one in filled["params"]
            ]
        return filled

    def chart(self) -> alt.TopLevelMixin:
        """The same as a chart of Altair with its rows, for a notebook."""
        rows = {name: pd.DataFrame(table).to_dict("records") for name, table in self.tables.items()}
        return alt.Chart.from_dict({**self.filled(), "datasets": rows})
