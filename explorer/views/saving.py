"""What a key-value cache saves: the counts of `analysis.cache.Saved` as a table and as bars. Pure."""

from collections.abc import Sequence
from functools import cache

import altair as alt

from explorer.views import tables
from explorer.views.charts import BEST, INK, PADDING
from explorer.views.plot import Plot, columns
from explorer.words import Words

STEP, BAR = 38, 12  # px: a bar with its name above it, and the bar
WHOLE = 0.22  # where on the sequential range the whole pass stands; the step with the cache stands at BEST


def table(parts: Sequence, words: Words) -> str:
    """The parts in Markdown, a row each: the numbers of a whole pass, and those computed and kept with a cache."""
    counts = ("whole", "anew", "kept")
    head = [words("generation.cache.part"), *(words(f"generation.cache.{name}") for name in counts)]
    rows = [
        [words(f"generation.cache.of.{part.name}"), *(f"{getattr(part, name):,}" for name in counts)] for part in parts
    ]
    return tables.table(head, rows)


def multiplications(parts: Sequence, words: Words) -> Plot:
    """A bar for the multiplications of each part in a whole pass, and in it one for those of a step with a cache."""
    counted = [part for part in parts if part.multiplied_whole]
    rows = [
        (
            place,
            words(f"generation.cache.of.{part.name}"),
            part.multiplied_whole,
            part.multiplied_anew,
            f"{part.multiplied_whole:,} → {part.multiplied_anew:,}",
            WHOLE,
            BEST,
        )
        for place, part in enumerate(counted)
    ]
    names = ("place", "part", "whole", "anew", "counts", "light", "dark")
    return Plot(_multiplications(words.language, len(rows)), {"parts": columns(names, rows)})


@cache
def _multiplications(language: str, count: int) -> dict:
    words = Words(language)
    base = alt.Chart(alt.NamedData("parts"), height=STEP * count + PADDING).encode(
        y=alt.Y("place:O").axis(None).sort("ascending").scale(paddingInner=1 - BAR / STEP),
        tooltip=[
            alt.Tooltip("part:N", title=words("generation.cache.part")),
            alt.Tooltip("whole:Q", title=words("generation.cache.multiplied_whole"), format=","),
            alt.Tooltip("anew:Q", title=words("generation.cache.multiplied_anew"), format=","),
        ],
    )
    tone = {name: alt.Color(f"{name}:Q").scale(domain=[0, 1]).legend(None) for name in ("light", "dark")}
    whole = base.mark_bar(cornerRadius=2, size=BAR).encode(x=alt.X("whole:Q").axis(None), color=tone["light"])
    anew = base.mark_bar(cornerRadius=2, size=BAR).encode(x="anew:Q", color=tone["dark"])
    above = {"baseline": "bottom", "dy": -BAR / 2 - 3, "color": INK, "fontSize": 12}
    name = base.mark_text(align="left", **above).encode(x=alt.value(0), text="part:N")
    counts = base.mark_text(align="right", opacity=0.75, **above).encode(x=alt.value("width"), text="counts:N")
    return alt.layer(whole, anew, name, counts).configure_view(stroke=None).to_dict()
