"""The chart of what lies between two predictions."""

from collections.abc import Sequence

from explorer.views import charts
from explorer.views.plot import Plot, columns


def differences(rows: Sequence[tuple[str, float]], name: str) -> Plot:
    """A bar for each token: right of the line where the right side makes it likelier, left where the left does."""
    return charts.bars(columns(("token", name), rows), name, "token", focus=None, number="+.1%")
