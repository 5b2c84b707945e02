"""One cell's arithmetic as text and as a chart: the numbers of its formula, its terms and their running sum. Pure."""

from collections.abc import Sequence
from functools import cache
from itertools import accumulate

import altair as alt

from explorer.glossary import Arithmetic, Factor, Term
from explorer.views.numerals import number
from explorer.views.plot import Plot, Table
from explorer.words import Words

HEIGHT = 170  # px of the chart
LARGEST = 4  # terms in print; the others are one sum
COLOURS = {"query": "blue", "key": "orange", "value": "green", "weight": "violet"}  # Streamlit's names for the roles


def _factor(factor: Factor) -> str:
    written = number(factor.number, 3)
    written = f"({written})" if factor.number < 0 else written
    return f":{COLOURS[factor.role]}[{written}]" if factor.role in COLOURS else written


def _term(term: Term) -> str:
    if term.function == "exp":
        return f"exp {_factor(term.factors[0])}"
    return "×".join(_factor(factor) for factor in term.factors)


def lines(cell: Arithmetic, words: Words) -> list[str]:
    """The arithmetic in Markdown, a line each: the largest terms, the rest, what is done to their sum."""
    if cell.form == "given":
        return [words("arithmetic.given")]
    written: list[str] = []
    outer = cell.outer
    alone = len(cell.terms) == 1 and len(cell.terms[0].factors) == 1  # then the line with the division says it
    if cell.terms and not (outer and (outer.name == "lookup" or outer.name == "divide" and alone)):
        written.append("= " + " + ".join(_term(term) for term in cell.largest(LARGEST)))
        if rest := cell.rest(LARGEST):
            written.append(f":gray[+ {words('arithmetic.rest', n=rest.count, sum=number(rest.value))}]")
    if outer and outer.name == "divide":
        written.append(f"= {number(cell.total)} ÷ {number(outer.number)} :gray[$\\;{outer.symbol}$]")
    elif outer and outer.name == "softmax":
        written.append(f"= {number(outer.number)} ÷ {number(cell.total)} :gray[$\\;{outer.symbol} \\div \\Sigma$]")
    elif outer and outer.name in ("sin", "cos"):
        written.append(f"= {outer.name} {number(outer.number)}")
    elif outer and outer.name == "lookup":
        written.append(words("arithmetic.lookup", row=int(outer.number)))
    written += [
        f"{':green[✓]' if condition.holds else ':red[✗]'} ${condition.latex}$ :gray[{condition.words[words.language]}]"
        for condition in cell.conditions
    ]
    return written


def sources(cell: Arithmetic) -> list[Factor]:
    """One factor for each value or parameter that the cell is made of: the one in the largest term."""
    found: dict[str, Factor] = {}
    largest = sorted(cell.terms, key=lambda term: -abs(term.value))
    factors = [factor for term in largest for factor in term.factors]
    factors += list(cell.outer.factors) if cell.outer else []
    factors += [factor for condition in cell.conditions for factor in condition.factors]
    for factor in factors:
        for one in (factor, factor.minus):
            if one is not None and one.path is not None:
                found.setdefault(one.path, one)
    return list(found.values())


def table(terms: Sequence[Term]) -> dict[str, Sequence]:
    """The terms in the order of the sum, in columns: their number, value, running sum."""
    values = [float(term.value) for term in terms]
    return {"term": range(len(terms)), "value": values, "sum": list(accumulate(values))}


def chart(terms: Table, words: Words) -> Plot:
    """Every term as a bar below, and their running sum as steps above; each on a scale of its own, both with a zero."""
    last, total = len(terms["term"]) - 1, terms["sum"][-1]
    (low, high), (least, most) = _domain(terms["value"]), _domain(terms["sum"])
    return Plot(
        _chart(words.language),
        {
            "terms": terms,
            "result": {"term": [last], "sum": [total], "said": [number(total)]},
            "ends": {"term": [0, last]},
        },
        {"last": last, "low": low, "high": high, "least": least, "most": most},
    )


@cache
def _chart(language: str) -> dict:
    words = Words(language)
    ends = [-0.5, alt.expr("0.5 + 1.16 * last")]  # room for the sum at the end
    place = alt.X("term:Q", axis=None, scale=alt.Scale(domain=ends, nice=False))
    values = alt.Scale(domain=[alt.expr("low"), alt.expr("high")], zero=True, range=[HEIGHT, 0.62 * HEIGHT])
    sums = alt.Scale(domain=[alt.expr("least"), alt.expr("most")], range=[0.56 * HEIGHT, 8])
    base = alt.Chart(alt.NamedData("terms")).encode(place)
    bars = base.mark_bar(size=alt.expr("max(1, min(14, 240 / (last + 1)))")).encode(
        alt.Y("value:Q", axis=None, scale=values),
        alt.Color("value:Q", scale=alt.Scale(domainMid=0), legend=None),
        tooltip=[
            alt.Tooltip("term:Q", title=words("arithmetic.term")),
            alt.Tooltip("value:Q", title=words("arithmetic.value"), format=".4g"),
            alt.Tooltip("sum:Q", title=words("arithmetic.sum"), format=".4g"),
        ],
    )
    total = alt.Y("sum:Q", axis=None, scale=sums)
    steps = base.mark_line(interpolate="step-after", strokeWidth=1.4, color="currentColor").encode(total)
    result = base.properties(data=alt.NamedData("result")).encode(total, text="said:N")
    first_and_last = alt.Chart(alt.NamedData("ends")).encode(
        place, y=alt.value(HEIGHT + 10), text=alt.Text("term:Q", format="d")
    )
    return (
        alt.layer(
            bars,
            steps,
            result.mark_text(align="left", dx=7, fontWeight=600, color="currentColor"),
            first_and_last.mark_text(fontSize=11, opacity=0.7, color="currentColor"),
        )
        .add_params(*map(alt.param, ("last", "low", "high", "least", "most")))
        .resolve_scale(y="independent")
        .properties(height=HEIGHT, padding={"left": 0, "right": 0, "top": 5, "bottom": 18})
        .configure(background="transparent")
        .configure_view(stroke=None)
        .to_dict()
    )


def _domain(values: Sequence[float]) -> tuple[float, float]:
    """From the least to the largest of the values and zero."""
    low, high = min(0.0, *values), max(0.0, *values)
    return low, high if high > low else low + 1.0
