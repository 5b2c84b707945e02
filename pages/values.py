"""Every value of the pass: its picture, formula, origin, use and statistics, and the arithmetic of each number."""

from explorer import controls

controls.within_frame()

import streamlit as st

from explorer import export, frames, glossary, reader
from explorer.analysis.limits import limit, nearest
from explorer.view import current
from explorer.views import numerals
from explorer.views.components.arithmetic import arithmetic_panel, scale
from explorer.views.components.catalogue import catalogue
from explorer.views.components.matrix import matrix
from explorer.words import verbatim

MANY = 6  # links in a row; the others are counted

words = reader.words()
prose = words.prose("values")
view = current()
trace = view.trace

usual = f"{view.stack}.layers.{view.layer}.self_attention.weights"
asked = reader.option("v", usual)
path = nearest(trace, asked, view.layer)
if path is None:
    reader.gave_way("v", asked, usual)
    path = usual
reader.set_option("v", path)
value, entry = view.run.value(path), glossary.entry(path, trace)
name = entry.name[words.language]


def go(to: str) -> None:
    reader.open_value(to)


def csv() -> bytes:
    """The value as a table with a row for each number, the tokens beside their positions."""
    tokens = {axis: view.tokens_of(path, axis) for axis in value.axes}
    texts = {axis: [token.label for token in found] for axis, found in tokens.items() if found}
    return export.csv(value, texts)


def links(title: str, paths: list[str], key: str) -> None:
    """Values as links, after a title."""
    if not paths:
        return
    st.markdown(f":gray[{title}]", width="content")
    for other in paths[:MANY]:
        label = f":violet[{verbatim(glossary.entry(other, trace).name[words.language])}]"
        if view.layer_of(other) != view.layer_of(path) and view.layer_of(other) is not None:
            label += f" :gray[{words('layer.of', n=view.layer_of(other))}]"
        st.button(label, key=f"{key} {other}", type="tertiary", on_click=go, args=(other,))
    if len(paths) > MANY:
        st.markdown(f":gray[{words('values.more', n=len(paths) - MANY)}]", width="content")


listed, shown = st.columns([2, 7], gap="medium")
with listed:
    catalogue(trace, path, words, key="catalogue", on_open=go)

with shown:
    with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute", key="named"):
        st.header(name[:1].upper() + name[1:], anchor=False, width="content")
        st.markdown(f":gray[`{path}`]", width="content")
    said, formula = st.columns([3, 2], vertical_alignment="center")
    said.markdown(entry.sentence[words.language])
    formula.latex(entry.formula)
    with st.container(horizontal=True, vertical_alignment="center", key="links"):
        links(words("values.from"), list(dict.fromkeys(glossary.inputs(path, trace).values())), "from")
        links(words("values.to"), glossary.consumers(path, trace), "to")

    row, column = value.axes[-2:] if len(value.axes) > 1 else (value.axes[0], "")
    index = reader.cell(value.tensor.shape)
    hidden = f"{path.rpartition('.')[0]}.allowed" if path.endswith("attention.weights") else None
    role = scale(entry.role)
    matrix(
        value,
        name=name,
        path=path,
        key=f"matrix {path}",
        rows=view.tokens_of(path, row),
        columns=view.tokens_of(path, column),
        scale=role,
        limit=limit(trace, path) if role not in ("weight", "mask", "id") else None,
        allowed=trace[hidden].tensor if hidden else None,
        focus=view.focus if row in ("position", "query") and view.stack == view.stack_of(path) else None,
        chosen=index,
        language=words.language,
        on_choose=lambda cell: reader.set_option("c", ",".join(map(str, cell))),
    )

    found = frames.statistics(value)
    figures = [
        words(f"values.{figure}", number=numerals.number(found[figure]))
        for figure in ("least", "largest", "mean", "deviation")
        if found[figure] is not None and role not in ("id", "mask")
    ]
    if found["masked"]:
        figures.append(words("values.masked", share=f"{found['masked']:.0%}"))
    axes = " × ".join(f"{size} {axis}" for size, axis in zip(found["shape"], value.axes, strict=True))
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="figures"):
        st.markdown(f":gray[`{axes}` · {' · '.join(figures)}]" if figures else f":gray[`{axes}`]", width="content")
        st.download_button(
            words("values.download"),
            csv,
            file_name=f"{view.choices.model}.{path}.csv",
            mime="text/csv",
            type="tertiary",
            on_click="ignore",
        )
    if index is None:
        st.markdown(f":gray[{words('values.choose')}]")
    else:
        arithmetic_panel(view, path, index, key="value", on_open=reader.open_value)
