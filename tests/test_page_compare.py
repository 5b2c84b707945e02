"""The page of two sides: both are passes of the model, in every architecture, and what is between them is right."""

import json

import numpy as np
import pytest

from explorer import beside
from explorer.analysis import compare
from explorer.config import ARCHITECTURES
from explorer.words import LANGUAGES, Words
from tests.visits import reads, sound, texts, visit, widget

PAIR = {"s": "Mom said that the toys", "s2": "Mom said that the toy", "vs": "text"}
SOURCES = {"s": "I bought the red car.", "s2": "I did not buy the red car.", "vs": "text"}
SHOWN = ("weights", "scores", "stream", "predictions")


def pictures(app) -> list[tuple[dict, np.ndarray]]:
    """The matrices on the page: header and, where no cell is grouped, the numbers of the cells that are not masked."""
    found = []
    for element in app.get("bidi_component"):
        data = element.proto.bytes
        if not data:
            continue
        length = int.from_bytes(data[:4], "little")
        header = json.loads(data[4 : 4 + length])
        at, size, item = header["parts"]["cells"]
        numbers = np.frombuffer(data[4 + length :], f"<i{item}", size, at)
        found.append((header, numbers / 10 ** header["digits"]))
    return found


def side_by_side(app) -> list[tuple[dict, np.ndarray]]:
    return [one for one in pictures(app) if one[0]["shape"][0] == 1][:3]


@pytest.mark.parametrize("what", beside.KINDS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_kind_of_side_opens(architecture, what):
    at = ARCHITECTURES.index(architecture) + beside.KINDS.index(what)
    app = visit(
        "compare", arch=architecture, lang=list(LANGUAGES)[at % 2], norm=("pre", "post")[at % 2], show=SHOWN[at % 4],
        s="The [MASK] is red.", s2="A [MASK] was red.", vs=what, edit="off:e1a;off:d1f",
    )  # fmt: skip
    assert app.session_state.view.config.architecture == architecture
    assert Words(list(LANGUAGES)[at % 2]).prose("compare")["what"] in texts(app)


def test_the_pictures_are_the_traces_on_one_scale_and_their_difference():
    app = visit("compare", lang="en", arch="decoder", layer=1, head=2, **PAIR)
    view = app.session_state.view
    other = visit("attention", lang="en", arch="decoder", s=PAIR["s2"]).session_state.view
    path = "decoder.layers.1.self_attention.weights"
    left, right = (one.trace[path].tensor[2].numpy() for one in (view, other))
    drawn = side_by_side(app)
    seen = np.tril_indices(len(left))
    for (header, numbers), expected in zip(drawn, (left, right, right - left), strict=True):
        assert header["limit"] == (1 if header["scale"] == "weight" else pytest.approx(abs(right - left).max()))
        assert numbers == pytest.approx(expected[seen], abs=6e-4)
    assert [header["focus"] for header, _ in drawn] == [5, 5, 5]
    assert drawn[0][0]["path"] == drawn[1][0]["path"] == path and drawn[2][0]["path"] == ""
    row = int(np.abs(right - left)[5].argmax())
    assert [header["chosen"] for header, _ in drawn] == [[5, row]] * 3
    figures = [f"{number:.3f}".replace("-", "−") for number in (left[5, row], right[5, row], (right - left)[5, row])]
    assert all(f"**{figure}**" in texts(app) for figure in figures)


def test_a_text_that_was_cut_is_cut_on_both_sides():
    app = visit("compare", lang="en", arch="decoder", s="the cat " * 150, cut="1", vs="norm", show="predictions")
    assert not app.warning, "the other side reads the first tokens as well"
    assert Words("en")("compare.difference") in texts(app)


def test_the_predictions_and_the_verdict_are_counted():
    app = visit("compare", lang="en", arch="decoder", **PAIR)
    view = app.session_state.view
    other = visit("attention", lang="en", arch="decoder", s=PAIR["s2"]).session_state.view
    left, right = (one.trace["probabilities"].tensor[-1] for one in (view, other))
    share = compare.total_variation(left, right)
    assert f"{share:.0%}".replace("%", " %") in texts(app) and share > 0.3
    bars = [json.loads(one.proto.json) for one in app.get("bidi_component") if '"bars"' in one.proto.json]
    assert len(bars) == 2
    for probabilities, data in zip((left, right), bars, strict=True):
        for bar in data["bars"][:-1]:
            assert bar["share"] == pytest.approx(float(probabilities[bar["chip"]["id"]]))
    assert Words("en").prose("compare")["look agreement"] in texts(app)
    assert Words("en")("compare.apart") in texts(app)


def test_a_ready_pair_and_a_choice_of_side_are_in_the_address():
    app = visit("compare", lang="ko", arch="decoder", s="안녕", vs="layer")
    words = Words("ko")
    (button,) = [one for one in app.button if one.key == "pair ko particle"]
    sound(button.click().run())
    address = app.session_state.address
    assert "s2=" in address and "vs=text" in address
    assert words.prose("compare")["look particle"] in texts(app)
    sound(widget(app.button_group, "compare option vs").set_value("head").run())
    sound(widget(app.button_group, "compare option to_head").set_value("3").run())
    assert "vs=head" in app.session_state.address and "to_head=3" in app.session_state.address
    assert side_by_side(app)[1][0]["part"] == [3]
    assert words("compare.one_pass") in texts(app)


def test_a_translator_is_compared_by_its_translations():
    app = visit("compare", lang="en", arch="encoder-decoder", attention="decoder.cross", **SOURCES)
    drawn = side_by_side(app)
    rows, columns = drawn[2][0]["shape"][1:]
    assert rows <= min(drawn[0][0]["shape"][1], drawn[1][0]["shape"][1])
    assert (drawn[0][0]["shape"][2], drawn[1][0]["shape"][2], columns) == (8, 10, 7)
    assert Words("en")("compare.translated.apart") in texts(app)


def test_no_difference_picture_says_why_with_the_numbers():
    app = visit("compare", lang="en", arch="decoder", s="a red ball", s2="나는 학교에 갔어요", vs="text")
    view = app.session_state.view
    assert len(side_by_side(app)) == 2
    assert f"{len(view.tokens['decoder'])} tokens on the left" in texts(app)
    stream = visit("compare", lang="en", arch="decoder", s="a red ball", vs="norm", show="stream")
    assert len(side_by_side(stream)) == 2 and "own axes" in texts(stream)


def test_the_same_on_both_sides_differs_in_nothing():
    app = visit("compare", lang="en", arch="decoder", s="The dog.", s2="The dog.", vs="text")
    assert Words("en")("compare.equal") in texts(app)
    assert not side_by_side(app)[2][1].any()
    none = visit("compare", lang="en", arch="decoder", s="The dog.", vs="edits")
    assert Words("en")("compare.no_edits") in texts(none)


def test_before_and_after_an_edit():
    app = visit("compare", lang="en", arch="decoder", s="The dog saw the cat. The", vs="edits", edit="off:d0a", layer=1)
    view = app.session_state.view
    path = "decoder.layers.1.self_attention.weights"
    expected = view.plain.trace[path].tensor[0] - view.trace[path].tensor[0]
    (header, numbers) = side_by_side(app)[2]
    assert numbers == pytest.approx(expected.numpy()[np.tril_indices(len(expected))], abs=6e-4)
    assert header["limit"] > 0.05


@pytest.mark.parametrize("text", ("a", "the cat and the dog " * 49, "**x** $y$ <b>:red[z]</b> `q`"))
@pytest.mark.parametrize("shown", SHOWN)
def test_odd_short_and_long_texts(text, shown):
    other = f"{text[:-3]} so"
    app = visit("compare", lang="en", arch="decoder", s=text, s2=other, vs="text", show=shown)
    assert reads(app, text) and app.session_state.choices.other == other


def test_a_second_sentence_that_is_missing_or_too_long_is_said():
    assert Words("en")("compare.write") in texts(visit("compare", lang="en", arch="decoder", s="a", s2=" ", vs="text"))
    long = visit("compare", lang="en", arch="decoder", s="a", s2="the cat and " * 120, vs="text")
    assert "256" in texts(long) and Words("en").prose("compare")["what"] in texts(long)
