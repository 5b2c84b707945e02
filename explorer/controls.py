"""The frame's and the pages' shared controls: what a reader can click, type and toggle."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from explorer import address, checkpoints, passes, reader
from explorer.address import Notice, shortened
from explorer.changes import Change, write
from explorer.config import MAX_TOKENS
from explorer.reader import choices, choose, option, set_option, words
from explorer.view import Attention, View, reading, translates_itself
from explorer.views.changes import in_words
from explorer.views.components.tokens import strip
from explorer.views.numerals import number
from explorer.words import LANGUAGES, Words, verbatim

PAGES = (  # files and groups, in the order of the navigation
    ("overview", "pass"),
    ("start", "pass"),
    ("embedding", "pass"),
    ("attention", "pass"),
    ("heads", "pass"),
    ("residuals", "pass"),
    ("feed_forward", "pass"),
    ("prediction", "pass"),
    ("cross_attention", "pass"),
    ("rules", "try"),
    ("what_if", "try"),
    ("compare", "try"),
    ("generation", "try"),
    ("sees", "try"),
    ("learning", "try"),
    ("values", "every"),
)
LISTED = 8  # changes in the line of the frame, edited values in the proof; the others are counted
EXAMPLES = {
    "encoder": (
        "The little [MASK] was very happy.",
        "Lily went to the [MASK] with her mom.",
        "나는 밥[MASK] 먹었어요.",
    ),
    "decoder": (
        "Once upon a time, there was a little",
        "The cat sat on the mat because it was",
        "고양이가 피곤해서",
    ),
    "encoder-decoder": (
        "The doctor is in the kitchen.",
        "I did not buy the red car.",
        "The child who found the book is happy.",
    ),
}


def within_frame() -> None:
    """First line of every page: hand over to app.py when Streamlit starts the page's file on its own.

    It does so for the first visit after the server's start, as long as no visit has said what the pages are.
    """
    if not st.session_state.get("framed"):
        st.navigation(page_list(Words("en")), position="hidden")
        st.rerun()


def page_list(words: Words) -> dict[str, list]:
    """The pages under their groups, for `st.navigation`. The first is the app's root, and unlisted under its name."""
    groups: dict[str, list] = {}
    for name, group in PAGES:
        listed = groups.setdefault(words(f"group.{group}"), [])
        file, title = f"pages/{name}.py", words(f"page.{name}")
        if name == PAGES[0][0]:
            listed.append(st.Page(file, title=title, url_path="root", default=True))
            listed.append(st.Page(file, title=title, url_path=name, visibility="hidden"))
        else:
            listed.append(st.Page(file, title=title, url_path=name))
    return groups


def examples() -> None:
    """Ready sentences for the chosen architecture."""
    _sentences("start.examples", "example", EXAMPLES[choices().architecture])


def _sentences(label: str, key: str, texts: Sequence[str]) -> None:
    """Sentences in a row, a click each to read them."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="examples"):
        st.markdown(f":gray[{words()(label)}]", width="content")
        for number, text in enumerate(texts):
            st.button(verbatim(text), key=f"{key} {number}", type="tertiary", on_click=choose, kwargs={"text": text})


def pick_option(name: str, offered: Sequence[str], written: Callable[[str], str], usual: str, label: str = "") -> str:
    """A segmented control for a page's option (see `option`), which it returns."""
    chosen = option(name, usual, offered)
    st.segmented_control(
        label or name,
        offered,
        format_func=written,
        required=True,
        label_visibility="visible" if label else "collapsed",
        **show(f"{st.session_state.page} option {name}", chosen, lambda given: set_option(name, given)),
    )
    return chosen


def pick_attention(
    view: View, offered: Sequence[Attention] = (), named: Callable[[str], str] | None = None
) -> Attention:
    """Which attention a page is about, of all that there are or of those offered; a choice where there are several.

    `named` says what one is called, by its code, where that is not what it is called everywhere.
    """
    known = {one.code: one for one in offered or view.attentions}
    usual, *others = known
    if not others:
        return known[usual]
    named = named or (lambda code: view.words(f"attention.{code}"))
    return known[pick_option("attention", list(known), named, usual, view.words("attention.which"))]


def pick_head(view: View) -> None:
    """Which head a page is about, in a control of its own. It stays the reader's choice on every other page."""
    st.segmented_control(
        view.words("head"),
        range(view.config.heads),
        required=True,
        **show(f"{st.session_state.page} head", view.head, lambda head: reader.choose(head=head)),
    )


def token_row(view: View, stack: str, hint: str, name: str = "", on_pick: Callable[[int], None] | None = None) -> None:
    """The tokens of a stack in a row; a click follows another one, or does what a page says with `on_pick`.

    `hint` says what a click does on the page, `name` what the row is to those who do not see it.
    """
    strip(
        view.tokens[stack],
        name=name or view.words("start.tokens.alt", n=len(view.tokens[stack])),
        key=f"tokens {stack}",
        focus=view.place_in(stack),
        on_pick=on_pick or (lambda position: view.look_at(stack, position)),
        hint=hint,
    )


def look_for(sentences: Sequence[tuple[str, str]]) -> None:
    """Ready sentences, each with what to look for in it, which is said once the sentence is on the screen."""
    _sentences("look_for", "look", [text for text, _ in sentences])
    for text, point in sentences:
        if text == choices().text:
            st.markdown(f":violet-background[{words()('look_for.now')}] {point}")


def sidebar(words: Words) -> None:
    """Draw the shared controls."""
    chosen, known = choices(), reader.models()
    kinds = address.architectures(known)
    translates = chosen.architecture == "encoder-decoder"
    st.html('<div class="brand"><span>Transformer Explorer</span></div>')

    label = words("text.source" if translates else "text")
    with st.container(key="counted-text"):
        st.text_area(label, height=92, **show("s", chosen.text, lambda text: choose(text=text)))
        st.markdown(_count(chosen.text, chosen.architecture.partition("-")[0], words))
    if not address.carries(chosen.text):
        st.caption(words("address.long", n=len(chosen.text), limit=address.LONGEST))
    if translates:
        _target(words)
    if kinds:
        _pick(
            "arch",
            "architecture",
            words("architecture"),
            kinds,
            lambda kind: words(f"architecture.{kind}"),
            reader.nearest_model,
        )
        orders = address.norms(known, chosen.architecture)
        _pick("norm", "norm", words("norm"), orders, lambda norm: words(f"norm.{norm}"), reader.nearest_model)
        counts = address.head_counts(known, chosen.architecture, chosen.norm)
        _pick("heads", "heads", words("heads"), counts, str, reader.nearest_model)
        layers = range(known[chosen.model].layers)
        _pick("layer", "layer", words("layer"), layers, str)
    _pick("lang", "language", words("language"), list(LANGUAGES), LANGUAGES.get)


def _pick(
    key: str, name: str, label: str, offered: Sequence, written: Callable, then: Callable[[], None] | None = None
) -> None:
    """A segmented control for one choice."""

    def touched(given: object) -> None:
        choose(**{name: given})
        if then:
            then()

    shown = show(key, getattr(choices(), name), touched)
    st.segmented_control(label, offered, format_func=written, required=True, width="stretch", **shown)


def show(name: str, value: object, on_touch: Callable[[Any], None]) -> dict[str, Any]:
    """Let a widget show a choice: its `key`, and what is called on a change of it, for `on_touch`. A widget that shows
    the choice stays as it is: what is being typed is not to be written over.

    A choice that was made elsewhere needs another widget. Until the browser has heard of that choice, it goes on to
    report with every click what the widget showed before; of the same widget this would pass for a touch, and undo the
    choice. It does so of the widget that is gone, too, and what a widget has said once is no touch. Neither is None:
    where runs interrupt each other, the browser may begin a widget anew, without its choice. It then gets another, too.
    """
    numbers, heard = (st.session_state.setdefault(kept, {}) for kept in ("widgets", "heard"))
    key = f"{name} {numbers[name]}" if name in numbers else name
    if key in st.session_state and not _same(st.session_state[key], value):
        numbers[name] = numbers.get(name, 0) + 1
        key = f"{name} {numbers[name]}"
    if key not in st.session_state:
        st.session_state[key] = heard[key] = value

    def changed() -> None:
        given = st.session_state[key]
        if given is not None and given != heard[key]:
            heard[key] = given
            on_touch(given)

    return {"key": key, "on_change": changed}


def _same(one: object, other: object) -> bool:
    """Whether two choices are the same. Of several that are chosen at once, the order of the clicks does not count."""
    return set(one) == set(other) if isinstance(one, list) and isinstance(other, list) else one == other


def _count(text: str, stack: str, words: Words) -> str:
    """How many tokens a text has of those that fit; how many characters, where it has too many to be cut at all."""
    try:
        read = reading(text, stack)
    except checkpoints.CheckpointError:  # without a tokenizer there are no tokens; the page says so
        return ""
    said = words("tokens.of", n=read.total, limit=MAX_TOKENS)
    if not read.counted:
        said = words("characters", n=read.characters)
    return f":{'red' if read.too_long else 'gray'}[{said}]"


def _target(words: Words) -> None:
    """The text that the decoder reads: the reader's, or, while the box is empty, the model's own translation."""
    chosen = choices()

    def typed(target: str) -> None:
        choose(target=target, written_for=address.fingerprint(chosen.text) if target else "")

    count = f":gray[{words('target.own')}]" if translates_itself(chosen) else _count(chosen.target, "decoder", words)
    with st.container(key="counted-target"):
        shown = show("t", chosen.target, typed)
        st.text_area(words("text.target"), height=68, placeholder=words("target.empty"), **shown)
        st.markdown(count)
    if translates_itself(chosen):
        st.session_state.translation = st.empty()
    elif chosen.written_for != address.fingerprint(chosen.text):
        st.caption(words("target.other"))
        st.button(words("target.clear"), type="tertiary", on_click=choose, kwargs={"target": "", "written_for": ""})


def notices(words: Words) -> None:
    """Say what was changed in the address that this visit came with, once the page has looked at its part of it."""
    found: list[Notice] = st.session_state.notices

    def named(name: str) -> str:
        return words(f"address.{name}") if words.has(f"address.{name}") else verbatim(shortened(name))

    if found:
        said = [
            words("changed.one" if one.used else "changed.left_out", name=named(one.name),
                  given=verbatim(shortened(one.given)), used=verbatim(shortened(one.used)))
            for one in found
        ]  # fmt: skip
        st.info(" ".join([words("changed"), *said]))


def edited(page: str, words: Words) -> Callable[[], None] | None:
    """Say in one line what is changed in the model, with a way to undo each; nothing while it is as it was trained.

    Returns what says, once the pass is made, which changes do nothing in it and which cannot be made.
    """
    made = choices().edits
    if not made:
        return None
    stacks = reader.models()[choices().model].stacks if choices().model in reader.models() else ()
    named = [in_words(change, words, stacks) for change in made]
    with st.container(key="edited", gap=None):
        with st.container(horizontal=True, vertical_alignment="center", key="edits"):
            st.markdown(f":violet[**{words('edits')}**]", width="content")
            for number, said in enumerate(named[:LISTED]):
                st.button(
                    f"{said} :gray[✕]", key=f"undo {number}", type="tertiary", help=words("edits.undo"),
                    on_click=reader.undo, args=(number,),
                )  # fmt: skip
            if len(made) > LISTED:
                st.markdown(f":gray[{words('values.more', n=len(made) - LISTED)}]", width="content")
            if len(made) > 1:
                label = f":violet[{words('edits.undo_all')}]"
                st.button(label, key="undo all", type="tertiary", on_click=reader.undo)
            if page != "what_if":
                st.page_link("pages/what_if.py", label=f":violet[{words('page.what_if')}]")
        status = st.container()

    def say() -> None:
        view: View | None = st.session_state.view
        if view is None:
            return
        left = [(change, said) for number, (change, said) in enumerate(zip(made, named, strict=True))
                if number not in view.fitting]  # fmt: skip
        lonely = [said for change, said in left if change.action == "patch" and not any(view.other)]
        aside = [said for _, said in left if said not in lonely]
        nothing = passes.idle(view.choices.model, *view.run.ids, view.run.changes, view.run.other)
        nothing = [named[view.fitting[number]] for number in nothing]
        parts = [words(f"edits.{kind}", said="; ".join(found))
                 for kind, found in (("idle", nothing), ("lonely", lonely), ("aside", aside)) if found]  # fmt: skip
        if parts:
            status.markdown(f":gray[{' '.join(parts)}]")

    return say


def what_if(view: View, *offered: Change) -> None:
    """Changes of what a page has just drawn, a click each to make them or to undo them. For pages."""
    say = view.words
    with st.container(horizontal=True, vertical_alignment="center", key=f"links-what-if-{write(offered)}"):
        st.markdown(f":gray[{say('page.what_if')}]", width="content")
        for change in offered:
            made = change in choices().edits
            undo = " :gray[✕]" if made else ""
            label = f":violet[{in_words(change, say, view.config.stacks)}]{undo}"
            key = f"what if {write([change])}"
            st.button(label, key=key, type="tertiary", on_click=reader.edit, args=(change, not made))


def unedited(view: View) -> None:
    """Say, where there are changes, that what follows shows the model without them. For pages, before such a part."""
    if view.edited:
        st.caption(view.words("edits.unedited"))


def badge(words: Words) -> None:
    """Say whether every number on the screen was checked, and by how much the worst of them is off."""
    view: View | None = st.session_state.view
    if view is None:
        return
    with st.spinner(words("checking")):
        proof = passes.proof(view.choices.model, *view.run.ids, view.run.changes, view.run.other)
    said = words("checked" if proof.ok else "unchecked", error=number(proof.error, 2))
    with st.popover(said, type="tertiary"):
        prose = words.prose("frame")
        st.markdown(prose["proof" if proof.ok else "proof failed"])
        for part in proof.parts:
            index = ", ".join(map(str, part.index))
            mark = ":green[✓]" if part.ok else ":red[✗]"
            figure = words("proof.part", n=part.compared, error=number(part.error, 2))
            st.markdown(f"{mark} **{words(f'proof.{part.name}')}** {figure}  \n`{part.path}[{index}]`")
        if proof.edited:
            st.markdown(prose["proof edited"])
            listed = [f"`{path}`" for path in proof.edited[:LISTED]]
            if len(proof.edited) > LISTED:
                listed.append(words("values.more", n=len(proof.edited) - LISTED))
            st.markdown(", ".join(listed))


def share(page: str, words: Words) -> None:
    """Write the address of what is on the screen."""
    query = address.write(choices(), st.session_state.asked)
    st.session_state.address = query
    _ADDRESS(key="address", data={"query": query, "page": page, "language": words.language})


# Streamlit can add an address to the browser's history but not replace it there. This component can, so that going
# back leads to the page before and not through every choice. It also says which language the page is in, and that the
# menu of a narrow window is no list: Streamlit puts something else between its list and the entries.
_ADDRESS = st.components.v2.component(
    "explorer_address",
    js="""export default function ({ data }) {
  const search = `?${data.query}`;
  if (window.location.search !== search) {
    window.history.replaceState(window.history.state, "", `${window.location.pathname}${search}`);
  }
  document.documentElement.lang = data.language;
  for (const list of document.querySelectorAll("[data-testid=stSidebarNavItems]")) {
    list.setAttribute("role", "group");
    for (const item of list.querySelectorAll("li")) item.setAttribute("role", "presentation");
  }
}
""",
)
