"""The app without a browser: links, languages, architectures, odd input, broken files. Clicks are in browser/."""

import shutil
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

import explorer.view
from explorer import address, checkpoints, controls, passes
from explorer.config import EOS, MAX_TOKENS, Config
from explorer.tokens import Tokenizer
from explorer.words import LANGUAGES, Words
from tests.visits import sound, texts, turn, visit, widget

ROOT = Path(__file__).parents[1]
ARCHITECTURES = ("encoder", "decoder", "encoder-decoder")
PAGES = [name for name, _ in controls.PAGES]


def shown(app: AppTest):
    """The pass that is on the screen, or None."""
    return app.session_state.view


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("page", PAGES)
def test_every_page_in_every_architecture_and_language(page, architecture, language):
    app = sound(visit(page, arch=architecture, lang=language, s="The cat [MASK] on the mat."))
    words = Words(language)
    assert app.title[0].value == words(f"page.{page}")
    assert shown(app).config.architecture == architecture
    said = texts(app)
    assert words.prose("frame")["proof"] in said and words("proof.logits") in said  # the check is on every page
    for stack, tokens in shown(app).tokens.items():  # labels come from the ids that the model read
        assert [token.id for token in tokens] == shown(app).trace[f"{stack}.embedding.ids"].tensor.tolist()


def test_a_link_restores_everything():
    asked = {"s": "a *b* [MASK] 한국\n&<>#+%", "lang": "ko", "arch": "encoder", "norm": "post", "heads": 4, "layer": 2}
    app = sound(visit("values", **asked, head=1, at=3, v="encoder.layers.2.self_attention.scores", c="1,3,0"))
    assert app.text_area(key="s").value == asked["s"]
    assert [app.segmented_control(key=key).value for key in ("arch", "norm", "heads", "layer", "lang")] == [
        "encoder", "post", 4, 2, "ko",
    ]  # fmt: skip
    view = shown(app)
    assert (view.layer, view.head, view.focus) == (2, 1, 3)
    assert "encoder.layers.2.self_attention.scores[1, 3, 0]" in texts(app)
    assert app.session_state.address == (
        "lang=ko&s=a+%2Ab%2A+%5BMASK%5D+%ED%95%9C%EA%B5%AD%0A%26%3C%3E%23%2B%25&arch=encoder&norm=post&heads=4&layer=2"
        "&head=1&at=3&v=encoder.layers.2.self_attention.scores&c=1%2C3%2C0"
    )


def test_an_address_is_read_as_it_was_written():
    known = {"decoder-pre-4": Config(), "encoder-decoder-pre-4": Config("encoder-decoder", layers=3)}
    chosen = address.Choices(
        "ko", "x & y", "한국어", address.fingerprint("z"), "encoder-decoder", "pre", 4, 2, 3, 0, True, {"v": "logits"}
    )
    read, changes = address.read(dict(parse_qsl(address.write(chosen, ["v"]))), known, ["en", "ko"], address.Choices())
    assert read == chosen and not changes


def test_the_first_language_is_the_browsers():
    assert visit(locale="ko-KR").segmented_control(key="lang").value == "ko"
    assert visit(locale="fr-FR").segmented_control(key="lang").value == "en"
    app = visit(locale="ko-KR", lang="en")
    assert app.segmented_control(key="lang").value == "en" and "lang=en" in app.session_state.address


def test_a_bad_link_opens_with_the_nearest_choices_and_says_so():
    bad = {"arch": "decodr", "norm": "past", "heads": "99", "layer": "-3", "head": "19", "lang": "zz", "at": "x"}
    app = sound(visit("values", **bad, v="nonsense"))
    view = shown(app)
    assert (view.config.name, view.layer, view.head) == ("decoder-post-8", 0, 7)
    said = texts(app)
    for changed in ("decodr", "past", "99", "zz", "19"):
        assert changed in said
    assert "nonsense" in said


@pytest.mark.parametrize(
    "bad", ["--3", "9" * 5_000, "<b>", "$x$", "![i](http://e.org/i.png)", "*" * 500, "-1", "１", "1e9", ""]
)
def test_odd_values_in_an_address_do_no_harm(bad):
    names = ("arch", "norm", "heads", "layer", "head", "at", "cut", "v", "c", "for")
    app = sound(visit("values", **dict.fromkeys(names, bad)))
    assert shown(app) is not None


NUMBERS = {  # options of single pages that hold numbers
    "embedding": {"cell": "tokens,{n}", "stage": "{n}"},
    "attention": {"step": "raw_scores,{n}", "from": "{n}"},
    "heads": {"p": "logits", "pc": "{n},{n}", "from": "{n}"},
    "residuals": {"line": "output,{n}", "pad": "{n}"},
    "feed_forward": {"neuron": "{n}", "draw": "{n}", "p": "decoder.layers.0.feed_forward.hidden", "pc": "{n},{n}"},
    "prediction": {"token": "{n}", "swap": "{n}", "in": "output", "p": "logits", "pc": "{n},{n}", "top_k": "{n}"},
    "what_if": {"place": "d{n}a.h{n}", "token": "{n}", "sweep": "{n}", "edit": "scale:d{n}f:{n}", "s2": "{n}"},
    "generation": {"wrote": "x-{n}", "hand": "{n}.{n}", "seen": "{n}", "temp": "{n}", "k": "{n}", "seed": "{n}"},
}


@pytest.mark.parametrize("number", ["--3", "-1", "9" * 5_000, "٣", "²", "1e999", ""])
@pytest.mark.parametrize("page", NUMBERS)
def test_odd_numbers_in_the_options_of_a_page_do_no_harm(page, number):
    options = {name: value.format(n=number) for name, value in NUMBERS[page].items()}
    app = sound(visit(page, arch="decoder", s="The cat", **options))
    assert shown(app) is not None


def test_no_two_pages_use_one_name_for_different_things():
    """What a click opened on one page is no bad top-p on another."""
    app = sound(visit("prediction", arch="decoder", s="The cat", p="logits", pc="1,5", **{"in": "output"}))
    sound(turn(app, "generation"))
    assert not app.info


def test_nothing_is_lost_when_pages_and_models_change():
    app = visit(arch="encoder-decoder", s="The doctor is in the kitchen.")
    app.text_area(key="t").set_value("의사는").run()
    for architecture in ("encoder", "decoder", "encoder-decoder"):
        sound(app.segmented_control(key="arch").set_value(architecture).run())
        sound(turn(app, "values"))
        assert app.text_area(key="s").value == "The doctor is in the kitchen."
        sound(turn(app, "start"))
    assert app.text_area(key="t").value == "의사는"
    sound(app.segmented_control(key="lang").set_value("ko").run())
    assert [app.text_area(key=key).value for key in "st"] == ["The doctor is in the kitchen.", "의사는"]
    assert app.segmented_control(key="arch").value == "encoder-decoder"


def test_pages_may_be_opened_in_any_order():
    """Pages that share an option draw a control of their own for it."""
    app = visit(arch="encoder-decoder", s="The doctor is in the kitchen.")
    for page in [*PAGES, *PAGES[::-1]]:
        sound(turn(app, page))
        assert all(control.value is not None for control in app.segmented_control), page


def test_a_layer_that_the_next_model_lacks_becomes_its_last():
    app = visit(arch="decoder", layer=3)
    sound(app.segmented_control(key="arch").set_value("encoder-decoder").run())
    assert widget(app.segmented_control, "layer").value == 2


def test_one_setting_at_a_time_changes_the_numbers():
    app = visit(arch="decoder", norm="pre")
    before = shown(app).trace["logits"].tensor
    app.segmented_control(key="norm").set_value("post").run()
    after = shown(app).trace["logits"].tensor
    assert before.shape == after.shape and not before.equal(after)
    app.segmented_control(key="norm").set_value("pre").run()
    assert shown(app).trace["logits"].tensor.equal(before)


def test_two_visitors_do_not_disturb_each_other():
    one, other = visit(arch="decoder", s="one two"), visit(arch="encoder", s="three [MASK]")
    one.segmented_control(key="layer").set_value(1).run()
    assert shown(other).config.architecture == "encoder" and other.text_area(key="s").value == "three [MASK]"
    other.run()
    assert shown(one).layer == 1 and shown(other).layer == 0


def test_a_chosen_cell_that_a_shorter_text_lacks_is_dropped():
    app = visit("values", s="The cat sat on the mat", v="decoder.layers.0.self_attention.scores", c="3,6,6")
    assert "scores[3, 6, 6]" in texts(app)
    sound(app.text_area(key="s").set_value("The cat").run())
    assert "How is this number made?" not in texts(app)


def test_a_value_follows_the_layer_and_the_architecture():
    app = visit("values", arch="decoder", v="decoder.layers.0.feed_forward.hidden")
    app.segmented_control(key="layer").set_value(2).run()
    assert "`decoder.layers.2.feed_forward.hidden`" in texts(app)
    app.segmented_control(key="arch").set_value("encoder").run()
    sound(app)
    assert "`encoder.layers.2.feed_forward.hidden`" in texts(app)


@pytest.mark.parametrize("text", ["", "   ", "\n", "\u200b", "\t \n"])
def test_nothing_to_read(text):
    app = visit(s="The cat sat")
    assert shown(app) is not None
    sound(app.text_area(key="s").set_value(text).run())
    assert shown(app) is None and len(app.header) == 0  # no result of an earlier text is left
    assert app.info[0].value == Words("en")("nothing")
    sound(turn(app, "values"))
    assert app.info[0].value == Words("en")("nothing")
    assert app.text_area(key="s").value == text


def length(text: str) -> int:
    return len(Tokenizer.load(checkpoints.TOKENIZER).decoder_input(text))


def test_as_many_tokens_as_fit_and_one_more():
    word = " the"
    fits = word * (MAX_TOKENS - 1)
    assert length(fits) == MAX_TOKENS
    app = sound(visit(arch="decoder", s=fits))
    assert len(shown(app).tokens["decoder"]) == MAX_TOKENS and not app.warning

    sound(app.text_area(key="s").set_value(fits + word).run())
    assert shown(app) is None and app.text_area(key="s").value == fits + word
    assert app.warning[0].value == Words("en")("too_long", n=MAX_TOKENS + 1, limit=MAX_TOKENS)
    cut = next(button for button in app.button if button.label == Words("en")("cut", limit=MAX_TOKENS))
    sound(cut.click().run())
    assert len(shown(app).tokens["decoder"]) == MAX_TOKENS
    assert Words("en")("cut.shown", n=MAX_TOKENS + 1, limit=MAX_TOKENS) in texts(app)
    assert app.text_area(key="s").value == fits + word
    sound(app.text_area(key="s").set_value(fits + word * 2).run())
    assert shown(app) is None  # it was asked for the other text


def test_an_encoder_that_is_cut_keeps_its_end():
    app = sound(visit(arch="encoder", s=" the" * 400, cut=1))
    tokens = shown(app).tokens["encoder"]
    assert len(tokens) == MAX_TOKENS and tokens[-1].label == "⟨eos⟩"


def test_very_many_characters_are_not_cut_into_tokens(monkeypatch):
    longest = []
    encode = Tokenizer.encode
    monkeypatch.setattr(Tokenizer, "encode", lambda self, text: longest.append(len(text)) or encode(self, text))
    text = "Lots of words. " * 13_334
    app = visit(s="short")
    sound(app.text_area(key="s").set_value(text).run())
    assert app.text_area(key="s").value == text and max(longest) <= explorer.view.MAX_CHARACTERS
    assert f"{len(text):,} characters" in texts(app)
    assert "&s=" not in app.session_state.address and len(app.session_state.address) < 200
    sound(turn(app, "values"))
    assert app.text_area(key="s").value == text


def test_a_long_text_stays_out_of_the_address_and_the_app_says_so():
    app = visit(s="x" * 1999)
    assert "s=xxx" in app.session_state.address
    app.text_area(key="s").set_value("word " * 401).run()
    assert "&s=" not in app.session_state.address
    assert Words("en")("address.long", n=2005, limit=address.LONGEST) in texts(app)


@pytest.mark.parametrize(
    "text",
    [
        "*a* **b** `c` $x^2$ :red[r] :material/home: [l](http://e.org) ![i](http://e.org/i.png) -> <- -- ~~s~~ # h",
        "<script>alert(1)</script><img src=x onerror=alert(1)><style>*{display:none}</style>",
        "{x} {0} {n} %s \\alpha \\textcolor{red}{x} $$\\frac{1}{0}$$",
        "[PAD] [BOS] [EOS] [MASK] </s> <pad> <|endoftext|>",
        "Ελληνικά العربية עברית हिन्दी ไทย 日本語 한국어 🤗 👨‍👩‍👧 \u202eabc\u202c \u2028 \ufffd",
        "\x01\x02\x1b\x7f it's \"said\" back\\slash",
        "the the the the", "a", ".", "뷁",
    ],
)  # fmt: skip
@pytest.mark.parametrize("page", PAGES)
def test_every_kind_of_text(page, text):
    app = sound(visit(page, s=text, arch="encoder"))
    assert app.text_area(key="s").value == text
    tokens = shown(app).tokens["encoder"]
    assert b"".join(token.bytes for token in tokens) == text.encode()
    assert all(text[token.start : token.end] == token.text for token in tokens)


def test_an_encoder_claims_nothing_without_a_mask():
    app = visit(arch="encoder", s="The cat sat.")
    words = Words("en")
    assert words("start.no_mask") in texts(app) and words.prose("start")["no mask"] in texts(app)
    app.text_area(key="s").set_value("The [MASK] sat [MASK].").run()
    titles = [element.value for element in app.header]
    assert words("start.masked", n=2) in titles and words("start.masked", n=4) in titles
    assert words("start.no_mask") not in titles


def test_a_translation_is_the_models_own_until_one_is_typed():
    words = Words("en")
    app = sound(visit(arch="encoder-decoder", s="The doctor is in the kitchen."))
    assert shown(app).own is not None and words("start.tokens.own") in texts(app)
    view = shown(app)
    best = view.trace["probabilities"].tensor.argmax(-1).tolist()  # each token is the likeliest after those before it
    assert tuple(best[:-1]) == view.own.ids and (best[-1] == EOS) == view.own.finished

    sound(app.text_area(key="t").set_value("의사는 부엌에 있어요.").run())
    assert shown(app).own is None and words("target.other") not in texts(app)
    sound(app.text_area(key="s").set_value("The cat is in the kitchen.").run())
    assert app.text_area(key="t").value == "의사는 부엌에 있어요." and words("target.other") in texts(app)
    again = sound(visit(**dict(parse_qsl(app.session_state.address))))
    assert words("target.other") in texts(again)  # the link says so too
    next(button for button in app.button if button.label == words("target.clear")).click().run()
    assert shown(app).own is not None and widget(app.text_area, "t").value == ""


def test_an_example_is_one_click():
    app = visit(arch="encoder")
    app.button(key="example 0").click().run()
    assert widget(app.text_area, "s").value == controls.EXAMPLES["encoder"][0]


@pytest.fixture
def copies(tmp_path, monkeypatch):
    """A copy of the checkpoints that a test may break."""
    folder = tmp_path / "explorer" / "checkpoints"
    shutil.copytree(checkpoints.FOLDER, folder)
    card, load, available = checkpoints.card, checkpoints.load, checkpoints.available
    monkeypatch.setattr(checkpoints, "available", lambda: available(folder))
    monkeypatch.setattr(checkpoints, "card", lambda name, _=None: card(name, folder))
    monkeypatch.setattr(checkpoints, "load", lambda name: load(name, folder))
    monkeypatch.setattr(checkpoints, "TOKENIZER", folder / "tokenizer.json")

    def forget():
        for cache in (passes.card, passes.model, passes.run, passes.tokenizer, passes.sizes, explorer.view._reading):
            cache.clear()

    forget()
    yield folder
    forget()


@pytest.mark.parametrize("fault", ["missing", "cut short", "altered", "no card"])
def test_a_broken_model_is_one_sentence_and_the_others_keep_working(copies, fault):
    path = copies / "decoder-pre-4.safetensors"
    if fault == "missing":
        path.unlink()
    elif fault == "cut short":
        path.write_bytes(path.read_bytes()[:1000])
    elif fault == "altered":
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
    else:
        path = copies / "decoder-pre-4.json"
        path.write_text("{")
    app = sound(visit(arch="decoder", norm="pre"))
    said = app.error[0].value.replace("\\", "").replace("\u2060", "")
    assert path.name in said and "git checkout --" in said and f"checkpoints/{path.name}" in said
    assert shown(app) is None
    sound(app.segmented_control(key="norm").set_value("post").run())
    assert not app.error and shown(app).config.name == "decoder-post-4"
    sound(turn(app, "residuals"))  # where both norm orders stand side by side
    assert path.name in app.error[0].value.replace("\\", "").replace("\u2060", "")
    assert app.title and shown(app).config.name == "decoder-post-4" and len(texts(app)) > 2_000


def test_without_the_list_of_words_the_rest_of_the_page_is_there(copies, monkeypatch):
    (copies / "seen.tsv").unlink()
    monkeypatch.setattr(checkpoints, "SEEN", copies / "seen.tsv")
    checkpoints.word_counts.cache_clear()
    app = sound(visit())
    assert "seen" in app.error[0].value and Words("en")("card.title", name="decoder-pre-4") in texts(app)
    checkpoints.word_counts.cache_clear()


def test_a_missing_tokenizer_is_one_sentence(copies):
    (copies / "tokenizer.json").unlink()
    app = sound(visit())
    said = app.error[0].value.replace("\\", "").replace("\u2060", "")
    assert "tokenizer.json" in said and "git checkout --" in said
    assert "keep working" not in said


def test_no_model_at_all(copies):
    for path in copies.glob("*-*.json"):
        path.unlink()
    app = sound(visit())
    assert "python" in app.error[0].value and "keep working" not in app.error[0].value
