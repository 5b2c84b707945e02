"""Losses in training and in use: the recorded curves of two trainings, the losses by position. Pure."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

import altair as alt

from explorer.views.charts import INK, MADE, PADDING
from explorer.views.plot import Plot, columns
from explorer.words import Words

HEIGHT = 250  # px
NAME = 0.085  # of the height, for a name at the end of a line
POINTS = 70  # of a line that has its points drawn
_UP_TO = "datum.value <= last ? datum.label : ''"  # no number below the names
ROOM = 0.65  # to the right of the lines, for their names, as a share of their width


def learning(curves: Mapping[str, tuple[Sequence[int], Sequence[float]]], words: Words) -> Plot:
    """The loss over the tokens read, a line for each training by name, up to where the shortest ends."""
    end = min(tokens[-1] for tokens, _ in curves.values())
    rows = [
        (name, token / 1000, loss)
        for name, (tokens, losses) in curves.items()
        for token, loss in zip(tokens, losses, strict=True)
        if token <= end
    ]
    return _lines(rows, words("sees.thousands"), words("sees.loss"))


def by_position(losses: Mapping[str, Sequence[float | None]], words: Words) -> Plot:
    """The loss at each position that is asked, a line for each reading by name."""
    rows = [(name, at, loss) for name, found in losses.items() for at, loss in enumerate(found) if loss is not None]
    return _lines(rows, words("sees.position"), words("sees.loss"))


def _lines(rows: Sequence[tuple[str, float, float]], x: str, y: str) -> Plot:
    """Lines through `rows` of (series, x, y), each named at its end, those of a series in the order of x."""
    points = columns(("series", "x", "y"), rows)
    last = {row[0]: row for row in rows}  # of each series
    room = NAME * max(*points["y"], 1e-9)  # so that two names do not lie on each other
    height, ends = -math.inf, []
    for name, place, loss in sorted(last.values(), key=lambda row: row[2]):
        height = max(loss, height + room)
        ends.append((place, height, f"{name}  {loss:.2f}"))
    few = max(Counter(points["series"]).values()) <= POINTS
    return Plot(
        _shape(x, y, tuple(last), few),
        {"points": points, "ends": columns(("x", "height", "said"), ends)},
        {"first": min(points["x"]), "last": max(points["x"])},
    )


@lru_cache(maxsize=MADE)
def _shape(x: str, y: str, series: tuple[str, ...], few: bool) -> dict:
    room = f"last + {ROOM} * max(last - first, 1)"
    place = alt.Scale(domain=[alt.expr("first"), alt.expr(room)], nice=False)
    axis = alt.Axis(title=x, grid=False, domain=False, tickCount=5, titleAnchor="start", labelExpr=_UP_TO)
    base = alt.Chart(alt.NamedData("points"), height=HEIGHT + PADDING).encode(
        x=alt.X("x:Q", axis=axis, scale=place),
        y=alt.Y("y:Q").axis(title=None, grid=False, domain=False, tickCount=4),
        color=alt.Color("series:N").sort(series).legend(None),
        tooltip=[
            alt.Tooltip("series:N", title=""),
            alt.Tooltip("x:Q", title=x),
            alt.Tooltip("y:Q", title=y, format=".3f"),
        ],
    )
    names = (
        alt.Chart(alt.NamedData("ends"))
        .mark_text(align="left", dx=7, fontSize=12, color=INK)
        .encode(x=alt.X("x:Q").scale(place), y="height:Q", text="said:N")
    )
    points = base.mark_circle(size=26 if few else 60, opacity=1 if few else 0)
    line = base.mark_line(strokeWidth=1.8 if few else 1.4)
    drawn = alt.layer(line, points, names).add_params(alt.param("first"), alt.param("last"))
    return drawn.configure_view(stroke=None).to_dict()
