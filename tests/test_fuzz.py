"""Anything that can be typed, chosen or written into a link: nothing breaks, no text is lost, every label is true.

The examples are the same in every run. `EXPLORER_FUZZ=20` tries twenty times as many, other ones each time.
"""

import os
import re
from pathlib import Path
from urllib.parse import parse_qsl

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from explorer import address, checkpoints, controls
from explorer.address import Choices
from explorer.changes import ACTIONS
from explorer.config import MASK, Config
from explorer.view import reading
from explorer.words import LANGUAGES
from tests.visits import sound, turn, visit

TIMES = int(os.environ.get("EXPLORER_FUZZ", 1))
PAGES = [name for name, _ in controls.PAGES]
ROOT = Path(__file__).parents[1]
CODE = "".join(path.read_text() for path in [*ROOT.glob("pages/*.py"), *ROOT.glob("explorer/*.py")])
OPTIONS = sorted(
    {
        *re.findall(r"""\b(?:(?:pick_)?option|whole|figure|dial)\(\s*"(\w+)\"""", CODE),
        "c",
        "pair",
        "pc",
        "swapped",
        "to_text",
    }
)
KNOWN = [  # values that some option has, so that strange ones stand beside right ones
    "encoder", "decoder", "1", "0", "2", "1,2", "1,2,3", "0,0,0,0", "logits", "decoder.layers.0.self_attention.scores",
    "encoder.layers.1.feed_forward.hidden", "decoder.layers.2.cross_attention.weights", "text", "head", "mean", "3.290",
    "off", "model", "patch", "neurons", "d0a.h1", "raw_scores,1", "x-4", "variance,2", "0:The:A", "beam", "step",
    "encoder-post-4", "decoder-pre-4", "changed", "output", "self", "cross", "norm", "0.7", "inf", "nan", "-1", "1e999",
]  # fmt: skip
PIECES = [
    "the", " the", "The cat", " [MASK]", "[BOS]", "한국어", "뷁", "🤗", "👨‍👩‍👧", "e\u0301", "\u202e", "\u2028",
    " " * 3, "*b*", "**", "`", "$x$", "$$", ":red[r]", ":smile:", "[l](http://e.org)", "![i](http://e.org/i.png)", "\n",
    "- ", "1. ", "# h", "<b>", "<script>", "</style>", "&lt;", "\\", '"', "'", "{x}", "%s", "->", "\x00", "\u200b", "|",
]  # fmt: skip

sentences = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=12).map("".join)
odd_numbers = ["--3", "٣", "²", "９", "1e9", "+1", " 1", "9" * 5_000, "0x1", "1_0"]
numbers = st.integers().map(str) | st.sampled_from(odd_numbers)
edits = st.lists(
    st.tuples(
        st.sampled_from(ACTIONS),
        st.sampled_from(["d", "e", "d0a", "d0a.h2", "e1f.n17", "d2x", "d9a", "e1a.h9", "logits", "x"]),
        st.sampled_from(["", ":0.5", ":2>1", ":99>0", ":1", ":x"]),
    ).map(lambda parts: f"{parts[0]}:{parts[1]}{parts[2]}"),
    max_size=4,
).map(";".join)
values = st.sampled_from(KNOWN) | numbers | sentences
links = st.fixed_dictionaries(
    {},
    optional={
        "lang": st.sampled_from(["en", "ko"]) | values,
        "arch": st.sampled_from(["encoder", "decoder", "encoder-decoder"]) | values,
        "norm": st.sampled_from(["pre", "post"]) | values,
        "heads": st.sampled_from(["1", "2", "4", "8"]) | values,
        "layer": numbers | values,
        "head": numbers | values,
        "at": numbers | values,
        "cut": st.sampled_from(["1", "0"]) | values,
        "s": sentences,
        "t": sentences,
        "for": values,
        "edit": edits | values,
        "s2": sentences,
        **dict.fromkeys(OPTIONS, values),
    },
)


def examples(number: int):
    return settings(
        max_examples=number * TIMES,
        derandomize=TIMES == 1,
        database=None,
        deadline=None,
        phases=(Phase.generate,) if TIMES == 1 else (Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )


def whole(text: str) -> int | None:
    return int(text) if text.removeprefix("-").isdecimal() and len(text) < 10 else None


def true_labels(text: str, tokens) -> None:
    """The tokens hold the text, all of it, and each is labelled with its piece."""
    assert b"".join(token.bytes for token in tokens) == text.encode()
    for token in tokens:
        assert text[token.start : token.end] == token.text
        assert not token.special or token.id != MASK or "[MASK]" in token.text


@given(links)
@examples(300)
def test_any_link_is_read_and_what_it_could_not_have_is_said(link):
    models = {name: Config(**checkpoints.card(name)["config"]) for name in checkpoints.available()}
    chosen, notices = address.read(link, models, list(LANGUAGES), Choices())
    config = models[chosen.model]
    assert chosen.language in LANGUAGES
    assert 0 <= chosen.layer < config.layers and 0 <= chosen.head < config.heads
    assert (chosen.text, chosen.target, chosen.other) == tuple(link.get(name, "") for name in ("s", "t", "s2"))
    assert chosen.options == {name: value for name, value in link.items() if name in OPTIONS}
    used = {
        "lang": chosen.language, "arch": chosen.architecture, "norm": chosen.norm, "heads": chosen.heads,
        "layer": chosen.layer, "head": chosen.head, "at": chosen.focus,
    }  # fmt: skip
    said = {notice.name for notice in notices}
    for name in used.keys() & link.keys():
        kept = str(used[name]) == link[name] or whole(link[name]) == used[name] is not None
        assert kept or name in said, name
        assert not (kept and name in said), name
    assert all(notice.given in link[notice.name] for notice in notices if notice.name != "edit")

    again, none = address.read(dict(parse_qsl(address.write(chosen, OPTIONS))), models, list(LANGUAGES), Choices())
    kept = {name: value for name, value in chosen.options.items() if value}
    assert vars(again) == vars(chosen) | {"options": kept} and none == []


@given(sentences)
@examples(300)
def test_any_text_is_read_whole_by_every_stack(text):
    for stack in ("encoder", "decoder"):
        read = reading(text, stack)
        assert not read.too_long
        true_labels(text, read.tokens)


@given(links, sentences.filter(lambda text: any(character.isalnum() for character in text)))
@examples(2)
def test_any_link_opens_every_page(link, text):
    """One visit through all pages, with new options on each; then another sentence is typed on the last."""
    app = visit(PAGES[0], **link | {"s": text})
    for page in PAGES:
        sound(turn(app, page))
        view = app.session_state.view
        assert app.text_area(key="s").value == text
        assert view is not None, page
        true_labels(text, view.tokens[view.config.stacks[0]])
        for stack, tokens in view.tokens.items():
            assert [token.id for token in tokens] == view.trace[f"{stack}.embedding.ids"].tensor.tolist()


@st.composite
def visits(draw):
    return draw(st.sampled_from(PAGES)), draw(links), draw(sentences)


@given(visits())
@examples(20)
def test_any_link_and_any_text_on_any_page(at):
    page, link, typed = at
    app = visit(page, **link)
    sound(app.text_area(key="s").set_value(typed).run())
    assert app.text_area(key="s").value == typed
    view = app.session_state.view
    if view is not None:
        true_labels(typed, view.tokens[view.config.stacks[0]])
        for stack, tokens in view.tokens.items():
            assert [token.id for token in tokens] == view.trace[f"{stack}.embedding.ids"].tensor.tolist()
