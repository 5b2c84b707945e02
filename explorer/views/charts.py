"""Charts of tidy tables. Each is a pure function from a table to a chart.

Tokens stand on an axis of whole numbers; what they spell is data in a text mark, never an expression, a column name
or a category, so equal words stay apart and nothing that a person typed is parsed. Colours come from the theme:
shares and sizes take the sequential range, signed values the diverging one, so a chart follows light and dark.
The terms of one number's sum are drawn in terms.py.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import altair as alt
import numpy as np

from explorer.views.plot import Plot, Table

STEP = 24  # height of a bar with its gap
BAR = 13
LABEL = 13  # height of a line's name
PADDING = 20  # what Streamlit takes off a chart's height
AXIS = 45  # what the axis below and its title take of it
INK = "currentColor"  # the page's ink, in both themes
MADE = 64  # looks of a kind of chart that are kept: languages, titles, counts
BEST, OTHERS = 0.8, 0.42  # where on the sequential range the best bar and the others stand


def bars(
    table: Table,
    value: str = "probability",
    label: str = "label",
    *,
    focus: int | None = 0,
    number: str = ".0%",
    width: int = 240,
) -> Plot:
    """Horizontal bars in the order of the rows, one of them (`focus`, a row number) in accent; numbers at the ends.

    `label` and `value` are columns of the table. Values below zero go left of a line and all take signed colours.
    Raises ValueError when the table is empty or a column is missing.
    """
    columns = _columns(table, value, label)
    values = np.asarray(columns[value], float)
    place = np.flatnonzero(np.isfinite(values))
    if not place.size:
        raise ValueError(f"No finite number in the column {value}, so there is no bar to draw.")
    values = values[place]
    signed, largest, strong = bool((values < 0).any()), float(np.abs(values).max()), place == focus
    bars = {
        "place": place,
        "value": values,
        "label": _at(columns[label], place),
        "tone": values if signed else np.where(strong, BEST, OTHERS),
        "strong": strong,
    }
    looks = _bars(value, label, len(place), signed, number, width)
    return Plot(looks, {"bars": bars}, {"largest": largest or 1.0})


@lru_cache(maxsize=MADE)
def _bars(value: str, label: str, count: int, signed: bool, number: str, width: int) -> dict:
    wide = "1.4 * largest"  # room for the numbers, which stand outside the bars
    ends = [alt.expr(f"-{wide}"), alt.expr(wide)] if signed else [0, alt.expr("largest")]
    base = alt.Chart(alt.NamedData("bars"), width=width, height=STEP * count + PADDING).encode(
        y=alt.Y("place:O").axis(None).sort("ascending").scale(paddingInner=1 - BAR / STEP)
    )
    bar = base.mark_bar(cornerRadius=2).encode(
        x=alt.X("value:Q").axis(None).scale(domain=ends, nice=False, zero=True),
        color=_signed("tone", "largest") if signed else _share("tone"),
        tooltip=[alt.Tooltip("label:N", title=label), alt.Tooltip("value:Q", title=value, format=".4~g")],
    )
    name = base.mark_text(align="right", dx=-8, limit=110, color=INK).encode(x=alt.value(0), text="label:N")
    figure = base.encode(text=alt.Text("value:Q").format(number))
    right = figure.transform_filter(alt.datum.value >= 0).mark_text(align="left", dx=6, color=INK)
    left = figure.transform_filter(alt.datum.value < 0).mark_text(align="right", dx=-6, color=INK)
    opacity = alt.when(alt.datum.strong).then(alt.value(1)).otherwise(alt.value(0.75))
    drawn = alt.layer(bar, name, *(part.encode(x="value:Q", opacity=opacity) for part in (right, left)))
    return _plain(drawn.add_params(alt.param("largest"))).to_dict()


def curves(
    table: Table,
    x: str,
    y: str,
    series: str | None = None,
    *,
    label: str | None = None,
    number: str = ".2f",
    width: int = 345,
    height: int = 180,
) -> Plot:
    """One line for each series, named at its end; with `label`, a column of words, each point's word in its tooltip.

    Raises ValueError when the table is empty or a column is missing.
    """
    columns = _columns(table, x, y, *([series] if series else []), *([label] if label else []))
    ys = np.asarray(columns[y], float)
    finite = np.flatnonzero(np.isfinite(ys))
    points = {"x": _at(columns[x], finite), "y": ys[finite].tolist()}
    points |= {"series": _at(columns[series], finite)} if series else {}
    points |= {"label": _at(columns[label], finite)} if label else {}
    last: dict[str, int] = {}  # the row of each series that lies furthest to the right
    for row, (place, name) in enumerate(zip(points["x"], points.get("series", [""] * len(finite)), strict=True)):
        if name not in last or place > points["x"][last[name]]:
            last[name] = row
    ends = [points["y"][row] for row in last.values()]
    figures = [format(end, number).replace("-", "−") for end in ends]
    apart = LABEL / (height - PADDING - AXIS) * (max(points["y"]) - min(points["y"]))
    names = {
        "x": [points["x"][row] for row in last.values()],
        "place": _apart(ends, apart),
        "end": [f"{name}  {figure}" if series else figure for name, figure in zip(last, figures, strict=True)],
    }
    looks = _curves(x, y, tuple(last) if series else (), label, width, height)
    return Plot(looks, {"points": points, "ends": names})


@lru_cache(maxsize=MADE)
def _curves(x: str, y: str, series: tuple[str, ...], label: str | None, width: int, height: int) -> dict:
    tooltip = [alt.Tooltip("x:Q", title=x), alt.Tooltip("y:Q", title=y, format=".4~g")]
    tooltip += [alt.Tooltip("label:N", title=label)] if label else []
    base = alt.Chart(alt.NamedData("points"), width=width, height=height).encode(
        x=alt.X("x:Q").axis(title=x, grid=False, tickCount=4, domain=False, format="~s").scale(nice=False),
        y=alt.Y("y:Q").axis(title=None, grid=False, tickCount=3, domain=False).scale(zero=False),
    )
    if series:
        base = base.encode(color=alt.Color("series:N").sort(series).legend(None))
    line = base.mark_line(strokeWidth=1.6)
    points = base.mark_circle(size=120, opacity=0).encode(tooltip=tooltip)
    ends = alt.Chart(alt.NamedData("ends")).mark_text(align="left", dx=6, fontSize=11, color=INK)
    ends = ends.encode(x="x:Q", y=alt.Y("place:Q").title(None), text="end:N")
    return _plain(alt.layer(line, points, ends)).to_dict()


def _apart(ends: Sequence[float], least: float) -> list[float]:
    """Where labels stand so that none covers another: each at its number, or `least` above the one below it."""
    places, below = list(ends), -math.inf
    for at in sorted(range(len(ends)), key=ends.__getitem__):
        places[at] = below = max(ends[at], below + least)
    return places


def _columns(table: Table, *names: str) -> dict[str, Sequence]:
    missing = [name for name in names if name not in table]
    if missing:
        raise ValueError(f"The table has no column {', '.join(missing)}; it has {', '.join(map(str, table))}.")
    columns = {name: table[name] for name in names}
    if not len(columns[names[0]]):
        raise ValueError("The table has no rows, so there is nothing to draw.")
    return columns


def _at(column: Sequence, rows: np.ndarray) -> list:
    """What a column holds in some rows."""
    values = list(column)
    return [values[row] for row in rows]


def _share(field: str) -> alt.Color:
    """The theme's sequential colours, from 0 to 1."""
    return alt.Color(f"{field}:Q").scale(domain=[0, 1]).legend(None)


def _signed(field: str, limit: str) -> alt.Color:
    """The theme's diverging colours around zero, up to the parameter `limit`."""
    ends = [alt.expr(f"-{limit}"), alt.expr(limit)]
    return alt.Color(f"{field}:Q").scale(domain=ends, domainMid=0).legend(None)


def _plain(chart: alt.TopLevelMixin) -> alt.TopLevelMixin:
    """No frame, no grid."""
    return chart.configure_view(stroke=None).configure_axis(grid=False)
