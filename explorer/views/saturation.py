"""Charts of what dividing scores by the root of d_k does: on random vectors, and to one query's weights. Pure."""

from collections.abc import Sequence
from functools import cache

import altair as alt

from explorer.views import charts
from explorer.views.plot import Plot, columns
from explorer.words import Words

HEIGHT = 150  # px of the bars
NAMED = 16  # keys whose tokens can be written under their bars


def random_scores(rows: Sequence, words: Words, measure: str) -> Plot:
    """A measure of `analysis.attention.random_saturation` (`spread`, `deviation`) over d_k, scaled and not."""
    said = {scaled: words("saturation.scaled" if scaled else "saturation.raw") for scaled in (True, False)}
    found = [(row.d_k, getattr(row, measure), said[row.scaled]) for row in rows]
    return charts.curves(
        columns(("d_k", "measure", "scaling"), found), "d_k", "measure", "scaling", width=300, height=150
    )


def one_query(scaled: Sequence[float], raw: Sequence[float], labels: Sequence[str], words: Words) -> Plot:
    """A query's weights on its keys: bars as the model has them, lines as they would be without the division."""
    keys = {"key": range(len(labels)), "label": labels, "scaled": scaled, "raw": raw}
    numbers = {"count": len(labels), "room": 300 / len(labels)}
    return Plot(_one_query(words.language, len(labels) <= NAMED), {"keys": keys}, numbers)


@cache
def _one_query(language: str, named: bool) -> dict:
    words = Words(language)
    y = alt.Scale(domain=[0, 1], range=[HEIGHT, 8])
    base = alt.Chart(alt.NamedData("keys"), height=HEIGHT + (18 if named else 4)).encode(
        alt.X("key:Q").axis(None).scale(domain=[-0.6, alt.expr("count - 0.4")], nice=False),
        tooltip=[
            alt.Tooltip("label:N", title=words("saturation.key")),
            alt.Tooltip("scaled:Q", title=words("saturation.scaled"), format=".3f"),
            alt.Tooltip("raw:Q", title=words("saturation.raw"), format=".3f"),
        ],
    )
    bars = base.mark_bar(size=alt.expr("max(1, min(18, 0.7 * room))")).encode(
        alt.Y("scaled:Q").axis(title=None, values=[0, 0.5, 1], format=".1f", domain=False).scale(y),
        color=alt.Color("scaled:Q").scale(domain=[-0.6, 1]).legend(None),
    )
    wide = alt.expr("max(3, min(24, 0.9 * room))")
    lines = base.mark_tick(orient="horizontal", size=wide, thickness=2, color="currentColor")
    layers = [bars, lines.encode(alt.Y("raw:Q").scale(y))]
    if named:
        limit = alt.expr("max(16, floor(1.1 * room))")
        text = base.mark_text(baseline="top", fontSize=11, limit=limit, color="currentColor")
        layers.append(text.encode(y=alt.value(HEIGHT + 5), text="label:N"))
    drawn = alt.layer(*layers).add_params(alt.param("count"), alt.param("room"))
    return drawn.configure_view(stroke=None).configure_axis(grid=False).to_dict()
