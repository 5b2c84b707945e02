"""A chart on a page."""

from collections.abc import Callable

import pyarrow
import streamlit as st

from explorer.views.plot import Plot


def plot(drawn: Plot, key: str, on_pick: Callable[[], None] | None = None) -> None:
    """Draw a chart as wide as its column.

    `on_pick` is called before the rerun when the reader chooses in a chart that has a selection `pick`; what was chosen
    stands in the session's state under `key`.
    """
    picking = {"on_select": on_pick, "selection_mode": "pick"} if on_pick else {}
    # As Arrow has them, since Streamlit would make them that from a DataFrame in ten times as long.
    tables = {name: pyarrow.table(dict(table)) for name, table in drawn.tables.items()}
    st.vega_lite_chart({**drawn.filled(), "datasets": tables}, width="stretch", key=key, **picking)
