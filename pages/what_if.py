"""Changes of the running model: what they do to the prediction, and on the way to it."""

import streamlit as st

from explorer import controls, panel, reader
from explorer.analysis import edits
from explorer.analysis.predictions import prediction
from explorer.analysis.stream import stages
from explorer.changes import Change, read, write
from explorer.config import ACTIVATIONS, MASK
from explorer.trace import Value
from explorer.view import current, reading
from explorer.views.changes import place_in_words
from explorer.views.components import switches
from explorer.views.components.matrix import matrix
from explorer.views.components.tokens import strip
from explorer.views.window import around
from explorer.words import strong, verbatim

QUICK = 48  # tokens up to which every head is tried without being asked for: half a second
LISTED = 5  # tokens of a prediction, before and after
COLUMNS = 12  # positions of a map between two sentences; of longer ones those around the focus
KEPT = 12  # sweeps that a visit remembers
GENDER = ("The girl was happy because", "The boy was happy because")
MASKED = tuple(f"{text} [MASK] had a new ball." for text in GENDER)
READY = {  # pairs of sentences
    "encoder": {
        "en": (
            MASKED,
            ("The dog chased the cat. The [MASK] ran away.", "The cat chased the dog. The [MASK] ran away."),
        ),
        "ko": (MASKED, ("나는 밥[MASK] 먹었어요.", "나는 밥[MASK] 있어요.")),
    },
    "decoder": {
        "en": (GENDER, ("The dog saw the cat. The", "The cat saw the dog. The")),
        "ko": (GENDER, ("나는 밥을", "나는 밥이")),
    },
}
TRANSLATED = (  # and the position in the translation where they part
    ("The doctor is in the kitchen.", "The doctor is in the garden.", 2),
    ("The cat saw the dog.", "The dog saw the cat.", 0),
)

controls.within_frame()

words = reader.words()
prose = words.prose("what_if")


# Ready changes


def whole(action: str, stacks: tuple[str, ...]) -> tuple[Change, ...]:
    """An action at every place that it fits, in each of these stacks."""
    return tuple(Change(action, stack) for stack in stacks)


def ready() -> dict[str, tuple[Change, ...]]:
    """Changes that show something, by the name of what is said of them."""
    config = reader.models()[reader.choices().model]
    found = {"unplaced": whole("unplaced", config.stacks)}
    if "decoder" in config.stacks:
        found["unmasked"] = tuple(
            Change("unmasked", "decoder", layer, "self_attention") for layer in range(config.layers)
        )
    kind = "cross_attention" if len(config.stacks) > 1 else "self_attention"
    found[kind] = tuple(Change("off", config.stacks[-1], layer, kind) for layer in range(config.layers))
    found["unlinked"] = whole("unlinked", config.stacks)
    other = next(name for name in ACTIVATIONS if name != config.activation)
    found[other] = whole(other, config.stacks)
    return found


if reader.choices().model in reader.models():
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="examples"):
        st.markdown(f":gray[{words('what_if.try')}]", width="content")
        for name, made in ready().items():
            st.button(
                words(f"what_if.try.{name}"), key=f"try {name}", type="tertiary", on_click=reader.choose,
                kwargs={"edits": made},
            )  # fmt: skip
    for name, made in ready().items():
        if made == reader.choices().edits:
            st.markdown(f":violet-background[{words('look_for.now')}] {prose[f'try {name}']}")
view = current()
config, made = view.config, view.choices.edits
before, after = view.plain.trace, view.trace
tokens = view.tokens[view.stack]


# The place that was clicked last, and the token whose logit is looked at


def fits(place: Change) -> bool:
    try:
        edits.install([place], config)
    except ValueError:
        return False
    return True


def chosen_place() -> Change:
    """The place at hand, as the change that switches it off."""
    usual = Change("off", view.stack, view.layer, "self_attention", head=view.head)
    try:
        found = read(f"off:{reader.option('place')}")
    except ValueError:
        return usual
    return found[0] if len(found) == 1 and fits(found[0]) else usual


def code(place: Change) -> str:
    """A place as a link has it: d0a.h2."""
    return write([place]).removeprefix("off:")


def switch(code: str) -> None:
    """Switch a place off, or on again, and look at it. For callbacks."""
    one = read(f"off:{code}")[0]
    reader.set_option("place", code)
    if one.layer is not None:
        reader.choose(layer=one.layer, **({"head": one.head} if one.head is not None else {}))
    if one.sublayer is not None:
        reader.edit(one)


place = chosen_place()
likely = prediction(before, view.focus, 1).best[0][0]
token = reader.whole("token", likely, config.vocabulary)
bold = strong(view.token(token).label)


# Sweeps: what has been tried of each is kept by the visit, so one that was stopped goes on where it was


def tried(kind: str) -> dict[str, float]:
    """The effects found so far, by the text of the change."""
    known = st.session_state.setdefault("what_if tried", {})
    run = view.run if reader.option("over") == "changed" else view.plain
    at = (
        kind,
        view.choices.model,
        run.ids,
        run.changes,
        view.other if kind == "patch" else run.other,
        view.focus,
        token,
    )
    if kind == "neurons":
        at = (*at, layer_of_neurons)
    if at not in known:
        while len(known) >= KEPT:
            del known[next(iter(known))]
        known[at] = {}
    return known[at]


def start(kind: str) -> None:
    reader.set_option("sweep", kind)


def sweep_button(kind: str, tries: list[Change]):
    """A way to start a sweep or go on with it, or how far it has come; returns where its progress is shown."""
    done, slot = len(tried(kind)), st.empty()
    if done < len(tries) and kind not in running:
        with slot.container(horizontal=True, vertical_alignment="center"):
            if done:
                st.markdown(f":gray[{words('what_if.partial', n=done, all=len(tries))}]", width="content")
            label = words("what_if.go_on") if done else words(f"what_if.sweep.{kind}", n=len(tries))
            st.button(label, key=f"sweep {kind}", on_click=start, args=(kind,))
    return slot


def sweep(kind: str, tries: list[Change], slot) -> None:
    """Try each change that has not been tried, with a bar and a button to stop."""
    found = tried(kind)
    left = [change for change in tries if write([change]) not in found]
    if not left:
        return
    with slot.container(horizontal=True, vertical_alignment="center", key="sweeping"):
        bar = st.progress(len(found) / len(tries), words("what_if.trying", n=len(found), all=len(tries)), width=320)
        st.button(words("generation.stop"), key="sweep stop", on_click=start, args=("off",))
    run = view.run if reader.option("over") == "changed" else view.plain
    going = edits.sweep(
        run.model, run.source, run.target, left, view.focus, token, read(run.changes), view.second and view.second.trace
    )
    for step in going:
        found[write([step.change])] = step.effect
        bar.progress(len(found) / len(tries), words("what_if.trying", n=len(found), all=len(tries)))
    st.rerun()


layer_of_neurons = (place.stack, view.layer if place.layer is None else place.layer)
short = sum(map(len, view.tokens.values())) <= QUICK
asked = reader.option("sweep", "model" if short else "off", ("off", "model", "neurons", "patch"))
running = {"off": ()}.get(asked, ("model", asked) if short else (asked,))


# The model, and what stands where in it

st.subheader(words("what_if.model"), anchor=False)
tries = {"model": [*edits.sublayers(config), *edits.heads(config)]}
with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="named"):
    st.markdown(words("what_if.colours", token=bold), width="content")
    if view.edited:
        controls.pick_option("over", ("trained", "changed"), lambda name: words(f"what_if.over.{name}"), "trained")
slots = {"model": sweep_button("model", tries["model"])}
effects = tried("model")
neuron_effects = tried("neurons")
in_force = [made[number] for number in view.fitting]


def shown(place: Change, label: str) -> switches.Switch:
    """A place, what is changed in it, and what was found when it was tried."""
    here = [one for one in in_force if (one.stack, one.layer, one.sublayer, one.head, one.neuron) == where(place)]
    off = any(one.action == "off" for one in here)
    found = neuron_effects if place.neuron is not None else effects
    return switches.Switch(
        code(place), label, place_in_words(place, words, config.stacks), found.get(write([place])), off,
        bool(here) and not off,
    )  # fmt: skip


def where(place: Change) -> tuple:
    return place.stack, place.layer, place.sublayer, place.head, place.neuron


def sublayer(stack: str, layer: int, kind: str) -> switches.Sublayer:
    itself = Change("off", stack, layer, kind)
    if kind == "feed_forward":
        return switches.Sublayer(shown(itself, words("part.feed_forward")))
    heads = [
        shown(
            Change("off", stack, layer, kind, head=head),
            words("head.of", n=head) if len(config.stacks) == 1 else str(head),  # two attentions leave less room
        )
        for head in range(config.heads)
    ]
    return switches.Sublayer(shown(itself, words(f"part.{kind}")), heads)


def lane(stack: str) -> switches.Lane:
    layers = []
    for layer in range(config.layers):
        kinds = [one.sublayer for one in edits.sublayers(config) if (one.stack, one.layer) == (stack, layer)]
        layers.append((words("layer.of", n=layer), [sublayer(stack, layer, kind) for kind in kinds]))
    return switches.Lane(shown(Change("off", stack), words(f"stack.{stack}")), layers)


def largest(found: dict[str, float]) -> float:
    return max(map(abs, found.values()), default=0.0) or 1.0


switches.model(
    words,
    key="what if model",
    lanes=[lane(stack) for stack in config.stacks],
    chosen=code(place),
    limit=largest(effects),
    on_switch=switch,
)


# What can be done at the place at hand, and the prediction before and after


def actions(place: Change) -> list[Change]:
    """What fits a place, as changes of it."""
    here = dict(zip(("stack", "layer", "sublayer", "head", "neuron"), where(place), strict=True))
    names = ["off", "mean", "unscaled", "unmasked", "unlinked", *ACTIVATIONS, "alike", "distance", "embeddings"]
    if place.sublayer is None:
        names = ["off", "unplaced", *names[2:]]
    found = []
    for name in names:
        change = Change(name, **here)
        try:
            read(write([change]))
        except ValueError:
            continue
        if name != config.activation:
            found.append(change)
    return found


def act(offered: dict[str, Change], key: str) -> None:
    """Bring the changes of the place at hand to what is pressed."""
    for name, change in offered.items():
        if (change in made) != (name in st.session_state[key]):
            reader.edit(change)


def scale(place: Change) -> None:
    """Multiply the place at hand, by 1 for what it was."""
    factor = st.session_state["what if factor"]
    same = [one for one in made if one.action == "scale" and where(one) == where(place)]
    if factor != 1:
        reader.edit(Change("scale", *where(place), factor=factor))
    elif same:
        reader.edit(same[0])


if place.sublayer is None:
    (done, seen), inside = st.columns([6, 5], gap="large"), None
else:
    done, inside, seen = st.columns([4, 5, 5], gap="large")
with done:
    st.markdown(f"**{place_in_words(place, words, config.stacks)}**")
    offered = {change.action: change for change in actions(place)}
    key = f"what if actions {code(place)}"
    st.session_state[key] = [name for name, change in offered.items() if change in made]
    st.pills(
        words("what_if.actions"),
        list(offered),
        selection_mode="multi",
        key=key,
        format_func=lambda name: words(f"what_if.do.{name}"),
        label_visibility="collapsed",
        on_change=act,
        args=(offered, key),
    )
    if place.sublayer is not None:
        factors = [one.factor for one in made if one.action == "scale" and where(one) == where(place)]
        st.session_state["what if factor"] = min(max(factors[0], -1000.0), 1000.0) if factors else 1.0
        st.number_input(
            words("what_if.factor"), -1000.0, 1000.0, step=0.5, key="what if factor", on_change=scale, args=(place,),
            width=160,
        )  # fmt: skip
with seen:
    strip(
        tokens,
        name=words("start.tokens.alt", n=len(tokens)),
        key="what if tokens",
        focus=view.focus,
        on_pick=lambda at: reader.choose(focus=at),
        hint=words("start.focus"),
    )
    masked = config.architecture != "encoder" or tokens[view.focus].id == MASK
    st.markdown(
        words("what_if.behind" if config.architecture == "encoder" else "what_if.next",
              token=strong(tokens[view.focus].label), n=view.focus)
    )  # fmt: skip
    if not masked:
        st.markdown(f":gray[{words('ff.not_masked')}]")
    share = {name: run["probabilities"].tensor[view.focus] for name, run in (("before", before), ("after", after))}
    logit = {name: run["logits"].tensor[view.focus] for name, run in (("before", before), ("after", after))}
    ids = [id for run in (before, after) for id, _ in prediction(run, view.focus, LISTED).best]
    ids = sorted({*ids, token}, key=lambda id: -float(share["before"][id]))
    switches.outcomes(
        words,
        key="what if outcomes",
        rows=[
            switches.Outcome(
                view.token(id), float(share["before"][id]), float(share["after"][id]),
                float(logit["after"][id] - logit["before"][id]),
            )
            for id in ids
        ],
        chosen=token,
        on_token=lambda id: reader.set_option("token", str(id)),
    )  # fmt: skip
    if not view.edited:
        st.markdown(f":gray[{words('what_if.none')}]")


# Inside the place at hand: pairs of an attention, neurons of a feed-forward layer

with inside or done:
    if place.sublayer in ("self_attention", "cross_attention"):
        path = f"{place.stack}.layers.{place.layer}.{place.sublayer}"
        weights = after[f"{path}.weights"].tensor
        asking, asked = view.tokens_of(f"{path}.weights", "query"), view.tokens_of(f"{path}.weights", "key")
        how = controls.pick_option(
            "pair", ("block", "only", "open"), lambda name: words(f"what_if.pair.{name}"), "block",
            words("what_if.pairs"),
        )  # fmt: skip
        pairs = f"what if pairs {code(place)}"
        st.session_state[pairs] = {"cell": None}

        def pair() -> None:
            cell = st.session_state[pairs]["cell"]
            if cell and how == "open":
                panel.open_at(f"{path}.weights", (place.head or 0, *cell))
            elif cell:
                reader.edit(Change(how, place.stack, place.layer, place.sublayer, place.head, pair=tuple(cell)))

        matrix(
            Value(weights.mean(0) if place.head is None else weights[place.head], ("query", "key")),
            name=place_in_words(place, words, config.stacks),
            path=f"{path}.weights",
            part=() if place.head is None else (place.head,),
            key=pairs,
            rows=asking,
            columns=asked,
            scale="weight",
            allowed=after[f"{path}.allowed"].tensor,
            focus=view.place_in(place.stack),
            language=words.language,
            on_choose=pair,
        )
        panel.show(view, "what-if-pairs", f"{path}.weights")
    elif place.sublayer == "feed_forward":
        stack, layer = layer_of_neurons
        tries["neurons"] = edits.neurons(config, stack, layer)
        st.markdown(words("what_if.neurons", n=config.d_ff, token=bold))
        slots["neurons"] = sweep_button("neurons", tries["neurons"])
        switches.neurons(
            words,
            key="what if neurons",
            neurons=[shown(one, words("edit.neuron", n=one.neuron)) for one in tries["neurons"]],
            chosen=code(place),
            limit=largest(neuron_effects),
            on_switch=switch,
        )


# The change through depth


def named(stage) -> str:
    """A stage of the stream in words."""
    if stage.layer is None:
        return words("prediction.entrance")
    return f"{words('layer.of', n=stage.layer)} {words(f'part.{stage.kind}')}"


st.subheader(words("what_if.depth"), anchor=False)
drawn, told = st.columns([8, 3], gap="large") if len(config.stacks) == 1 else (st.container(), st.container())
told.markdown(prose["depth"])
paths = []
with drawn:
    if not view.edited:
        st.markdown(f":gray[{words('what_if.none')}]")
    for stack in config.stacks if view.edited else ():
        found = edits.shifts(before, after, stack)
        paths += [shift.path for shift in found]
        window = around(view.place_in(stack), len(view.tokens[stack]), COLUMNS)
        if len(config.stacks) > 1:
            st.markdown(f"**{words(f'stack.{stack}')}**")
        switches.stages(
            words,
            key=f"what if depth {stack}",
            names=[named(shift) for shift in found],
            tokens=view.tokens[stack],
            window=window,
            numbers={(row, at): float(shift.share[at]) for row, shift in enumerate(found) for at in window},
            share=True,
            focus=view.place_in(stack),
            limit=1.0,
            on_stage=lambda row, at, found=found: panel.open_at(found[row].path, (at, 0)),
        )
        if left_out := len(view.tokens[stack]) - len(window):
            st.caption(words("prediction.lens_window", n=left_out))
    if view.edited:
        panel.show(view, "what-if-depth", *paths)


# Patching from a second sentence

st.subheader(words("what_if.patch"), anchor=False)
told, typed = st.columns([5, 6], gap="large")
told.markdown(prose["patch"])
if len(config.stacks) > 1:
    told.markdown(prose["patch encoder-decoder"])
with typed:

    def take() -> None:
        reader.choose(other=st.session_state["what if other"])

    def set_side_by_side(one: str, two: str, focus: int | None = None) -> None:
        reader.choose(text=one, other=two, target="")
        reader.choose(focus=focus)
        reader.set_option("token", "")

    st.session_state["what if other"] = view.choices.other
    st.text_input(words("what_if.second"), key="what if other", on_change=take)
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="examples-pairs"):
        st.markdown(f":gray[{words('what_if.pairs_ready')}]", width="content")
        sentences = TRANSLATED if len(config.stacks) > 1 else READY[config.architecture][words.language]
        for number, sentence in enumerate(sentences):
            label = " / ".join(map(verbatim, sentence[:2]))
            st.button(label, key=f"pair {number}", type="tertiary", on_click=set_side_by_side, args=sentence)

if view.second:
    stack = config.stacks[0]
    if len(config.stacks) > 1:
        stack = controls.pick_option(
            "side", config.stacks, lambda name: words(f"side.{name}"), stack, words("residuals.stack")
        )
    there = view.second.trace
    here, second_tokens = view.tokens[stack], reading(view.choices.other, config.stacks[0]).tokens
    if stack != config.stacks[0]:
        second_tokens = here
    middle = next((at for at, (a, b) in enumerate(zip(here, second_tokens, strict=False)) if a.id != b.id), 0)
    window = around(middle, min(len(here), len(second_tokens)), COLUMNS)
    tries["patch"] = [one for one in edits.patches(before, there, stack) if one.position in window]
    slots["patch"] = sweep_button("patch", tries["patch"])
    found = tried("patch")
    if found:
        far = controls.pick_option(
            "patched", ("one", "all"), lambda name: words(f"what_if.patched.{name}"), "one", words("what_if.click")
        )
        rows = stages(before, stack)

        def patch(row: int, at: int) -> None:
            reader.edit(Change("patch", path=rows[row].path, position=None if far == "all" else at))

        st.markdown(words("what_if.patched", token=bold))
        switches.stages(
            words,
            key="what if patches",
            names=[named(stage) for stage in rows],
            tokens=here,
            window=window,
            numbers={
                (row, at): found[text]
                for row, stage in enumerate(rows)
                for at in window
                if (text := write([Change("patch", path=stage.path, position=at)])) in found
            },
            share=False,
            focus=None,
            limit=largest(found),
            on_stage=patch,
        )
    if len(window) < min(len(here), len(second_tokens)):
        st.caption(words("what_if.window", n=min(len(here), len(second_tokens)) - len(window)))
    if len(here) != len(second_tokens):
        st.caption(words("what_if.lengths", here=len(here), there=len(second_tokens)))


# What, why, how

told, beside = st.columns(2, gap="large")
told.markdown(prose["what"])
beside.markdown(prose["why"])
st.subheader(words("references"), anchor=False)
st.markdown(prose["references"])

for kind in running:
    if kind in slots:
        sweep(kind, tries[kind], slots[kind])
