"""Charts of the entrance: the waves that positions are made of, the map of the stream, sizes and losses by length."""

from collections.abc import Sequence
from functools import cache

import altair as alt
import numpy as np

from explorer.views.plot import Plot, columns
from explorer.words import Words

INK = "currentColor"
WRITTEN = 48  # tokens of a map that are named and followed; of a longer text only those that are asked for
TONE = alt.Color("tone:Q").scale(domain=[0, 1]).legend(None)
STRONG, WEAK = 0.85, 0.4  # places on the theme's sequential range


def wave(values: Sequence[float], length: int, focus: int, words: Words) -> Plot:
    """One dimension of the positions: its wave over `values`, the first `length` of them this text's, one in focus."""
    own = {"position": range(length), "value": values[:length], "tone": [WEAK + 0.1] * length}
    here = {"position": [focus], "value": [values[focus]], "tone": [STRONG]}
    whole = {"position": range(len(values)), "value": values}
    return Plot(_wave(words.language, len(values)), {"wave": whole, "own": own, "here": here})


@cache
def _wave(language: str, count: int) -> dict:
    words = Words(language)
    x = alt.X("position:Q").axis(title=words("embedding.position"), tickCount=5, format="d")
    x = x.scale(domain=[0, count - 1], nice=False)
    y = alt.Y("value:Q").axis(title=None, values=[-1, 0, 1]).scale(domain=[-1.08, 1.08], nice=False)
    tooltip = [
        alt.Tooltip("position:Q", title=words("embedding.position")),
        alt.Tooltip("value:Q", title=words("arithmetic.value"), format=".3f"),
    ]
    base = alt.Chart(alt.NamedData("wave")).encode(x, y, tooltip=tooltip)
    line = base.mark_line(strokeWidth=1, color=INK, opacity=0.45)
    return _plain(alt.layer(line, _dots(base, "own", 22), _dots(base, "here", 110)).properties(height=150)).to_dict()


def wavelengths(lengths: Sequence[float], pair: int, words: Words) -> Plot:
    """How long each pair's wave is, in tokens, on a logarithmic scale; one pair in accent."""
    pairs = {"dimension": range(0, 2 * len(lengths), 2), "tokens": lengths, "tone": [WEAK] * len(lengths)}
    here = {"dimension": [2 * pair], "tokens": [lengths[pair]], "tone": [STRONG]}
    ends = {"low": 0.8 * min(lengths), "high": 1.3 * max(lengths)}
    return Plot(_wavelengths(words.language), {"pairs": pairs, "here": here}, ends)


@cache
def _wavelengths(language: str) -> dict:
    words = Words(language)
    base = alt.Chart(alt.NamedData("pairs")).encode(
        alt.X("dimension:Q").axis(title=words("embedding.dimension"), tickCount=5).scale(nice=False, padding=4),
        alt.Y("tokens:Q")
        .axis(title=words("embedding.wavelength"), values=[10, 100, 1000, 10000], format=",d")
        .scale(type="log", nice=False, domain=[alt.expr("low"), alt.expr("high")]),
        tooltip=[
            alt.Tooltip("dimension:Q", title=words("embedding.dimension")),
            alt.Tooltip("tokens:Q", title=words("embedding.wavelength"), format=",.1f"),
        ],
    )
    drawn = alt.layer(_dots(base, "pairs", 14), _dots(base, "here", 110))
    return _plain(drawn.add_params(alt.param("low"), alt.param("high")).properties(height=130)).to_dict()


def plane(points: np.ndarray, labels: Sequence[str], stage: int, focus: int, same: Sequence[int], words: Words) -> Plot:
    """The map: each token where it stands at a stage, and its way there; `points` is [stage, position, 2].

    `focus` and the positions in `same` (the same token elsewhere) are in accent. A click chooses a token: the
    selection `pick` has its `position`.
    """
    count = points.shape[1]
    kind = ["focus" if i == focus else "same" if i in same else "other" for i in range(count)]
    tone = {"focus": STRONG, "same": 0.6, "other": 0.3}
    places = points.tolist()
    ways = [
        (s, i, *places[s][i], labels[i], kind[i], tone[kind[i]])
        for i in range(count)
        for s in range(stage + 1)
        if count <= WRITTEN or kind[i] != "other" or s == stage
    ]
    now = [row for row in ways if row[0] == stage]
    named = [row for row in now if count <= WRITTEN or kind[row[1]] != "other"]
    names = ("stage", "position", "x", "y", "token", "kind", "tone")
    tables = {name: columns(names, rows) for name, rows in (("ways", ways), ("now", now), ("named", named))}
    (left, low), (right, high) = points.min((0, 1)).tolist(), points.max((0, 1)).tolist()
    pad_x, pad_y = 0.06 * (right - left) or 1.0, 0.06 * (high - low) or 1.0
    ends = {"left": left - pad_x, "right": right + 2 * pad_x, "low": low - pad_y, "high": high + pad_y}
    return Plot(_plane(words.language), tables, ends)


@cache
def _plane(language: str) -> dict:
    words = Words(language)
    base = alt.Chart(alt.NamedData("ways")).encode(
        alt.X("x:Q").axis(None).scale(domain=[alt.expr("left"), alt.expr("right")], nice=False),
        alt.Y("y:Q").axis(None).scale(domain=[alt.expr("low"), alt.expr("high")], nice=False),
    )
    pick = alt.selection_point(name="pick", on="click", fields=["position"], empty=False)
    strong = alt.datum.kind != "other"
    trail = base.mark_line(strokeWidth=1.2).encode(
        detail="position:N",
        order="stage:Q",
        color=TONE,
        opacity=alt.when(strong).then(alt.value(0.9)).otherwise(alt.value(0.45)),
    )
    dots = (
        base.properties(data=alt.NamedData("now"))
        .mark_circle(opacity=1)
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
    named = base.properties(data=alt.NamedData("named"))
    text = named.mark_text(align="left", dx=8, dy=-1, fontSize=12, limit=110, color=INK).encode(text="token:N")
    text = text.encode(opacity=alt.when(strong).then(alt.value(1)).otherwise(alt.value(0.78)))
    drawn = alt.layer(trail, dots, text).add_params(*map(alt.param, ("left", "right", "low", "high")))
    return _plain(drawn.properties(height=420)).to_dict()


def losses(rows: Sequence[tuple[int, int, float]], trained: int, words: Words) -> Plot:
    """The loss in stretches of positions, `rows` of (first, last, loss), and a line where training ended."""
    bars = [(first, last + 1, loss, first >= trained) for first, last, loss in rows]
    end = {"at": [trained], "said": [words("embedding.trained", n=trained)]}
    most = max(loss for *_, loss in rows)
    return Plot(_losses(words.language), {"losses": _table(bars), "end": end}, {"most": most})


@cache
def _losses(language: str) -> dict:
    words = Words(language)
    x = alt.X("from:Q").axis(title=words("embedding.position"), tickCount=8, format="d").scale(nice=False)
    end = alt.Chart(alt.NamedData("end")).encode(x="at:Q")
    rule = end.mark_rule(strokeDash=[4, 3], color=INK, opacity=0.7)
    text = end.mark_text(align="right", dx=-6, dy=4, baseline="top", fontSize=11, color=INK)
    drawn = alt.layer(*_bars(x, words), rule, text.encode(y=alt.value(0), text="said:N"))
    return _plain(drawn.add_params(alt.param("most")).properties(height=200)).to_dict()


def strung(rows: Sequence[tuple[int, float, float]], words: Words) -> Plot:
    """The loss of a translation by the number of sentences at once, `rows` of (sentences, source tokens, loss)."""
    bars = [(place + 0.08, place + 0.92, loss, count > 1) for place, (count, _, loss) in enumerate(rows)]
    names = [words("embedding.strung", n=int(count), tokens=round(tokens)) for count, tokens, _ in rows]
    most = max(loss for *_, loss in rows)
    return Plot(_strung(words.language, len(rows)), {"losses": {**_table(bars), "name": names}}, {"most": most})


@cache
def _strung(language: str, count: int) -> dict:
    words = Words(language)
    names = alt.Axis(title=None, values=[], labels=False)
    x = alt.X("from:Q", axis=names).scale(domain=[0, count], nice=False)
    base = alt.Chart(alt.NamedData("losses"))
    base = base.mark_text(baseline="top", dy=6, fontSize=11, color=INK, lineBreak="\n")
    drawn = alt.layer(*_bars(x, words), base.encode(x="middle:Q", y=alt.datum(0), text="name:N"))
    room = {"bottom": 34, "left": 0, "right": 0, "top": 4}
    return _plain(drawn.add_params(alt.param("most")).properties(height=200, padding=room)).to_dict()


def _table(bars: Sequence[tuple[float, float, float, bool]]) -> dict[str, Sequence]:
    """Bars of a loss (from, to, loss, whether it is new to the model) with what is written at each, and its tone."""
    rows = [
        (left, right, (left + right) / 2, loss, f"{loss:.2f}", STRONG if new else WEAK)
        for left, right, loss, new in bars
    ]
    return columns(("from", "to", "middle", "loss", "said", "tone"), rows)


def _bars(x: alt.X, words: Words) -> list[alt.Chart]:
    """Bars of `loss` with their figures; those that are new to the model in accent."""
    base = alt.Chart(alt.NamedData("losses"))
    y = alt.Y("loss:Q").axis(None).scale(domain=[0, alt.expr("1.45 * most")], nice=False, zero=True)
    tip = alt.Tooltip("loss:Q", title=words("card.loss"), format=".3f")
    bars = base.mark_bar(orient="vertical", xOffset=1).encode(x, alt.X2("to:Q"), y, color=TONE, tooltip=[tip])
    figures = base.mark_text(dy=-8, fontSize=11, color=INK).encode(x="middle:Q", y="loss:Q", text="said:N")
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


def _dots(base: alt.Chart, name: str, size: int) -> alt.Chart:
    """Points of the table `name`, each in the place of the theme's sequential range that its `tone` says."""
    return base.properties(data=alt.NamedData(name)).mark_circle(size=size, opacity=1).encode(color=TONE)


def _plain(chart: alt.LayerChart) -> alt.LayerChart:
    axis = {"grid": False, "domain": False, "ticks": False, "labelFontSize": 11, "titleFontSize": 11}
    return chart.configure(background="transparent").configure_view(stroke=None).configure_axis(**axis)
