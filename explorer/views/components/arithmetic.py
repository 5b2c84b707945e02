"""The panel that answers "how is this number made?" for one cell of any value."""

from collections.abc import Callable

import streamlit as st

from explorer import glossary
from explorer.glossary import Factor
from explorer.trace import Value
from explorer.views import numerals, terms
from explorer.views.components.matrix import matrix
from explorer.views.components.plot import plot
from explorer.words import chip, verbatim

Index = tuple[int, ...]


def arithmetic_panel(view, path: str, index: Index, *, key: str, on_open: Callable[[str, Index], None]) -> None:
    """Draw the arithmetic of one cell of a view's pass: formula, real numbers, all terms, and a map to choose another.

    `view` is what `controls.current()` returns. `on_open(path, index)` is called when the reader follows an input or
    chooses a cell of the map, before the rerun. Raises KeyError and IndexError as `glossary.arithmetic` does.
    """
    words, trace = view.words, view.trace
    cell = glossary.arithmetic(path, index, trace)
    entry = glossary.entry(path, trace)
    many = len(cell.terms) > 1
    attention = path in trace and trace[path].axes[-2:] == ("query", "key")
    with st.container(key=f"arithmetic-{key}"):
        text, picture, choice = st.columns([10, 9, 4] if attention else [10, 12, 1], gap="medium")
        with text:
            st.markdown(f"**{words('arithmetic.title')}**")
            st.markdown(f"{entry.name[words.language]} {_place(view, path, index)}")
            st.markdown(f":gray[`{path}[{', '.join(map(str, index))}]`]")
            st.markdown(f"${cell.formula}$")
            st.markdown("  \n".join(terms.lines(cell, words)))
            with st.container(horizontal=True, vertical_alignment="center", key=f"result-{key}"):
                st.markdown(f"= **{numerals.number(cell.recorded)}**", width="content")
                _next(view, path, index, key, on_open)
            if cell.edited:
                st.markdown(words("arithmetic.edited"))
            sources = terms.sources(cell)
            if sources:
                with st.container(horizontal=True, vertical_alignment="center", key=f"links-{key}"):
                    st.markdown(f":gray[{words('values.from')}]", width="content")
                    for factor in sources:
                        _link(view, factor, key, on_open)
        with picture:
            if many:
                st.markdown(f"**{words('arithmetic.terms', n=sum(term.count for term in cell.terms))}**")
                plot(terms.chart(terms.table(cell.terms), words), key=f"{key} terms")
        with choice:
            if attention:
                st.markdown(f"**{words('arithmetic.choose')}**")
                _map(view, path, index, key, on_open)


def _place(view, path: str, index: Index) -> str:
    """The tokens, head and numbers that a cell's index names, in Markdown."""
    if path not in view.trace:
        return ""
    said = []
    for axis, at in zip(view.trace[path].axes, index, strict=True):
        tokens = view.tokens_of(path, axis)
        if tokens is not None:
            label = chip(tokens[at].label)
            said.append({"query": f":blue[{label}]", "key": f":orange[{label}]"}.get(axis, label))
        elif axis == "head":
            said.insert(0, f":gray[{view.words('head.of', n=at)}]")
        elif axis == "vocabulary":
            said.append(chip(view.token(at).label))
    return " → ".join([" ".join(said[:2]), *said[2:]]) if said and said[0].startswith(":gray") else " → ".join(said)


def _link(view, factor: Factor, key: str, on_open: Callable[[str, Index], None]) -> None:
    name = glossary.entry(factor.path, view.trace).name[view.words.language]
    place = f"[{', '.join(map(str, factor.index))}]" if factor.index else ""
    label = f":violet[{verbatim(name)}] :gray[{verbatim(place)}]"
    to = (factor.path, factor.index)
    st.button(label, key=f"{key} input {factor.path}", type="tertiary", on_click=on_open, args=to)


def _next(view, path: str, index: Index, key: str, on_open: Callable[[str, Index], None]) -> None:
    """What becomes of this number in the next value of the same shape, where there is one."""
    if path not in view.trace:
        return
    shape = view.trace[path].tensor.shape
    for other in glossary.consumers(path, view.trace):
        if view.trace[other].tensor.shape == shape:
            name = glossary.entry(other, view.trace).name[view.words.language]
            value = numerals.number(float(view.trace[other].tensor[index]))
            label = f":gray[{view.words('arithmetic.next')}] :violet[{verbatim(name)}] :gray[= {value}]"
            st.button(label, key=f"{key} next", type="tertiary", on_click=on_open, args=(other, index))
            return


def _map(view, path: str, index: Index, key: str, on_open: Callable[[str, Index], None]) -> None:
    """A small picture of the cell's own panel."""
    value = view.trace[path]
    panel = Value(value.tensor[index[:-2]] if len(index) > 2 else value.tensor, value.axes[-2:])
    role = glossary.entry(path, view.trace).role
    hidden = path.rpartition(".")[0] + ".allowed"
    matrix(
        panel,
        name=glossary.entry(path, view.trace).name[view.words.language],
        path=path,
        key=f"{key} map {path} {index[:-2]}",
        rows=view.tokens_of(path, "query"),
        columns=view.tokens_of(path, "key"),
        scale=scale(role),
        allowed=view.trace[hidden].tensor if role == "weight" else None,
        chosen=index[-2:],
        legend=False,
        language=view.words.language,
        on_choose=lambda cell: on_open(path, (*index[:-2], *cell)),
    )


def scale(role: str) -> str:
    """The colours in which a value of a role is drawn."""
    return {"score": "signed", "probability": "weight", "parameter": "signed"}.get(role, role)
