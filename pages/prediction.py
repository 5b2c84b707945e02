"""From the last vector to a token: logits, softmax, sampling; the lens; who pushed a logit; who knows of whom."""

import streamlit as st

from explorer import controls, glossary, panel, passes, reader
from explorer.analysis import attribution, lens, reach, sampling
from explorer.analysis.generation import Settings
from explorer.analysis.predictions import followed, loss, prediction
from explorer.analysis.stream import parameter
from explorer.config import MASK, SPECIAL_TOKENS
from explorer.tokens import groups
from explorer.view import current
from explorer.views import numerals
from explorer.views.components import prediction as pictures
from explorer.views.components.tokens import strip
from explorer.views.numerals import percent
from explorer.words import chip

LISTED = 10  # tokens of the vocabulary in the picture
LONGEST = 4  # bytes of a character, and so tokens that share one
TURNS = 24  # tokens of an encoder's text that are masked in turn
TEMPERATURES = [f"{tenth / 10:.1f}" for tenth in range(1, 21)]
SHARES = [f"{hundredth / 100:.2f}" for hundredth in range(5, 101, 5)]
READY = {
    "encoder": (
        "She was very [MASK] because she lost her doll.",
        "The [MASK] ate the [MASK].",
        "나는 학교[MASK] 갔어요.",
    ),
    "decoder": ("Tom had a red ball. Tom lost his", "Once upon a time, there was a", "고양이가 물을"),
    "encoder-decoder": ("The girl reads a book.", "I did not buy the red car.", "The doctor is in the kitchen."),
}

controls.within_frame()

words = reader.words()
prose = words.prose("prediction")
kind = reader.choices().architecture
controls.look_for([(text, prose[f"look {kind} {i}"]) for i, text in enumerate(READY[kind], 1)])
view = current()
trace, config, stack, place = view.trace, view.config, view.stack, view.focus
tokens = view.tokens[stack]
masking = config.architecture == "encoder"
ids = view.run.ids


def bold(id: int) -> str:
    """A token of the vocabulary in Markdown."""
    return chip(view.token(id).label)


def look_at(position: int) -> None:
    reader.choose(focus=position)


def pick(position: int) -> None:
    """A click on a token: mask it where the model fills masks; else look at what is expected after it."""
    token = tokens[position]
    if masking and not token.special:
        run = next(run for run in groups(tokens) if position in run)
        reader.mask([tokens[i] for i in run])
    else:
        look_at(position)


def open_cell(section: str, path: str, index: tuple[int, ...]) -> None:
    """Open a number's arithmetic below the picture in which it was clicked."""
    reader.set_option("in", section)
    panel.open_at(path, index)


def arithmetic(section: str) -> None:
    """The arithmetic of the number that was clicked in this section, if one was."""
    if reader.option("in") == section:
        panel.show(view, section, on_open=lambda path, index: open_cell(section, path, index))


def dial(name: str, offered: list[str], usual: str, written=str) -> str:
    """A slider for one of the options of the draw."""
    chosen = reader.option(name, usual, offered)
    shown = controls.show(f"prediction {name}", chosen, lambda given: reader.set_option(name, given))
    st.select_slider(words(f"prediction.{name}"), offered, format_func=written, **shown)
    return chosen


controls.token_row(view, stack, words("prediction.pick_mask" if masking else "prediction.pick"), on_pick=pick)

masks = [position for position, token in enumerate(tokens) if token.id == MASK]
if masking and masks and place not in masks:
    place = masks[0]
asked = not masking or bool(masks)
vocabulary = config.vocabulary
best = prediction(trace, place, LISTED)
token = reader.whole("token", best.best[0][0], vocabulary)


def output() -> None:
    """The last vector, the vocabulary, and the draw."""
    table_path = glossary.inputs("logits", trace)["table"]
    table, entrance = parameter(trace, table_path), glossary.inputs("logits", trace)["x"]
    logits, probabilities = trace["logits"].tensor[place], trace["probabilities"].tensor[place]
    title = words("prediction.behind", n=place) if masking else words("prediction.after", token=bold(tokens[place].id))
    st.header(title, anchor=False)
    picture, dials = st.columns([8, 5], gap="large")
    with dials:
        one, two, three = st.columns(3)
        with one:
            temperature = float(dial("temperature", TEMPERATURES, "1.0"))
        counts = ["0", *(str(k) for k in (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if k < vocabulary)]
        with two:
            k = int(dial("top_k", counts[1:] + counts[:1], "0", lambda k: words("prediction.all") if k == "0" else k))
        with three:
            p = float(dial("top_p", SHARES, "1.00"))
        drawn = sampling.sample(logits, temperature, k, p)
        pictures.curve(
            words,
            key="curve",
            cumulated=drawn.tempered[drawn.order].cumsum(0),
            after_k=drawn.after_k,
            count=drawn.count,
        )
        if drawn.count == vocabulary:
            st.markdown(words("prediction.unfiltered", all=vocabulary))
        else:
            kept = max(0.0, 1 - drawn.by_k - drawn.by_p)
            figures = {"kept": percent(kept), "by_k": percent(drawn.by_k), "by_p": percent(drawn.by_p)}
            st.markdown(words("prediction.mass", n=drawn.count, all=vocabulary, **figures))
        if config.architecture == "decoder" and place == len(tokens) - 1:
            go_on(drawn)

    def opened(kind: str, id: int | None, at: int | None) -> None:
        found = {
            "x": (entrance, (place, at)),
            "e": (table_path, (id, at)),
            "logit": ("logits", (place, id)),
            "probability": ("probabilities", (place, id)),
        }
        open_cell("output", *found[kind])

    listed = [id for id, _ in best.best]
    listed = listed if token in listed else [*listed[:-1], token]
    with picture:
        pictures.output(
            words,
            key="output",
            on_token=lambda id: reader.set_option("token", str(id)),
            on_cell=opened,
            token=tokens[place],
            symbol="x̄" if config.norm == "pre" else "x",
            x=trace[entrance].tensor[place],
            rows=[
                pictures.Candidate(
                    view.token(id),
                    table[id],
                    float(logits[id]),
                    float(probabilities[id]),
                    bool(drawn.kept[id]),
                    float(drawn.shares[id]),
                )
                for id in listed
            ],
            chosen=token,
            vocabulary=vocabulary,
        )
    arithmetic("output")


def go_on(drawn: sampling.Sampling) -> None:
    """Write a token and read the longer text again."""

    read = passes.tokenizer()

    def spelt(written: list[int]) -> bool:
        """Whether all bytes spell characters, but for those at the end that begin one."""
        return b"".join(token.bytes for token in read.tokens(written)).startswith(read.decode(written).encode())

    def write(id: int) -> None:
        """Write a token; where it holds a part of a character, the likeliest that fit finish it."""
        written = [*ids[1], id]
        while spelt(written) and read.unfinished(written) and len(written) < len(ids[1]) + LONGEST:
            following = passes.step(view.choices.model, (), tuple(written), Settings(0.0)).candidates
            fitting = [one.id for one in following if one.id >= len(SPECIAL_TOKENS) and spelt([*written, one.id])]
            written += fitting[:1] or written[:1]  # [BOS], which spells nothing
        if spelt(written):
            reader.choose(text=read.decode(written))

    with st.container(horizontal=True):
        likeliest = int(drawn.order[0])
        if likeliest < len(SPECIAL_TOKENS):
            st.markdown(f":gray[{words('prediction.ends')}]", width="content")
        else:
            st.button(words("prediction.write"), key="write", on_click=write, args=(likeliest,))
        one = sampling.draw(drawn)
        st.button(words("prediction.draw_one"), key="draw one", on_click=write, args=(one,))


def filled() -> None:
    """The text with every mask filled in."""
    whole = list(ids[0])
    for position in masks:
        whole[position] = prediction(trace, position, 1).best[0][0]
    st.markdown(f"**{words('prediction.filled')}**")
    strip(
        passes.tokenizer().tokens(whole),
        name=words("prediction.filled"),
        key="filled",
        focus=place,
        on_pick=lambda at: look_at(at) if at in masks else None,
    )
    if len(masks) > 1:
        st.markdown(f":gray[{prose['filled']}]")


def training() -> None:
    """Every position asked, as in training."""
    st.header(words("prediction.training"), anchor=False)
    picture, told = st.columns([7, 5], gap="large")
    told.markdown(prose["training own" if view.own is not None else f"training {config.architecture}"])
    left_out = 0
    if masking:
        places = [position for position, one in enumerate(tokens) if not one.special]
        window = places[max(0, min(len(places) - TURNS, place - TURNS // 2)) :][:TURNS]
        left_out = len(places) - len(window)
        controls.unedited(view)
        answers = passes.masked_in_turn(view.choices.model, ids[0], tuple(window))
    else:
        answers = followed(trace)
    rows = [
        pictures.Asked(
            answer.position,
            tokens[answer.position] if not masking else view.token(MASK),
            tokens[answer.position + (not masking)],
            answer.share,
            view.token(answer.best),
        )
        for answer in answers
    ]
    if not masking:
        end = len(tokens) - 1
        rows.append(pictures.Asked(end, tokens[end], None, 0.0, view.token(prediction(trace, end, 1).best[0][0])))
    with picture:
        pictures.each(
            words,
            key="each",
            positions=len(tokens),
            on_focus=look_at,
            rows=rows,
            focus=place,
            reads=words("prediction.stands" if masking else "prediction.reads"),
            follows=words("prediction.stood" if masking else "prediction.follows"),
        )
    if answers:
        right = sum(answer.id == answer.best for answer in answers)
        told.markdown(words("prediction.loss", n=len(answers), loss=numerals.number(loss(answers), 3), right=right))
    if left_out:
        told.markdown(f":gray[{words('prediction.loss_some', n=left_out)}]")


def named(stage) -> str:
    """A stage of the stream in words."""
    if stage.layer is None:
        return words("prediction.entrance")
    return f"{words('layer.of', n=stage.layer)}, {words(f'part.{stage.kind}')}"


def through_the_lens() -> None:
    """What each stage would say."""
    st.header(words("prediction.lens"), anchor=False)
    seen, here = lens.grid(trace), lens.lens(trace, place)
    ranks = here.rank(here.final).tolist()

    def open_stage(stage: int, position: int) -> None:
        open_cell("lens", seen.stages[stage].path, (position, 0))

    pictures.lens(
        words,
        key="lens",
        on_focus=look_at,
        on_stage=open_stage,
        tokens=tokens,
        rows=[
            pictures.Guesses(named(stage), [view.token(id) for id in ids_of.tolist()], shares.tolist(), rank)
            for stage, ids_of, shares, rank in zip(seen.stages, seen.token, seen.probability, ranks, strict=True)
        ],
        focus=place,
        final=view.token(here.final),
        vocabulary=vocabulary,
    )
    if len(tokens) > pictures.COLUMNS:
        st.markdown(f":gray[{words('prediction.lens_window', n=len(tokens) - pictures.COLUMNS)}]")
    arithmetic("lens")
    told, defined = st.columns(2, gap="large")
    told.markdown(prose["lens"])
    defined.markdown(f"{prose[f'lens {config.norm}']}\n\n{prose[f'lens {config.architecture}']}")


def part_name(part: attribution.Part) -> str:
    if part.kind == "token":
        return words("prediction.part.token", token=tokens[place].label)
    if part.kind == "position":
        return words("prediction.part.position")
    if part.kind == "edit":
        return words("prediction.part.edit")
    names = part.path.split(".")
    layer = "" if part.layer is None else f"{words('layer.of', n=part.layer)} · "
    if part.kind == "head":
        return f"{layer}{words(f'part.{names[3]}')} {words('head.of', n=part.head)}"
    if part.kind == "feed_forward":
        return f"{layer}{words('part.feed_forward')}"
    if part.kind == "norm_bias":
        return f"{layer}{words('prediction.part.norm_bias')}"
    return f"{layer}{words(f'part.{names[3]}')} {words('prediction.part.attention_bias')}"


def pushed() -> None:
    """The parts of the chosen token's logit."""
    st.header(words("prediction.parts", token=bold(token)), anchor=False)
    drawn, told = st.columns([7, 5], gap="large")
    with drawn:
        how = controls.pick_option(
            "against", ("alone", "runner"), lambda name: words(f"prediction.against.{name}"), "alone"
        )
        other = next(id for id, _ in best.best if id != token) if how == "runner" else None
        found = attribution.attribute(trace, place, token, other)
        pictures.parts(
            words,
            key="parts",
            parts=[pictures.Part(part_name(part), part.value) for part in found.parts],
            total=found.total,
            name=words("prediction.total"),
            on_part=lambda number: reader.open_value(found.parts[number].path),
        )
    with told:
        st.markdown(prose["parts"])
        figures = {
            "n": len(found.parts),
            "total": numerals.number(found.total, 5),
            "logit": numerals.number(found.logit, 5),
            "error": numerals.number(abs(found.total - found.logit), 2),
        }
        if other is None:
            st.markdown(words("prediction.sum", **figures))
        else:
            st.markdown(words("prediction.sum_lead", token=bold(token), other=bold(other), **figures))


def reached() -> None:
    """Change a token, and see which vectors notice."""
    st.header(words("prediction.reach"), anchor=False)
    st.markdown(prose[f"reach {config.architecture}"])
    read = ids[0] if masking else ids[1]
    places = [position for position, one in enumerate(tokens) if not one.special or one.id == MASK]
    if not places:
        return
    middle = places[len(places) // 2]
    swap = reader.whole("swap", middle, len(tokens))
    swap = swap if swap in places else middle
    expected = prediction(trace, max(0, swap - (not masking)), len(SPECIAL_TOKENS) + 2).best
    new = next(id for id, _ in expected if id != read[swap] and id >= len(SPECIAL_TOKENS))
    changed = reach.replaced(read, swap, new)
    again = view.again((changed, ()) if masking else (ids[0], changed))
    found = reach.spread(trace, again.trace)
    strip(
        tokens,
        name=words("prediction.swap"),
        key="swap",
        focus=swap,
        on_pick=lambda at: reader.set_option("swap", str(at)) if at in places else None,
        hint=words("prediction.swap"),
    )
    st.markdown(words("prediction.swapped", old=bold(read[swap]), new=bold(new), n=swap))

    def opened(stage: int, position: int) -> None:
        open_cell("reach", found.stages[stage].path, (position, 0))

    pictures.differences(
        words,
        key="differences",
        on_focus=lambda at: reader.set_option("swap", str(at)) if at in places else None,
        on_stage=opened,
        tokens=tokens,
        names=[named(stage) for stage in found.stages],
        difference=found.difference,
        equal=found.equal,
        focus=swap,
    )
    if len(tokens) > pictures.COLUMNS:
        st.markdown(f":gray[{words('prediction.lens_window', n=len(tokens) - pictures.COLUMNS)}]")
    before, after = found.equal[:, :swap], found.equal[:, swap:]
    st.markdown(
        words(
            "prediction.same",
            n=swap,
            equal=int(before.sum()),
            of=before.numel(),
            later=int(after.sum()),
            all=after.numel(),
        )
    )
    arithmetic("reach")


if asked:
    output()
    if masking:
        filled()
else:
    st.markdown(prose["no mask"])

told, beside = st.columns([5, 4], gap="large")
with told:
    st.markdown(prose["what"])
with beside:
    for path in ("logits", "probabilities"):
        st.latex(glossary.entry(path, trace).formula)
    st.latex(r"P^T_t = \frac{e^{\ell_t / T}}{\sum_{t'} e^{\ell_{t'} / T}}")

if asked:
    through_the_lens()
    pushed()
reached()
training()

st.header(words("references"), anchor=False)
st.markdown(prose["references"])
