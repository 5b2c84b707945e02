"""How a token's number becomes the vector that enters the stream, and what context makes of it."""

import streamlit as st

from explorer import controls, glossary, passes, reader
from explorer.address import whole_number
from explorer.analysis import embedding, limits, memory
from explorer.changes import Change
from explorer.config import MAX_TOKENS
from explorer.trace import Value
from explorer.transformer import sinusoids
from explorer.view import current
from explorer.views import embedding as charts
from explorer.views import tables
from explorer.views.components.arithmetic import arithmetic_panel
from explorer.views.components.matrix import matrix
from explorer.views.components.plot import plot
from explorer.views.components.tokens import Bar, bars
from explorer.views.numerals import fixed
from explorer.words import chip

READY = {
    "en": ("The cat saw the dog and the dog saw the cat.", "Lily was happy. Tom was sad.", "no no no no no no no no"),
    "ko": ("고양이가 개를 보고 개가 고양이를 봤어요.", "우리 엄마도 학교에 갔어요.", "네 네 네 네 네 네 네 네"),
}

controls.within_frame()

words = reader.words()
prose = words.prose("embedding")
language = "en" if reader.choices().architecture == "encoder-decoder" else words.language
controls.look_for([(text, prose[f"look {i}"]) for i, text in enumerate(READY[language], 1)])
view = current()
trace, config = view.trace, view.config

# Which text, and which token of it

stack = view.stack
if len(config.stacks) > 1:
    stack = controls.pick_option("side", config.stacks, lambda name: words(f"side.{name}"), view.stack)
tokens = view.tokens[stack]
place = view.place_in(stack)

controls.token_row(view, stack, words("embedding.follow"))
st.markdown(prose["ids"])

# The four steps for one token

STEPS = ("tokens", "scaled", "positions", "output")
paths = {name: f"{stack}.embedding.{name}" for name in STEPS}
step, _, asked = reader.option("cell").partition(",")  # the step that was clicked, and the dimension
dimension = whole_number(asked)
if step not in STEPS or dimension is None or dimension >= config.d_model:
    step, dimension = "", 0


def open_cell(name: str, dimension: int) -> None:
    reader.set_option("cell", f"{name},{dimension}")


def open_position(position: int, dimension: int) -> None:
    open_cell("positions", dimension)
    view.look_at(stack, position)


token = chip(tokens[place].label)
st.header(words("embedding.steps", token=token), anchor=False)
scale = limits.limit(trace, paths["output"])
drawn, told = st.columns([9, 4], gap="large")
with drawn:
    for number, name in enumerate(STEPS):
        value = trace[paths[name]]
        entry = glossary.entry(paths[name], trace)
        with st.container(horizontal=True, horizontal_alignment="distribute", key=f"step-{name}"):
            st.markdown(f"**{number + 1}**&ensp;{entry.name[words.language]}&emsp;${entry.formula}$", width="content")
            length = f"{float(value.tensor[place].norm()):.2f}"
            st.markdown(f":gray[{words('embedding.length_of', length=length)}]", width="content")
        matrix(
            Value(value.tensor[place], ("d_model",)),
            name=entry.name[words.language],
            path=paths[name],
            part=(place,),
            key=f"row {stack} {name}",
            limit=scale,
            chosen=(dimension,) if step == name else None,
            legend=name == STEPS[-1],
            language=words.language,
            on_choose=lambda cell, name=name: open_cell(name, *cell),
        )
told.markdown(prose["steps"])
if step:
    arithmetic_panel(view, paths[step], (place, dimension), key="embedding", on_open=reader.open_value)

# Positions

st.header(words("embedding.positions"), anchor=False)
drawn, told = st.columns([9, 4], gap="large")
with drawn:
    matrix(
        trace[paths["positions"]],
        name=glossary.entry(paths["positions"], trace).name[words.language],
        path=paths["positions"],
        key=f"plate {stack}",
        rows=tokens,
        focus=place,
        chosen=(place, dimension) if step == "positions" else None,
        limit=1.0,
        language=words.language,
        on_choose=lambda cell: open_position(*cell),
    )
    waves = embedding.waves(config.d_model)
    seen = dimension if step else 8
    one, other = st.columns([3, 2], gap="medium")
    with one:
        ahead = sinusoids(MAX_TOKENS, config.d_model)[:, seen].tolist()
        wavelength = f"{waves[seen // 2].wavelength:,.1f}"
        kind = words("embedding.cosine" if seen % 2 else "embedding.sine")
        st.markdown(words("embedding.wave", n=seen, kind=kind, tokens=wavelength))
        plot(charts.wave(ahead, len(tokens), place, words), key="wave")
    with other:
        st.markdown(words("embedding.wavelengths", n=len(waves)))
        lengths = [wave.wavelength for wave in waves]
        plot(charts.wavelengths(lengths, seen // 2, words), key="wavelengths")
told.markdown(prose["positions"])
for part in glossary.entry(paths["positions"], trace).formula.split(r"\quad"):
    told.latex(part.strip().rstrip(","))
with told:
    controls.what_if(view, Change("unplaced", stack))

# Nearest tokens, and the map

flat, near = st.columns([9, 4], gap="large")
with near:
    st.header(words("embedding.nearest", token=token), anchor=False)
    table = view.run.model.embedding.detach()
    found = embedding.nearest(table, tokens[place].id)
    bars(
        [Bar(view.token(one.id), max(0.0, one.cosine), said=fixed(one.cosine, 2)) for one in found],
        name=words("embedding.nearest", token=tokens[place].label),
        key="nearest",
    )
    st.markdown(prose["nearest"])

with flat:
    st.header(words("embedding.map"), anchor=False)
    plane = embedding.plane(trace, stack)
    ends = [0] + [i for i, stage in enumerate(plane.stages) if stage.kind == "feed_forward"]
    names = {
        str(i): words("embedding.entrance") if not i else words("embedding.after", n=i - 1) for i in range(len(ends))
    }
    if (whole_number(reader.option("stage")) or 0) >= len(ends):
        reader.set_option("stage", str(len(ends) - 1))  # the last layer of a model with more
    stage = int(controls.pick_option("stage", list(names), names.get, str(len(ends) - 1)))
    same = [i for i, other in enumerate(tokens) if other.id == tokens[place].id and i != place]

    def picked() -> None:
        chosen = st.session_state["map"]["selection"]["pick"]
        if chosen:
            view.look_at(stack, int(chosen[0]["position"]))

    plot(
        charts.plane(plane.points.numpy(), [token.label for token in tokens], ends[stage], place, same, words),
        key="map",
        on_pick=picked,
    )
    share = f"{sum(plane.explained):.0%}"
    said = [words("embedding.explained", share=share)]
    if len(tokens) > charts.WRITTEN:
        said.append(words("embedding.unwritten", n=len(tokens)))
    st.caption(" ".join(said))
    if same:
        alike = embedding.alike(trace, place, same[0], stack)
        numbers = [fixed(alike[at], 2) for at in ends]
        st.markdown(words("embedding.twice", token=token, one=place, other=same[0], first=numbers[0], last=numbers[-1]))
    st.markdown(prose["map"])

# Length

st.header(words("embedding.length"), anchor=False)
drawn, told = st.columns([9, 4], gap="large")
told.markdown(prose["length"])
with drawn:
    lengths = sorted({3, len(tokens), 200})
    st.html(charts.squares(lengths, words))
    growth = embedding.growth(view.run.model, lengths)
    head = [words("tokens", n=one.length) for one in growth]
    rows = [
        [words("embedding.grows.parameters"), *[f"{one.parameters:,}" for one in growth]],
        [words("embedding.grows.stream"), *[f"{one.stream:,}" for one in growth]],
        [words("embedding.grows.scores"), *[f"{one.scores:,}" for one in growth]],
        [words("embedding.grows.all"), *[f"{one.all_scores:,}" for one in growth]],
    ]
    st.markdown(tables.table(["&nbsp;", *head], rows))
    parts = [f"{words(f'card.part.{part}')} **{n:,}**" for part, n in passes.sizes(view.choices.model).items()]
    st.markdown(f":gray[{words('embedding.parts')}] {' · '.join(parts)}")

st.header(words("embedding.beyond"), anchor=False)
pairs = len(config.stacks) > 1
st.markdown(prose["beyond encoder-decoder" if pairs else "beyond"].format(english=len(memory.sentences("en"))))
if reader.option("far") == "1":
    with st.spinner(words("embedding.measuring")):
        measured = passes.far(view.choices.model)
    if pairs:
        st.markdown(words("embedding.far.pairs"))
        drawing = charts.strung([(one.sentences, one.source, one.loss) for one in measured], words)
    else:
        st.markdown(words("embedding.far"))
        drawing = charts.losses([(one.first, one.last, one.loss) for one in measured], MAX_TOKENS, words)
    plot(drawing, key="far")
else:
    st.button(words("embedding.measure"), on_click=reader.set_option, args=("far", "1"))

st.header(words("references"), anchor=False)
st.markdown(prose["references"])
