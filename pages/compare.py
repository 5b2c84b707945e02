"""Two of anything, side by side: what is on the screen, and the same but for one thing."""

import streamlit as st

from explorer import beside, controls, glossary, panel, passes, reader
from explorer.analysis import compare, lens
from explorer.analysis.limits import limit
from explorer.analysis.minimal_pairs import PAIRS
from explorer.analysis.stream import stages
from explorer.config import MASK
from explorer.trace import Value
from explorer.view import Nothing, blank, current
from explorer.views import compare as charts
from explorer.views.components.matrix import matrix
from explorer.views.components.tokens import Bar, bars, strip
from explorer.views.numerals import fixed, percent
from explorer.words import LANGUAGES, strong, verbatim

SHOWN = ("weights", "scores", "stream", "predictions")
LISTED = 10  # candidates of a prediction
LEAST = 0.0005  # a smaller difference of probabilities is not drawn

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


def asked_at(one) -> int:
    """The place whose prediction a minimal pair is about."""
    ids = [token.id for token in one.tokens[one.stack]]
    return ids.index(MASK) if one.config.architecture == "encoder" else len(ids) - 1


def look(pair) -> None:
    """What to look for in a minimal pair, and what this model does with it."""
    said = prose[f"look {pair.point}"]
    if pair.answers:
        ids = [passes.tokenizer().encode(answer)[0].id for answer in pair.answers]
        left, right = (
            tuple(float(one.trace["probabilities"].tensor[asked_at(one), id]) for id in ids) for one in (view, other)
        )
        found, factor = compare.verdict(left, right)
        first, second = (strong(view.token(id).label) for id in ids)
        figures = words(
            "compare.answers", first=first, second=second, left_first=percent(left[0]), left_second=percent(left[1]),
            right_first=percent(right[0]), right_second=percent(right[1]),
        )  # fmt: skip
        odds = factor if factor >= 1 else 1 / factor
        said += f" {figures} {words(f'compare.{found}', odds=f'{odds:,.0f}' if odds >= 10 else f'{odds:.1f}')}"
    elif view.own is not None and other.own is not None:
        one, two = (passes.tokenizer().decode(side.own.ids) for side in (view, other))
        said += " " + words("compare.translations", left=strong(one), right=strong(two))
        said += " " + words("compare.translated.same" if one == two else "compare.translated.apart")
    st.markdown(f":violet-background[{words('look_for.now')}] {said}")


# What differs, and what is shown


def named(one, side: int) -> str:
    """What a side is called: what makes it differ from the other."""
    chosen = one.choices
    if what == "text":
        text = reader.choices().other if side else chosen.text
        return strong(text if len(text) <= 90 else f"{text[:89]}…")
    written = {
        "arch": lambda: words(f"architecture.{chosen.architecture}"),
        "norm": lambda: words(f"compare.norm.{chosen.norm}"),
        "heads": lambda: words("compare.heads", n=chosen.heads),
        "layer": lambda: words("layer.of", n=one.layer),
        "head": lambda: words("head.of", n=one.head),
        "edits": lambda: words("compare.plain" if side else "compare.edited"),
    }
    return f"**{written[what]()}**"


def choose_head() -> None:
    chosen = st.session_state["compare head"]
    reader.set_option("mean", "1" if chosen == "mean" else "")
    if chosen != "mean":
        reader.choose(head=int(chosen))


def choose_other() -> None:
    reader.choose(other=st.session_state["compare other"])
    reader.set_option("vs", "text")
    reader.set_option("beside", "")


def second() -> str:
    """What the right side is, as the reader chooses it: a second sentence, or one of what there is."""
    if what == "text":
        if st.session_state.get("compare other") != view.choices.other:
            st.session_state["compare other"] = view.choices.other
        st.text_input(words("compare.right"), key="compare other", on_change=choose_other)
    if what not in beside.CHOSEN:
        return ""
    write = {
        "arch": lambda code: words(f"architecture.{code}"),
        "heads": lambda code: words("compare.heads", n=int(code)),
        "layer": lambda code: words("layer.of", n=int(code)),
        "head": lambda code: words("head.of", n=int(code)),
    }[what]
    codes = beside.offered(view, what)
    return controls.pick_option(f"to_{what}", codes, write, beside.usual(view, what), words("compare.right"))


ready()
view = current()
config = view.config
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="which"):
    usual = "text" if view.choices.other else "layer"
    what = controls.pick_option(
        "vs", beside.KINDS, lambda name: words(f"compare.vs.{name}"), usual, words("compare.differs")
    )
    code = second()

reason = None
try:
    if what == "text" and blank(view.choices.other):
        raise Nothing(lambda words: st.info(words("compare.write")))
    other = beside.other(view, what, code)
except Nothing as nothing:
    reason = nothing

with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="shown"):
    shown = controls.pick_option(
        "show", SHOWN, lambda name: words(f"compare.show.{name}"), SHOWN[0], words("compare.shown")
    )
    kinds = [f"{stack}.{name}" for stack in config.stacks[::-1] for name in ("self", "cross")]
    kinds = [kind for kind in kinds if f"{kind.replace('.', '.layers.0.')}_attention.weights" in view.trace]
    kind, mean = kinds[0], False
    if shown in ("weights", "scores"):
        if len(kinds) > 1:
            kind = controls.pick_option(
                "attention", kinds, lambda kind: words(f"attention.{kind}"), kind, words("attention.which")
            )
        mean = what != "head" and reader.option("mean") == "1"
        st.session_state["compare head"] = "mean" if mean else str(view.head)
        st.segmented_control(
            words("head"), [*map(str, range(config.heads)), *([] if what == "head" else ["mean"])],
            key="compare head", required=True, on_change=choose_head,
            format_func=lambda code: words("compare.mean") if code == "mean" else code,
        )  # fmt: skip
    elif len(kinds) > 1:
        stack = view.stack
        if shown == "stream":
            stack = controls.pick_option(
                "side", config.stacks, lambda name: words(f"side.{name}"), stack, words("residuals.stack")
            )
        kind = f"{stack}.self"


# The pictures


def path_of(side: int) -> str:
    """Where a side's shown value is recorded."""
    one, (stack, _, name) = both[side], sides.kinds[side].partition(".")
    if shown == "stream":
        return [stage.path for stage in stages(one.trace, stack) if stage.layer == one.layer][-1]
    return f"{stack}.layers.{one.layer}.{name}_attention.{shown}"


def value_of(side: int) -> Value:
    found = both[side].trace[path_of(side)]
    if shown == "stream":
        return found
    return Value(found.tensor.mean(0) if mean else found.tensor[both[side].head], found.axes[1:])


def allowed_of(side: int):
    return both[side].trace[f"{path_of(side).rpartition('.')[0]}.allowed"].tensor


def whole_index(side: int, cell: tuple[int, ...]) -> tuple[int, ...]:
    return cell if shown == "stream" else (both[side].head, *cell)


def across(cell: tuple[int, ...], side: int) -> tuple[int, ...] | None:
    """The cell of the other side that stands for one of this side; None where it has no partner."""
    found = []
    for at, aligned in zip(cell, (rows, columns), strict=True):
        to = at if aligned is None else (aligned.left_of(at) if side else aligned.right_of(at))
        if to is None:
            return None
        found.append(to)
    return tuple(found)


def open_cell(side: int, cell: tuple[int, ...]) -> None:
    """Follow a cell's row on both sides, and show how its number is made."""
    sides.look_at(stacks, side, cell[0])
    reader.set_option("whose", "right" if side else "")
    reader.set_option("pair", ",".join(map(str, cell)))
    if not mean:
        panel.open_at(path_of(side), whole_index(side, cell))


def chosen_cells() -> list[tuple[int, ...] | None]:
    """The chosen cell on each side, where there is one."""
    side = int(reader.option("whose") == "right")
    cell = reader.cell(values[side].tensor.shape, "pair")
    if cell is None:
        return [None, None]
    return [across(cell, side), cell] if side else [cell, across(cell, side)]


def draw(value: Value, side: int | None, key: str, cell, place: int | None, **kept) -> None:
    """One picture; a click on a cell follows it."""
    st.session_state[key] = {"cell": list(cell) if cell else None}

    def clicked() -> None:
        found = st.session_state[key]["cell"]
        if not found:
            return
        if side is None:  # the difference: a pair of cells
            found = [
                at if aligned is None else aligned.pairs[at][0]
                for at, aligned in zip(found, (rows, columns), strict=True)
            ]
        open_cell(side or 0, tuple(found))

    matrix(value, key=key, focus=place, beside=3, language=words.language, on_choose=clicked, **kept)


def title(side: int) -> None:
    st.markdown(f":gray[{words('compare.side.right' if side else 'compare.side.left')}] {named(both[side], side)}")


def told(side: int) -> str:
    """Where in the model a side is looked at."""
    one = both[side]
    if shown == "stream":
        return words("layer.of", n=one.layer)
    return words(f"crossing.of.{'mean' if mean else 'head'}", layer=one.layer, head=one.head, n=one.config.heads)


def none_why() -> str | None:
    """Why there is no difference picture; None where there is one."""
    for axis, aligned in (("rows", rows), ("columns", columns)):
        if aligned is not None and not aligned.enough:
            return words(f"compare.none.{axis}", left=aligned.left, right=aligned.right, n=len(aligned.pairs))
    if shown == "stream" and not sides.same_model:
        cosine = compare.likeness(values[0].tensor, values[1].tensor, rows)
        return words("compare.none.stream", n=len(rows.pairs), cosine=fixed(cosine, 2))
    return None


def how_aligned(aligned) -> str:
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


def strips() -> None:
    """The tokens of both sides; a click follows a token on both."""
    for side, column in enumerate(columns_of_page[:2]):
        with column:
            title(side)
            strip(
                both[side].tokens[stacks[side]], name=words("start.tokens.alt", n=len(both[side].tokens[stacks[side]])),
                key=f"tokens {side}", focus=places[side], hint=words("compare.follow"),
                on_pick=lambda at, side=side: follow(side, at),
            )  # fmt: skip
    with columns_of_page[2]:
        st.markdown(f"**{words('compare.difference')}** :gray[{words('compare.right_minus_left')}]")
        st.markdown(f":gray[{how_aligned(rows)}]")
        if rows.right_of(places[0]) != places[1]:
            st.markdown(f":gray[{words('compare.no_partner')}]")


def follow(side: int, position: int) -> None:
    """Follow a token on both sides, and of its row the numbers that differ most."""
    sides.look_at(stacks, side, position)
    for option in ("pair", "p"):
        reader.set_option(option, "")


def masks() -> list:
    """Which cells of each side are allowed; nothing where no mask is."""
    return [None if shown == "stream" else allowed_of(side) for side in (0, 1)]


def apart():
    """The difference over what stands for each other, and which of its cells are allowed on either side (weights,
    which are 0 where they are masked) or on both."""
    found = compare.difference(values[0].tensor, values[1].tensor, rows, columns)
    if shown == "stream":
        return found, None
    one, two = (compare.chosen(mask, rows, columns, side) for side, mask in enumerate(masks()))
    mask = one | two if shown == "weights" else one & two
    return found * mask, mask


def pictures() -> None:
    """The two values on one scale, and their difference over what stands for each other."""
    why = none_why()
    cells, entry = chosen_cells(), glossary.entry(path_of(0), view.trace)
    if why is None:
        difference, either = apart()
        if cells == [None, None] and places in rows.pairs:
            row = rows.pairs.index(places)
            at = int(difference[row].abs().argmax())
            cells = list(zip(places, (at, at) if columns is None else columns.pairs[at], strict=True))
    weights, limits = shown == "weights", [1.0, 1.0]
    if shown == "stream":
        limits = [limit(both[side].trace, path_of(side)) or 1.0 for side in (0, 1)]
    elif shown == "scores":
        limits = [float(values[side].tensor[mask].abs().max()) or 1.0 for side, mask in enumerate(masks())]
    for side, column in enumerate(columns_of_page[:2]):
        with column:
            st.markdown(f":gray[{told(side)}]")
            draw(
                values[side], side, f"compare {side}", cells[side], places[side],
                name=entry.name[words.language], path="" if mean else path_of(side), allowed=masks()[side],
                rows=both[side].tokens[stacks[side]], part=() if mean or shown == "stream" else (both[side].head,),
                columns=None if columns is None else both[side].tokens[key_stacks[side]], legend=side == 0,
                scale="weight" if weights else "signed", limit=max(limits),
            )  # fmt: skip
    with columns_of_page[2]:
        if why:
            st.info(why)
        else:
            picture_apart(difference, either, cells)
    readout(cells, apart=why is None)
    if why is None and places in rows.pairs:
        as_table(difference[rows.pairs.index(places)])


def as_table(apart) -> None:
    """The numbers of the row that is followed, for those who read rather than look."""
    with st.expander(words("numbers.table")):
        keys = [(at, at) for at in range(len(apart))] if columns is None else columns.pairs
        tokens = None if columns is None else view.tokens[key_stacks[0]]
        st.dataframe(
            [
                {
                    words("compare.token" if tokens else "compare.number"): tokens[one].label if tokens else one,
                    words("compare.side.left"): float(values[0].tensor[places[0], one]),
                    words("compare.side.right"): float(values[1].tensor[places[1], two]),
                    words("compare.difference"): float(apart[at]),
                }
                for at, (one, two) in enumerate(keys)
            ],
            key="numbers",
        )


def picture_apart(difference, either, cells) -> None:
    """The difference as a picture of its own."""
    largest = float(difference.abs().max())
    st.markdown(f":gray[{words('compare.largest', figure=fixed(largest, 3)) if largest else words('compare.equal')}]")
    at = None
    if cells[0] and cells[1]:
        pairs = zip(cells[0], cells[1], (rows, columns), strict=True)
        at = [one if aligned is None else aligned.pairs.index((one, two)) for one, two, aligned in pairs]
    draw(
        Value(difference, values[0].axes), None, "compare difference", at,
        rows.pairs.index(places) if places in rows.pairs else None, name=words("compare.difference"), path="",
        rows=[view.tokens[stacks[0]][one] for one, _ in rows.pairs],
        columns=None if columns is None else [view.tokens[key_stacks[0]][one] for one, _ in columns.pairs],
        allowed=either, scale="signed", limit=largest or 1.0,
    )  # fmt: skip
    if columns is not None and columns != rows and not columns.same:
        st.caption(words("compare.columns", said=how_aligned(columns)))


def readout(cells, apart: bool) -> None:
    """The chosen pair of numbers and what lies between; under it, how the one that was clicked is made."""
    if cells[0] and cells[1] and apart:
        numbers = [float(values[side].tensor[cells[side]]) for side in (0, 1)]
        st.markdown(
            words("compare.pair", left=fixed(numbers[0], 3), right=fixed(numbers[1], 3),
                  difference=fixed(numbers[1] - numbers[0], 3))
        )  # fmt: skip
    if not mean:
        side = int(reader.option("whose") == "right")
        panel.show(both[side], "compare", path_of(side))


def where_most() -> None:
    """The head whose weights differ most in the row that is followed, in two passes of the same model."""
    if shown != "weights" or not sides.same_model or what in ("layer", "head") or rows.right_of(places[0]) != places[1]:
        return
    stack, _, name = kind.partition(".")
    found = compare.furthest(view.trace, other.trace, f"{stack}.*.{name}_attention", columns, places)
    token = strong(view.tokens[stacks[0]][places[0]].label)
    if found.share < 0.005:
        st.markdown(words("compare.nowhere", token=token))
        return
    said = words("compare.most", token=token, layer=found.layer, head=found.head, share=percent(found.share))
    with st.container(horizontal=True, vertical_alignment="center", key="most"):
        st.markdown(said, width="content")
        if (found.layer, found.head) != (view.layer, view.head) or mean:
            st.button(words("compare.go"), type="tertiary", key="go most", on_click=go, args=(found.layer, found.head))


def go(layer: int, head: int) -> None:
    reader.choose(layer=layer, head=head)
    reader.set_option("mean", "")


# Predictions


def probabilities(one):
    """What each position predicts, [position, vocabulary]: where layers are compared, read out after the layer."""
    if what != "layer":
        return one.trace["probabilities"].tensor
    last = [stage for stage in stages(one.trace) if stage.layer == one.layer][-1]
    return lens.read(one.trace, last).softmax(-1)


def predictions() -> None:
    """What both sides expect at the places that are followed, and how much of the probability differs."""
    st.subheader(words("compare.predictions"), anchor=False)
    if what == "head":
        st.markdown(words("compare.one_pass"))
        return
    if what in ("layer", "arch"):
        st.markdown(f":gray[{words(f'compare.predictions.{what}')}]")
    ends = (view.stack, other.stack)
    aligned = sides.aligned(ends)
    here = sides.places(ends)
    shares = [probabilities(one) for one in both]
    apart = compare.total_variation_rows(*shares, aligned)
    if shown == "predictions":
        every_position(ends, aligned, shares, apart)
    most = max(range(len(apart)), key=apart.__getitem__)
    if apart[most] >= 0.01 and aligned.pairs[most] != here:
        place = aligned.pairs[most][0]
        token = strong(view.tokens[view.stack][place].label)
        with st.container(horizontal=True, vertical_alignment="center", key="most apart"):
            said = words("compare.most_at", token=token, n=place, share=percent(apart[most]))
            st.markdown(said, width="content")
            st.button(
                words("compare.go_there"), type="tertiary", key="go there", on_click=sides.look_at,
                args=(ends, 0, place),
            )  # fmt: skip
    left, right = (shares[side][here[side]] for side in (0, 1))
    ids = compare.candidates(left, right)[:LISTED]
    for side, column in enumerate(st.columns([1, 1, 1], gap="medium")[:3]):
        with column:
            if side == 2:
                st.markdown(f"**{words('compare.difference')}** :gray[{words('compare.right_minus_left')}]")
                listed = [(view.token(id).label, float(right[id] - left[id])) for id in ids]
                if max(abs(figure) for _, figure in listed) < LEAST:
                    st.markdown(words("compare.alike"))
                else:
                    st.altair_chart(charts.differences(listed, words("compare.difference")), width="stretch")
                    moved = float(compare.total_variation(left, right))
                    st.markdown(words("compare.moved", share=strong(percent(moved))))
                continue
            title(side)
            label = strong(both[side].tokens[ends[side]][here[side]].label)
            masked = both[side].config.architecture == "encoder"
            st.markdown(f":gray[{words('compare.at' if masked else 'compare.after', token=label, n=here[side])}]")
            found = (left, right)[side]
            listed = [Bar(view.token(id), float(found[id])) for id in ids]
            rest = max(0.0, 1 - sum(bar.share for bar in listed))
            listed.append(Bar(None, rest, words("start.others", n=len(found) - len(ids))))
            bars(listed, name=words("compare.predictions"), key=f"predictions {side}")


def every_position(ends, aligned, shares, apart) -> None:
    """A row for each pair of positions: what each side puts first there, and how much of the probability differs."""
    if not aligned.enough:
        st.info(words("compare.none.rows", left=aligned.left, right=aligned.right, n=len(aligned.pairs)))
        return
    best = [side.max(-1) for side in shares]
    table = []
    for (one, two), share in zip(aligned.pairs, apart, strict=True):
        row = {}
        for side, at in enumerate((one, two)):
            name = words("compare.side.right" if side else "compare.side.left")
            row[f"{name}: {words('compare.token')}"] = both[side].tokens[ends[side]][at].label
            row[f"{name}: {words('compare.first')}"] = view.token(int(best[side].indices[at])).label
            row[f"{name}: {words('compare.chance')}"] = float(best[side].values[at])
        table.append(row | {words("compare.share"): share})

    def followed() -> None:
        found = st.session_state["positions"].selection.rows
        if found:
            sides.look_at(ends, 0, aligned.pairs[found[0]][0])

    st.dataframe(
        table, key="positions", on_select=followed, selection_mode="single-row", height=min(420, 38 + 35 * len(table)),
        column_config={
            words("compare.share"): st.column_config.ProgressColumn(format="percent", min_value=0, max_value=1),
            **{name: st.column_config.NumberColumn(format="percent") for name in table[0]
               if name.endswith(words("compare.chance"))},
        },
    )  # fmt: skip


if reason is not None:
    reason.say(words)
else:
    for pairs in PAIRS[config.architecture].values() if what == "text" else ():
        for pair in pairs:
            if (pair.left, pair.right) == (view.choices.text, view.choices.other):
                look(pair)
    sides = beside.sides(view, other, kind, what)
    both = (view, other)
    stacks, key_stacks = sides.stacks(), sides.stacks("key")
    if shown == "predictions":
        stacks = (view.stack, other.stack)
    rows = sides.aligned(stacks)
    columns = sides.aligned(key_stacks) if shown in ("weights", "scores") else None
    places = sides.places(stacks)
    if what == "edits" and not view.edited:
        with st.container(horizontal=True, vertical_alignment="center", key="no-edits"):
            st.markdown(words("compare.no_edits"), width="content")
            st.page_link("pages/what_if.py", label=f":violet[{words('page.what_if')}]")
    elif what == "heads" and len(beside.offered(view, what)) == 1:
        st.markdown(words("compare.only_heads", n=config.heads))
    columns_of_page = st.columns(3, gap="medium")
    strips()
    if shown != "predictions":
        values = [value_of(side) for side in (0, 1)]
        if what == "head" and shown == "stream":
            st.markdown(words("compare.one_stream"))
        pictures()
        where_most()
    predictions()

first, then = st.columns(2, gap="large")
with first:
    st.markdown(prose["what"])
    st.markdown(prose["why"])
with then:
    st.markdown(prose["how"])
    st.markdown(prose["formula"])
st.caption(prose["references"])
