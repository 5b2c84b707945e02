"""What a sublayer adds to the stream, what a norm does to its numbers, and where the norm sits."""

import streamlit as st

from explorer import controls, glossary, passes, reader
from explorer.address import whole_number
from explorer.analysis import norms
from explorer.analysis.stream import read_by, sublayers
from explorer.changes import Change
from explorer.checkpoints import CheckpointError
from explorer.config import NORMS, model_name
from explorer.trace import Value
from explorer.view import broken, current
from explorer.views import numerals, residuals
from explorer.views.components.arithmetic import arithmetic_panel
from explorer.views.components.matrix import matrix
from explorer.views.components.plot import plot
from explorer.words import chip

FEW = 0.98  # of the numbers of a line, by size, that the colours tell apart
READY = {
    "en": ("The cat sat on the mat because it was tired.", "no no no no no no no no", "Hi."),
    "ko": ("고양이가 피곤해서 매트 위에 앉았다.", "네 네 네 네 네 네 네 네", "안녕."),
    "source": ("The doctor is in the kitchen.", "no no no no no no no no", "Hi."),
}

controls.within_frame()

words = reader.words()
prose = words.prose("residuals")
ready = "source" if reader.choices().architecture == "encoder-decoder" else words.language
controls.look_for([(text, prose[f"look {i}"]) for i, text in enumerate(READY[ready], 1)])
view = current()
config = view.config
read = view.run.ids

# Which text, which sublayer, which token

with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="which"):
    stack = view.stack
    if len(config.stacks) > 1:
        stack = controls.pick_option(
            "side", config.stacks, lambda name: words(f"side.{name}"), stack, words("residuals.stack")
        )
    kinds = [sub.kind for sub in sublayers(view.trace, stack) if sub.layer == 0]
    kind = controls.pick_option(
        "sub", kinds, lambda name: words(f"part.{name}"), kinds[-1], words("residuals.sublayer")
    )
tokens = view.tokens[stack]
place = view.place_in(stack)

controls.token_row(view, stack, words("residuals.follow"))

# The same sublayer of the same text in both norm orders, each with its own trained model

names = {norm: model_name(config.architecture, norm, config.heads) for norm in NORMS}
passed = {config.norm: view.trace}
for norm, name in names.items():
    if norm not in passed and name in reader.models():
        try:
            passed[norm] = view.again(model=name).trace
        except CheckpointError as error:  # the model at hand is shown without the other beside it
            broken(error)
passed = {norm: passed[norm] for norm in NORMS if norm in passed}
sub = {
    norm: next(one for one in sublayers(trace, stack) if (one.layer, one.kind) == (view.layer, kind))
    for norm, trace in passed.items()
}
lines = {norm: norms.walk(trace, sub[norm]) for norm, trace in passed.items()}


def ends(normed: bool) -> float:
    """Where the colours end, in both models alike: for what a norm made, or for the stream and what is added to it."""
    shown = [(norm, path) for norm in passed for path in lines[norm] if (".norm." in path) == normed]
    return max(float(passed[norm][path].tensor[place].abs().quantile(FEW)) for norm, path in shown) or 1.0


limits = {normed: ends(normed) for normed in (False, True)}

# The chosen number: the norm's mean or variance, or a place in one of the lines

norm_path = f"{sub[config.norm].residual}.norm"
figures = {name: f"{norm_path}.{name}" for name in ("mean", "variance")}


def short(path: str) -> str:
    """A line's name in the address, the same in every layer."""
    return path.split(".", 3)[3].removeprefix(kind).lstrip("_.")


by_name = {short(path): path for path in lines[config.norm]}
name, _, asked = reader.option("line", "variance").partition(",")
at = whole_number(asked)
chosen = figures["variance"], (place, 0)
if name in figures:
    chosen = figures[name], (place, 0)
elif name in by_name and at is not None and at < config.d_model:
    chosen = by_name[name], (place, at)


def open_cell(path: str, index: tuple[int, ...]) -> None:
    """Show how a number of this sublayer is made; any other one on the page of all values."""
    known = {path: name for name, path in (by_name | figures).items()}
    if path not in known:
        reader.open_value(path, index)
        return
    view.look_at(stack, index[0])
    reader.set_option("line", known[path] if known[path] in figures else f"{known[path]},{index[1]}")


def clicked(norm: str, name: str, at: int) -> None:
    """A click in one of the two pictures; in that of the other model it brings that model."""
    reader.set_option("line", f"{name},{at}")
    if norm != config.norm:
        reader.switch(norm=norm)


for norm, column in zip(passed, st.columns(len(passed), gap="large"), strict=True):
    trace = passed[norm]
    with column:
        mine = norm == config.norm
        st.markdown(
            f"{':violet[●] ' if mine else ''}**{words(f'residuals.{norm}')}** :gray[{words(f'residuals.{norm}.who')}]"
        )
        st.html(residuals.place(norm == "pre", kind, words))
        last_of_kind = {(".norm." in path): path for path in lines[norm]}.values()
        for path in lines[norm]:
            entry, numbers = glossary.entry(path, trace), trace[path].tensor[place]
            name = short(path)
            with st.container(horizontal=True, horizontal_alignment="distribute", key=f"step-{norm}-{name}"):
                st.markdown(f"{entry.name[words.language]}&emsp;${entry.formula}$", width="content")
                moments = {"mean": numbers.mean(), "deviation": numbers.std(correction=0)}
                said = words(
                    "residuals.moments", **{key: residuals.decimal(float(figure)) for key, figure in moments.items()}
                )
                st.markdown(f":gray[{said}]", width="content")
            matrix(
                Value(numbers, ("d_model",)),
                name=entry.name[words.language],
                path=path,
                part=(place,),
                key=f"line {norm} {path}",
                chosen=chosen[1][1:] if mine and chosen[0] == path else None,
                limit=limits[".norm." in path],
                legend=path in last_of_kind and norm == NORMS[0],
                language=words.language,
                on_choose=lambda cell, norm=norm, name=name: clicked(norm, name, *cell),
            )
with st.container(horizontal=True, vertical_alignment="center", key="links-figures"):
    st.markdown(f":gray[{words('residuals.by_hand', token=chip(tokens[place].label))}]", width="content")
    for name, path in figures.items():
        figure = numerals.number(float(view.trace[path].tensor[place, 0]))
        label = f":violet[{glossary.entry(path).name[words.language]}] ${glossary.entry(path).symbol}$ = {figure}"
        st.button(label, key=f"figure {name}", type="tertiary", on_click=open_cell, args=(path, (place, 0)))
arithmetic_panel(view, *chosen, key="residuals", on_open=open_cell)

# Why add, and why norm

told, normed = st.columns(2, gap="large")
with told:
    st.header(words("residuals.add"), anchor=False)
    st.markdown(prose["add"])
    for norm, trace in passed.items():
        share = norms.unaccounted(trace, stack)
        st.markdown(f"- {words(f'residuals.sum.{norm}', share=numerals.number(share, 2))}")
    controls.what_if(view, *(Change(action, stack, view.layer, kind) for action in ("unlinked", "off")))
with normed:
    st.header(words("residuals.norm_title"), anchor=False)
    st.markdown(prose["norm"])

# Through depth

told, drawn = st.columns([4, 5], gap="large")
with told:
    st.header(words("residuals.depth"), anchor=False)
    st.markdown(prose["depth"])
with drawn:
    st.markdown(words("residuals.depth.of"))
    found = {norm: [at for at in norms.sizes(trace, stack) if at.kind != "end"] for norm, trace in passed.items()}
    plot(residuals.sizes(found, words), key="sizes")

# Batch norm beside layer norm

st.header(words("residuals.batch_title"), anchor=False)
reads = read_by(view.trace, f"{norm_path}.mean")
controls.unedited(view)
rows = passes.padded(view.choices.model, *read, reads)
told, drawn = st.columns([4, 5], gap="large")
with told:
    st.markdown(prose["batch"])
with drawn:
    st.markdown(words("residuals.moved", token=chip(tokens[place].label)))
    plot(residuals.moved(rows, place, words), key="moved")
padding = controls.pick_option("pad", [str(row.padding) for row in rows], str, "0", words("residuals.padded"))
padded = next(row for row in rows if str(row.padding) == padding)
edge = max(float(part.abs().quantile(0.99)) for part in (rows[0].layer, rows[0].batch))
normalised = f"{norm_path}.normalised"
for norm, column in zip(("layer", "batch"), st.columns(2, gap="large"), strict=True):
    with column:
        st.markdown(f"**{words(f'residuals.{norm}')}** :gray[{words(f'residuals.{norm}.how')}]")
        matrix(
            Value(getattr(padded, norm), ("position", "d_model")),
            name=words(f"residuals.{norm}"),
            path=normalised if norm == "layer" else words("residuals.of", path=reads),
            key=f"plate {norm}",
            rows=tokens,
            focus=place,
            chosen=chosen[1] if chosen[0] == normalised else None,
            limit=edge,
            legend=norm == "layer",
            language=words.language,
            on_choose=lambda cell: open_cell(normalised, cell),
        )

# At the start of training: last, since it takes the longest to measure

told, drawn = st.columns([4, 5], gap="large")
with told:
    st.header(words("residuals.start"), anchor=False)
    st.markdown(prose["start"])
with drawn:
    with st.spinner(words("residuals.measuring")):
        fresh = [
            one
            for one in passes.gradients(config, config.architecture, config.heads)
            if (one.stack, one.kind) == (stack, kind)
        ]
    st.markdown(words("residuals.start.of", part=words(f"part.{kind}")))
    plot(residuals.gradients(fresh, words), key="gradients")
    last = {one.norm: one.rms for one in fresh if one.layer == config.layers - 1}
    st.markdown(words("residuals.start.last", times=f"{last['post'] / last['pre']:.1f}"))

st.header(words("references"), anchor=False)
st.markdown(prose["references"])
