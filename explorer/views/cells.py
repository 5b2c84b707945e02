"""Any recorded value as a chart of its table: bars along one axis, cells of two, panels of three. Pure.

The app draws cells on a canvas (components/matrix.py); this is the same table for notebooks and files, where there is
no theme, so the colours are named here.
"""

import altair as alt
import numpy as np
import pandas as pd

MOST = 20_000  # cells; a browser takes seconds for more
SEQUENTIAL = [
    "#F6F3FA",
    "#E9E1F3",
    "#D9CBEA",
    "#C6B1E0",
    "#B196D4",
    "#9B7BC6",
    "#8460B4",
    "#6D479E",
    "#543182",
    "#3A1D61",
]
DIVERGING = ["#1D4E6B", "#3F7390", "#6E9AB1", "#A3C0CF", "#FCFCFA", "#E7B3A4", "#D28470", "#B4543F", "#8A2C1B"]
HATCH, GROUND, INK = "#AEB3BA", "#F4F4F0", "#1B2330"
WIDTH, LABELLED = 560, 48  # pixels of all panels of a row, and the most tokens that are written out
BESIDE = 2  # panels in a row
DATA = alt.NamedData("cells")


def cells(
    frame: pd.DataFrame, *, weight: bool = False, limit: float | None = None, title: str = ""
) -> alt.Chart | alt.LayerChart | alt.FacetChart:
    """A value's table (see frames.frame) as bars, cells or panels of cells, by its number of axes.

    Weights are coloured from 0 to 1, other numbers around zero up to `limit`, by default the largest. Masked cells
    are struck through. Positions are whole numbers, and what a token spells is only ever data.
    Raises ValueError for a table without axes, with more than three, or with more numbers than MOST.
    """
    axes = [column for column in frame if column not in ("value", "masked") and not str(column).endswith("_token")]
    if not 1 <= len(axes) <= 3:
        raise ValueError(f"A chart has one to three axes; this table has {len(axes)}: {', '.join(axes) or 'none'}.")
    if len(frame) > MOST:
        raise ValueError(f"The table has {len(frame):,} numbers, and a chart shows {MOST:,} at most.")
    data = frame.assign(masked=frame.get("masked", False))
    data["value"] = data["value"].astype(float).where(np.isfinite(data["value"].astype(float)), None)
    rows = data.astype(object).where(data.notna(), None).to_dict("records")
    # Values by a name within the chart: a table would be refused beyond 5,000 rows, whatever the browser can do.
    return _drawn(data, axes, weight, limit).properties(title=title, datasets={DATA.name: rows})


def _drawn(
    data: pd.DataFrame, axes: list[str], weight: bool, limit: float | None
) -> alt.Chart | alt.LayerChart | alt.FacetChart:
    if len(axes) == 1:
        return _bars(data, axes[0])
    row, column = axes[-2:]
    panels = int(data[axes[0]].nunique()) if len(axes) == 3 else 1
    wide, tall = int(data[column].max()) + 1, int(data[row].max()) + 1
    across = WIDTH / min(panels, BESIDE) / wide
    side = min(24, max(2, across)) if {row, column} == {"query", "key"} else None
    width, height = (side * wide, side * tall) if side else (min(24 * wide, across * wide), min(600, max(3, 14) * tall))
    size = {"width": round(width), "height": round(height)}
    drawn = _cells(data, row, column, weight, limit, size)
    if len(axes) == 3:
        return drawn.facet(alt.Facet(f"{axes[0]}:O"), columns=BESIDE)
    return drawn


def _cells(data: pd.DataFrame, row: str, column: str, weight: bool, limit: float | None, size: dict) -> alt.LayerChart:
    largest = limit or float(data["value"].astype(float).abs().max()) or 1.0
    stops, ends = (SEQUENTIAL, [0, 1]) if weight else (DIVERGING, [-largest, largest])
    scale = alt.Scale(domain=np.linspace(*ends, len(stops)).tolist(), range=stops, clamp=True)
    tooltip = [alt.Tooltip(f"{name}:N") for name in data if name != "value"] + [alt.Tooltip("value:Q", format=".4~g")]
    base = alt.Chart(DATA, **size).encode(
        x=alt.X(f"{column}:O", axis=alt.Axis(ticks=False, domain=False, labelOverlap=True, labelAngle=0)),
        y=alt.Y(f"{row}:O", axis=_axis(data, row)),
        tooltip=tooltip,
    )
    layers = [
        base.mark_rect().encode(color=alt.Color("value:Q", scale=scale, legend=alt.Legend(title=None))),
        base.transform_filter(alt.datum.masked).mark_rect(fill=GROUND),
        base.transform_filter(alt.datum.masked).mark_text(text="╱", color=HATCH),
    ]
    if _written(data, row):
        layers.append(_tokens(base.transform_filter(alt.datum[column] == 0), row))
    return alt.layer(*layers)


def _written(data: pd.DataFrame, axis: str) -> bool:
    """Whether the tokens of an axis are written beside it, in the place of numbers."""
    return f"{axis}_token" in data and data[axis].max() < LABELLED


def _axis(data: pd.DataFrame, axis: str) -> alt.Axis:
    written = _written(data, axis)
    padding = {"titlePadding": 84} if written else {}
    return alt.Axis(ticks=False, domain=False, labelOverlap=True, labels=not written, **padding)


def _tokens(base: alt.Chart, axis: str) -> alt.Chart:
    """What stands at each place of the vertical axis."""
    return base.mark_text(align="right", dx=-6, color=INK, limit=76).encode(x=alt.value(0), text=f"{axis}_token:N")


def _bars(data: pd.DataFrame, axis: str) -> alt.LayerChart:
    """Bars upwards; where tokens are written beside them, to the right."""
    tooltip = [alt.Tooltip(f"{name}:N") for name in data if name != "value"] + [alt.Tooltip("value:Q")]
    if _written(data, axis):
        base = alt.Chart(DATA, width=WIDTH // 2, height=18 * len(data)).encode(
            y=alt.Y(f"{axis}:O", axis=_axis(data, axis)), tooltip=tooltip
        )
        bars = base.mark_bar(color=SEQUENTIAL[6]).encode(x=alt.X("value:Q", title=None))
        return alt.layer(bars, _tokens(base, axis))
    base = alt.Chart(DATA, width=round(min(24, max(1, WIDTH / len(data))) * len(data)), height=160).encode(
        x=alt.X(f"{axis}:O", axis=alt.Axis(ticks=False, labelOverlap=True, labelAngle=0)), tooltip=tooltip
    )
    return alt.layer(base.mark_bar(color=SEQUENTIAL[6]).encode(y=alt.Y("value:Q", title=None)))
