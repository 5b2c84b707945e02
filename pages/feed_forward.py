"""One feed-forward layer on one token: what it asks, what it lets through, what it writes; and one of its neurons."""

import streamlit as st

from explorer import controls, glossary, panel, passes, reader
from explorer.analysis import attribution, memory
from explorer.analysis.predictions import prediction
from explorer.analysis.stream import parameter, read_by
from explorer.changes import Change, read
from explorer.config import ACTIVATIONS, MASK
from explorer.view import current
from explorer.views import numerals
from explorer.views.components import feed_forward
from explorer.views.numerals import percent
from explorer.views.tables import table
from explorer.words import chip

ROWS = 8  # neurons in the picture
WIDEST = 6  # tokens and contexts in the lists of one neuron
ORDERS = ("open", "write", "push")
READY = {
    "encoder": (
        "The big dog saw the little [MASK] dog.",
        "개가 집[MASK] 갔어요.",
        "She was very [MASK].",
    ),
    "decoder": ("The big dog saw the little dog and the", "고양이가 물을 마시고 밥을", "Once upon a time there was a"),
    "encoder-decoder": (
        "The dog saw the big dog.",
        "She drinks water and eats bread.",
        "The doctor is in the kitchen.",
    ),
}

controls.within_frame()

words = reader.words()
prose = words.prose("feed_forward")
ready = READY[reader.choices().architecture]
controls.look_for([(text, prose[f"look {i}"]) for i, text in enumerate(ready, 1)])
view = current()
config = view.config

# Which token of which text

stack = view.stack
if len(config.stacks) > 1:
    stack = controls.pick_option("side", config.stacks, lambda name: words(f"side.{name}"), view.stack)
tokens = view.tokens[stack]
place = view.place_in(stack)
controls.token_row(view, stack, words("ff.tokens"), name=words("ff.tokens"))

# Which pass: the model's own, or with another gate

left, right = st.columns([3, 2], vertical_alignment="bottom")
with left:
    orders = ORDERS if stack == view.stack else ORDERS[:2]
    order = controls.pick_option("order", orders, lambda name: words(f"ff.order.{name}"), "open", words("ff.order"))
with right:
    installed = [
        change.action
        for change in read(view.run.changes)
        if change.action in ACTIVATIONS and change.stack == stack and change.layer in (None, view.layer)
    ]
    usual = installed[-1] if installed else config.activation
    gate = controls.pick_option(
        "gate", ACTIVATIONS, lambda name: words(f"ff.gate_used.{name}"), usual, words("ff.gate_used")
    )
ids = view.run.ids
other_gate = "" if gate == usual else ";".join(f"{gate}:{name[0]}" for name in config.stacks)
run = view.again(more=other_gate)
trace = run.trace
shown = view.over(run)

# The picture

path = f"{stack}.layers.{view.layer}.feed_forward"
target = prediction(trace, view.focus, 1).best[0][0]
pushes = attribution.neurons(trace, path, view.focus, target)
direct = stack == view.stack
probed, mixed = memory.probe(trace, path, place), memory.compose(trace, path, place)
activated = trace[f"{path}.activated"].tensor[place]
ranked = {"open": activated, "write": mixed.size, "push": pushes.abs()}[order]
best = ranked.argsort(descending=True, stable=True).tolist()
neuron = reader.whole("neuron", best[0], config.d_ff)
listed = best[:ROWS] if neuron in best[:ROWS] else [*best[: ROWS - 1], neuron]
rows_of, columns_of = (parameter(trace, f"{path}.{name}.weight") for name in ("w_1", "w_2"))
entrance = read_by(trace, f"{path}.hidden")


def choose(number: int) -> None:
    reader.set_option("neuron", str(number))


def open_cell(path: str, index: tuple[int, ...]) -> None:
    """A number of this layer is opened here, one of another layer among all values."""
    if view.layer_of(path) not in (None, view.layer):
        reader.open_value(path, index)
        return
    panel.open_at(path, index)


def open_kind(kind: str, number: int | None, at: int | None) -> None:
    """A cell of the picture was clicked."""
    found = {
        "x": (entrance, (place, at)),
        "w_1": (f"{path}.w_1.weight", (number, at)),
        "hidden": (f"{path}.hidden", (place, number)),
        "activated": (f"{path}.activated", (place, number)),
        "w_2": (f"{path}.w_2.weight", (at, number)),
        "output": (f"{path}.output", (place, at)),
    }
    open_cell(*found[kind])


feed_forward.layer(
    words,
    key="ff layer",
    on_neuron=choose,
    on_cell=open_kind,
    neurons=config.d_ff,
    token=tokens[place],
    symbol="x̄" if config.norm == "pre" else "x",
    x=probed.x,
    hidden=probed.hidden,
    activated=activated,
    rows=[
        feed_forward.Row(
            number,
            rows_of[number],
            float(probed.cosine[number]),
            float(probed.hidden[number]),
            float(activated[number]),
            columns_of[:, number],
            float(pushes[number] if direct else mixed.size[number]),
        )
        for number in listed
    ],
    output=mixed.output,
    total=float(pushes.sum()) + attribution.feed_forward_bias(trace, path, view.focus, target)
    if direct
    else float(mixed.output.norm()),
    target=view.token(target) if direct else None,
    gate=gate,
    own=config.activation,
    chosen=neuron,
)
if other_gate:
    before, after = (float(found["probabilities"].tensor[view.focus, target]) for found in (view.trace, trace))
    said = words("ff.relu", token=chip(view.token(target).label), before=percent(before), after=percent(after))
    st.markdown(f"{prose['relu']} {said}")

# How a number of it was made

panel.show(shown, "feed-forward", on_open=open_cell)

# One neuron

all_fired, all_texts = passes.firings(view.choices.model)
fired, texts = all_fired[path], all_texts[stack]
widest = [found for found in fired.strongest(neuron, 400) if not texts[found.text][1][found.place].special][:WIDEST]
value = memory.value(trace, path, neuron)
off = ";".join(filter(None, (other_gate, f"off:{stack[0]}{view.layer}f.n{neuron}")))
without = view.again(more=off).trace
masked = config.architecture != "encoder" or tokens[place].id == MASK


def pushed(found) -> list:
    return [(view.token(id), push) for id, push in zip(*(part.tolist() for part in found), strict=True)]


feed_forward.neuron(
    words,
    key="ff neuron",
    on_focus=lambda position: view.look_at(stack, position),
    number=neuron,
    path=path,
    tokens=tokens,
    opens=trace[f"{path}.activated"].tensor[:, neuron],
    focus=place,
    up=pushed(value.promoted(WIDEST)),
    down=pushed(value.suppressed(WIDEST)),
    off=feed_forward.Off(
        view.token(target),
        *(float(found["probabilities"].tensor[view.focus, target]) for found in (trace, without)),
        note="" if masked else words("ff.not_masked"),
    ),
    contexts=[
        feed_forward.context(texts[found.text][0], texts[found.text][1][found.place], found.value) for found in widest
    ],
)
controls.what_if(
    view,
    Change("off", stack, view.layer, "feed_forward", neuron=neuron),
    Change("off", stack, view.layer, "feed_forward"),
)
if not masked and not tokens[place].special:
    st.button(words("ff.mask"), type="tertiary", key="ff mask", on_click=reader.mask, args=([tokens[place]],))

# What it is, why, and how

explained, counted = st.columns([5, 4], gap="large")
with explained:
    st.markdown(prose["what"])
    st.header(words("ff.memory"), anchor=False)
    st.markdown(prose["memory"])
    st.markdown(prose[f"reading {value.reading}"])
with counted:
    for name in ("hidden", "activated", "output"):
        st.latex(glossary.entry(f"{path}.{name}", trace).formula)
    layer = f"{stack}.layers.{view.layer}."
    sizes = {name: found.numel() for name, found in trace.parameters.items() if name.startswith(layer)}
    st.markdown(prose["parts"])
    st.markdown(
        words(
            "ff.sizes",
            part=sum(size for name, size in sizes.items() if name.startswith(f"{path}.")),
            all=sum(sizes.values()),
            token=chip(tokens[place].label),
            stream=numerals.number(float(trace[f"{path}_residual.input"].tensor[place].norm()), 3),
            output=numerals.number(float(mixed.output.norm()), 3),
        )
    )
    st.header(words("ff.gates"), anchor=False)
    st.markdown(prose["gates"])
    rows = []
    for number in range(config.layers):
        opening = memory.gate(trace, f"{stack}.layers.{number}.feed_forward")
        leak = opening.leak[place] if opening.used == gate else 0.0
        shares = (opening.open[place], opening.open.mean(), leak)
        rows.append([str(number), *(percent(float(share)) for share in shares)])
    st.markdown(table([words("layer"), *(words(f"ff.gates.{name}") for name in ("here", "text", "leak"))], rows))

# Each token alone, and dropout

alone, dropping = st.columns([5, 4], gap="large")
with alone:
    st.header(words("ff.alone"), anchor=False)
    controls.unedited(view)
    found = {
        name: passes.others_turned(view.choices.model, *ids, f"{layer}{name}", place)
        for name in ("feed_forward", "self_attention")
    }
    st.markdown(prose["alone" if found["self_attention"].difference else "alone nobody"])
    rows = []
    for name, moved in found.items():
        same = words("ff.alone.of", n=moved.unchanged, all=moved.of)
        rows.append([words(f"part.{name}"), numerals.number(moved.difference, 3), same])
    st.markdown(table([words(f"ff.alone.{name}") for name in ("sublayer", "moved", "same")], rows))
with dropping:
    st.header(words("ff.dropout"), anchor=False)
    st.markdown(prose["dropout"].format(share=percent(config.dropout)))
    controls.unedited(view)
    draw = reader.whole("draw", 1, 100_000)
    dropped = passes.dropped(view.choices.model, *ids, draw)
    st.markdown(
        words(
            "ff.dropout.said",
            n=int((dropped[f"{path}.output"].tensor[place] == 0).sum()),
            all=config.d_model,
            token=chip(view.token(target).label),
            before=percent(float(view.plain.trace["probabilities"].tensor[view.focus, target])),
            after=percent(float(dropped["probabilities"].tensor[view.focus, target])),
        )
    )
    st.button(
        words("ff.dropout.again"),
        type="tertiary",
        key="ff draw",
        on_click=reader.set_option,
        args=("draw", str(draw + 1)),
    )

st.header(words("references"), anchor=False)
st.markdown(prose["references"])
