"""All heads side by side: what each looks at, how it reads the vector, and what it adds to the output."""

import streamlit as st

from explorer import controls, glossary, panel, reader
from explorer.analysis import attention, korean
from explorer.analysis.limits import limit
from explorer.analysis.stream import read_by
from explorer.changes import Change
from explorer.trace import Value
from explorer.view import current
from explorer.views import heads as charts
from explorer.views.components.headmap import Question, headmap, share
from explorer.views.components.matrix import matrix
from explorer.views.components.plot import plot
from explorer.views.components.tokens import Bar, bars
from explorer.views.numerals import fixed, percent
from explorer.words import chip

READY = {
    "en": (
        "When Tom saw Anna, Tom gave Anna a ball.",
        "The big dog ran home. The big dog sat down.",
        "One two three one two three one two",
    ),
    "ko": (
        "엄마가 아기에게 우유를 주었어요.",
        "개가 집에 갔어요. 개가 집에서 잤어요.",
        "하나 둘 셋 하나 둘 셋 하나 둘",
    ),
}
WIDE = 43  # tokens up to which four maps stand side by side
LISTED = 6  # tokens in a list of the most looked at
HABIT = 0.3  # of a head's weight, from which on a measure may be called its habit

controls.within_frame()

words = reader.words()
prose = words.prose("heads")
language = "en" if reader.choices().architecture == "encoder-decoder" else words.language
controls.look_for([(text, prose[f"look {i}"]) for i, text in enumerate(READY[language], 1)])
view = current()
trace, config, head = view.trace, view.config, view.head

# Which attention, and which token asks

several = len(view.attentions) > 1
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="which"):
    which = controls.pick_attention(view, named=lambda code: words(f"heads.kind.{code}"))
    mode = controls.pick_option(
        "drawn", ("map", "lines"), lambda mode: words(f"heads.view.{mode}"), "map", words("heads.view")
    )
stack, path = which.stack, which.path(view.layer)
weights = trace[f"{path}.weights"]
asking, asked = view.tokens_of(f"{path}.weights", "query"), view.tokens_of(f"{path}.weights", "key")
place = view.place_in(stack)
token = chip(asking[place].label)


# All heads of the layer

title = "heads.all" if config.heads > 1 else "heads.one"
st.header(words(title, n=config.heads, layer=view.layer), anchor=False)
if config.heads <= 2 or (mode == "map" and max(len(asking), len(asked)) > WIDE):  # there is room beside the maps
    drawn, told = st.columns([7, 4], gap="large")
    why = more = told
else:
    drawn, (told, why, more) = st.container(), st.columns([5, 5, 4], gap="large")


def picked(cell: tuple[int, ...]) -> None:
    reader.choose(head=cell[0])
    view.look_at(stack, cell[1])
    panel.open_at(f"{path}.weights", cell)


with drawn:
    matrix(
        weights,
        name=glossary.entry(f"{path}.weights", trace).name[words.language],
        path=f"{path}.weights",
        key=f"maps {path} {mode}",
        rows=asking,
        columns=asked,
        scale="weight",
        allowed=trace[f"{path}.allowed"].tensor,
        focus=place,
        chosen=panel.cell_of(view, f"{path}.weights"),
        mode=mode,
        language=words.language,
        on_choose=picked,
    )
told.markdown(prose["heads"])
why.markdown(prose["why heads"])
with more:
    st.latex(glossary.entry(f"{path}.weights", trace).formula)
    alike = attention.overlap(trace, path)
    if config.heads > 1 and not alike.isnan().any():
        pairs = [(float(alike[i, j]), i, j) for i in range(config.heads) for j in range(i)]
        most, one, other = max(pairs)
        mean = sum(pair[0] for pair in pairs) / len(pairs)
        st.markdown(words("heads.overlap", share=f"{mean:.0%}", one=other, other=one, most=f"{most:.0%}"))
panel.show(view, "heads", f"{path}.weights")

# What a head looks at

st.header(words("heads.map"), anchor=False)
measured = attention.measures(trace)
attentions = list(dict.fromkeys(row.path for row in measured))
rows = []
for found in attentions:
    of, _, number, part = found.split(".")
    of = f"{of}.{part.removesuffix('_attention')}"
    rows.append((words(f"heads.row.{of}", n=int(number)) if several else number, of, int(number)))


def question(name: str, note: str) -> Question:
    answers = [[getattr(row, name) for row in measured if row.path == found] for found in attentions]
    return Question(words(f"heads.ask.{name}"), words(f"heads.note.{note}"), answers)


asks = ["itself", "previous", "next", "first", "same"]
if config.architecture == "decoder":
    asks.remove("next")  # a decoder may not look ahead
twice = any(row.same is not None for row in measured)
notes = {"same": "same" if twice else "once"}
questions = [question(ask, notes.get(ask, "share")) for ask in asks] + [question("spread", "spread")]
for ask in ("particle", "ending"):
    answers, chances = [], []
    for found in attentions:
        places = korean.kinds(view.tokens_of(f"{found}.weights", "key"))[ask]
        on = attention.on_keys(trace, found, places)
        answers.append([None] * config.heads if on is None else on.share.tolist())
        if on is not None and found == path:
            chances.append(on.chance)
    if any(number is not None for row in answers for number in row):
        note = words("heads.note.chance", chance=share(chances[0])) if chances else words("heads.note.share")
        questions.append(Question(words(f"heads.ask.{ask}"), note, answers))


def ask_head(row: int, at: int) -> None:
    reader.choose(layer=rows[row][2], head=at)
    if several:
        reader.set_option("attention", rows[row][1])


headmap(
    questions,
    [row[0] for row in rows],
    (attentions.index(path), head),
    corner="" if several else words("heads.layer"),
    head=words("head").lower(),
    key="headmap",
    on_pick=ask_head,
)


def bar(at: int, weight: float) -> Bar:
    """A token that is looked at; its position tells equal ones apart."""
    return Bar(asked[at], weight, said=words("heads.at", share=percent(weight), n=at))


own = next(row for row in measured if row.path == path and row.head == head)
answers = [(getattr(own, ask), words(f"heads.ask.{ask}")) for ask in asks if getattr(own, ask) is not None]
one, two, told = st.columns([4, 4, 5], gap="large")
with one:
    st.markdown(f"**{words('heads.this', layer=view.layer, n=head)}**: {words('heads.focus', token=token)}")
    row = weights.tensor[head, place]
    best = row.argsort(descending=True, stable=True)[:LISTED].tolist()
    bars(
        [bar(at, float(row[at])) for at in best if row[at] > 0],
        name=words("heads.focus", token=asking[place].label),
        key="bars focus",
    )
with two:
    st.markdown(f"**{words('heads.this', layer=view.layer, n=head)}**: {words('heads.received')}")
    got = attention.received(trace, path)[head]
    best = got.argsort(descending=True, stable=True)[:LISTED].tolist()
    bars([bar(at, float(got[at])) for at in best if got[at] > 0], name=words("heads.received"), key="bars received")
with told:
    controls.what_if(view, Change("off", stack, view.layer, which.sublayer, head=head))
    if answers:
        largest, what = max(answers)
        said = "heads.does" if largest >= HABIT else "heads.does_not"
        st.markdown(words(said, what=what, share=f"{largest:.0%}"))
    st.markdown(prose["measures"])

# From the whole vector to one head

st.header(words("heads.slice"), anchor=False)
drawn, told = st.columns([9, 4], gap="large")
told.markdown(prose["slice"])
symbol = glossary.entry(read_by(trace, f"{path}.queries"), trace).symbol
told.latex(rf"q^{{(h)}} = W_Q^{{(h)}} {symbol} + b_Q^{{(h)}}")
told.latex(rf"W_Q^{{(h)}} \in \mathbb{{R}}^{{{config.d_k} \times {config.d_model}}}")


def numbers(vector) -> str:
    return words("heads.numbers", n=len(vector))


def strip(title: str, note: str, vector, of: str, part: tuple | None, end: float | None, scale: str) -> None:
    """A vector in a row under its title. It is the part at `part` of the value `of`; None for what is not recorded."""
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        st.markdown(title, width="content")
        st.markdown(f":gray[{note}]", width="content")
    opened = panel.cell_of(view, of)
    matrix(
        Value(vector, ("d_model" if len(vector) == config.d_model else "d_k",)),
        name=title,
        path=of,
        part=part or (),
        key=f"strip {path} {title}",
        scale=scale,
        limit=end,
        chosen=opened[-1:] if opened and opened[:-1] == part else None,
        legend=False,
        language=words.language,
        on_choose=None if part is None else lambda cell: panel.open_at(of, (*part, *cell)),
    )


read = read_by(trace, f"{path}.queries")
q, sliced = trace[f"{path}.queries"].tensor[head, place], attention.sliced_query(trace, path, head, place)
reading, d_k = attention.reading(trace, path, head), config.d_k
ends = {name: limit(trace, f"{path}.{name}") for name in ("queries", "heads", "output")}
rows_of_q = f"{path}.w_q.weight"
with drawn:
    vector = trace[read].tensor[place]
    strip(f"{words('heads.read')}, {token}", numbers(vector), vector, read, (place,), limit(trace, read), "signed")
    first, last = head * d_k, (head + 1) * d_k
    inside = float(reading[first:last].square().sum() / reading.square().sum())
    note = words("heads.own", share=f"{inside:.0%}", first=first, last=last - 1)
    strip(words("heads.reading"), note, reading, rows_of_q, None, float(reading.max()), "query")
    strip(words("heads.query"), numbers(q), q, f"{path}.queries", (head, place), ends["queries"], "query")
    if config.heads > 1:
        cosine = float(q @ sliced / (q.norm() * sliced.norm()).clamp(min=1e-12))
        note = words("heads.cosine", cosine=fixed(cosine, 2))
        strip(words("heads.sliced"), note, sliced, rows_of_q, None, ends["queries"], "query")
panel.show(view, "heads", read, f"{path}.queries")

# Joined and mixed

st.header(words("heads.joined"), anchor=False)
drawn, told = st.columns([9, 4], gap="large")
given = attention.contributions(trace, path)
names = [words("heads.row", n=at) for at in range(config.heads)]
with drawn:
    st.markdown(words("heads.outputs", token=token))
    opened = panel.cell_of(view, f"{path}.heads")
    matrix(
        Value(trace[f"{path}.heads"].tensor[:, place], ("head", "d_v")),
        name=glossary.entry(f"{path}.heads", trace).name[words.language],
        path=f"{path}.heads",
        key=f"outputs {path}",
        rows=names,
        scale="value",
        limit=ends["heads"],
        chosen=(opened[0], opened[2]) if opened and opened[1] == place else None,
        legend=False,
        language=words.language,
        on_choose=lambda cell: panel.open_at(f"{path}.heads", (cell[0], place, cell[1])),
    )
    concat = trace[f"{path}.concat"].tensor[place]
    strip(words("heads.concat"), numbers(concat), concat, f"{path}.concat", (place,), ends["heads"], "value")
    st.markdown(words("heads.parts"))
    opened = panel.cell_of(view, f"{path}.output")
    matrix(
        Value(attention.stacked(given, place), ("", "d_model")),
        name=glossary.entry(f"{path}.output", trace).name[words.language],
        path=f"{path}.output",
        key=f"parts {path}",
        rows=[*names, words("heads.bias"), words("heads.sum")],
        limit=ends["output"],
        chosen=(config.heads + 1, opened[1]) if opened and opened[0] == place else None,
        language=words.language,
        on_choose=lambda cell: panel.open_at(f"{path}.output", (place, cell[1])),
    )
with told:
    st.markdown(prose["joined"])
    st.latex(glossary.entry(f"{path}.output", trace).formula + r" = b_O + \sum_h W_O^{(h)} z^{(h)}")
    st.markdown(words("heads.share"))
    of_focus = given.share[:, place].tolist()
    plot(charts.shares(of_focus, head, words), key="shares")
panel.show(view, "heads", f"{path}.heads", f"{path}.concat", f"{path}.output")

st.header(words("references"), anchor=False)
st.markdown(prose["references"])
