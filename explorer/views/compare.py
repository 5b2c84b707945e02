"""The chart of what lies between two predictions."""

from collections.abc import Sequence

import pandas as pd

from explorer.views import charts
from explorer.views.plot import Plot


def differences(rows: Sequence[tuple[str, float]], name: str) -> Plot:
    """A bar for each token: right of the line where the right side makes it likelier, left where the left does."""
    return charts.bars(pd.DataFrame(rows, columns=["token", name]), name, "token", focus=None, number="+.1%")
