"""Charts of what dividing scores by the root of d_k does: on random vectors, and to one query's weights. Pure."""

from collections.abc import Sequence

import altair as alt
import pandas as pd

from explorer.views import charts
from explorer.words import Words

NAMED = 16  # keys whose tokens can be written under their bars


def random_scores(rows: Sequence, words: Words, measure: str) -> alt.LayerChart:
    """A measure of `analysis.attention.random_saturation` (`spread`, `deviation`) over d_k, with and without scaling."""
    frame = pd.DataFrame(
        {
            "d_k": row.d_k,
            "measure": getattr(row, measure),
            "scaling": words("saturation.scaled" if row.scaled else "saturation.raw"),
        }
        for row in rows
    )
    return charts.curves(frame, "d_k", "measure", "scaling", width=300, height=150)


def one_query(scaled: Sequence[float], raw: Sequence[float], labels: Sequence[str], words: Words) -> alt.LayerChart:
    """A query's weights on its keys: bars as the model has them, ticks as they would be without the division."""
    frame = pd.DataFrame({"key": range(len(labels)), "label": labels, "scaled": scaled, "raw": raw})
    room = [-0.6, len(labels) - 0.4]
    bar = 300 / len(labels)
    base = alt.Chart(frame, height=150).encode(
        alt.X("key:Q").axis(None).scale(domain=room, nice=False),
        tooltip=[
            alt.Tooltip("label:N", title=words("saturation.key")),
            alt.Tooltip("scaled:Q", title=words("saturation.scaled"), format=".3f"),
            alt.Tooltip("raw:Q", title=words("saturation.raw"), format=".3f"),
        ],
    )
    y = alt.Scale(domain=[0, 1])
    bars = base.mark_bar(size=max(1, min(18, 0.7 * bar)), opacity=0.75).encode(
        alt.Y("scaled:Q").axis(title=None, values=[0, 0.5, 1], domain=False).scale(y),
        color=alt.Color("scaled:Q").scale(domain=[0, 1], type="sqrt").legend(None),
    )
    ticks = base.mark_tick(size=max(3, min(24, 0.9 * bar)), thickness=2.5, color="currentColor").encode(
        alt.Y("raw:Q").scale(y)
    )
    layers = [bars, ticks]
    if len(labels) <= NAMED:
        layers.append(
            base.mark_text(baseline="top", dy=5, fontSize=11, limit=max(14, int(1.1 * bar)), color="currentColor").encode(
                y=alt.value(150), text="label:N"
            )
        )
    return alt.layer(*layers).configure_view(stroke=None).configure_axis(grid=False)
