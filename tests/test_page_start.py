"""The page of tokens and predictions: words that the model hardly met are marked, and known ones make a sentence."""

import json

import pytest

from explorer.training import grammar, lexicon
from explorer.words import LANGUAGES, Words
from tests.visits import sound, texts, visit, widget


def rows(app) -> list[dict]:
    """The rows of tokens on the page, as their pictures were given them."""
    found = [json.loads(element.proto.json) for element in app.get("bidi_component") if element.proto.json]
    return [data for data in found if isinstance(data, dict) and "runs" in data]


@pytest.mark.parametrize(
    ("text", "strange"),
    [("The quorxel is in the [MASK].", "quorxel"), ("The cat sat.", ""), ("QUORXEL'S cat", "QUORXEL'S")],
)
@pytest.mark.parametrize("architecture", ["encoder", "decoder", "encoder-decoder"])
def test_words_that_the_model_hardly_met_are_underlined(architecture, text, strange):
    app = visit("start", arch=architecture, lang="en", s=text)
    row, tokens = rows(app)[0], next(iter(app.session_state.view.tokens.values()))
    assert "".join(tokens[i].text for i in row["marked"]).strip() == strange
    assert ("quorxel" in texts(app)) == bool(strange)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sentence_is_built_of_known_words(language):
    words = Words(language)
    app = visit("start", arch="encoder-decoder", lang=language, s="Hi.", t="안녕.", draft="the doctor is in")
    pills = widget(app.get("button_group"), "known word")
    assert len(pills.options) == len({word.english for word in lexicon.words() if word.part == "noun"})
    pills.set_value("kitchen").run()
    assert "**The doctor is in kitchen\\.**" in texts(sound(app))
    (button,) = [button for button in app.button if button.label == words("start.drop")]
    assert "**The doctor is in\\.**" in texts(sound(button.click().run()))
    (button,) = [button for button in app.button if button.label == words("start.translate")]
    sound(button.click().run())
    assert app.session_state.choices.text == "The doctor is in." and not app.session_state.choices.target


def test_every_word_stands_under_one_heading_and_another_sentence_is_one_of_the_grammar():
    app = visit("start", arch="encoder-decoder", lang="en", s="Hi.", made=6)
    kinds = widget(app.get("button_group"), "start option part")
    listed = 0
    for kind in ("noun", "verb", "adjective", "time", "other"):
        kinds.set_value(kind).run()
        pills = widget(sound(app).get("button_group"), "known word")
        listed += len(pills.options)
        kinds = widget(app.get("button_group"), "start option part")
    assert listed >= len({word.english for word in lexicon.words()})
    (button,) = [button for button in app.button if button.label == Words("en")("start.another")]
    sound(button.click().run())
    assert app.session_state.choices.text == next(grammar.held_out_pairs(7)).english
