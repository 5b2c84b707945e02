"""What training sees: three objectives on one sentence, the truth or own words, dropout, padding, and the mask."""

import streamlit as st

from explorer import checkpoints, controls, lesson, panel, passes, reader
from explorer.analysis import lessons
from explorer.config import EOS, MASK, PAD, model_name
from explorer.lesson import Lesson
from explorer.view import broken, current
from explorer.views import lessons as charts
from explorer.views import numerals
from explorer.views.components import lesson as pictures
from explorer.views.components.plot import plot
from explorer.views.components.tokens import Bar, bars, strip
from explorer.views.numerals import percent
from explorer.views.tables import table
from explorer.words import chip, verbatim

ORDER = ("decoder", "encoder", "encoder-decoder")  # of the three columns: from one text to two
WRITTEN = 32  # tokens that a model writes on its own
SAMPLE = 20  # tokens that show how it writes without a mask
STEPS = 48  # positions at which a text is read step by step
DRAWS = 4  # of dropout
MOST_DRAWS = 1_000_000
READY = (
    "The doctor is in the kitchen.",
    "My brother plays the piano every day.",
    "A brave knight defeated the dragon.",
    "Once upon a time, there was a little girl named Lily. She loved to play with her dog.",
)

controls.within_frame()

words = reader.words()
prose = words.prose("sees")
controls.look_for([(text, prose[f"look {i}"]) for i, text in enumerate(READY, 1)])
view = current()
config = view.config
masks = reader.whole("masks", 0, MOST_DRAWS)


def bold(id: int) -> str:
    """A token of the vocabulary in Markdown."""
    return chip(view.token(id).label)


# Three objectives, side by side


def open_loss(asked: Lesson, place: int) -> None:
    """Open the arithmetic of the right token's probability. For callbacks."""
    if asked.question.targets[place] != PAD:
        reader.set_option("in", asked.kind)
        panel.open_at("probabilities", (place, asked.question.targets[place]))


def column(asked: Lesson, most: float) -> None:
    """One objective: a line a position, and the mean loss."""
    here, there, targets = asked.kind == config.architecture, asked.view(view), asked.question.targets
    st.markdown(f"**{words(f'sees.of.{asked.kind}')}**  \n:gray[{verbatim(asked.name)}]")
    best = asked.run.trace["logits"].tensor.argmax(-1).tolist()
    rows = [
        pictures.Asked(token, None if loss is None else view.token(targets[at]), loss, best[at] == targets[at])
        for at, (token, loss) in enumerate(zip(there.tokens[there.stack], asked.losses, strict=True))
    ]
    opened = panel.opened(there) if reader.option("in") == asked.kind else None
    pictures.lesson(
        words,
        rows,
        key=f"lesson {asked.kind}",
        name=words(f"sees.of.{asked.kind}"),
        shifted=asked.kind != "encoder",
        most=most,
        focus=min(view.focus, len(rows) - 1) if here else None,
        chosen=opened[1][0] if opened and opened[0] in ("probabilities", "logits") else None,
        on_pick=lambda place: open_loss(asked, place),
    )
    if asked.asked:
        guesses = lessons.perplexity(asked.mean)
        figures = {"loss": f"{asked.mean:.3f}", "perplexity": f"{guesses:,.{0 if guesses >= 100 else 2}f}"}
        st.markdown(words("sees.figures", n=asked.asked, **figures))
    else:
        st.markdown(words("sees.nothing"))
    if asked.kind == "encoder" and asked.asked:
        st.button(words("sees.draw"), key="draw", on_click=reader.set_option, args=("masks", str(masks + 1)))
    st.markdown(f":gray[{prose[f'objective {asked.kind}']}]")
    if asked.own:
        st.markdown(words("sees.own_truth"))
        if not here:
            st.button(words("sees.type_truth"), type="tertiary", on_click=reader.switch, args=("encoder-decoder",))
    if asked.name != (wanted := model_name(asked.kind, view.choices.norm, view.choices.heads)):
        st.caption(words("sees.other_model", asked=verbatim(wanted), used=verbatim(asked.name)))


def how(asked: Lesson) -> None:
    """How the loss that was clicked is made."""
    there = asked.view(view)
    opened = panel.opened(there)
    if opened is None:
        return
    path, index = opened
    if path == "probabilities" and asked.question.targets[index[0]] == index[1]:
        share = numerals.number(float(asked.run.trace[path].tensor[index]), 3)
        figures = {"token": bold(index[1]), "share": share, "loss": f"{asked.losses[index[0]]:.3f}"}
        st.markdown(words("sees.how", n=index[0], **figures))
    panel.show(there, "sees", listed=False)


found = {kind: lesson.of(view, kind, masks) for kind in ORDER}
worst = [loss for asked in found.values() for loss in asked.losses if loss is not None]
scale = max(lessons.blind(config.vocabulary), *worst)
for kind, place in zip(ORDER, st.columns(3, gap="large"), strict=True):
    with place:
        column(found[kind], scale)
if reader.option("in") in found:
    how(found[reader.option("in")])
if any(token.id == MASK for token in view.tokens[config.stacks[0]]):
    st.markdown(f":gray[{words('sees.typed_mask')}]")

told, formulas = st.columns([5, 4], gap="large")
told.markdown(prose["what"])
formulas.latex(r"L = -\frac{1}{|A|} \sum_{i \in A} \ln p_i(y_i), \qquad \text{perplexity} = e^{L}")
formulas.markdown(prose["formula"])


# The truth, or its own words


def against_use() -> None:
    """The same text fed with the truth, and with what the model wrote."""
    st.header(words("sees.use"), anchor=False)
    told, picture = st.columns([4, 6], gap="large")
    with told:
        st.markdown(prose["use"])
        usual = "encoder-decoder" if config.architecture == "encoder-decoder" else "decoder"
        kind = controls.pick_option("writer", ORDER[::2], lambda kind: words(f"sees.of.{kind}"), usual)
        if config.architecture == "encoder":
            st.markdown(f":gray[{prose['use encoder']}]")
    asked = found[kind]
    text, option = asked.whole, f"given_{kind.partition('-')[0]}"
    given = max(1, reader.whole(option, len(text) // 2 if kind == "decoder" else 1, len(text)))
    with st.spinner(words("working")):
        seen = passes.drift(asked.name, asked.run.ids[0], text, given, WRITTEN)
    tokens = passes.tokenizer().tokens(text)
    with told:
        strip(
            tokens,
            name=words("sees.given"),
            key="given",
            focus=given,
            on_pick=lambda at: reader.set_option(option, str(at)) if at else None,
            hint=words("sees.given_hint"),
        )
        st.caption(words("sees.given"))
        forced, own = seen.means
        st.markdown(words("sees.fed", n=len(seen.own), forced=f"{forced:.2f}", own=f"{own:.2f}"))
        if asked.own:
            st.markdown(words("sees.own_truth"))
        elif seen.apart is None:
            st.markdown(words("sees.together"))
        else:
            said = {"truth": bold(seen.truth[seen.apart]), "own": bold(seen.own[seen.apart].best)}
            st.markdown(words("sees.apart", at=given + seen.apart, **said))
        if left := len(text) - given - len(seen.truth):
            st.caption(words("sees.cut", n=left))

    def written(fed: lessons.Fed, at: int) -> pictures.Written:
        return pictures.Written(view.token(fed.best), fed.loss, fed.best == seen.truth[at])

    rows = [
        pictures.Twice(
            tokens[given + at], written(forced, at), written(seen.own[at], at) if at < len(seen.own) else None
        )
        for at, forced in enumerate(seen.forced)
    ]
    with picture:
        pictures.drift(words, rows, key="drift", name=words("sees.use"), most=scale, apart=seen.apart)


# Dropout, and a batch


def dropout(asked: Lesson) -> None:
    """The mean loss with draws of dropout, and without."""
    st.header(words("sees.dropout"), anchor=False)
    st.markdown(prose["dropout"])
    if not asked.asked:
        return
    first = reader.whole("dropped", 0, MOST_DRAWS)
    read = (asked.name, *asked.run.ids)
    traces = [passes.run(*read).trace, *(passes.dropped(*read, first + number) for number in range(DRAWS))]
    means = [lessons.mean(lessons.losses(seen["logits"].tensor, asked.question.targets)) for seen in traces]
    names = [words("sees.dropout.off"), *(words("sees.dropout.on", n=first + number + 1) for number in range(DRAWS))]
    most = max(*means, 1e-9)
    rows = [Bar(None, mean / most, name, f"{mean:.3f}") for name, mean in zip(names, means, strict=True)]
    bars(rows, name=words("sees.dropout"), key="dropout")
    st.caption(words("sees.dropout.share", share=percent(asked.run.config.dropout)))
    st.button(words("sees.draw"), key="drop", on_click=reader.set_option, args=("dropped", str(first + DRAWS)))


def in_a_batch(asked: Lesson) -> None:
    """The sentence beside another in one batch, with its padding."""
    st.header(words("sees.batch"), anchor=False)
    st.markdown(f"{prose['batch']} {prose[f'batch {asked.kind}']}")
    sources, questions = lesson.pair(asked, view.choices, masks)
    made = passes.batch(asked.name, sources, questions)
    rows = []
    for number in range(len(questions)):
        if made.source is not None:
            cells = [pictures.Asked(view.token(id), padding=id == PAD) for id in made.source[number].tolist()]
            rows.append(pictures.Row(words("sees.row.source", n=number + 1), cells, read_only=True))
        read, targets = made.inputs[number].tolist(), made.targets[number].tolist()
        cells = [
            pictures.Asked(view.token(id), None if loss is None else view.token(right), loss, padding=id == PAD)
            for id, right, loss in zip(read, targets, lessons.numbers(made.losses[number]), strict=True)
        ]
        rows.append(pictures.Row(words(f"sees.row.{'target' if sources else 'one'}", n=number + 1), cells))
    pictures.batch(words, rows, key="batch", name=words("sees.batch"))
    count, padding = sum(len(one.asked) for one in questions), int((made.inputs == PAD).sum())
    figures = {"loss": f"{lessons.mean(made.losses):.3f}", "apart": numerals.number(made.apart, 2)}
    st.markdown(words("sees.batch.figures", n=count, places=made.inputs.numel(), padding=padding, **figures))
    if padding:
        st.markdown(words("sees.batch.counted", loss=f"{made.counted:.3f}"))


# The mask


def the_mask() -> None:
    """What the mask is for: taken from a decoder that had it, and read by one that never did."""
    st.header(words("sees.mask"), anchor=False)
    decoder, ids = found["decoder"], found["decoder"].question.inputs[: STEPS + 1]
    question = lessons.next_token(ids)
    translator = found["encoder-decoder"]
    cut = lessons.Question(translator.question.inputs[:STEPS], translator.question.targets[:STEPS])
    read = [
        ("with", decoder.name, (), question, True),
        ("removed", decoder.name, (), question, False),
        ("never", checkpoints.UNMASKED, (), question, False),
        *((how, translator.name, translator.run.ids[0], cut, how == "with") for how in ("with", "removed")),
    ]
    try:
        with st.spinner(words("working")):
            losses = [passes.read_twice(*what) for _, *what in read]
            texts = [passes.written(name, ids, SAMPLE, masked) for _, name, _, _, masked in read[:3]]
        cards = {"trained": passes.card(checkpoints.TWIN), "never": passes.card(checkpoints.UNMASKED)}
    except checkpoints.CheckpointError as error:
        st.markdown(prose["mask"])
        broken(error)
        return
    figures, places = st.columns([5, 5], gap="large")
    with figures:
        st.markdown(prose["mask"])
        head = [words("sees.mask.loss"), words("sees.mask.training"), words("sees.mask.use")]
        rows = [
            [f"{words(f'sees.mask.{how}')} :gray[{verbatim(name)}]", *(f"**{lessons.mean(one):.2f}**" for one in both)]
            for (how, name, *_), both in zip(read, losses, strict=True)
        ]
        st.markdown(table(head, rows))
        if len(decoder.question.inputs) > len(ids):
            st.caption(words("sees.mask.cut", n=len(ids) - 1))
    with places:
        st.markdown(f"**{words('sees.mask.positions')}**")
        lines = {words(f"sees.mask.{how}"): lessons.numbers(losses[at][0]) for at, (how, *_) in enumerate(read[:3])}
        lines[words("sees.mask.alone")] = lessons.numbers(losses[2][1])
        plot(charts.by_position(lines, words), key="by position")
        st.markdown(prose["mask table"])
    said, learnt = st.columns([5, 5], gap="large")
    with said:
        st.markdown(f"**{words('sees.mask.write')}**")
        spell = passes.tokenizer().decode
        for (how, *_), more in zip(read[:3], texts, strict=True):
            text, given = spell((*ids, *more)), len(spell(ids))
            continued = f":gray[{verbatim(text[:given])}]{verbatim(text[given:]) if more else ''}"
            if len(more) < SAMPLE:
                continued += f" :gray[{verbatim(view.token(EOS).label)}]"
            st.markdown(f":gray[{words(f'sees.mask.{how}')}]  \n{continued}")
        st.markdown(prose["mask write"])
    with learnt:
        st.markdown(f"**{words('sees.mask.learnt')}**")
        curves = {words(f"sees.mask.{how}"): (card["curves"]["tokens"], card["curves"]["loss"])
                  for how, card in cards.items()}  # fmt: skip
        plot(charts.learning(curves, words), key="learning")
        budgets = {"n": cards["never"]["budget_tokens"], "all": cards["trained"]["budget_tokens"]}
        st.caption(words("sees.mask.budget", **budgets))


controls.unedited(view)
against_use()
left, right = st.columns([3, 8], gap="large")
with left:
    dropout(found[config.architecture])
with right:
    in_a_batch(found[config.architecture])
the_mask()

st.header(words("references"), anchor=False)
st.markdown(prose["references"])
