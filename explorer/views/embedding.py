"""Charts of the entrance: the waves that positions are made of, the map of the stream, sizes and losses by length."""

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from explorer.words import Words

INK = "currentColor"
WRITTEN = 48  # tokens of a map that are named and followed; of a longer text only those that are asked for
TONE = alt.Color("tone:Q").scale(domain=[0, 1]).legend(None)
STRONG, WEAK = 0.85, 0.4  # places on the theme's sequential range


def wave(values: Sequence[float], length: int, focus: int, words: Words) -> alt.LayerChart:
    """One dimension of the positions: its wave over `values`, the first `length` of them this text's, one in focus."""
    data = pd.DataFrame({"position": range(len(values)), "value": list(values)})
    x = alt.X("position:Q").axis(title=words("embedding.position"), tickCount=5, format="d")
    x = x.scale(domain=[0, len(values) - 1], nice=False)
    y = alt.Y("value:Q").axis(title=None, values=[-1, 0, 1]).scale(domain=[-1.08, 1.08], nice=False)
    tooltip = [
        alt.Tooltip("position:Q", title=words("embedding.position")),
        alt.Tooltip("value:Q", title=words("arithmetic.value"), format=".3f"),
    ]
    base = alt.Chart(data).encode(x, y, tooltip=tooltip)
    line = base.mark_line(strokeWidth=1, color=INK, opacity=0.45)
    own = _dots(base, data[:length], WEAK + 0.1, 22)
    here = _dots(base, data[focus : focus + 1], STRONG, 110)
    return _plain(alt.layer(line, own, here).properties(height=150))


def wavelengths(lengths: Sequence[float], pair: int, words: Words) -> alt.LayerChart:
    """How long each pair's wave is, in tokens, on a logarithmic scale; one pair in accent."""
    data = pd.DataFrame({"dimension": [2 * i for i in range(len(lengths))], "tokens": list(lengths)})
    base = alt.Chart(data).encode(
        alt.X("dimension:Q").axis(title=words("embedding.dimension"), tickCount=5).scale(nice=False, padding=4),
        alt.Y("tokens:Q")
        .axis(title=words("embedding.wavelength"), values=[10, 100, 1000, 10000], format=",d")
        .scale(type="log", nice=False, domain=[min(lengths) * 0.8, max(lengths) * 1.3]),
        tooltip=[
            alt.Tooltip("dimension:Q", title=words("embedding.dimension")),
            alt.Tooltip("tokens:Q", title=words("embedding.wavelength"), format=",.1f"),
        ],
    )
    points = _dots(base, data, WEAK, 14)
    here = _dots(base, data[pair : pair + 1], STRONG, 110)
    return _plain(alt.layer(points, here).properties(height=130))


def plane(
    points: np.ndarray, labels: Sequence[str], stage: int, focus: int, same: Sequence[int], words: Words
) -> alt.LayerChart:
    """The map: each token where it stands at a stage, and its way there; `points` is [stage, position, 2].

    `focus` and the positions in `same` (the same token elsewhere) are in accent. A click chooses a token: the
    selection `pick` has its `position`.
    """
    count = points.shape[1]
    kind = ["focus" if i == focus else "same" if i in same else "other" for i in range(count)]
    rows = [
        (s, i, *points[s, i].tolist(), labels[i], kind[i])
        for i in range(count)
        for s in range(stage + 1)
        if count <= WRITTEN or kind[i] != "other" or s == stage
    ]
    data = pd.DataFrame(rows, columns=["stage", "position", "x", "y", "token", "kind"])
    data["tone"] = data["kind"].map({"focus": STRONG, "same": 0.6, "other": 0.3})
    (left, low), (right, high) = points.min((0, 1)).tolist(), points.max((0, 1)).tolist()
    pad_x, pad_y = 0.06 * (right - left) or 1.0, 0.06 * (high - low) or 1.0
    base = alt.Chart(data).encode(
        alt.X("x:Q").axis(None).scale(domain=[left - pad_x, right + 2 * pad_x], nice=False),
        alt.Y("y:Q").axis(None).scale(domain=[low - pad_y, high + pad_y], nice=False),
    )
    pick = alt.selection_point(name="pick", on="click", fields=["position"], empty=False)
    strong = alt.datum.kind != "other"
    trail = base.mark_line(strokeWidth=1.2).encode(
        detail="position:N",
        order="stage:Q",
        color=TONE,
        opacity=alt.when(strong).then(alt.value(0.9)).otherwise(alt.value(0.45)),
    )
    now = base.transform_filter(alt.datum.stage == stage)
    dots = (
        now.mark_circle(opacity=1)
        .encode(
            color=TONE,
            size=alt.when(alt.datum.kind == "focus").then(alt.value(150)).otherwise(alt.value(60)),
            tooltip=[
                alt.Tooltip("token:N", title=words("embedding.token")),
                alt.Tooltip("position:Q", title=words("embedding.position")),
            ],
        )
        .add_params(pick)
    )
    named = now if count <= WRITTEN else now.transform_filter(strong)
    text = named.mark_text(align="left", dx=8, dy=-1, fontSize=12, limit=110, color=INK).encode(text="token:N")
    text = text.encode(opacity=alt.when(strong).then(alt.value(1)).otherwise(alt.value(0.78)))
    return _plain(alt.layer(trail, dots, text).properties(height=420))


def losses(rows: Sequence[tuple[int, int, float]], trained: int, words: Words) -> alt.LayerChart:
    """The loss in stretches of positions, `rows` of (first, last, loss), and a line where training ended."""
    data = pd.DataFrame(rows, columns=["first", "last", "loss"])
    data["end"], data["middle"] = data["last"] + 1, (data["first"] + data["last"] + 1) / 2
    x = alt.X("first:Q").axis(title=words("embedding.position"), tickCount=8, format="d").scale(nice=False)
    layers = _losses(data.assign(new=data["first"] >= trained), x, alt.X2("end:Q"), "middle:Q", words)
    end = alt.Chart(pd.DataFrame({"at": [trained], "said": [words("embedding.trained", n=trained)]})).encode(x="at:Q")
    rule = end.mark_rule(strokeDash=[4, 3], color=INK, opacity=0.7)
    text = end.mark_text(align="right", dx=-6, dy=4, baseline="top", fontSize=11, color=INK)
    return _plain(alt.layer(*layers, rule, text.encode(y=alt.value(0), text="said:N")).properties(height=200))


def strung(rows: Sequence[tuple[int, float, float]], words: Words) -> alt.LayerChart:
    """The loss of a translation by the number of sentences at once, `rows` of (sentences, source tokens, loss)."""
    data = pd.DataFrame(rows, columns=["sentences", "source", "loss"])
    data["name"] = [words("embedding.strung", n=int(n), tokens=round(tokens)) for n, tokens, _ in rows]
    data["place"] = range(len(rows))
    names = alt.Axis(title=None, values=[], labels=False)
    x = alt.X("from:Q", axis=names).scale(domain=[0, len(rows)], nice=False)
    data["from"], data["to"], data["middle"] = data["place"] + 0.08, data["place"] + 0.92, data["place"] + 0.5
    layers = _losses(data.assign(new=data["sentences"] > 1), x, alt.X2("to:Q"), "middle:Q", words)
    base = alt.Chart(data).mark_text(baseline="top", dy=6, fontSize=11, color=INK, lineBreak="\n")
    return _plain(
        alt.layer(*layers, base.encode(x="middle:Q", y=alt.datum(0), text="name:N")).properties(
            height=200, padding={"bottom": 34, "left": 0, "right": 0, "top": 4}
        )
    )


def _losses(data: pd.DataFrame, x: alt.X, x2: alt.X2, middle: str, words: Words) -> list[alt.Chart]:
    """Bars of `loss` with their figures; those that are `new` to the model in accent."""
    data = data.assign(said=data["loss"].map("{:.2f}".format), tone=data["new"].map({True: STRONG, False: WEAK}))
    y = alt.Y("loss:Q").axis(None).scale(domain=[0, 1.45 * float(data["loss"].max())], nice=False)
    tip = alt.Tooltip("loss:Q", title=words("card.loss"), format=".3f")
    bars = alt.Chart(data).mark_bar(orient="vertical", xOffset=1).encode(x, x2, y, color=TONE, tooltip=[tip])
    figures = alt.Chart(data).mark_text(dy=-8, fontSize=11, color=INK).encode(x=middle, y="loss:Q", text="said:N")
    return [bars, figures]


def squares(lengths: Sequence[int], words: Words) -> str:
    """Attention matrices of several lengths as squares on one scale, one pixel a number: HTML without any user text."""
    paint = "background:color-mix(in srgb,#8460B4 62%,transparent)"
    drawn = "".join(
        f'<figure style="margin:0"><div style="width:{n}px;height:{n}px;{paint}"></div>'
        f'<figcaption style="font-size:12px;opacity:.75;font-variant-numeric:tabular-nums;margin-top:4px">'
        f"{n:,} × {n:,}</figcaption></figure>"
        for n in lengths
    )
    return (
        f'<div role="img" aria-label="{words("embedding.squares", n=len(lengths))}" '
        f'style="display:flex;flex-wrap:wrap;gap:24px;align-items:flex-end">{drawn}</div>'
    )


def _dots(base: alt.Chart, rows: pd.DataFrame, tone: float, size: int) -> alt.Chart:
    """Points in one colour of the theme's sequential range."""
    return base.properties(data=rows.assign(tone=tone)).mark_circle(size=size, opacity=1).encode(color=TONE)


def _plain(chart: alt.LayerChart) -> alt.LayerChart:
    axis = {"grid": False, "domain": False, "ticks": False, "labelFontSize": 11, "titleFontSize": 11}
    return chart.configure(background="transparent").configure_view(stroke=None).configure_axis(**axis)
