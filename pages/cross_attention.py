"""Two stacks, and what passes between them: where a translation looks, and what it needs of what it looks at."""

import streamlit as st

from explorer import controls, glossary, passes, reader
from explorer.analysis import crossing as measured
from explorer.analysis.limits import limit
from explorer.analysis.predictions import prediction
from explorer.changes import Change
from explorer.trace import Value
from explorer.view import current
from explorer.views.components.arithmetic import arithmetic_panel
from explorer.views.components.crossing import Expected, Loss, crossing, needs, picture, rows, table
from explorer.views.components.matrix import matrix
from explorer.words import chip

READY = ("I did not buy the red car.", "The doctor is in the kitchen.", "The child who found the book is happy.")
PAIRS = 1_600  # pairs of tokens up to which every source token is taken away in turn
LISTED = 12  # source tokens in the table of a longer text

controls.within_frame()

words = reader.words()
prose = words.prose("cross_attention")


def no_crossing(architecture: str) -> None:
    """What is said of a model with a single stack."""
    st.markdown(prose[f"not {architecture}"])
    st.button(words("crossing.switch"), type="primary", on_click=reader.switch, args=("encoder-decoder",))
    st.markdown(prose["what"])
    st.markdown(prose["why"])


def name(path: str) -> str:
    found = glossary.entry(path, trace).name[words.language]
    return found[:1].upper() + found[1:]


def open_cell(to: str, index: tuple[int, ...] | None) -> None:
    """Show how a number was made: here, where its value is drawn on this page, else among all values."""
    if to not in pictured:
        reader.open_value(to, index)
        return
    reader.set_option("v", to)
    reader.set_option("c", ",".join(map(str, index)) if index else "")


def plate(to: str, *, head: int | None = None, scale: str = "signed", columns: bool = False, labels=None) -> None:
    """A value, or one head of it; a click on a cell shows how it was made."""
    value = trace[to]
    first, part = value.axes[-2], () if head is None else (head,)
    if head is not None:
        value = Value(value.tensor[head], value.axes[1:])
    here = index[len(part) :] if opened == to and index is not None and index[: len(part)] == part else None
    asking = view.tokens_of(to, first)
    matrix(
        value,
        name=name(to),
        path=to,
        key=f"crossing {to} {head}",
        rows=labels or asking,
        columns=view.tokens_of(to, "key") if columns else None,
        scale=scale,
        limit=None if scale == "weight" else limit(trace, to),
        allowed=trace[f"{to.removesuffix('weights')}allowed"].tensor if scale == "weight" else None,
        focus=view.focus if asking is target else None,
        chosen=here,
        part=part,
        legend=scale == "weight",
        language=words.language,
        on_choose=lambda cell: open_cell(to, (*part, *cell)),
    )


def arithmetic(*paths: str) -> None:
    """The arithmetic of the chosen cell, under the pictures it was chosen in."""
    if opened in paths and index is not None:
        arithmetic_panel(view, opened, index, key="crossing", on_open=open_cell)


def look_at_row(row: int) -> None:
    reader.choose(focus=row)
    if opened in (path, f"{own}.weights") and index is not None:  # the arithmetic follows the row
        reader.set_option("c", ",".join(map(str, (index[0], row, min(index[2], len(source) - 1)))))


def look_at_source(key: int) -> None:
    """The weight of the row in focus on a source token: of the head on the screen, or of the one that gives most."""
    layers = range(view.config.layers) if shown == "all" else [view.layer]
    heads = [view.head] if shown == "head" else range(view.config.heads)
    layer, head = max(
        ((layer, head) for layer in layers for head in heads),
        key=lambda at: float(trace[weights_in(at[0])].tensor[at[1], view.focus, key]),
    )
    reader.choose(layer=layer)
    reader.set_option("v", weights_in(layer))
    reader.set_option("c", f"{head},{view.focus},{key}")


def weights_in(layer: int) -> str:
    """The path of a layer's cross-attention weights."""
    return f"decoder.layers.{layer}.cross_attention.weights"


def choose_heads(chosen: str) -> None:
    reader.set_option("of", "head" if chosen.isdecimal() else chosen)
    if chosen.isdecimal():
        reader.choose(head=int(chosen))


def losses(row: int) -> list[Loss]:
    """Each hidden source token, as this row sees it; of many those looked at most, and those missed most."""
    wanted = range(len(found.keys))
    if len(found.keys) > LISTED + 4:
        looked = sorted(wanted, key=lambda at: -looks[row, found.keys[at]])[: LISTED - 4]
        missed = sorted(wanted, key=lambda at: -found.loss[at, row])[:4]
        wanted = sorted({*looked, *missed})
    return [
        Loss(
            found.keys[at],
            source[found.keys[at]],
            float(looks[row, found.keys[at]]),
            float(found.hidden[at, row]),
            float(found.unread[at, row]),
            view.token(int(found.instead[at, row])) if found.instead[at, row] != found.predicted[row] else None,
        )
        for at in wanted
    ]


def guesses(trace) -> list[Expected]:
    """The likeliest token after each of the target."""
    found = [prediction(trace, row, 1).best[0] for row in range(len(target))]
    return [Expected(view.token(id), share) for id, share in found]


def pair(row: int) -> str:
    """A row by what goes in and what comes out of the model as it is."""
    return f"{chip(target[row].label)} → {chip(as_it_is[row].token.label)}"


def misleads(said: measured.Verdict) -> None:
    """The row in which attention misleads most, with its numbers, and the way there."""
    if said.row is None:
        return
    told = words(
        "crossing.misleads",
        pair=pair(said.row),
        word=chip(source[said.key].label),
        weight=f"{float(looks[said.row, said.key]):.2f}",
        before=f"{float(found.probability[said.row]):.2f}",
        after=f"{float(found.hidden[said.key, said.row]):.2f}",
    )
    read = int(found.unread[:, said.row].argmin())
    needed, after, name = said.needed, found.hidden, "needed"
    if needed is None:
        needed, after, name = read, found.unread, "read"
    if found.probability[said.row] - after[needed, said.row] > measured.MATTERS:
        told += " " + words(
            f"crossing.misleads.{name}",
            word=chip(source[needed].label),
            weight=f"{float(looks[said.row, needed]):.2f}",
            after=f"{float(after[needed, said.row]):.2f}",
        )
    else:
        told += " " + words("crossing.misleads.none")
    st.markdown(told)
    if said.row != view.focus:
        st.button(words("crossing.there"), type="tertiary", on_click=look_at_row, args=(said.row,))


crosses = reader.choices().architecture == "encoder-decoder"
if crosses:
    controls.look_for([(text, prose[f"look {i}"]) for i, text in enumerate(READY, 1)])
view = current()
trace = view.trace

if not crosses:
    no_crossing(view.config.architecture)
else:
    source, target = view.tokens["encoder"], view.tokens["decoder"]
    path, own = weights_in(view.layer), f"decoder.layers.{view.layer}.self_attention"
    asking, memory = (glossary.inputs(path.replace("weights", of), trace)["x"] for of in ("queries", "keys"))
    queries, keys, values = (path.replace("weights", of) for of in ("queries", "keys", "values"))
    pictured = (path, f"{own}.weights", asking, memory, queries, keys, values)
    opened = reader.option("v")
    index = reader.cell(trace[opened].tensor.shape) if opened in pictured else None
    expected, as_it_is = guesses(trace), guesses(view.plain.trace)

    # Who looks at whom

    looks = measured.looks(trace)
    shown = reader.option("of", "all", ("all", "mean", "head"))
    weights = {"all": looks, "mean": trace[path].tensor.mean(0), "head": trace[path].tensor[view.head]}[shown]
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom", key="named"):
        told = words(f"crossing.of.{shown}", layer=view.layer, head=view.head, n=view.config.heads)
        st.markdown(f"**{words('crossing.title')}** :gray[{told}]", width="content")
        st.segmented_control(
            words("heads"), ["all", "mean", *map(str, range(view.config.heads))], required=True,
            format_func=lambda of: words("head.of", n=of) if of.isdecimal() else words(f"crossing.choose.{of}"),
            label_visibility="collapsed", width="content",
            **controls.show("crossing heads", str(view.head) if shown == "head" else shown, choose_heads),
        )  # fmt: skip
    order = measured.order(weights, view.run.source)
    crossing(
        picture(source, target, expected, weights, view.focus),
        words,
        key="crossing",
        chosen=index[2] if opened == path and index is not None and index[1] == view.focus else None,
        note=words("crossing.order", pairs=order.pairs, crossed=order.crossed),
        on_target=look_at_row,
        on_source=look_at_source,
    )
    if opened == path:
        arithmetic(path)

    crosses_here = ("off", "decoder", view.layer, "cross_attention")
    controls.what_if(view, Change(*crosses_here), Change(*crosses_here, head=view.head))

    said, formulas = st.columns([3, 2], gap="large")
    with said:
        st.markdown(prose["what"])
        st.markdown(prose["why"])
        st.markdown(prose["how"])
    with formulas:
        for of in (queries, keys, values, path.replace("weights", "scores"), path, path.replace("weights", "heads")):
            st.latex(glossary.entry(of, trace).formula)

    # What it needs

    st.header(words("crossing.needs"), anchor=False)
    controls.unedited(view)
    looks = measured.looks(view.plain.trace)
    every = len(source) * len(target) <= PAIRS
    looked = looks[view.focus].argsort(descending=True, stable=True)[:LISTED].tolist()
    hidden = tuple(range(len(source))) if every else tuple(sorted(looked))
    with st.spinner(words("crossing.trying")):
        ids = (tuple(token.id for token in tokens) for tokens in (source, target))
        found = passes.without(view.choices.model, *ids, hidden)
    shown_losses = losses(view.focus)
    seen, tried = st.columns([2, 5], gap="large")
    with seen:
        st.markdown(prose["needs"])
    with tried:
        st.markdown(words("crossing.row", pair=pair(view.focus)))
        needs(
            table(shown_losses, as_it_is[view.focus]),
            words,
            key="needs",
            chosen=index[2] if opened == path and index is not None and index[1] == view.focus else None,
            on_source=look_at_source,
        )
        if len(shown_losses) < len(source):
            st.caption(words("crossing.more", n=len(source) - len(shown_losses)))
        if every:
            verdict = measured.verdict(looks, found, view.run.source)
            misleads(verdict)
            st.markdown(
                words("crossing.verdict", rows=len(target), same=verdict.same, other=verdict.other, none=verdict.none,
                      limit=f"{measured.MATTERS:.2f}")
            )  # fmt: skip

    # Where it comes from

    st.header(words("crossing.vectors"), anchor=False)
    st.markdown(prose["vectors"])
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown(f"**{words('crossing.own')}** $x$ :gray[$\\to$] :blue[**{name(queries)}**]")
        plate(asking)
        plate(queries, head=view.head, scale="query")
    with right:
        made = f":orange[**{name(keys)}**], :green[**{name(values)}**]"
        st.markdown(f"**{words('crossing.memory')}** $M$ :gray[$\\to$] {made}")
        plate(memory)
        plate(keys, head=view.head, scale="key")
        plate(values, head=view.head, scale="value")
    arithmetic(asking, memory, queries, keys, values)

    st.header(words("crossing.maps"), anchor=False)
    st.markdown(prose["maps"])
    where = words("crossing.of.head", layer=view.layer, head=view.head)
    inside, across = st.columns(2, gap="medium")
    with inside:
        st.markdown(f"**{words('part.self_attention')}** :gray[{where}]")
        plate(f"{own}.weights", head=view.head, scale="weight", columns=True, labels=rows(target, expected))
    with across:
        st.markdown(f"**{words('part.cross_attention')}** :gray[{where}]")
        plate(path, head=view.head, scale="weight", columns=True, labels=rows(target, expected))
    arithmetic(f"{own}.weights")

st.markdown(prose["uses"])
st.caption(prose["references"])
