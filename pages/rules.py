"""From rules to attention: ways to share it out, what a swapped word does to each, and each in the running model."""

import streamlit as st

from explorer import changes, checkpoints, controls, panel, passes, reader
from explorer.address import MOST_EDITS
from explorer.analysis import rules, swaps
from explorer.analysis.compare import total_variation
from explorer.analysis.predictions import followed, loss, prediction
from explorer.changes import Change
from explorer.config import MASK
from explorer.tokens import visible
from explorer.trace import Value
from explorer.view import current, reading
from explorer.views.components.matrix import matrix
from explorer.views.components.tokens import Bar, bars, strip
from explorer.views.numerals import number, percent
from explorer.words import strong, verbatim

# Each with a word to swap for another, and with two pieces of the text: how much does the last place where the first
# stands look at the first place where the second does?
READY = {
    "en": (
        ("Lily went to Paris with her mom.", "Paris", "museum", "went", "Lily"),
        ("The girl is playing in the park.", "girl", "boy", "playing", "girl"),
        ("Tom has a red ball. Tom likes the red", "ball", "car", "red", "red"),
    ),
    "ko": (
        ("나는 어제 파리에서 놀았다.", "파리에서", "박물관에서", "에서", "파리"),
        ("고양이가 피곤해서 매트 위에 앉았다.", "고양이가", "강아지가", "앉았", "고양"),
        ("나는 사과를 먹고 너는 사과를", "먹고", "사고", "사과를", "사과를"),
    ),
    "source": (
        ("The teacher is in Paris.", "Paris", "museum", "is in", "teacher"),
        ("The doctor is in the kitchen.", "kitchen", "garden", "is", "doctor"),
        ("The child who found the book is happy.", "book", "ball", "is", "child"),
    ),
}
BESIDE = 24  # tokens up to which four maps stand side by side
BEST = 5  # tokens of a prediction
LEAST = 0.05  # change of a weight up to which the colours reach at least, so that next to nothing looks like it
CONTEXT = 60  # characters on each side of a swapped word that are written out

controls.within_frame()

words = reader.words()
prose = words.prose("rules")
translates = reader.choices().architecture == "encoder-decoder"
ready = READY["source" if translates else words.language]
look = "look source" if translates else "look"
controls.look_for([(found[0], prose[f"{look} {i}"]) for i, found in enumerate(ready, 1)])
view = current()
controls.unedited(view)
view = view.over(view.plain)
trace, config, model = view.trace, view.config, view.choices.model

# Which attention, and which head

*others, first = view.attentions  # a reader's text is the first stack's
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="which"):
    attention = controls.pick_attention(view, (first, *others))
    controls.pick_head(view)
stack, crossing, path = attention.stack, attention.crossing, attention.path(view.layer)
weights, allowed = f"{path}.weights", trace[f"{path}.allowed"].tensor
asking, asked = view.tokens_of(weights, "query"), view.tokens_of(weights, "key")

# The text in which a word is swapped, and the pair of tokens that is compared

changing = "encoder" if crossing else stack
text = view.choices.target if translates and changing == "decoder" else view.choices.text
if view.own and changing == "decoder":
    text = passes.tokenizer().decode(view.own.ids)
given = next((found for found in ready if found[0] == text), None)


def token_at(character: int) -> int:
    """The token that holds a character of the text."""
    return next(
        place
        for place, token in enumerate(view.tokens[changing])
        if token.start + token.spaces <= character < token.end
    )


def usual_pair() -> tuple[int, int]:
    """The ready sentence's own; otherwise the token that the reader follows, and what it looks at most."""
    if given and not crossing:
        return token_at(text.rindex(given[3])), token_at(text.index(given[4]))
    place = view.place_in(stack)
    return place, int(trace[weights].tensor[view.head, place].argmax())


# The pair's ids stand in the address too, so that another text does not take over a pair that means nothing there.
pair = reader.cell((len(asking), len(asked), config.vocabulary, config.vocabulary), "pair")
if pair is None or (asking[pair[0]].id, asked[pair[1]].id) != pair[2:] or not allowed[pair[:2]]:
    pair = usual_pair()
query, key = pair[:2]
named = f"{strong(asking[query].label)} → {strong(asked[key].label)}"


def columns(longest: int) -> list:
    """A place for each rule: side by side, or two by two where the maps need room."""
    if longest <= BESIDE:
        return st.columns(4, gap="medium")
    return [place for _ in range(2) for place in st.columns(2, gap="medium")]


def title(rule: str) -> None:
    of = f" :gray[{words('rules.of', layer=view.layer, head=view.head)}]" if rule == "learned" else ""
    st.markdown(f"**{rules.RULES.index(rule) + 1}. {words(f'rules.{rule}')}**{of}")


def figure(share: float) -> str:
    return f"**{share:.3f}**"


def score_of(rule: str) -> str:
    """The pair's score by a rule, in LaTeX."""
    scores = rules.scores(trace, path, rule)
    score = number(float((scores[view.head] if rule == "learned" else scores)[query, key]), 3)
    return {
        "alike": rf"s_{{ij}}={score},\quad w_{{ij}}=\tfrac{{1}}{{{int(allowed[query].sum())}}}",
        "distance": rf"s_{{ij}}=-|i-j|=-|{query}-{key}|",
        "embeddings": rf"s_{{ij}}=\tfrac{{x_i\cdot x_j}}{{\sqrt{{{config.d_model}}}}}={score}",
        "learned": rf"s_{{ij}}=\tfrac{{q_i\cdot k_j}}{{\sqrt{{{config.d_k}}}}}={score}",
    }[rule]


def strongest() -> tuple[float, int, int]:
    """The largest weight that any head of this kind of attention gives the pair, with its layer and its head."""
    return max(
        (float(trace[f"{attention.path(layer)}.weights"].tensor[head, query, key]), -layer, -head)
        for layer in range(config.layers)
        for head in range(config.heads)
    )


# The ladder

st.caption(words("rules.click"))
for rung, place in zip(rules.ladder(trace, path), columns(max(len(asking), len(asked))), strict=True):
    rule = rung.rule

    def picked(cell: tuple[int, ...], learned=rule == "learned") -> None:
        row, column = cell
        reader.set_option("pair", f"{row},{column},{asking[row].id},{asked[column].id}")
        if learned:
            panel.open_at(weights, (view.head, row, column))

    found = rung.weights[view.head if rule == "learned" else 0]
    with place:
        title(rule)
        lines = [f"{named} {figure(float(found[query, key]))}"]
        if rung.itself is not None:
            lines.append(f"{words('rules.itself')} {figure(rung.itself)}")
        if rung.look_alikes is not None:
            lines.append(f"{words('rules.look_alikes')} {figure(rung.look_alikes)}")
        st.markdown("  \n".join(lines))
        matrix(
            Value(found, ("query", "key")),
            name=words(f"rules.{rule}"),
            path=weights if rule == "learned" else "",
            key=f"rule {rule}",
            rows=asking,
            columns=asked,
            scale="weight",
            allowed=allowed,
            focus=query,
            chosen=(query, key),
            part=(view.head,) if rule == "learned" else (),
            legend=rule == rules.RULES[0],
            language=words.language,
            on_choose=picked,
        )
        st.markdown(f"${score_of(rule)}$")
        st.markdown(prose[rule])
        if rule == "learned":
            most, layer, head = strongest()
            st.button(
                words("rules.most", layer=-layer, head=-head, share=f"{most:.3f}"),
                type="tertiary",
                key="most",
                on_click=reader.choose,
                kwargs={"layer": -layer, "head": -head},
            )
panel.show(view, "rules", weights)

told, more = st.columns([1, 1], gap="large")
told.markdown(prose["what"])
more.markdown(prose["cross" if crossing else "figures"])

# Another word


def chosen_word() -> tuple[swaps.Word | None, str]:
    """The word that is swapped, and the one in its place, empty where none was chosen."""
    start, _, rest = reader.option("swap").partition(":")
    old, _, new = rest.partition(":")
    lettered = [word for word in swaps.whole_words(view.tokens[changing]) if word.of_letters]
    for word in lettered:
        if str(word.start) == start and word.text == old:
            return word, new
    if given:
        return next(word for word in lettered if word.start == text.index(given[1])), given[2]
    return max(lettered, key=lambda word: len(word.text), default=None), ""


def pick_word(position: int) -> None:
    for word in swaps.whole_words(view.tokens[changing]):
        if position in word.places and word.of_letters:
            reader.set_option("swap", f"{word.start}:{word.text}:")


def put(word: swaps.Word, new: str) -> None:
    reader.set_option("swap", f"{word.start}:{word.text}:{new}")


def small(share: float) -> str:
    """A share with four decimals, and never a nought that is none."""
    return f"{share:.4f}" if share == 0 or share >= 0.00005 else "< 0.0001"


def labels(of: tuple[swaps.Word, ...], tokens) -> list:
    return [tokens[word.places[0]] if word.special else visible(word.text) for word in of]


def swap(word: swaps.Word, new: str) -> None:
    """Every rule's weights with another word in the place of one, or their change."""
    shown = controls.pick_option("weights", ("change", "after"), lambda shown: words(f"swap.{shown}"), "change")
    both = [reading(found, changing) for found in (text, f"{text[: word.start]}{new}{text[word.end :]}")]
    source, target = view.run.ids
    runs = [
        passes.run(model, *((one.ids, target) if changing == "encoder" else (source, one.ids))).trace for one in both
    ]
    sides = [
        tuple({**view.tokens, changing: one.tokens}[of] for of in (stack, "encoder" if crossing else stack))
        for one in both
    ]
    more, between = both[1].total - both[0].total, None
    if not more:
        parts = [swaps.alone(run, path) for run in runs]
        rows, heads = sides[1]
        between = swaps.between_kept(*runs, path)
    else:
        units = [tuple(swaps.whole_words(side) for side in one) for one in sides]
        parts = [tuple([of.places for of in side] for side in one) for one in units]
        if any(len(one) != len(other) for one, other in zip(*parts, strict=True)):
            st.info(words("swap.cut"))
            return
        rows, heads = (labels(of, side) for of, side in zip(units[1], sides[1], strict=True))
        st.caption(words("swap.words", one=len(word.places), other=len(word.places) + more))
    found, mask = swaps.swapped(*runs, path, *parts), swaps.allowed(runs[1], path, parts[1])
    spot = next(at for at, places in enumerate(parts[0][1]) if word.places[-1] in places)
    drawn = {}
    for one in found:
        head = view.head if one.rule == "learned" else 0
        drawn[one.rule] = one.after[head] if shown == "after" else one.after[head] - one.before[head]
    largest = max(float(of_rule.abs().max()) for of_rule in drawn.values())
    # The word's place stands in the address with the cell, so that another word is not asked for the same one.
    kept = reader.cell((len(rows), len(heads), len(text)), "swapped")
    chosen = kept[:2] if kept and kept[2] == word.start else (0 if crossing else spot, spot)
    for one, place in zip(found, columns(max(len(rows), len(heads))), strict=True):
        with place:
            title(one.rule)
            lines = [words("swap.unmoved") if one.unmoved else words("swap.moved", share=small(one.others))]
            if between:
                lines.append(words("swap.between", change=number(between[one.rule], 3)))
            st.markdown("  \n".join(lines))
            matrix(
                Value(drawn[one.rule], ("query", "key")),
                name=words(f"swap.of.{shown}", rule=words(f"rules.{one.rule}")),
                path="",
                key=f"swap {one.rule} {shown}",
                rows=rows,
                columns=heads,
                scale="weight" if shown == "after" else "signed",
                limit=1.0 if shown == "after" else max(largest, LEAST),
                allowed=mask,
                chosen=chosen,
                legend=one.rule == rules.RULES[0],
                language=words.language,
                on_choose=lambda cell: reader.set_option("swapped", ",".join(map(str, (*cell, word.start)))),
            )


st.header(words("swap.title"), anchor=False)
word, new = chosen_word()
told, more = st.columns(2, gap="large")
told.markdown(prose["swap"])
more.markdown(prose["swap cross" if crossing else "swap self"])
if word is None:
    st.info(words("swap.none"))
else:
    spaced = word.start > 0 and text[word.start - 1] == " "
    others = passes.alternatives(model, word.text, spaced)
    new = new or (others[0] if others else "")
    strip(
        view.tokens[changing],
        name=words("swap.strip"),
        key="swap word",
        focus=word.places[0],
        on_pick=pick_word,
        hint=words("swap.hint"),
    )
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="others"):
        shown = controls.show("swap for", new, lambda typed: put(word, typed.strip()))
        st.text_input(words("swap.for"), width=180, max_chars=40, label_visibility="collapsed", **shown)
        for place, other in enumerate(
            dict.fromkeys((*others, *([given[2]] if given and word.text == given[1] else ())))
        ):
            st.button(verbatim(other), key=f"other {place}", type="tertiary", on_click=put, args=(word, other))
    if new:
        before, after = text[: word.start][-CONTEXT:], text[word.end :][:CONTEXT]
        st.markdown(f"{verbatim(before)} **~~{verbatim(word.text)}~~** {strong(new)} {verbatim(after)}")
        strange = checkpoints.unseen(new, config.architecture) if changing == config.stacks[0] else []
        if strange:
            quoted = verbatim(", ".join(one.text for one in strange))
            st.caption(words("start.unseen", quoted=quoted, n=len(strange)))
        swap(word, new)

# In the running model


def placed(rule: str, where: str) -> tuple[Change, ...]:
    """A rule in the place of the learned weights: in the head at hand, in its layer, or in all layers."""
    layers = range(config.layers) if where == "all" else (view.layer,)
    head = view.head if where == "head" else None
    return tuple(Change(rule, stack, layer, attention.sublayer, head) for layer in layers)


def keep(rule: str, where: str) -> None:
    """Make a rule one of the changes that the whole app shows, instead of another rule at its place."""
    made, there = placed(rule, where), {placed(other, where) for other in changes.RULES}
    others = [one for one in view.choices.edits if all(one not in found for found in there)]
    reader.choose(edits=(*others, *made)[-MOST_EDITS:])


def exam() -> tuple[int, tuple[passes.Ids, passes.Ids], int | None]:
    """Where each rule is asked what it expects, the ids that are read for it, and the right answer, if there is one."""
    tokens, (source, target), place = view.tokens[view.stack], view.run.ids, view.focus
    if config.architecture != "encoder":
        return place, (source, target), tokens[place + 1].id if place + 1 < len(tokens) else None
    if tokens[place].special and tokens[place].id != MASK:
        place = 1
    if tokens[place].special:
        return place, (source, target), None
    # A word is predicted as in training: behind a mask.
    return place, ((*source[:place], MASK, *source[place + 1 :]), target), tokens[place].id


def pick_where(place: int) -> str:
    """In how much of the model a rule is put, and the place that is asked, which a click moves."""
    tokens = view.tokens[view.stack]
    where = controls.pick_option(
        "where",
        ("head", "layer", "all") if config.heads > 1 else ("layer", "all"),
        lambda where: words(f"install.{where}", layer=view.layer, head=view.head),
        "all",
        words("install.where"),
    )
    strip(
        tokens,
        name=words("install.strip"),
        key="install place",
        focus=place,
        on_pick=lambda position: reader.choose(focus=position),
        hint=words("install.hint"),
    )
    said = "install.behind" if config.architecture == "encoder" else "install.after"
    st.markdown(words(said, token=strong(tokens[place].label)))
    return where


def answer(rule: str, runs: dict, place: int, truth: int | None) -> None:
    """What the model expects with a rule, and how that differs from what it expects as it learnt it."""
    named = words(f"rules.{rule}") if rule != "learned" else words("install.learned")
    st.markdown(f"**{rules.RULES.index(rule) + 1}. {named}**")
    rows = [Bar(view.token(id), share) for id, share in prediction(runs[rule], place, BEST).best]
    bars(rows, name=named, key=f"install {rule}")
    after, before = (runs[name]["probabilities"].tensor[place] for name in (rule, "learned"))
    best = int(before.argmax())
    asked = {best: "install.best"}
    if truth not in (None, best):
        asked[truth] = "install.truth"
    lines = []
    for id, said in asked.items():
        figures = {"before": percent(float(before[id])), "after": percent(float(after[id]))}
        lines.append(words(said, token=strong(view.token(id).label), **figures))
    if rule != "learned":
        lines.append(words("install.moved", share=percent(float(total_variation(after, before)))))
    if answers := followed(runs[rule]):
        lines.append(words("install.loss", loss=f"{loss(answers):.2f}", n=len(answers)))
    elif truth is not None:
        lines.append(words("install.loss_one", loss=f"{-float(after[truth].log()):.2f}"))
    st.markdown("  \n".join(lines))


def installed() -> None:
    """Each rule in the running model, and what the model then expects."""
    st.header(words("install.title"), anchor=False)
    told, asks = st.columns(2, gap="large")
    told.markdown(prose["install"])
    place, ids, truth = exam()
    with asks:
        where = pick_where(place)
    runs = {rule: passes.edited(model, *ids, changes.write(placed(rule, where))).trace for rule in changes.RULES}
    runs["learned"] = passes.run(model, *ids).trace
    for rule, column in zip(rules.RULES, st.columns(4, gap="medium"), strict=True):
        with column:
            answer(rule, runs, place, truth)
            if rule != "learned":
                inside = all(change in view.choices.edits for change in placed(rule, where))
                st.button(
                    words("install.kept" if inside else "install.keep"),
                    key=f"keep {rule}",
                    type="tertiary",
                    disabled=inside,
                    on_click=keep,
                    args=(rule, where),
                )
    if view.own and followed(runs["learned"]):
        st.caption(words("install.own"))


installed()
st.header(words("references"), anchor=False)
st.markdown(prose["references"])
