"""The models as an experiment: what norm order and heads change, and how a model comes to know what it knows."""

import streamlit as st

from explorer import checkpoints, controls, glossary, panel, passes, reader
from explorer.analysis.habits import ASKED, habits
from explorer.analysis.predictions import followed, loss, prediction
from explorer.config import ARCHITECTURES, HEADS, MASK, NORMS, model_name
from explorer.view import current
from explorer.views import learning
from explorer.views.components.matrix import matrix
from explorer.views.components.plot import plot
from explorer.views.components.tokens import Bar, bars, strip
from explorer.views.tables import table
from explorer.words import chip

SHARES = ("0", *(f"{share:g}" for share in checkpoints.SNAPSHOTS), "1")  # of the training, in the address

controls.within_frame()

words = reader.words()
prose = words.prose("learning")
view = current()
config = view.config
known = reader.models()
watched = checkpoints.WATCHED[config.architecture]

# Watch it learn

tokens = view.tokens[view.stack]
place = view.focus
st.header(words("learning.watch"), anchor=False)
if view.choices.model != watched or view.edited:
    st.caption(words("learning.watched", model=watched))
share = controls.pick_option("share", SHARES, lambda share: words(f"learning.share.{share}"), "1")
source, target = view.run.ids
passed = {one: passes.growing_run(watched, float(one), source, target) for one in SHARES}
trace = passed[share].trace
layer = min(view.layer, config.layers - 1)
kind = "cross_attention" if len(config.stacks) > 1 else "self_attention"
path = f"{view.stack}.layers.{layer}.{kind}.weights"
strip(
    tokens, name=words("start.tokens.alt", n=len(tokens)), key="learning tokens", focus=place,
    on_pick=lambda at: reader.choose(focus=at), hint=words("learning.follow"),
)  # fmt: skip
maps, expects = st.columns([8, 4], gap="large")
with maps:
    st.markdown(f"**{words('learning.maps', layer=layer)}** :gray[{glossary.entry(path, trace).name[words.language]}]")

    def clicked(cell: tuple[int, ...]) -> None:
        reader.choose(focus=cell[1])
        panel.open_at(path, cell)

    matrix(
        trace[path],
        name=glossary.entry(path, trace).name[words.language],
        path=path,
        key="learning maps",
        rows=view.tokens_of(path, "query"),
        columns=view.tokens_of(path, "key"),
        scale="weight",
        allowed=trace[path.replace("weights", "allowed")].tensor,
        focus=place,
        chosen=panel.cell_of(view, path),
        language=words.language,
        on_choose=clicked,
    )
with expects:
    token = chip(tokens[place].label)
    asked = config.architecture != "encoder" or tokens[place].id == MASK
    st.markdown(f"**{words('learning.expects' if asked else 'learning.not_masked', token=token)}**")
    found = prediction(trace, place, 6)
    bars(
        [Bar(view.token(id), chance) for id, chance in found.best],
        name=words("learning.expects", token=tokens[place].label),
        key="learning expects",
    )
panel.show(view.over(passed[share]), "learning", path)
rows = []
if config.architecture != "encoder" and len(tokens) > 1:
    losses = [loss(followed(passed[one].trace)) for one in SHARES]
    rows.append([words("learning.loss"), *(f"{one:.2f}" for one in losses)])
first = found.best[0][0]
chances = [float(passed[one].trace["probabilities"].tensor[place, first]) for one in SHARES]
rows.append([words("learning.chance", token=chip(view.token(first).label)), *(f"{one:.3f}" for one in chances)])
st.markdown(table(["", *(words(f"learning.share.{one}") for one in SHARES)], rows))
st.markdown(prose["watch"])

# Two orders, or several numbers of heads: what was written down in training

st.header(words("learning.curves"), anchor=False)
offered = ("norm", "heads")
apart = controls.pick_option("apart", offered, lambda one: words(f"learning.apart.{one}"), "norm")
if apart == "norm":
    chosen = {model_name(config.architecture, norm, config.heads): words(f"learning.norm.{norm}") for norm in NORMS}
else:
    chosen = {model_name(config.architecture, config.norm, n): words("learning.heads", n=n) for n in HEADS}
cards = {label: passes.card(name) for name, label in chosen.items() if name in known}
if missing := [name for name in chosen if name not in known]:
    st.caption(words("learning.untrained", names=", ".join(missing)))
fell, pulled = st.columns(2, gap="large")
with fell:
    st.markdown(f"**{words('learning.loss_curve')}**")
    plot(learning.curves(cards, "loss", words), key="loss curve")
with pulled:
    st.markdown(f"**{words('learning.gradient_curve')}**")
    plot(learning.curves(cards, "gradient_norm", words), key="gradient curve")
told, placed = st.columns(2, gap="large")
with told:
    st.markdown(prose["curves"])
    rates = {label: card["rates"] for label, card in cards.items()}
    if len({tuple(rate.values()) for rate in rates.values()}) > 1:
        st.markdown(prose["rates"])
with placed:
    by_position = learning.positions(cards, words)
    if by_position is not None:
        st.markdown(f"**{words('learning.by_position')}**")
        plot(by_position, key="positions")
        st.markdown(prose[f"positions {config.architecture}"])

# The figures of all

st.header(words("learning.all"), anchor=False)
every = {name: passes.card(name) if name in known else None for name in checkpoints.MODELS}
for kind, place in zip(ARCHITECTURES, st.columns(3, gap="large"), strict=True):
    place.markdown(learning.table(kind, every, view.choices.model, words))
said, bears = st.columns(2, gap="large")
said.markdown(prose["figures"])
with bears:
    better, of = learning.pairs(every)
    best = learning.best_heads(every)
    if len(set(best.values())) == 1:
        most = words("learning.best_same", n=next(iter(best.values())))
    else:
        told = [f"{words(f'architecture.{kind}')} · {words(f'learning.norm.{norm}')} {n}"
                for (kind, norm), n in best.items()]  # fmt: skip
        most = words("learning.best", found=", ".join(told))
    st.markdown(f"{words('learning.pairs', n=better, all=of)}\n\n{most}")

# What the number of heads changes in what heads do

st.header(words("learning.habits"), anchor=False)
counts = {n: model_name(config.architecture, config.norm, n) for n in HEADS}
counts = {n: name for n, name in counts.items() if name in known}
own = f"{view.stack}.self_attention"
seen = {n: habits(passes.run(name, source, target).trace, own) for n, name in counts.items()}
asks = [ask for ask in ASKED if any(one.most[ask] is not None for one in seen.values())]
head = [
    words("heads"),
    *(words(f"heads.ask.{ask}") for ask in asks),
    words("heads.ask.spread"),
    words("learning.overlap"),
]


def figure(number: float | None) -> str:
    return "–" if number is None else f"{number:.2f}"


rows = []
for n, one in seen.items():
    numbers = [*(one.most[ask] for ask in asks), one.spread, one.overlap]
    rows.append([f"**{n}**" if n == config.heads else str(n), *map(figure, numbers)])
compared, said = st.columns([8, 4], gap="large")
compared.markdown(table(head, rows))
said.markdown(prose["habits"])
controls.unedited(view)

st.header(words("references"), anchor=False)
st.markdown(prose["references"])
