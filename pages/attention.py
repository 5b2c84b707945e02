"""One attention, step by step: from vectors to queries, keys and values, to scores, weights, and a head's output."""

import streamlit as st

from explorer import controls, glossary, passes, reader
from explorer.analysis import attention
from explorer.analysis.limits import limit
from explorer.changes import Change
from explorer.trace import Value
from explorer.view import current
from explorer.views import numerals, saturation
from explorer.views.components.arithmetic import arithmetic_panel
from explorer.views.components.matrix import matrix
from explorer.views.components.plot import plot
from explorer.views.components.steps import path_of, read_cell, steps, write_cell
from explorer.words import chip

READY = {
    "en": (
        "The cat sat on the mat because it was tired.",
        "Tom has a red ball. Tom likes the red",
        "Once upon a time, there was a little girl who had a little",
    ),
    "ko": ("고양이가 피곤해서 매트 위에 앉았다.", "나는 사과를 먹고 너는 사과를", "오늘은 비가 와서 집에 있었다."),
    "source": (
        "The doctor is in the kitchen.",
        "I did not buy the red car.",
        "The child who found the book is happy.",
    ),
}
FORMULAS = ("queries", "keys", "values", "raw_scores", "scores", "masked_scores", "weights", "heads")

controls.within_frame()

words = reader.words()
prose = words.prose("attention")
ready = "source" if reader.choices().architecture == "encoder-decoder" else words.language
look = "look source" if ready == "source" else "look"
controls.look_for([(text, prose[f"{look} {i}"]) for i, text in enumerate(READY[ready], 1)])
view = current()
trace, config, head = view.trace, view.config, view.head

# Which attention, which head, which query

with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="which"):
    which = controls.pick_attention(view)
    controls.pick_head(view)
stack, crossing, path = which.stack, which.crossing, which.path(view.layer)
asking, asked = view.tokens_of(f"{path}.weights", "query"), view.tokens_of(f"{path}.weights", "key")
place = view.place_in(stack)


def look_at(position: int) -> None:
    view.look_at(stack, position)


# The table of steps, and one of its numbers

weights = trace[f"{path}.weights"].tensor[head, place]
strongest = int(weights.argmax())
chosen = read_cell(trace, path, head, place, reader.option("step")) or (
    f"{path}.raw_scores",
    (head, place, strongest),
)


def open_cell(value: str, index: tuple[int, ...]) -> None:
    """Show how a number of this attention is made; any other one on the page of all values."""
    written = write_cell(trace, path, value, index)
    if written is None:
        reader.open_value(value, index)
        return
    step, of_head, query = written
    reader.set_option("step", step)
    if of_head is not None:
        reader.choose(head=of_head)
    if query is not None:
        look_at(query)


steps(
    view,
    path,
    head,
    place,
    limits={name: limit(trace, path_of(trace, path, name)) or 1.0 for name in ("read", "queries", "keys", "values")},
    key="steps",
    chosen=chosen,
    on_open=open_cell,
    on_focus=look_at,
)
arithmetic_panel(view, *chosen, key="attention", on_open=open_cell)
place_of = (stack, view.layer, which.sublayer, head)
if int(trace[f"{path}.allowed"].tensor[place].sum()) > 1:
    controls.what_if(view, Change("block", *place_of, pair=(place, strongest)), Change("off", *place_of))


def go(layer: int, to: int) -> None:
    reader.choose(layer=layer, head=to)
    reader.set_option("step", "")


# What, why, how

told, formulas = st.columns([5, 4], gap="large")
with told:
    st.header(words("attention.what"), anchor=False)
    st.markdown(prose["what"])
    st.markdown(
        words(
            "attention.search",
            query=chip(asking[place].label),
            found=chip(asked[strongest].label),
            score=numerals.number(float(trace[f"{path}.scores"].tensor[head, place, strongest]), 3),
            weight=f"{float(weights[strongest]):.3f}",
        )
    )
    st.markdown(prose["projections"])
    st.markdown(prose[f"kind {'cross' if crossing else stack}"])
    if len(view.attentions) == 1:
        st.button(words("attention.to_cross"), type="tertiary", on_click=reader.switch, args=("encoder-decoder",))
with formulas:
    st.header(words("attention.formulas"), anchor=False)
    lines = [glossary.entry(f"{path}.{name}", trace).formula.replace("=", "&=", 1) for name in FORMULAS]
    st.latex(r"\begin{aligned}" + r"\\[6pt]".join(lines) + r"\end{aligned}")
    st.header(words("attention.habits"), anchor=False)
    st.markdown(prose["habits"])
    heads = [one for one in attention.measures(trace) if one.stack == stack and one.kind.startswith(which.sublayer)]
    with st.container(key="links-heads"):
        for measure in ("previous", "first", "same", "spread"):
            known = [one for one in heads if getattr(one, measure) is not None]
            if known:
                best = max(known, key=lambda one: getattr(one, measure))
                said = {"layer": best.layer, "head": best.head, "share": f"{getattr(best, measure):.2f}"}
                st.button(
                    words(f"attention.most.{measure}", **said),
                    key=f"most {measure}",
                    type="tertiary",
                    on_click=go,
                    args=(best.layer, best.head),
                )

# Why the scores are divided

st.header(words("attention.divide"), anchor=False)
told, random, own = st.columns([10, 9, 10], gap="medium")
with told:
    st.markdown(prose["divide"])
    widths = {"d_k": config.d_k, "root": f"{config.d_k**0.5:.2f}"}
    if config.heads > 1:
        widths |= {"d_model": config.d_model, "other": f"{config.d_model**0.5:.2f}"}
    st.markdown(words("attention.root" if config.heads > 1 else "attention.root_one", **widths))
    controls.what_if(view, Change("unscaled", *place_of), Change("unscaled", *place_of[:3]))
with random:
    st.markdown(f"**{words('saturation.random')}**")
    measure = controls.pick_option(
        "measure", ("spread", "deviation"), lambda name: words(f"saturation.{name}"), "spread"
    )
    plot(saturation.random_scores(passes.random_scores(), words, measure), key="random")
with own:
    st.markdown(f"**{words('saturation.one', token=chip(asking[place].label))}**")
    plot(
        saturation.one_query(
            weights.tolist(),
            attention.unscaled_weights(trace, path, head)[place].tolist(),
            [token.label for token in asked],
            words,
        ),
        key="one query",
    )
    without, scaled = attention.saturation(trace, path, head)
    if len(asked) > 1:
        figures = {"with_most": scaled.largest, "with_spread": scaled.spread, "most": without.largest}
        figures |= {"spread": without.spread}
        st.markdown(words("saturation.figures", **{name: f"{figure:.2f}" for name, figure in figures.items()}))

# Why minus infinity and not 0

st.header(words("attention.mask"), anchor=False)
allowed = trace[f"{path}.allowed"].tensor
if bool(allowed.all()):
    st.markdown(prose["no mask one" if len(asking) == 1 else f"no mask {'cross' if crossing else 'self'}"])
    if config.architecture == "encoder":
        st.button(words("attention.to_decoder"), type="tertiary", on_click=reader.switch, args=("decoder",))
else:
    st.markdown(prose["mask"])
    controls.what_if(view, Change("unmasked", *place_of[:3]))
    tried = attention.masks(trace, path, head)
    for name, column in zip(("right", "zero", "afterwards"), st.columns(3, gap="medium"), strict=True):
        with column:
            st.markdown(f"**{words(f'mask.{name}')}**")
            matrix(
                Value(getattr(tried, name), ("query", "key")),
                name=words(f"mask.{name}"),
                path=f"{path}.weights",
                key=f"mask {name}",
                rows=asking,
                columns=asked,
                scale="weight",
                allowed=None if name == "zero" else allowed,
                focus=place,
                chosen=chosen[1][1:] if chosen[0] == f"{path}.weights" else None,
                legend=name == "right",
                language=words.language,
                on_choose=lambda cell: open_cell(f"{path}.weights", (head, *cell)),
            )
            means = {"forbidden": tried.forbidden[name], "total": tried.total[name]}
            st.markdown(words("mask.figures", **{name: f"{float(mean.mean()):.3f}" for name, mean in means.items()}))

with st.expander(words("numbers.table")):
    columns = {
        glossary.entry(f"{path}.{name}", trace).name[words.language]: trace[f"{path}.{name}"].tensor[head, place]
        for name in ("raw_scores", "scores", "masked_scores", "weights")
    }
    st.dataframe(
        [
            {words("attention.token"): token.label, **{name: float(column[at]) for name, column in columns.items()}}
            for at, token in enumerate(asked)
        ],
        key="numbers",
    )
st.header(words("references"), anchor=False)
st.markdown(prose["references"])
