"""Losses in training and in use: the recorded curves of two trainings, the losses by position. Pure."""

from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd

from explorer.views.charts import INK, PADDING
from explorer.words import Words

HEIGHT = 250  # px
NAME = 0.085  # of the height, for a name at the end of a line
POINTS = 70  # of a line that has its points drawn
_UP_TO = "datum.value <= %f ? datum.label : ''"  # no number below the names
ROOM = 0.65  # to the right of the lines, for their names, as a share of their width


def learning(curves: Mapping[str, tuple[Sequence[int], Sequence[float]]], words: Words) -> alt.LayerChart:
    """The loss over the tokens read, a line for each training by name, up to where the shortest ends."""
    end = min(tokens[-1] for tokens, _ in curves.values())
    rows = [
        {"series": name, "x": token / 1000, "y": loss}
        for name, (tokens, loss) in curves.items()
        for token, loss in zip(tokens, loss, strict=True)
        if token <= end
    ]
    return _lines(pd.DataFrame(rows), words("sees.thousands"), words("sees.loss"))


def by_position(losses: Mapping[str, Sequence[float | None]], words: Words) -> alt.LayerChart:
    """The loss at each position that is asked, a line for each reading by name."""
    rows = [
        {"series": name, "x": at, "y": loss}
        for name, found in losses.items()
        for at, loss in enumerate(found)
        if loss is not None
    ]
    return _lines(pd.DataFrame(rows), words("sees.position"), words("sees.loss"))


def _lines(data: pd.DataFrame, x: str, y: str) -> alt.LayerChart:
    first, last = float(data["x"].min()), float(data["x"].max())
    place = alt.Scale(domain=[first, last + ROOM * max(last - first, 1)], nice=False)
    axis = alt.Axis(title=x, grid=False, domain=False, tickCount=5, titleAnchor="start", labelExpr=_UP_TO % last)
    base = alt.Chart(data, height=HEIGHT + PADDING).encode(
        x=alt.X("x:Q", axis=axis, scale=place),
        y=alt.Y("y:Q").axis(title=None, grid=False, domain=False, tickCount=4),
        color=alt.Color("series:N").sort(list(dict.fromkeys(data["series"]))).legend(None),
        tooltip=[
            alt.Tooltip("series:N", title=""),
            alt.Tooltip("x:Q", title=x),
            alt.Tooltip("y:Q", title=y, format=".3f"),
        ],
    )
    ends = data.loc[data.groupby("series", sort=False)["x"].idxmax()].sort_values("y")
    room = NAME * max(float(data["y"].max()), 1e-9)  # so that two names do not lie on each other
    heights: list[float] = []
    for height in ends["y"]:
        heights.append(max(height, heights[-1] + room) if heights else height)
    ends = ends.assign(
        height=heights, said=[f"{name}  {loss:.2f}" for name, loss in zip(ends["series"], ends["y"], strict=True)]
    )
    names = (
        alt.Chart(ends)
        .mark_text(align="left", dx=7, fontSize=12, color=INK)
        .encode(x=alt.X("x:Q").scale(place), y="height:Q", text="said:N")
    )
    few = data.groupby("series").size().max() <= POINTS
    points = base.mark_circle(size=26 if few else 60, opacity=1 if few else 0)
    line = base.mark_line(strokeWidth=1.8 if few else 1.4)
    return alt.layer(line, points, names).configure_view(stroke=None)
