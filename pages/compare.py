"""Two of anything, side by side: what is on the screen, and the same but for one thing."""

import streamlit as st

from explorer import beside, controls, glossary, panel, passes, reader
from explorer.analysis import compare, lens
from explorer.analysis.minimal_pairs import PAIRS
from explorer.analysis.stream import after_layer
from explorer.beside import SHOWN, Comparison, Sides
from explorer.config import MASK
from explorer.trace import Value
from explorer.view import Attention, Nothing, blank, current
from explorer.views import compare as charts
from explorer.views.components.matrix import matrix
from explorer.views.components.plot import plot
from explorer.views.components.tokens import Bar, bars, strip
from explorer.views.numerals import fixed, percent
from explorer.words import LANGUAGES, chip, strong, verbatim

LISTED = 10  # candidates of a prediction
LEAST = 0.0005  # a smaller difference of probabilities is not drawn
LONGEST = 90  # characters of a sentence in a title
SIDES = ("compare.side.left", "compare.side.right")

controls.within_frame()

words = reader.words()
prose = words.prose("compare")


# Ready pairs


def take(pair) -> None:
    """Set the two sentences of a pair beside each other."""
    reader.choose(text=pair.left, other=pair.right, target="", written_for="")
    reader.set_option("vs", "text")
    reader.set_option("beside", "")


def ready() -> None:
    """The minimal pairs of this architecture, a line for each language."""
    kinds = PAIRS[reader.choices().architecture]
    with st.container(key="pairs", gap=None):
        for language in sorted(kinds, key=lambda one: one != words.language):
            with st.container(horizontal=True, gap="small", vertical_alignment="center", key=f"pairs-{language}"):
                st.markdown(f":gray[{words('compare.pairs', language=LANGUAGES[language])}]", width="content")
                for pair in kinds[language]:
                    st.button(
                        words(f"compare.point.{pair.point}"), key=f"pair {language} {pair.point}", type="tertiary",
                        help=f"{verbatim(pair.left)}  \n{verbatim(pair.right)}", on_click=take, args=(pair,),
                    )  # fmt: skip


def look_for(sides: Sides) -> None:
    """What to look for in the minimal pair on the screen, if it is one, and what this model does with it."""
    chosen = sides.left.choices
    for pair in (pair for pairs in PAIRS[chosen.architecture].values() for pair in pairs):
        if (pair.left, pair.right) == (chosen.text, chosen.other):
            said = [prose[f"look {pair.point}"]]
            if pair.answers:
                said += answered(sides, pair.answers)
            elif all(side.own is not None for side in sides.both):
                said += translated(sides)
            st.markdown(f":violet-background[{words('look_for.now')}] {' '.join(said)}")


def answered(sides: Sides, answers: tuple[str, str]) -> list[str]:
    """How likely each sentence makes either answer, and whether that tells the two apart."""
    ids = [passes.tokenizer().encode(answer)[0].id for answer in answers]
    left, right = (
        tuple(float(side.trace["probabilities"].tensor[asked_at(side), id]) for id in ids) for side in sides.both
    )
    verdict, factor = compare.verdict(left, right)
    odds = factor if factor >= 1 else 1 / factor
    first, second = (chip(sides.left.token(id).label) for id in ids)
    figures = words(
        "compare.answers", first=first, second=second, left_first=percent(left[0]), left_second=percent(left[1]),
        right_first=percent(right[0]), right_second=percent(right[1]),
    )  # fmt: skip
    return [figures, words(f"compare.{verdict}", odds=f"{odds:,.0f}" if odds >= 10 else f"{odds:.1f}")]


def asked_at(side) -> int:
    """The place whose prediction a minimal pair is about."""
    ids = [token.id for token in side.tokens[side.stack]]
    return ids.index(MASK) if side.config.architecture == "encoder" else len(ids) - 1


def translated(sides: Sides) -> list[str]:
    """What the model makes of either sentence."""
    one, two = (passes.tokenizer().decode(side.own.ids) for side in sides.both)
    verdict = "compare.translated.same" if one == two else "compare.translated.apart"
    return [words("compare.translations", left=strong(one), right=strong(two)), words(verdict)]


# What differs, and what is shown


def named(code: str, what: str) -> str:
    """What a side is called: what makes it differ from the other."""
    numbered = {"heads": "compare.heads", "layer": "layer.of", "head": "head.of"}
    if what in numbered:
        return words(numbered[what], n=int(code))
    return words({"arch": f"architecture.{code}", "norm": f"compare.norm.{code}", "edits": f"compare.{code}"}[what])


def title(sides: Sides, side: int) -> None:
    """Which side it is, and what makes it differ from the other."""
    view = sides.both[side]
    chosen = view.choices
    if sides.what == "text":
        text = chosen.text if side == 0 else reader.choices().other
        name = strong(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")
    else:
        code = {"norm": chosen.norm, "edits": ("edited", "plain")[side]}.get(sides.what)
        name = f"**{named(code or beside.own(view, sides.what), sides.what)}**"
    st.markdown(f":gray[{words(SIDES[side])}] {name}")


def pick_other(view, what: str) -> str:
    """What the right side is, as the reader chooses it: a second sentence, or one of what there is, as its code."""

    def typed(other: str) -> None:
        reader.choose(other=other)
        reader.set_option("vs", "text")
        reader.set_option("beside", "")

    if what == "text":
        st.text_input(words("compare.right"), **controls.show("compare other", view.choices.other, typed))
    if what not in beside.CHOSEN:
        return ""
    codes, usual = beside.offered(view, what), beside.usual(view, what)
    return controls.pick_option(f"to_{what}", codes, lambda code: named(code, what), usual, words("compare.right"))


def pick_shown(view, what: str) -> tuple[str, Attention, bool]:
    """What is shown of both sides, of which attention or stack, and whether of the mean of all heads."""
    shown = controls.pick_option(
        "show", SHOWN, lambda name: words(f"compare.show.{name}"), SHOWN[0], words("compare.shown")
    )
    if shown in ("weights", "scores"):
        return shown, controls.pick_attention(view), pick_head_or_mean(view, what)
    stack = view.stack
    if shown == "stream" and len(view.config.stacks) > 1:
        stack = controls.pick_option(
            "side", view.config.stacks, lambda name: words(f"side.{name}"), stack, words("residuals.stack")
        )
    return shown, Attention(stack), False


def pick_head_or_mean(view, what: str) -> bool:
    """A head, or the mean of all where it is not heads that are compared; returns whether it is the mean."""

    def touched(chosen: str) -> None:
        reader.set_option("mean", "1" if chosen == "mean" else "")
        if chosen != "mean":
            reader.choose(head=int(chosen))

    mean = what != "head" and reader.option("mean") == "1"
    st.segmented_control(
        words("head"),
        [*map(str, range(view.config.heads)), *([] if what == "head" else ["mean"])],
        required=True,
        format_func=lambda code: words("compare.mean") if code == "mean" else code,
        **controls.show("compare head", "mean" if mean else str(view.head), touched),
    )
    return mean


def said_beforehand(sides: Sides) -> None:
    """Why both sides are the same, where they are."""
    if sides.what == "edits" and not sides.left.edited:
        with st.container(horizontal=True, vertical_alignment="center", key="no-edits"):
            st.markdown(words("compare.no_edits"), width="content")
            st.page_link("pages/what_if.py", label=f":violet[{words('page.what_if')}]")
    elif sides.what == "heads" and len(beside.offered(sides.left, "heads")) == 1:
        st.markdown(words("compare.only_heads", n=sides.left.config.heads))


# The tokens of both sides


def strips(shown: Comparison, columns: list) -> None:
    """The tokens of both sides; a click follows a token on both."""

    def follow(side: int, position: int) -> None:
        shown.sides.look_at(shown.stacks, side, position)
        for option in ("pair", "p"):  # of another row, the numbers that differ most
            reader.set_option(option, "")

    for side, column in enumerate(columns[:2]):
        with column:
            title(shown.sides, side)
            strip(
                shown.tokens(side), name=words("start.tokens.alt", n=len(shown.tokens(side))), key=f"tokens {side}",
                focus=shown.places[side], hint=words("compare.follow"),
                on_pick=lambda at, side=side: follow(side, at),
            )  # fmt: skip
    with columns[2]:
        difference_title()
        st.markdown(f":gray[{how_aligned(shown.rows)}]")
        if shown.row is None:
            st.markdown(f":gray[{words('compare.no_partner')}]")


def difference_title() -> None:
    st.markdown(f"**{words('compare.difference')}** :gray[{words('compare.right_minus_left')}]")


def how_aligned(aligned: compare.Alignment) -> str:
    """How the positions of the two sides were brought together, with the numbers."""
    if aligned.same:
        return words("compare.same_text")
    alone = {"left": aligned.left - len(aligned.pairs), "right": aligned.right - len(aligned.pairs)}
    said = words("compare.aligned", n=aligned.equal)
    if aligned.replaced:
        said += " " + words("compare.replaced", n=aligned.replaced)
    if any(alone.values()):
        said += " " + words("compare.alone", **alone)
    return said


# The pictures


def pictures(shown: Comparison, columns: list) -> None:
    """The two values on one scale, and their difference over what stands for each other; under them the numbers."""
    name = glossary.entry(shown.path(0), shown.sides.left.trace).name[words.language]
    for side, column in enumerate(columns[:2]):
        with column:
            st.markdown(f":gray[{where(shown, side)}]")
            matrix(
                shown.values[side], key=f"compare {side}", chosen=shown.cells[side],
                on_choose=lambda cell, side=side: open_cell(shown, side, cell),
                focus=shown.places[side], name=name, path="" if shown.mean else shown.path(side),
                part=shown.part(side), allowed=shown.allowed(side), rows=shown.tokens(side), columns=shown.keys(side),
                legend=side == 0, scale="weight" if shown.shown == "weights" else "signed", limit=shown.limit,
                beside=3, language=words.language,
            )  # fmt: skip
    with columns[2]:
        if shown.incomparable:
            st.info(why_incomparable(shown))
        else:
            difference(shown)
    readout(shown)
    if not shown.incomparable and shown.row is not None:
        as_table(shown)


def open_cell(shown: Comparison, side: int, cell: tuple[int, ...]) -> None:
    """Follow a cell's row on both sides, and show how its number is made. For callbacks."""
    shown.sides.look_at(shown.stacks, side, cell[0])
    reader.set_option("whose", "right" if side else "")
    reader.set_option("pair", ",".join(map(str, cell)))
    if not shown.mean:
        panel.open_at(shown.path(side), (*shown.part(side), *cell))


def where(shown: Comparison, side: int) -> str:
    """Where in the model a side is looked at."""
    view = shown.sides.both[side]
    if shown.shown == "stream":
        return words("layer.of", n=view.layer)
    of = "mean" if shown.mean else "head"
    return words(f"crossing.of.{of}", layer=view.layer, head=view.head, n=view.config.heads)


def why_incomparable(shown: Comparison) -> str:
    """Why there is no picture of the difference, with the numbers."""
    if shown.incomparable == "stream":
        cosine = compare.likeness(*(value.tensor for value in shown.values), shown.rows)
        return words("compare.none.stream", n=len(shown.rows.pairs), cosine=fixed(cosine, 2))
    return too_few(shown.incomparable, shown.rows if shown.incomparable == "rows" else shown.columns)


def too_few(axis: str, aligned: compare.Alignment) -> str:
    return words(f"compare.none.{axis}", left=aligned.left, right=aligned.right, n=len(aligned.pairs))


def difference(shown: Comparison) -> None:
    """The difference as a picture of its own."""
    apart, allowed = shown.difference
    largest = float(apart.abs().max())
    said = words("compare.largest", figure=fixed(largest, 3)) if largest else words("compare.equal")
    st.markdown(f":gray[{said}]")
    rows, keys = shown.tokens(0), shown.keys(0)
    matrix(
        Value(apart, shown.values[0].axes), key="compare difference", chosen=shown.in_difference(shown.cells),
        on_choose=lambda cell: open_cell(shown, 0, shown.left_of(cell)),
        focus=shown.row, name=words("compare.difference"), path="", rows=[rows[one] for one, _ in shown.rows.pairs],
        columns=None if keys is None else [keys[one] for one, _ in shown.columns.pairs], allowed=allowed,
        scale="signed", limit=largest or 1.0, beside=3, language=words.language,
    )  # fmt: skip
    if shown.columns is not None and shown.columns != shown.rows and not shown.columns.same:
        st.caption(words("compare.columns", said=how_aligned(shown.columns)))


def readout(shown: Comparison) -> None:
    """The chosen pair of numbers and what lies between; under it, how the one that was clicked is made."""
    if None not in shown.cells and not shown.incomparable:
        left, right = (float(value.tensor[cell]) for value, cell in zip(shown.values, shown.cells, strict=True))
        st.markdown(
            words("compare.pair", left=fixed(left, 3), right=fixed(right, 3), difference=fixed(right - left, 3))
        )
    if not shown.mean:
        side = int(reader.option("whose") == "right")
        panel.show(shown.sides.both[side], "compare", shown.path(side))


def as_table(shown: Comparison) -> None:
    """The numbers of the row that is followed, for those who read rather than look."""
    tokens, apart = shown.keys(0), shown.difference[0][shown.row]
    left, right = (value.tensor[place] for value, place in zip(shown.values, shown.places, strict=True))
    with st.expander(words("numbers.table")):
        st.dataframe(
            [
                {
                    words("compare.token" if tokens else "compare.number"): tokens[one].label if tokens else one,
                    words("compare.side.left"): float(left[one]),
                    words("compare.side.right"): float(right[two]),
                    words("compare.difference"): float(apart[at]),
                }
                for at, (one, two) in enumerate(shown.column_pairs)
            ],
            key="numbers",
        )


def where_most(shown: Comparison) -> None:
    """The head whose weights differ most in the row that is followed, in two passes of the same model."""
    sides = shown.sides
    if shown.shown != "weights" or not sides.same_model or sides.what in ("layer", "head") or shown.row is None:
        return
    view, other = sides.both
    kind = sides.attentions[0].path("*").replace(".layers.", ".")
    found = compare.furthest(view.trace, other.trace, kind, shown.columns, shown.places)
    token = chip(shown.tokens(0)[shown.places[0]].label)
    if found.share < 0.005:
        st.markdown(words("compare.nowhere", token=token))
        return
    said = words("compare.most", token=token, layer=found.layer, head=found.head, share=percent(found.share))
    with st.container(horizontal=True, vertical_alignment="center", key="most"):
        st.markdown(said, width="content")
        if (found.layer, found.head) != (view.layer, view.head) or shown.mean:
            st.button(words("compare.go"), type="tertiary", key="go most", on_click=go, args=(found.layer, found.head))


def go(layer: int, head: int) -> None:
    reader.choose(layer=layer, head=head)
    reader.set_option("mean", "")


# Predictions


def probabilities(view, what: str):
    """What each position predicts, [position, vocabulary]: where layers are compared, read out after the layer."""
    if what != "layer":
        return view.trace["probabilities"].tensor
    return lens.read(view.trace, after_layer(view.trace, view.layer)).softmax(-1)


def predictions(sides: Sides, everywhere: bool) -> None:
    """What both sides expect at the places that are followed, or `everywhere` too, and how much of it differs."""
    st.header(words("compare.predictions"), anchor=False)
    if sides.what == "head":
        st.markdown(words("compare.one_pass"))
        return
    if sides.what in ("layer", "arch"):
        st.markdown(f":gray[{words(f'compare.predictions.{sides.what}')}]")
    stacks = (sides.left.stack, sides.right.stack)
    aligned, places = sides.aligned(stacks), sides.places(stacks)
    shares = [probabilities(view, sides.what) for view in sides.both]
    apart = compare.total_variation_rows(*shares, aligned)
    if everywhere and aligned.enough:
        every_position(sides, aligned, shares, apart)
    elif everywhere:
        st.info(too_few("rows", aligned))
    most = max(range(len(apart)), key=apart.__getitem__)
    if apart[most] >= 0.01 and aligned.pairs[most] != places:
        lead_to(sides, aligned.pairs[most][0], apart[most])
    candidates(sides, places, [share[place] for share, place in zip(shares, places, strict=True)])


def every_position(sides: Sides, aligned: compare.Alignment, shares: list, apart: list[float]) -> None:
    """A row for each pair of positions: what each side puts first there, and how much of the probability differs."""
    best = [share.max(-1) for share in shares]
    stacks = (sides.left.stack, sides.right.stack)
    column = {
        (side, name): f"{words(SIDES[side])}: {words(f'compare.{name}')}"
        for side in (0, 1)
        for name in ("token", "first", "chance")
    }
    table = []
    for pair, share in zip(aligned.pairs, apart, strict=True):
        row = {}
        for side, (view, at) in enumerate(zip(sides.both, pair, strict=True)):
            row[column[side, "token"]] = view.tokens[view.stack][at].label
            row[column[side, "first"]] = sides.left.token(int(best[side].indices[at])).label
            row[column[side, "chance"]] = float(best[side].values[at])
        table.append(row | {words("compare.share"): share})

    def followed() -> None:
        found = st.session_state["positions"].selection.rows
        if found:
            sides.look_at(stacks, 0, aligned.pairs[found[0]][0])

    st.dataframe(
        table, key="positions", on_select=followed, selection_mode="single-row", height=min(420, 38 + 35 * len(table)),
        column_config={
            words("compare.share"): st.column_config.ProgressColumn(format="percent", min_value=0, max_value=1),
            **{column[side, "chance"]: st.column_config.NumberColumn(format="percent") for side in (0, 1)},
        },
    )  # fmt: skip


def lead_to(sides: Sides, place: int, share: float) -> None:
    """The place where the predictions differ most, and a way there."""
    view, stacks = sides.left, (sides.left.stack, sides.right.stack)
    token = chip(view.tokens[view.stack][place].label)
    with st.container(horizontal=True, vertical_alignment="center", key="most apart"):
        st.markdown(words("compare.most_at", token=token, n=place, share=percent(share)), width="content")
        st.button(
            words("compare.go_there"), type="tertiary", key="go there", on_click=sides.look_at, args=(stacks, 0, place)
        )


def candidates(sides: Sides, places: tuple[int, int], shares: list) -> None:
    """The likeliest tokens of both sides at the places that are followed, and by how much they differ."""
    ids, token = compare.candidates(*shares)[:LISTED], sides.left.token
    *columns, between = st.columns([1, 1, 1], gap="medium")
    for side, (column, view, place, share) in enumerate(zip(columns, sides.both, places, shares, strict=True)):
        with column:
            title(sides, side)
            label = chip(view.tokens[view.stack][place].label)
            said = "compare.at" if view.config.architecture == "encoder" else "compare.after"
            st.markdown(f":gray[{words(said, token=label, n=place)}]")
            listed = [Bar(token(id), float(share[id])) for id in ids]
            rest = max(0.0, 1 - sum(bar.share for bar in listed))
            listed.append(Bar(None, rest, words("start.others", n=len(share) - len(ids))))
            bars(listed, name=words("compare.predictions"), key=f"predictions {side}")
    left, right = shares
    with between:
        difference_title()
        listed = [(token(id).label, float(right[id] - left[id])) for id in ids]
        if max(abs(figure) for _, figure in listed) < LEAST:
            st.markdown(words("compare.alike"))
        else:
            plot(charts.differences(listed, words("compare.difference")), key="differences")
            moved = float(compare.total_variation(left, right))
            st.markdown(words("compare.moved", share=strong(percent(moved))))


def side_by_side(sides: Sides, shown: Comparison) -> None:
    """Everything of both sides: their tokens, the pictures of a value, the predictions."""
    if sides.what == "text":
        look_for(sides)
    said_beforehand(sides)
    columns = st.columns(3, gap="medium")
    strips(shown, columns)
    if shown.shown != "predictions":
        if sides.what == "head" and shown.shown == "stream":
            st.markdown(words("compare.one_stream"))
        pictures(shown, columns)
        where_most(shown)
    predictions(sides, everywhere=shown.shown == "predictions")


# The page

ready()
view = current()
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="which"):
    usual = "text" if view.choices.other else "layer"
    what = controls.pick_option(
        "vs", beside.KINDS, lambda name: words(f"compare.vs.{name}"), usual, words("compare.differs")
    )
    code = pick_other(view, what)

nothing = None
try:
    if what == "text" and blank(view.choices.other):
        raise Nothing(lambda words: st.info(words("compare.write")))
    other = beside.other(view, what, code)
except Nothing as raised:
    nothing = raised

with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="shown"):
    shown, attention, mean = pick_shown(view, what)
if nothing is not None:
    nothing.say(words)
else:
    sides = beside.sides(view, other, attention, what)
    side_by_side(sides, Comparison(sides, shown, mean))

first, then = st.columns(2, gap="large")
with first:
    st.markdown(prose["what"])
    st.markdown(prose["why"])
with then:
    st.markdown(prose["how"])
    st.markdown(prose["formula"])
st.caption(prose["references"])
