"""A text written token by token: what was taken, what was passed over, and how to go another way."""

import streamlit as st

from explorer import controls, passes, reader, serving
from explorer.address import fingerprint, whole_number
from explorer.analysis.generation import Settings, Step, mean_log_probability
from explorer.analysis.predictions import prediction
from explorer.analysis.repeated import repeated
from explorer.config import EOS, MASK, MAX_TOKENS
from explorer.tokens import groups
from explorer.view import current
from explorer.views import numerals, saving
from explorer.views.components.plot import plot
from explorer.views.components.tokens import Bar, bars, strip
from explorer.views.components.writing import Branch, Choice, candidates, candidates_data, tree, tree_data
from explorer.words import chip, verbatim
from explorer.writing import Writing

RUN = 60  # tokens that "to the end" writes at most
QUICK = 10  # tokens that are written without a bar
WIDTHS = ("2", "3", "4")
READY = {
    "decoder": ("Once upon a time, there was a little", "The cat sat on the", "고양이가"),
    "encoder-decoder": (
        "The doctor is in the kitchen.",
        "The child who found the book is happy.",
        "A brave knight defeated the dragon.",
    ),
}

controls.within_frame()

words = reader.words()
prose = words.prose("generation")


# What the reader has chosen


def figure(name: str, usual: float, low: float, high: float) -> float:
    """A number of the address, the usual one where it is none or lies outside."""
    try:
        found = float(reader.option(name, str(usual)))
    except ValueError:
        found = None
    if found is not None and low <= found <= high:
        return found
    reader.set_option(name, str(usual))
    st.info(words("generation.figure", name=name, low=low, high=high, used=usual))
    return usual


def pick_settings() -> Settings:
    """The settings of the draw, and their controls."""
    found = Settings(
        temperature=figure("temp", 0.0, 0, 100),
        k=int(figure("k", 0, 0, 4096)),
        p=figure("topp", 1.0, 1e-6, 1),
        seed=int(figure("seed", 0, 0, 1e9)),
    )

    def shown(name: str, value: float) -> dict[str, object]:
        return controls.show(f"generation {name}", value, lambda given: reader.set_option(name, str(given)))

    greedy = found.temperature == 0
    temperature, k, p, seed = st.columns([3, 2, 3, 2], gap="medium")
    temperature.slider(
        words("generation.temperature"), 0.0, 2.0, step=0.1, **shown("temp", min(found.temperature, 2.0))
    )
    k.number_input(words("generation.k"), 0, 4096, disabled=greedy, **shown("k", found.k))
    p.slider(words("generation.p"), 0.05, 1.0, step=0.05, disabled=greedy, **shown("topp", max(found.p, 0.05)))
    seed.number_input(words("generation.seed"), 0, 10**9, disabled=greedy, **shown("seed", found.seed))
    return found


# Writing


def write(writing: Writing, settings: Settings) -> list[Step]:
    """The steps of the run, with a bar and a button to stop it where it takes long.

    Each step is kept by `passes`, so a run that is interrupted goes on where it was.
    """
    steps: list[Step] = []
    model, source, ids = writing.model, writing.source, writing.start
    number, forced = writing.asked_for, writing.by_hand
    slot, bar = st.empty(), None
    run = (model, ids, source, settings, tuple(forced.items()))
    known = st.session_state.get("generation done", 0) if st.session_state.get("generation run") == run else 0
    st.session_state["generation run"] = run
    while len(steps) < number and len(ids) < MAX_TOKENS:
        steps.append(passes.step(model, source, ids, settings, forced.get(len(ids))))
        ids = steps[-1].ids
        st.session_state["generation done"] = len(steps)
        if steps[-1].stop:
            break
        if bar is None and number - known > QUICK:
            with slot.container(horizontal=True, vertical_alignment="center", key="generation running"):
                bar = st.progress(0.0, width=320)
                st.button(words("generation.stop"), on_click=lambda: writing.halt(st.session_state["generation done"]))
        if bar is not None:
            bar.progress(len(steps) / number, words("generation.writing", n=len(steps)))
            serving.turns.pause()
    slot.empty()
    return steps


def buttons(writing: Writing, steps: list[Step]) -> None:
    """Forwards and back."""
    done, over = len(steps), bool(steps and steps[-1].stop) or len(writing.start) + len(steps) >= MAX_TOKENS
    with st.container(horizontal=True, gap="small", key="generation buttons"):
        for name, to, dead in (
            ("one", done + 1, over), ("ten", done + 10, over), ("end", max(RUN, done + 10), over),
        ):  # fmt: skip
            st.button(
                words(f"generation.{name}"), key=f"generation {name}", type="primary" if name == "one" else "secondary",
                on_click=writing.write_until, args=(to,), disabled=dead,
            )  # fmt: skip
        for name, to in (("back", max(0, done - 1)), ("restart", 0)):
            st.button(
                words(f"generation.{name}"),
                key=f"generation {name}",
                on_click=writing.rewind,
                args=(to,),
                disabled=not done,
            )


def status(writing: Writing, settings: Settings, steps: list[Step]) -> str:
    """Why the text ends where it ends, and under which settings it was written."""
    done, given = len(steps), len(writing.start)
    if done and steps[-1].stop:
        said = words("generation.status.end", n=done)
    elif given + done >= MAX_TOKENS:
        said = words("generation.status.context", limit=MAX_TOKENS)
    elif done and reader.option("halted") == str(done):
        said = words("generation.status.halted", n=done)
    elif done and done == RUN:
        said = words("generation.status.limit", n=done)
    else:
        said = words("generation.status.open", n=done)
    how = words("generation.how.greedy") if settings.temperature == 0 else words(
        "generation.how.drawn", temperature=f"{settings.temperature:g}", k=settings.k or words("generation.all"),
        p=f"{settings.p:g}", seed=settings.seed,
    )  # fmt: skip
    hand = [at for at in writing.by_hand if given <= at < given + done]
    changed = f" {words('generation.hand', n=len(hand))}" if hand else ""
    return f"{said} :gray[{how}{changed}]"


def text_so_far(writing: Writing, ids: tuple[int, ...]) -> None:
    """The text in whole characters: what was given in second ink, what was written in first."""
    read = passes.tokenizer()
    given = read.decode(writing.start)
    whole = read.decode(ids)
    written = whole[len(given) :] if whole.startswith(given) else whole
    before = f":gray[{verbatim(given)}]" if given and whole.startswith(given) else ""
    if before or written:
        st.markdown(f"{before}{verbatim(written)}" if written else before)
    if held := read.unfinished(ids):
        st.caption(words("generation.held", bytes=held.hex(" ").upper()))


def open_pass(writing: Writing, ids: tuple[int, ...], place: int) -> None:
    """The way to the picture of the pass over this text, at the place that predicts the token that is looked at.

    Typed in again, a text may be cut into other tokens than those that were written; then it is opened up to there.
    """
    read = passes.tokenizer()

    def typed(ids: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(token.id for token in read.decoder_input(read.decode(ids)))

    whole = next((n for n in range(len(ids), max(1, len(writing.start) - 1), -1) if typed(ids[:n]) == ids[:n]), 0)
    text = read.decode(ids[:whole])
    if not text.strip():
        return
    label = "generation.open" if whole == len(ids) else "generation.open_part"
    if st.button(words(label, n=whole), key="generation open"):
        if writing.view.config.architecture == "decoder":
            reader.choose(text=text)
        else:
            reader.choose(target=text, written_for=fingerprint(writing.view.choices.text))
        reader.choose(focus=min(place, whole - 1))
        st.switch_page("pages/overview.py")
    if whole < len(ids):
        st.caption(words("generation.other_tokens"))


def listed(writing: Writing, found: Step) -> list[Choice]:
    """The candidates of a step, the likeliest first."""
    token = writing.view.token
    return [Choice(token(one.id), one.probability, one.chance, i) for i, one in enumerate(found.candidates, 1)]


def look_into(writing: Writing, settings: Settings, found: Step, place: int) -> None:
    """One step: the candidates, which of them was taken, and why."""
    token = writing.view.token(found.chosen.id)
    chosen_by_hand = len(writing.start) + place in writing.by_hand
    st.markdown(f"**{words('generation.place', n=place + 1, token=chip(token.label))}**")
    reason = "hand" if chosen_by_hand else "greedy" if settings.temperature == 0 else "draw"
    st.markdown(words(f"generation.why.{reason}", rank=found.rank, draw=f"{found.draw:.3f}"))
    taken = Choice(token, found.chosen.probability, found.chosen.chance, found.rank)
    drawn = reason == "draw"
    candidates(
        candidates_data(listed(writing, found), taken, found.draw if drawn else None, drawn),
        words,
        name=words("generation.candidates"),
        key="candidates",
        on_pick=lambda id: writing.branch(place, id),
    )


def first_choice(writing: Writing, settings: Settings) -> None:
    """The candidates for the first token, before anything is written."""
    choices = listed(writing, passes.step(writing.model, writing.source, writing.start, settings))
    st.markdown(f"**{words('generation.first')}**")
    data = candidates_data(choices, Choice(choices[0].token, 0, 0, 0), None, False)
    data["rows"] = data["rows"][: len(choices)]
    candidates(
        data, words, name=words("generation.candidates"), key="candidates", on_pick=lambda id: writing.branch(0, id)
    )


def step_by_step(writing: Writing) -> tuple[int, ...]:
    """The text so far, its tokens, and the candidates for one of them. Returns the ids that the model read last."""
    chosen = pick_settings()
    steps, start = write(writing, chosen), writing.start
    ids = steps[-1].ids if steps else start
    buttons(writing, steps)
    st.markdown(status(writing, chosen, steps))
    told, looked = st.columns([6, 5], gap="large")
    asked = whole_number(reader.option("seen"))
    place = len(steps) - 1 if asked is None else min(asked, len(steps) - 1)
    body = ids[:-1] if ids[-1] == EOS else ids
    tokens = [*passes.tokenizer().tokens(body), *map(writing.view.token, ids[len(body) :])]

    def pick(position: int) -> None:
        if position >= len(start):
            reader.set_option("seen", str(position - len(start)))

    with told:
        text_so_far(writing, ids)
        strip(
            tokens,
            name=words("generation.tokens", n=len(tokens)),
            key="written",
            focus=len(start) + place if steps else None,
            on_pick=pick,
            hint=words("generation.look"),
            tall=True,
        )
        st.caption(words("generation.given", n=len(start)))
        if steps and steps[-1].loop:
            again = steps[-1].loop
            st.warning(f"**{words('generation.loop', n=again.length, times=again.times)}** {prose['loop']}")
        open_pass(writing, body, len(start) + max(place, 0) - (1 if steps else 0))
    with looked:
        if not steps:
            first_choice(writing, chosen)
        else:
            look_into(writing, chosen, steps[place], place)
            if place < len(steps) - 1:
                st.button(words("generation.rewind"), on_click=writing.rewind, args=(place + 1,))
    return body


def what_a_cache_saves(writing: Writing, ids: tuple[int, ...]) -> None:
    """How much of the last pass was there a step before, and the last step in both ways: whole and with a cache."""
    st.header(words("generation.cache"), anchor=False)
    said, shown = st.columns([6, 5], gap="large")
    said.markdown(prose["cache"])
    if writing.view.config.architecture == "encoder-decoder":
        said.markdown(prose["cache encoder-decoder"])
    if len(ids) < 2:
        shown.markdown(words("generation.cache.short"))
        return
    before, after = (passes.run(writing.model, writing.source, read).trace for read in (ids[:-1], ids))
    again, found = repeated(before, after), passes.saved(writing.model, writing.source, ids)
    figures = {name: numerals.number(getattr(found, name), 2) for name in ("probability", "difference")}
    whole, step = (f"{time:.1f}" for time in found.milliseconds)
    with shown:
        st.markdown(
            words("generation.cache.found", all=again.again + again.new, again=again.again, new=again.new,
                  difference=numerals.number(again.difference, 2))
        )  # fmt: skip
        st.markdown(words("generation.cache.agree" if found.ok else "generation.cache.apart", n=len(ids), **figures))
        st.caption(words("generation.cache.measured", tries=found.tries, whole=whole, step=step))
    numbers, products = st.columns([6, 5], gap="large")
    every = found.all
    numbers.markdown(words("generation.cache.numbers", whole=every.whole, anew=every.anew, kept=every.kept))
    numbers.markdown(saving.table(found.parts, words))
    products.markdown(
        words("generation.cache.multiplications", whole=every.multiplied_whole, anew=every.multiplied_anew)
    )
    with products:
        plot(saving.multiplications(found.parts, words), key="multiplications")


def beam_search(writing: Writing, width: int) -> None:
    """The tree of a beam search, and its texts beside the greedy one."""
    start = writing.start
    limit = min(RUN, MAX_TOKENS - len(start))
    if not limit:
        st.markdown(words("generation.status.context", limit=MAX_TOKENS))
        return
    with st.spinner(words("working")):
        found = passes.beam(writing.model, writing.source, start, width, limit)
    best = found.ends[0]
    path, at = [], best.number
    while at is not None:
        path.append(at)
        at = found.nodes[at].parent
    nodes = [
        Branch(
            node.number, node.parent, node.depth, writing.view.token(node.id), node.probability, node.mean,
            node.kept, node.finished,
        )
        for node in found.nodes
    ]  # fmt: skip
    tree(tree_data(nodes, path), words, name=words("generation.tree", n=width, depth=best.depth), key="tree")
    st.caption(words(f"generation.beam.{found.stop}", limit=limit))
    said, texts = st.columns([6, 5], gap="large")
    said.markdown(prose["beam"])
    with texts:
        for end in found.ends:
            text = passes.tokenizer().decode(found.ids(end))
            told = words("generation.mean_of", mean=numerals.number(end.mean, 3))
            open_end = "" if end.finished else f" · {words('generation.unfinished')}"
            st.markdown(f"{verbatim(text.strip())} :gray[{told}{open_end}]")
        steps = greedy_text(writing)
        same = tuple(id for id in steps[-1].ids[len(start) :] if id != EOS) == found.ids(best)
        st.markdown(
            words("generation.greedy.same" if same else "generation.greedy.other",
                  text=verbatim(passes.tokenizer().decode(steps[-1].ids[len(start) :]).strip()),
                  mean=numerals.number(mean_log_probability(steps), 3))
        )  # fmt: skip


def greedy_text(writing: Writing) -> list[Step]:
    """The text that greedy writes, for comparison."""
    steps, ids = [], writing.start
    while len(steps) < RUN and len(ids) < MAX_TOKENS and not (steps and steps[-1].stop):
        steps.append(passes.step(writing.model, writing.source, ids, Settings(0.0)))
        ids = steps[-1].ids
    return steps


def fill_masks(view) -> None:
    """What an encoder does in the place of writing."""
    st.markdown(prose["encoder"])
    tokens = view.tokens["encoder"]

    def pick(position: int) -> None:
        if not tokens[position].special:
            run = next(run for run in groups(tokens) if position in run)
            reader.mask([tokens[i] for i in run])

    strip(tokens, name=words("generation.tokens", n=len(tokens)), key="masking", on_pick=pick, hint=words("start.mask"))
    masks = [at for at, token in enumerate(tokens) if token.id == MASK]
    if not masks:
        st.markdown(prose["encoder none"])
    for column, at in zip(st.columns(max(2, min(3, len(masks)))), masks[:3], strict=False):
        found = prediction(view.trace, at, 5)
        with column:
            st.markdown(f"**{words('start.masked', n=at)}**")
            rows = [Bar(view.token(id), share) for id, share in found.best]
            bars(rows, name=words("start.masked", n=at), key=f"mask {at}")
    if len(masks) > 3:
        st.caption(words("start.more_masks", n=len(masks) - 3))
    with st.container(horizontal=True):
        for architecture in ("decoder", "encoder-decoder"):
            st.button(
                words(f"generation.switch.{architecture}"), key=f"switch {architecture}", on_click=reader.switch,
                args=(architecture,),
            )  # fmt: skip


def writing_of(writing: Writing) -> None:
    """A text that is written, step by step or by a beam search, and what a cache saves on the way."""
    with st.container(horizontal=True, gap="medium"):
        how = controls.pick_option("how", ("step", "beam"), lambda name: words(f"generation.{name}"), "step")
        if how == "beam":
            width = controls.pick_option("width", WIDTHS, lambda n: words("generation.width.of", n=int(n)), "3")
    controls.unedited(writing.view)
    read = writing.start
    if how == "step":
        read = step_by_step(writing)
    else:
        beam_search(writing, int(width))
    what, with_what = st.columns([6, 5], gap="large")
    what.markdown(prose["what"])
    what.markdown(prose[writing.view.config.architecture])
    with_what.markdown(prose["settings"])
    what_a_cache_saves(writing, read)


# The page

architecture = reader.choices().architecture
if architecture in READY:
    controls.look_for([(text, prose[f"look {architecture} {i}"]) for i, text in enumerate(READY[architecture], 1)])
view = current()
if architecture == "encoder":
    fill_masks(view)
else:
    writing_of(Writing(view))
st.caption(prose["references"])
