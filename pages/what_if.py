"""Changes of the running model: what they do to the prediction, and on the way to it."""

import streamlit as st

from explorer import changes, controls, panel, reader, serving, trial
from explorer.analysis import edits, sweeps
from explorer.analysis.predictions import prediction
from explorer.analysis.stream import stages
from explorer.changes import Change
from explorer.config import ACTIVATIONS, MASK
from explorer.trace import Value
from explorer.trial import Sweep, Trial
from explorer.view import current, reading
from explorer.views.changes import place_in_words
from explorer.views.components import switches
from explorer.views.components.matrix import matrix
from explorer.views.components.tokens import strip
from explorer.views.window import around
from explorer.words import chip, verbatim

LISTED = 5  # tokens of a prediction, before and after
COLUMNS = 12  # positions of a map between two sentences; of longer ones those around the focus
AT_ONCE = 6  # changes of a sweep that are tried before its bar is drawn again, and others may go first
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


def examples() -> None:
    """Ready changes, a click each, and what to look for in those that are made."""
    if reader.choices().model not in reader.models():
        return
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


# Sweeps


def start(kind: str) -> None:
    reader.set_option("sweep", kind)


def offer(sweep: Sweep):
    """A way to start a sweep or go on with it, or how far it has come; returns where its progress is shown."""
    done, all, slot = sweep.done, len(sweep.tries), st.empty()
    if done < all and sweep.kind not in sweep.trial.running:
        with slot.container(horizontal=True, vertical_alignment="center"):
            if done:
                st.markdown(f":gray[{words('what_if.partial', n=done, all=all)}]", width="content")
            label = words("what_if.go_on") if done else words(f"what_if.sweep.{sweep.kind}", n=all)
            st.button(label, key=f"sweep {sweep.kind}", on_click=start, args=(sweep.kind,))
    return slot


def go_on(sweep: Sweep, slot) -> None:
    """Try each change that has not been tried, with a bar and a button to stop; then draw the page with what came."""
    if not sweep.left:
        return

    def progress() -> tuple[float, str]:
        return sweep.done / len(sweep.tries), words("what_if.trying", n=sweep.done, all=len(sweep.tries))

    with slot.container(horizontal=True, vertical_alignment="center", key="sweeping"):
        bar = st.progress(*progress(), width=320)
        st.button(words("generation.stop"), key="sweep stop", on_click=start, args=("off",))
    for _ in sweep.go_on():
        if sweep.done % AT_ONCE == 0:
            bar.progress(*progress())
            serving.turns.pause()
    st.rerun()


# The model, and what stands where in it


def switch(code: str, off: bool) -> None:
    """Switch a place off, or on again, and look at it. For callbacks."""
    one = trial.place_of(code)
    reader.set_option("place", code)
    if one.layer is not None:
        reader.choose(layer=one.layer, **({"head": one.head} if one.head is not None else {}))
    if one.sublayer is not None:
        reader.edit(one, off)


def switch_at(sweep: Sweep, place: Change, label: str) -> switches.Switch:
    """A place, what is changed in it, and what was found when it was tried."""
    view = sweep.trial.view
    in_force = (view.choices.edits[number] for number in view.fitting)
    here = [one.action for one in in_force if one.place == place.place]
    off = "off" in here
    return switches.Switch(
        trial.code(place), label, place_in_words(place, words, view.config.stacks), sweep.effect(place), off,
        bool(here) and not off,
    )  # fmt: skip


def sublayer(sweep: Sweep, itself: Change) -> switches.Sublayer:
    """A sublayer and its heads, as switches."""
    config, name = sweep.trial.view.config, words(f"part.{itself.sublayer}")
    heads = [one for one in sweep.tries if one.head is not None and one.place[:3] == itself.place[:3]]
    label = str if len(config.stacks) > 1 else lambda n: words("head.of", n=n)  # two attentions leave less room
    return switches.Sublayer(switch_at(sweep, itself, name), [switch_at(sweep, one, label(one.head)) for one in heads])


def lane(sweep: Sweep, stack: str) -> switches.Lane:
    """A stack and its layers, as switches."""
    subs = [one for one in sweep.tries if one.stack == stack and one.head is None]
    layers = [
        (words("layer.of", n=layer), [sublayer(sweep, one) for one in subs if one.layer == layer])
        for layer in range(sweep.trial.view.config.layers)
    ]
    return switches.Lane(switch_at(sweep, Change("off", stack), words(f"stack.{stack}")), layers)


def model(tried: Trial) -> tuple:
    """The model as switches, coloured by what each does. Returns the sweep and where its progress is shown."""
    config = tried.view.config
    st.header(words("what_if.model"), anchor=False)
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="named"):
        st.markdown(words("what_if.colours", token=token_of(tried)), width="content")
        if tried.view.edited:
            controls.pick_option("over", ("trained", "changed"), lambda name: words(f"what_if.over.{name}"), "trained")
    sweep = tried.sweep("model", [*sweeps.sublayers(config), *sweeps.heads(config)])
    slot = offer(sweep)
    switches.model(
        words,
        key="what if model",
        lanes=[lane(sweep, stack) for stack in config.stacks],
        chosen=trial.code(tried.place),
        limit=sweep.limit,
        on_switch=switch,
    )
    return sweep, slot


def token_of(tried: Trial) -> str:
    """The token whose logit is looked at, in Markdown."""
    return chip(tried.view.token(tried.token).label)


# What can be done at the place at hand, and the prediction before and after


def actions(tried: Trial) -> None:
    """What can be done at the place at hand, as buttons that stay down, and a number to multiply it by."""
    config, place, made = tried.view.config, tried.place, tried.view.choices.edits
    offered = {one.action: one for one in changes.offered(place) if one.action != config.activation}

    def act(pressed: list[str]) -> None:
        """Bring the changes of the place to what is pressed."""
        for name, change in offered.items():
            reader.edit(change, name in pressed)

    st.markdown(f"**{place_in_words(place, words, config.stacks)}**")
    down = [name for name, change in offered.items() if change in made]
    st.pills(
        words("what_if.actions"),
        list(offered),
        selection_mode="multi",
        format_func=lambda name: words(f"what_if.do.{name}"),
        label_visibility="collapsed",
        **controls.show(f"what if actions {trial.code(place)}", down, act),
    )
    if place.sublayer is not None:
        factor(tried)


def factor(tried: Trial) -> None:
    """The number that the place at hand is multiplied by."""
    same = [one for one in tried.view.choices.edits if one.action == "scale" and one.place == tried.place.place]

    def scale(factor: float) -> None:
        """Multiply the place, by 1 for what it was."""
        if factor != 1:
            reader.edit(Change("scale", *tried.place.place, factor=factor))
        elif same:
            reader.edit(same[0], False)

    shown = controls.show("what if factor", min(max(same[0].factor, -1000.0), 1000.0) if same else 1.0, scale)
    st.number_input(words("what_if.factor"), -1000.0, 1000.0, step=0.5, width=160, **shown)


def outcome(tried: Trial) -> None:
    """The prediction at the focus before and after, with the token whose logit is looked at."""
    view, tokens = tried.view, tried.view.tokens[tried.view.stack]
    masking, here = view.config.architecture == "encoder", tokens[view.focus]
    before, after = view.plain.trace, view.trace
    strip(
        tokens,
        name=words("start.tokens.alt", n=len(tokens)),
        key="what if tokens",
        focus=view.focus,
        on_pick=lambda at: reader.choose(focus=at),
        hint=words("start.focus"),
    )
    st.markdown(words("what_if.behind" if masking else "what_if.next", token=chip(here.label), n=view.focus))
    if masking and here.id != MASK:
        st.markdown(f":gray[{words('ff.not_masked')}]")
    first, second = (run["probabilities"].tensor[view.focus] for run in (before, after))
    moved = after["logits"].tensor[view.focus] - before["logits"].tensor[view.focus]
    ids = {id for run in (before, after) for id, _ in prediction(run, view.focus, LISTED).best} | {tried.token}
    switches.outcomes(
        words,
        key="what if outcomes",
        rows=[
            switches.Outcome(view.token(id), float(first[id]), float(second[id]), float(moved[id]))
            for id in sorted(sorted(ids), key=lambda id: -float(first[id]))
        ],
        chosen=tried.token,
        on_token=lambda id: reader.set_option("token", str(id)),
    )
    if not view.edited:
        st.markdown(f":gray[{words('what_if.none')}]")


# Inside the place at hand: pairs of an attention, neurons of a feed-forward layer


def pairs(tried: Trial) -> None:
    """The weights of the attention at hand; a click keeps a query from a key, or from every other."""
    view, place = tried.view, tried.place
    path = f"{place.stack}.layers.{place.layer}.{place.sublayer}"
    weights, opened = view.trace[f"{path}.weights"].tensor, panel.cell_of(view, f"{path}.weights")
    made = view.choices.edits
    how = controls.pick_option(
        "pair", ("block", "only", "open"), lambda name: words(f"what_if.pair.{name}"), "block", words("what_if.pairs")
    )

    def pair(cell: tuple[int, ...]) -> None:
        if how == "open":
            panel.open_at(f"{path}.weights", (place.head or 0, *cell))
        else:
            change = Change(how, place.stack, place.layer, place.sublayer, place.head, pair=cell)
            reader.edit(change, change not in made)

    matrix(
        Value(weights.mean(0) if place.head is None else weights[place.head], ("query", "key")),
        name=place_in_words(place, words, view.config.stacks),
        path=f"{path}.weights",
        part=() if place.head is None else (place.head,),
        key=f"what if pairs {trial.code(place)}",
        rows=view.tokens_of(f"{path}.weights", "query"),
        columns=view.tokens_of(f"{path}.weights", "key"),
        scale="weight",
        allowed=view.trace[f"{path}.allowed"].tensor,
        focus=view.place_in(place.stack),
        chosen=opened[1:] if opened and opened[0] == (place.head or 0) else None,
        language=words.language,
        on_choose=pair,
    )
    panel.show(view, "what-if-pairs", f"{path}.weights")


def neurons(tried: Trial) -> tuple:
    """The neurons of the layer at hand as switches. Returns their sweep and where its progress is shown."""
    sweep = tried.sweep("neurons", sweeps.neurons(tried.view.config, tried.place.stack, tried.layer))
    st.markdown(words("what_if.neurons", n=tried.view.config.d_ff, token=token_of(tried)))
    slot = offer(sweep)
    switches.neurons(
        words,
        key="what if neurons",
        neurons=[switch_at(sweep, one, words("edit.neuron", n=one.neuron)) for one in sweep.tries],
        chosen=trial.code(tried.place),
        limit=sweep.limit,
        on_switch=switch,
    )
    return sweep, slot


def at_hand(tried: Trial) -> list[tuple]:
    """What can be done at the place at hand, what is inside it, and the prediction. Returns the sweeps offered."""
    if tried.place.sublayer is None:
        done, seen = st.columns([6, 5], gap="large")
        inside = done
    else:
        done, inside, seen = st.columns([4, 5, 5], gap="large")
    with done:
        actions(tried)
    with seen:
        outcome(tried)
    with inside:
        if tried.place.sublayer in changes.ATTENTION:
            pairs(tried)
        elif tried.place.sublayer == "feed_forward":
            return [neurons(tried)]
    return []


# The change through depth


def named(stage) -> str:
    """A stage of the stream in words."""
    if stage.layer is None:
        return words("prediction.entrance")
    return f"{words('layer.of', n=stage.layer)} {words(f'part.{stage.kind}')}"


def through_depth(tried: Trial) -> None:
    """How far the changes moved the stream of each stack, stage by stage."""
    view = tried.view
    st.header(words("what_if.depth"), anchor=False)
    if len(view.config.stacks) == 1:
        drawn, told = st.columns([8, 3], gap="large")
    else:
        drawn, told = st.container(), st.container()
    told.markdown(prose["depth"])
    with drawn:
        if not view.edited:
            st.markdown(f":gray[{words('what_if.none')}]")
            return
        paths = [path for stack in view.config.stacks for path in moved_stream(view, stack)]
        panel.show(view, "what-if-depth", *paths)


def moved_stream(view, stack: str) -> list[str]:
    """How far each stage of a stack's stream moved at each position. Returns the paths of the stages."""
    found = edits.shifts(view.plain.trace, view.trace, stack)
    window = around(view.place_in(stack), len(view.tokens[stack]), COLUMNS)
    if len(view.config.stacks) > 1:
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
        on_stage=lambda row, at: panel.open_at(found[row].path, (at, 0)),
    )
    if left_out := len(view.tokens[stack]) - len(window):
        st.caption(words("prediction.lens_window", n=left_out))
    return [shift.path for shift in found]


# Patching from a second sentence


def second_sentence(view) -> None:
    """The box of the second sentence, and ready pairs."""

    def set_side_by_side(one: str, two: str, focus: int | None = None) -> None:
        reader.choose(text=one, other=two, target="")
        reader.choose(focus=focus)
        reader.set_option("token", "")

    shown = controls.show("what if other", view.choices.other, lambda other: reader.choose(other=other))
    st.text_input(words("what_if.second"), **shown)
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="examples-pairs"):
        st.markdown(f":gray[{words('what_if.pairs_ready')}]", width="content")
        translating = len(view.config.stacks) > 1
        sentences = TRANSLATED if translating else READY[view.config.architecture][words.language]
        for number, sentence in enumerate(sentences):
            label = " / ".join(map(verbatim, sentence[:2]))
            st.button(label, key=f"pair {number}", type="tertiary", on_click=set_side_by_side, args=sentence)


def patching(tried: Trial) -> list[tuple]:
    """What each vector of a second sentence would do here. Returns the sweep that is offered, if there is one."""
    view, stacks = tried.view, tried.view.config.stacks
    st.header(words("what_if.patch"), anchor=False)
    told, typed = st.columns([5, 6], gap="large")
    told.markdown(prose["patch"])
    if len(stacks) > 1:
        told.markdown(prose["patch encoder-decoder"])
    with typed:
        second_sentence(view)
    if not view.second:
        return []
    stack = stacks[0]
    if len(stacks) > 1:
        stack = controls.pick_option(
            "side", stacks, lambda name: words(f"side.{name}"), stack, words("residuals.stack")
        )
    here = there = view.tokens[stack]
    if stack == stacks[0]:
        there = reading(view.choices.other, stack).tokens
    length = min(len(here), len(there))
    apart = next((at for at, (a, b) in enumerate(zip(here, there, strict=False)) if a.id != b.id), 0)
    window = around(apart, length, COLUMNS)
    tries = sweeps.patches(view.plain.trace, view.second.trace, stack)
    sweep = tried.sweep("patch", [one for one in tries if one.position in window])
    slot = offer(sweep)
    if sweep.done:
        patches(sweep, stack, window)
    if len(window) < length:
        st.caption(words("what_if.window", n=length - len(window)))
    if len(here) != len(there):
        st.caption(words("what_if.lengths", here=len(here), there=len(there)))
    return [(sweep, slot)]


def patches(sweep: Sweep, stack: str, window: range) -> None:
    """What each patch was found to do, stages down and positions across; a click makes it."""
    rows = stages(sweep.trial.view.plain.trace, stack)
    far = controls.pick_option(
        "patched", ("one", "all"), lambda name: words(f"what_if.patched.{name}"), "one", words("what_if.click")
    )
    made = sweep.trial.view.choices.edits

    def patch(row: int, at: int) -> None:
        change = Change("patch", path=rows[row].path, position=None if far == "all" else at)
        reader.edit(change, change not in made)

    found = {
        (row, at): sweep.effect(Change("patch", path=stage.path, position=at))
        for row, stage in enumerate(rows)
        for at in window
    }
    st.markdown(words("what_if.patched", token=token_of(sweep.trial)))
    switches.stages(
        words,
        key="what if patches",
        names=[named(stage) for stage in rows],
        tokens=sweep.trial.view.tokens[stack],
        window=window,
        numbers={cell: effect for cell, effect in found.items() if effect is not None},
        share=False,
        focus=None,
        limit=sweep.limit,
        on_stage=patch,
    )


# The page

examples()
tried = trial.of(current())
offered = [model(tried)]
offered += at_hand(tried)
through_depth(tried)
offered += patching(tried)

told, beside = st.columns(2, gap="large")
told.markdown(prose["what"])
beside.markdown(prose["why"])
st.header(words("references"), anchor=False)
st.markdown(prose["references"])

for sweep, slot in offered:
    if sweep.kind in tried.running:
        go_on(sweep, slot)
