"""Charts of the page on heads."""

from collections.abc import Sequence
from functools import cache

import altair as alt

from explorer.views.numerals import fixed
from explorer.views.plot import Plot
from explorer.words import Words

INK = "currentColor"
STEP = 22


def shares(share: Sequence[float], chosen: int, words: Words) -> Plot:
    """Each head's share of an output as a bar in the head's own colour; below zero it pulls the other way."""
    heads = {
        "head": range(len(share)),
        "share": share,
        "name": [words("heads.row", n=head) for head in range(len(share))],
        "said": [fixed(number, 2) for number in share],
        "strong": [head == chosen for head in range(len(share))],
    }
    low, high = min(0.0, *share), max(0.0, *share)
    width = (high - low) or 1.0
    return Plot(_shares(len(share)), {"heads": heads}, {"left": low - 0.28 * width, "right": high + 0.16 * width})


@cache
def _shares(count: int) -> dict:
    base = alt.Chart(alt.NamedData("heads")).encode(
        alt.Y("head:O").axis(None).scale(paddingInner=0.4),
        alt.X("share:Q").axis(None).scale(domain=[alt.expr("left"), alt.expr("right")], nice=False, zero=True),
    )
    bar = base.mark_bar(cornerRadius=2).encode(
        color=alt.Color("head:N").sort(list(range(count))).legend(None),
        tooltip=[alt.Tooltip("name:N", title=" "), alt.Tooltip("share:Q", title="share", format=".3f")],
    )
    weight = alt.when(alt.datum.strong).then(alt.value(1)).otherwise(alt.value(0.72))
    name = base.mark_text(align="left", fontSize=12, color=INK).encode(x=alt.value(0), text="name:N", opacity=weight)
    right = base.transform_filter(alt.datum.share >= 0).mark_text(align="left", dx=5, color=INK)
    left = base.transform_filter(alt.datum.share < 0).mark_text(align="right", dx=-5, color=INK)
    return (
        alt.layer(bar, name, *(text.encode(text="said:N", opacity=weight) for text in (right, left)))
        .add_params(alt.param("left"), alt.param("right"))
        .properties(height=STEP * count)
        .configure(background="transparent")
        .configure_view(stroke=None)
        .to_dict()
    )
