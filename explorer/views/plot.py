"""A chart as the app draws it: its looks, made once, and the numbers that it shows, sent each time.

Altair takes some 35 ms to build a chart and to check it, and marks, encodings, titles and sizes are the same at each
click. So a chart's function has them made by a cached one, from words and counts alone, over tables that have only a
name, and returns them with the tables. What the looks must know of the numbers, such as where an axis ends, they take
from parameters, which expressions in them name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import altair as alt
import pandas as pd


@dataclass(frozen=True)
class Plot:
    """A chart over named tables.

    `specification` is Vega-Lite without data, shared by all readers and never changed. `tables` are its data by name,
    `numbers` the values of its parameters by name, all of them.
    """

    specification: Mapping
    tables: Mapping[str, pd.DataFrame]
    numbers: Mapping[str, float] = field(default_factory=dict)

    def filled(self) -> dict:
        """The specification with its numbers and tables, as `st.vega_lite_chart` takes it.

        Raises KeyError for a parameter without a number.
        """
        filled = {**self.specification, "datasets": dict(self.tables)}
        if "params" in filled:
            filled["params"] = [
                one if "select" in one else {**one, "value": self.numbers[one["name"]]} for one in filled["params"]
            ]
        return filled

    def chart(self) -> alt.TopLevelMixin:
        """The same as a chart of Altair with its rows, for a notebook."""
        rows = {name: table.to_dict("records") for name, table in self.tables.items()}
        return alt.Chart.from_dict({**self.filled(), "datasets": rows})
