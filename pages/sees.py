"""What training sees: three objectives on one sentence, the truth or own words, dropout, padding, and the mask."""

import math
from dataclasses import dataclass, replace

import streamlit as st

from explorer import address, checkpoints, controls, panel, passes, reader
from explorer.analysis import lessons
from explorer.config import ARCHITECTURES, MASK, MAX_TOKENS
from explorer.passes import Ids, Pass
from explorer.view import View, broken, current, reading
from explorer.views import lessons as drawn
from explorer.views import terms
from explorer.views.components import lesson as pictures
from explorer.views.components.arithmetic import arithmetic_panel
from explorer.views.components.tokens import Bar, bars, strip
from explorer.views.terms import percent
from explorer.words import strong, verbatim

ORDER = ("decoder", "encoder", "encoder-decoder")  # of the three columns: from one text to two
STEPS = 32  # positions at which a text is read step by step, or written
DRAWS = 4  # of dropout
UNMASKED = f"decoder-pre-4{checkpoints.UNMASKED}"
TRUTHS = {  # the right translations of sentences that this page offers
    "The doctor is in the kitchen.": "의사는 부엌에 있어요.",
    "My brother plays the piano every day.": "제 남동생은 매일 피아노를 쳐요.",
    "A brave knight defeated the dragon.": "용감한 기사가 용을 물리쳤어요.",
    "The cat is small.": "고양이는 작아요.",
    "The boy did not eat the bread.": "소년은 빵을 먹지 않았어요.",
}
SECOND = ("The cat is small.", "The boy did not eat the bread.")  # the batch's other text, where the reader has none
READY = (
    "The doctor is in the kitchen.",
    "My brother plays the piano every day.",
    "A brave knight defeated the dragon.",
)

controls.within_frame()

words = reader.words()
prose = words.prose("sees")
controls.look_for([(text, prose[f"look {i}"]) for i, text in enumerate(READY, 1)])
view = current()
chosen, config = view.choices, view.config


@dataclass(frozen=True)
class Lesson:
    """One objective on the sentence at hand: what is asked, the pass that was asked, and the losses."""

    kind: str
    name: str
    question: lessons.Question
    run: Pass
    losses: list[float | None]
    own: bool = False  # the target is the model's own translation

    @property
    def asked(self) -> int:
        return len(self.question.asked)

    @property
    def mean(self) -> float:
        return math.fsum(loss for loss in self.losses if loss is not None) / self.asked


def numbers(found) -> list[float | None]:
    """Losses as numbers, None where nothing is asked."""
    return [None if math.isnan(loss) else loss for loss in found.tolist()]


def model_of(kind: str) -> str:
    """The model of an architecture that is nearest to the one at hand in norm and heads."""
    asked = {"arch": kind, "norm": chosen.norm, "heads": str(chosen.heads)}
    return address.read(asked, reader.models(), [words.language], chosen)[0].model


def truth() -> str:
    """The right translation of the sentence, as far as one is known: the reader's, or that of a ready sentence."""
    if chosen.target.strip() and chosen.written_for == address.fingerprint(chosen.text):
        return chosen.target
    if chosen.target.strip() and config.architecture == "encoder-decoder":
        return chosen.target
    return TRUTHS.get(chosen.text, "")


def objective(kind: str) -> Lesson:
    """What training would ask of the sentence at hand in this architecture."""
    name, own = model_of(kind), False
    if kind == "decoder":
        question = lessons.next_token(reading(chosen.text, "decoder").ids)
        read: tuple[Ids, Ids] = ((), question.inputs)
    elif kind == "encoder":
        question = lessons.masked(reading(chosen.text, "encoder").ids, reader.whole("draw", 0, 10**6))
        read = (question.inputs, ())
    else:
        source, right = reading(chosen.text, "encoder").ids, truth()
        if right:
            question = lessons.translation(reading(right, "decoder").ids)
        else:
            said = passes.translation(name, source, min(MAX_TOKENS - 1, 2 * len(source) + 16))
            asked = lessons.translation if said.finished else lessons.next_token
            question, own = asked(passes.decoder_ids(said)), True
        read = (source, question.inputs)
    run = view.again(read, name)
    return Lesson(kind, name, question, run, numbers(lessons.losses(run.trace["logits"].tensor, question.targets)), own)


def view_of(lesson: Lesson) -> View:
    """The view of a lesson's pass."""
    read = {
        stack: tuple(passes.tokenizer().tokens(lesson.run.trace[f"{stack}.embedding.ids"].tensor.tolist()))
        for stack in lesson.run.config.stacks
    }
    layer, head = min(view.layer, lesson.run.config.layers - 1), min(view.head, lesson.run.config.heads - 1)
    return replace(view, run=lesson.run, tokens=read, layer=layer, head=head, focus=0)


def bold(id: int) -> str:
    return strong(view.token(id).label)


def open_loss(lesson: Lesson, place: int) -> None:
    """Open the arithmetic of the right token's probability. For callbacks."""
    reader.set_option("in", lesson.kind)
    panel.open_at("probabilities", (place, lesson.question.targets[place]))


# Three objectives, side by side


def column(lesson: Lesson, most: float) -> None:
    """One objective: its rows, its mean loss."""
    here = lesson.kind == config.architecture
    st.markdown(f"**{words(f'sees.of.{lesson.kind}')}**  \n:gray[{verbatim(lesson.name)}]")
    tokens = view_of(lesson).tokens[lesson.run.config.stacks[-1]]
    logits = lesson.run.trace["logits"].tensor
    rows = [
        pictures.Asked(
            tokens[at],
            None if loss is None else view.token(lesson.question.targets[at]),
            loss,
            loss is not None and int(logits[at].argmax()) == lesson.question.targets[at],
        )
        for at, loss in enumerate(lesson.losses)
    ]
    opened = panel.opened(view_of(lesson)) if reader.option("in") == lesson.kind else None
    pictures.lesson(
        words,
        rows,
        key=f"lesson {lesson.kind}",
        name=words(f"sees.of.{lesson.kind}"),
        shifted=lesson.kind != "encoder",
        most=most,
        focus=min(view.focus, len(rows) - 1) if here else None,
        chosen=opened[1][0] if opened and opened[0] in ("probabilities", "logits") else None,
        on_pick=lambda place: open_loss(lesson, place),
    )
    if lesson.asked:
        guesses = lessons.perplexity(lesson.mean)
        figures = {"loss": f"{lesson.mean:.3f}", "perplexity": f"{guesses:,.{0 if guesses >= 100 else 2}f}"}
        st.markdown(words("sees.figures", n=lesson.asked, **figures))
    else:
        st.markdown(words("sees.nothing"))
    if lesson.kind == "encoder" and lesson.asked:
        number = reader.whole("draw", 0, 10**6) + 1
        st.button(words("sees.draw"), key="draw", on_click=reader.set_option, args=("draw", str(number)))
    st.markdown(f":gray[{prose[f'objective {lesson.kind}']}]")
    if lesson.kind == "encoder-decoder" and lesson.own:
        st.markdown(words("sees.own_truth"))
        if not here:
            st.button(words("sees.type_truth"), type="tertiary", on_click=reader.switch, args=("encoder-decoder",))
    asked = f"{lesson.kind}-{chosen.norm}-{chosen.heads}"
    if lesson.name != asked:
        st.caption(words("sees.other_model", asked=verbatim(asked), used=verbatim(lesson.name)))


def how(found: dict[str, Lesson]) -> None:
    """How the loss that was clicked is made."""
    lesson = found.get(reader.option("in"))
    if lesson is None:
        return
    there = view_of(lesson)
    opened = panel.opened(there)
    if opened is None:
        return
    path, index = opened
    if path == "probabilities" and lesson.question.targets[index[0]] == index[1]:
        share, loss = float(lesson.run.trace[path].tensor[index]), lesson.losses[index[0]]
        st.markdown(
            words("sees.how", token=bold(index[1]), share=terms.number(share, 3), loss=f"{loss:.3f}", n=index[0])
        )
    arithmetic_panel(there, path, index, key="sees", on_open=panel.open_at)
    st.button(words("close"), type="tertiary", key="close sees", on_click=reader.set_option, args=("p", ""))


found = {kind: objective(kind) for kind in ARCHITECTURES}
scale = max([math.log(config.vocabulary), *(loss for one in found.values() for loss in one.losses if loss is not None)])
for kind, place in zip(ORDER, st.columns(3, gap="large"), strict=True):
    with place:
        column(found[kind], scale)
how(found)
if any(token.id == MASK for token in view.tokens[config.stacks[0]]):
    st.markdown(f":gray[{words('sees.typed_mask')}]")

told, formulas = st.columns([5, 4], gap="large")
told.markdown(prose["what"])
formulas.latex(r"L = -\frac{1}{|A|} \sum_{i \in A} \ln p_i(y_i), \qquad \text{perplexity} = e^{L}")
formulas.markdown(prose["formula"])

# The truth, or its own words


def against_use() -> None:
    """The same text fed with the truth, and with what the model wrote."""
    st.subheader(words("sees.use"), anchor=False)
    told, picture = st.columns([4, 6], gap="large")
    with told:
        st.markdown(prose["use"])
        usual = "encoder-decoder" if config.architecture == "encoder-decoder" else "decoder"
        kind = controls.pick_option("writer", ORDER[::2], lambda kind: words(f"sees.of.{kind}"), usual)
        if config.architecture == "encoder":
            st.markdown(f":gray[{prose['use encoder']}]")
    lesson = found[kind]
    right = lesson.question.inputs
    if lesson.question.targets[-1]:
        right = (*right, lesson.question.targets[-1])
    given = max(1, reader.whole(f"given_{kind}", len(right) // 2 if kind == "decoder" else 1, len(right)))
    source = lesson.run.ids[0]
    with st.spinner(words("working")):
        seen = passes.drift(lesson.name, source, right, given, STEPS)
    tokens = view_of(lesson).tokens["decoder"]
    tokens = (*tokens, *map(view.token, right[len(tokens) :]))
    with told:
        strip(
            tokens,
            name=words("sees.given"),
            key="given",
            focus=given,
            on_pick=lambda at: reader.set_option(f"given_{kind}", str(at)) if at else None,
            hint=words("sees.given_hint"),
        )
        st.caption(words("sees.given"))
        n = len(seen.own)
        forced, own = (math.fsum(fed.loss for fed in fed_with[:n]) / n for fed_with in (seen.forced, seen.own))
        st.markdown(words("sees.fed", n=n, forced=f"{forced:.2f}", own=f"{own:.2f}"))
        if lesson.own:
            st.markdown(words("sees.own_truth"))
        elif seen.apart is None:
            st.markdown(words("sees.together"))
        else:
            said = {"truth": bold(seen.truth[seen.apart]), "own": bold(seen.own[seen.apart].best)}
            st.markdown(words("sees.apart", at=given + seen.apart, **said))
        if len(right) - given > len(seen.truth):
            st.caption(words("sees.cut", n=len(right) - given - len(seen.truth)))

    def written(fed: lessons.Fed, at: int) -> pictures.Written:
        return pictures.Written(view.token(fed.best), fed.loss, fed.best == seen.truth[at])

    rows = [
        pictures.Twice(
            tokens[given + at],
            written(forced, at),
            written(seen.own[at], at) if at < len(seen.own) else None,
        )
        for at, forced in enumerate(seen.forced)
    ]
    with picture:
        pictures.drift(words, rows, key="drift", name=words("sees.use"), most=scale, apart=seen.apart)


# Dropout, and a batch


def dropout() -> None:
    """Losses with draws of dropout, and without."""
    lesson = found[config.architecture]
    st.subheader(words("sees.dropout"), anchor=False)
    share = lesson.run.config.dropout
    st.markdown(prose["dropout"])
    first = reader.whole("drop", 0, 10**6)
    drawn_losses = [
        lessons.mean(
            lessons.losses(
                passes.dropped(lesson.name, *lesson.run.ids, first + number)["logits"].tensor, lesson.question.targets
            )
        )
        for number in range(DRAWS)
    ]
    plain = passes.run(lesson.name, *lesson.run.ids)
    off = lessons.mean(lessons.losses(plain.trace["logits"].tensor, lesson.question.targets))
    most = max(off, *drawn_losses)
    rows = [Bar(None, off / most, words("sees.dropout.off"), f"{off:.3f}")]
    rows += [
        Bar(None, loss / most, words("sees.dropout.on", n=first + number + 1), f"{loss:.3f}")
        for number, loss in enumerate(drawn_losses)
    ]
    bars(rows, name=words("sees.dropout"), key="dropout")
    st.caption(words("sees.dropout.share", share=percent(share)))
    st.button(words("sees.draw"), key="drop", on_click=reader.set_option, args=("drop", str(first + DRAWS)))


def in_a_batch() -> None:
    """The sentence beside another in one batch, with its padding."""
    lesson = found[config.architecture]
    st.subheader(words("sees.batch"), anchor=False)
    st.markdown(f"{prose['batch']} {prose[f'batch {config.architecture}']}")
    text = next(text for text in SECOND if text != chosen.text)
    if config.architecture == "decoder":
        questions = (lesson.question, lessons.next_token(reading(chosen.other.strip() or text, "decoder").ids))
    elif config.architecture == "encoder":
        ids = reading(chosen.other.strip() or text, "encoder").ids
        questions = (lesson.question, lessons.masked(ids, reader.whole("draw", 0, 10**6)))
    else:
        questions = (lesson.question, lessons.translation(reading(TRUTHS[text], "decoder").ids))
    sources: tuple[Ids, ...] = ()
    if config.architecture == "encoder-decoder":
        sources = (lesson.run.ids[0], reading(text, "encoder").ids)
    made = passes.batch(lesson.name, sources, questions)
    rows = []
    for number in range(2):
        if made.source is not None:
            cells = [pictures.Asked(view.token(id), padding=not id) for id in made.source[number].tolist()]
            rows.append(pictures.Row(words("sees.row.source", n=number + 1), cells, read_only=True))
        cells = [
            pictures.Asked(view.token(id), view.token(target) if target else None, loss, padding=not id)
            for id, target, loss in zip(
                made.inputs[number].tolist(), made.targets[number].tolist(), numbers(made.losses[number]), strict=True
            )
        ]
        kind = "target" if sources else "one"
        rows.append(pictures.Row(words(f"sees.row.{kind}", n=number + 1), cells))
    pictures.batch(words, rows, key="batch", name=words("sees.batch"))
    asked, padding = sum(len(one.asked) for one in questions), int((made.inputs == 0).sum())
    st.markdown(
        words("sees.batch.figures", places=made.inputs.numel(), n=asked, padding=padding,
              loss=f"{lessons.mean(made.losses):.3f}", apart=terms.number(made.apart, 2))
    )  # fmt: skip
    if padding:
        st.markdown(words("sees.batch.counted", loss=f"{made.counted:.3f}"))


# The mask


def the_mask() -> None:
    """What the mask is for: taken from a decoder that had it, and from one that never did."""
    st.subheader(words("sees.mask"), anchor=False)
    st.markdown(prose["mask"])
    decoder, ids = found["decoder"], found["decoder"].question.inputs[: STEPS + 1]
    question = lessons.next_token(ids)
    try:
        asked = [("with", decoder.name, (), question, True), ("removed", decoder.name, (), question, False),
                 ("never", UNMASKED, (), question, False)]  # fmt: skip
        if config.architecture == "encoder-decoder":
            translator, own = found[config.architecture], found[config.architecture].question
            cut = lessons.Question(own.inputs[:STEPS], own.targets[:STEPS])
            asked += [
                (kind, translator.name, translator.run.ids[0], cut, kind == "with") for kind in ("with", "removed")
            ]
        with st.spinner(words("working")):
            readings = [passes.read_twice(*what) for _, *what in asked]
            written = [passes.written(name, ids, STEPS, masked) for _, name, _, _, masked in asked[:3]]
        trained, ordinary = passes.card(UNMASKED), passes.card("decoder-pre-4")
    except checkpoints.CheckpointError as error:
        broken(error)
        return
    head = ["", words("sees.mask.training"), words("sees.mask.use")]
    rows = [
        [f"{words(f'sees.mask.{kind}')} :gray[{verbatim(name)}]", *(f"**{lessons.mean(one):.2f}**" for one in both)]
        for (kind, name, *_), both in zip(asked, readings, strict=True)
    ]
    figures, places = st.columns([5, 5], gap="large")
    with figures:
        st.markdown(drawn.table(head, rows))
        if len(decoder.question.inputs) > len(ids):
            st.caption(words("sees.mask.cut", n=len(ids) - 1))
        st.markdown(prose["mask table"])
    with places:
        st.markdown(f"**{words('sees.mask.positions')}**")
        lines = {
            words(f"sees.mask.{kind}"): numbers(both[0]) for (kind, *_), both in zip(asked[:3], readings, strict=False)
        }
        lines[words("sees.mask.alone")] = numbers(readings[2][1])
        st.altair_chart(drawn.by_position(lines, words), width="stretch", key="by position")
    said, learnt = st.columns([5, 5], gap="large")
    with said:
        st.markdown(f"**{words('sees.mask.write')}**")
        read = passes.tokenizer()
        before = read.decode(ids)
        for (kind, *_), more in zip(asked[:3], written, strict=False):
            text = read.decode((*ids, *more))
            st.markdown(
                f":gray[{words(f'sees.mask.{kind}')}]  \n:gray[{verbatim(before)}]{verbatim(text[len(before) :])}"
            )
        st.markdown(prose["mask write"])
    with learnt:
        st.markdown(f"**{words('sees.mask.learnt')}**")
        curves = {
            words(f"sees.mask.{kind}"): (card["curves"]["tokens"], card["curves"]["loss"])
            for kind, card in (("trained", ordinary), ("never", trained))
        }
        st.altair_chart(drawn.learning(curves, words), width="stretch", key="learning")
        st.caption(words("sees.mask.budget", n=trained["budget_tokens"], all=ordinary["budget_tokens"]))


against_use()
controls.unedited(view)
left, right = st.columns([3, 8], gap="large")
with left:
    dropout()
with right:
    in_a_batch()
the_mask()

st.subheader(words("references"), anchor=False)
st.markdown(prose["references"])
