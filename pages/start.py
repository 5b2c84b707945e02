"""What the text becomes, what the model expects, and what kind of model it is."""

from explorer import controls

controls.within_frame()

import streamlit as st

from explorer import checkpoints, passes, reader
from explorer.analysis.predictions import prediction
from explorer.config import MASK
from explorer.tokens import MASK_TEXT, Token, groups
from explorer.training import grammar, lexicon
from explorer.view import MAX_CHARACTERS, broken, current
from explorer.views import card
from explorer.views.components.tokens import Bar, bars, strip
from explorer.words import chip, verbatim

words = reader.words()
prose = words.prose("start")
controls.examples()
view = current()
masking = view.config.architecture == "encoder"


def pick(stack: str, position: int) -> None:
    """A click on a token: mask it where the model fills masks; else look at what is expected after it."""
    token = view.tokens[stack][position]
    if masking and not token.special:
        run = next(run for run in groups(view.tokens[stack]) if position in run)
        reader.mask([view.tokens[stack][i] for i in run])
    elif stack == view.stack:
        reader.choose(focus=position)


PARTS = ("noun", "verb", "adjective", "time")  # of speech, in which to look through the translator's words; or others


def known_words() -> None:
    """The translator's words to look through, and a sentence built of them."""
    draft, drawn = reader.option("draft").split(), reader.whole("made", 0, 100_000)
    with st.expander(words("start.words"), expanded=bool(draft)):
        st.markdown(prose["words"])
        part = controls.pick_option("part", [*PARTS, "other"], lambda name: words(f"start.part.{name}"), "noun")
        listed = [word for word in lexicon.words() if (word.part if word.part in PARTS else "other") == part]
        meanings: dict[str, str] = {}
        for word in listed:
            known = meanings.get(word.english)
            meanings[word.english] = f"{known} / {word.korean}" if known else word.korean

        def add(picked: str) -> None:
            reader.set_option("draft", " ".join([*draft, *picked.split()]))

        with st.container(height=230):
            st.pills(
                words("start.words"), list(meanings), label_visibility="collapsed",
                format_func=lambda word: f"{verbatim(word)} :gray[{verbatim(meanings[word])}]",
                **controls.show("known word", None, add),
            )  # fmt: skip
        with st.container(horizontal=True, vertical_alignment="center"):
            if draft:
                sentence = " ".join(draft)
                sentence = f"{sentence[:1].upper()}{sentence[1:]}."
                st.markdown(f"**{verbatim(sentence)}**", width="content")
                st.button(words("start.translate"), on_click=reader.choose, kwargs={"text": sentence, "target": ""})
                shorter = " ".join(draft[:-1])
                st.button(words("start.drop"), type="tertiary", on_click=reader.set_option, args=("draft", shorter))
            st.button(words("start.another"), type="tertiary", on_click=another, args=(drawn + 1,))


def another(draw: int) -> None:
    """A sentence of known words in a combination that the translator never met. For callbacks."""
    reader.choose(text=next(grammar.held_out_pairs(draw)).english, target="")
    reader.set_option("made", str(draw))


def strangers() -> list[checkpoints.Word]:
    """The words of the text that the model hardly ever met in training."""
    read = view.choices.text[:MAX_CHARACTERS].replace(MASK_TEXT, " " * len(MASK_TEXT))
    try:
        return checkpoints.unseen(read, view.config.architecture)
    except checkpoints.CheckpointError as error:  # all else on the page can do without the list of words
        broken(error)
        return []


def overlaps(token: Token, word: checkpoints.Word) -> bool:
    return token.start + token.spaces < word.end and word.start < token.end


left, right = st.columns([3, 2], gap="large")
with left:
    strange = strangers()
    for stack, tokens in view.tokens.items():
        own = view.own is not None and stack == "decoder"
        st.header(words(f"start.tokens.{'own' if own else stack if len(view.tokens) > 1 else 'one'}"), anchor=False)
        strip(
            tokens,
            name=words("start.tokens.alt", n=len(tokens)),
            key=f"tokens {stack}",
            focus=view.focus if stack == view.stack else None,
            on_pick=None if len(view.tokens) > 1 and stack != view.stack else lambda at, stack=stack: pick(stack, at),
            hint=words("start.mask" if masking else "start.focus"),
            marked=[i for i, token in enumerate(tokens) if any(overlaps(token, word) for word in strange)]
            if stack == view.config.stacks[0]
            else [],
            mark=words("start.strange"),
        )
    st.markdown(prose[f"tokens {view.config.architecture}"])
    if len(view.tokens) > 1 and any("가" <= character <= "힣" for character in view.choices.text):
        st.markdown(f":gray[{words('start.english')}]")
    if strange:
        different = list(dict.fromkeys(word.text for word in strange))
        quoted = ", ".join(f"“{verbatim(word[:24])}”" for word in different[:4])
        st.markdown(f":gray[{words('start.unseen', quoted=quoted, n=len(different))}]")
    if view.config.architecture == "encoder-decoder":
        known_words()

with right:
    tokens = view.tokens[view.stack]
    masks = [i for i, token in enumerate(tokens) if token.id == MASK]
    asked = [view.focus] if not masking else masks[:4]
    if not asked:
        st.header(words("start.no_mask"), anchor=False)
        st.markdown(prose["no mask"])
    for position in asked:
        found = prediction(view.trace, position)
        label = chip(tokens[position].label)
        title = words("start.masked", n=position) if masking else words("start.next", token=label)
        st.header(title, anchor=False)
        rows = [Bar(passes.tokenizer().token(id), share) for id, share in found.best]
        rows.append(Bar(None, found.others, words("start.others", n=found.vocabulary - len(found.best))))
        bars(rows, name=title, key=f"bars {position}")
    if len(masks) > len(asked) and masking:
        st.caption(words("start.more_masks", n=len(masks) - len(asked)))

st.page_link("pages/values.py", label=f":violet[{words('start.values', n=len(view.trace))}]")

st.header(words("card.title", name=view.choices.model), anchor=False)
about = passes.card(view.choices.model)
kind, size = st.columns([3, 2], gap="large")
with kind:
    st.markdown(prose[f"model {view.config.architecture}"])
    st.markdown(card.training(words, about))
    st.markdown(prose["not known"])
with size:
    st.markdown(card.figures(words, about))
    st.markdown(card.sizes(words, passes.sizes(view.choices.model)))
