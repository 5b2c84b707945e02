"""The page of two stacks: what it draws is the trace's, in every architecture and language; and what it claims."""

import json

import pytest
import torch
from streamlit.testing.v1 import AppTest

from explorer import checkpoints
from explorer.analysis import crossing as measured
from explorer.analysis.generation import greedy
from explorer.config import BOS, EOS
from explorer.tokens import Tokenizer
from explorer.trace import trace
from explorer.views.components import crossing
from explorer.words import LANGUAGES, Words
from tests.small import GRID, model, texts
from tests.visits import visit

WEIGHTS = "decoder.layers.1.cross_attention.weights"


def crossing_page(**address) -> AppTest:
    """The page, of an encoder-decoder."""
    return visit("cross_attention", arch="encoder-decoder", **address)


def drawn(app: AppTest, kind: str) -> dict:
    """What the page handed to its picture (`curves`) or its table (`needs`)."""
    found = [json.loads(element.proto.json) for element in app.get("bidi_component") if element.proto.json]
    (data,) = [data for data in found if isinstance(data, dict) and data.get("kind") == kind]
    return data


def said(app: AppTest) -> str:
    return "\n".join(element.value for element in app.markdown)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("architecture", ("encoder", "decoder"))
def test_a_single_stack_says_why_and_offers_the_other(architecture, language):
    app = visit("cross_attention", arch=architecture, lang=language, s="The doctor is in the kitchen.")
    words = Words(language)
    assert words.prose("cross_attention")[f"not {architecture}"] in said(app)
    (button,) = [button for button in app.button if button.label == words("crossing.switch")]
    button.click().run()
    assert not app.exception
    assert app.session_state.view.config.architecture == "encoder-decoder"
    assert drawn(app, "curves")["weights"]


@pytest.mark.parametrize("norm, language", (("pre", "en"), ("post", "ko")))
def test_the_picture_is_the_trace(norm, language):
    texts = {"s": "The doctor is in the kitchen.", "t": "의사는 부엌에 있어요."}
    place = {"layer": 1, "of": "head", "head": 2, "at": 3}
    app = crossing_page(norm=norm, lang=language, **texts, **place)
    view = app.session_state.view
    tensor = view.trace[WEIGHTS].tensor[2]
    data = drawn(app, "curves")
    assert data["weights"] == [[round(1000 * weight) for weight in row] for row in tensor.tolist()]
    assert data["focus"] == 3 and data["left_out"] == [0, 0, 0, 0]
    probabilities = view.trace["probabilities"].tensor
    assert [one["id"] for one in data["expected"]] == probabilities.argmax(-1).tolist()
    assert data["shares"] == [round(1000 * share) for share in probabilities.amax(-1).double().tolist()]


def test_the_table_is_what_hiding_costs():
    app = visit(
        "cross_attention",
        arch="encoder-decoder",
        lang="en",
        s="The doctor is in the kitchen.",
        t="의사는 부엌에 있어요.",
        at=2,
    )
    view = app.session_state.view
    found = measured.effects(view.run.model, view.run.source, view.run.target)
    looks = measured.looks(view.trace)
    data = drawn(app, "needs")
    assert [row["position"] for row in data["rows"]] == list(range(len(view.tokens["encoder"])))
    for row in data["rows"]:
        at = row["position"]
        numbers = (looks[2, at], found.hidden[at, 2], found.unread[at, 2])
        assert (row["weight"], row["hidden"], row["unread"]) == tuple(round(1000 * float(number)) for number in numbers)
        assert (row["instead"] is None) == (found.instead[at, 2] == found.predicted[2])
    verdict = measured.verdict(looks, found, view.run.source)
    told = Words("en")(
        "crossing.verdict", rows=len(view.tokens["decoder"]), same=verdict.same, other=verdict.other,
        none=verdict.none, limit=f"{measured.MATTERS:.2f}",
    )  # fmt: skip
    assert told in said(app)


def test_a_cell_of_the_address_opens_its_arithmetic():
    app = visit(
        "cross_attention", arch="encoder-decoder", lang="en", s="The cat.", t="고양이", layer=1, v=WEIGHTS, c="0,1,2"
    )
    assert f":gray[`{WEIGHTS}[0, 1, 2]`]" in said(app)
    other = crossing_page(lang="en", s="The cat.", t="고양이", v="logits", c="0,1")
    assert "logits[0, 1]" not in said(other)


@pytest.mark.parametrize("text", ("a", "!! **x** $y$ <b>z</b> :red[r]", "the " * 90))
def test_odd_and_long_texts(text):
    app = crossing_page(lang="en", s=text, t=text)
    data = drawn(app, "curves")
    assert len(data["source"]) <= crossing.MOST and len(data["target"]) <= crossing.MOST
    assert sum(data["left_out"]) + len(data["source"]) + len(data["target"]) == sum(
        len(tokens) for tokens in app.session_state.view.tokens.values()
    )


def test_the_window_holds_the_focus_and_says_what_it_leaves_out():
    tokens = Tokenizer.load(checkpoints.TOKENIZER).encode("the " * 60)
    weights = torch.zeros(len(tokens), len(tokens))
    weights[50, 55], weights[50, 2] = 0.7, 0.3
    expected = [crossing.Expected(token, 0.5) for token in tokens]
    data = crossing.picture(tokens, tokens, expected, weights, 50)
    first, focus = data["first"], data["focus"]
    assert focus + first[1] == 50
    assert data["weights"][focus][55 - first[0]] == 700
    assert data["beyond"] == 300
    assert data["left_out"] == [first[0], 0, first[1], 0] and len(data["source"]) == crossing.MOST
    with pytest.raises(ValueError, match="59 predictions|weights of shape"):
        crossing.picture(tokens, tokens, expected[1:], weights, 50)


# What the page says of the model


CROSSING = next(config for config in GRID if config.architecture == "encoder-decoder")


def test_the_memory_does_not_know_the_target():
    made, (source, target) = model(CROSSING), texts(CROSSING, padding=0)
    one, other = trace(made, source, target), trace(made, source, target.flip(0)[:3])
    for path in one.select("encoder.*"):
        assert torch.equal(one[path].tensor, other[path].tensor), path


def test_every_layer_of_the_decoder_asks_the_same_memory():
    made, (source, target) = model(CROSSING), texts(CROSSING, padding=0)
    found = trace(made, source, target)
    for number, layer in enumerate(made.decoder.layers):
        attention, path = layer.cross_attention, f"decoder.layers.{number}.cross_attention"
        with torch.inference_mode():
            keys = attention.split(attention.w_k(found["encoder.norm.output"].tensor))
        assert torch.equal(keys, found[f"{path}.keys"].tensor)


def test_nothing_of_the_source_is_masked_and_what_is_to_come_is():
    made, (source, target) = model(CROSSING), texts(CROSSING, padding=0)
    found = trace(made, source, target)
    assert found["decoder.layers.0.cross_attention.allowed"].tensor.all()
    assert not found["decoder.layers.0.self_attention.allowed"].tensor.triu(1).any()
    changed = target.clone()
    changed[-1] = EOS
    later = trace(made, source, changed)
    assert torch.equal(found["logits"].tensor[:-1], later["logits"].tensor[:-1])
    other = source.clone()
    other[-1] = other[-1] % 30 + 5
    assert (trace(made, other, target)["logits"].tensor != found["logits"].tensor).any(-1).all()


@pytest.fixture(scope="module")
def claimed():
    """For a ready sentence, as the trained model translates it: the weights, the losses, and a place by its label."""
    name = "encoder-decoder-pre-4"
    if checkpoints.card(name)["objective"] == "placeholder":
        pytest.skip(f"{name} is not trained yet.")
    made, read = checkpoints.load(name), Tokenizer.load(checkpoints.TOKENIZER)

    def claim(sentence: str):
        source = read.encoder_input(sentence)
        ids = torch.tensor([token.id for token in source])
        target = torch.tensor([BOS, *greedy(made, ids, 40).ids])
        texts = (source, read.tokens(target.tolist()))
        places = {token.label: at for tokens in texts for at, token in enumerate(tokens)}
        looks = measured.looks(trace(made, ids, target))
        return looks, measured.effects(made, ids, target), places, lambda id: read.token(int(id)).label

    return claim


def test_look_1_without_did_the_past_is_lost(claimed):
    looks, found, place, label = claimed("I did not buy the red car.")
    row, did = place["지"], place["·did"]
    assert looks[row].argmax() == did and label(found.predicted[row]) == "·않았어요"
    assert label(found.instead[did, row]) == "·않아요"


def test_look_2_in_is_looked_at_and_is_is_needed(claimed):
    looks, found, place, label = claimed("The doctor is in the kitchen.")
    row, inside, verb = place["엌"], place["·in"], place["·is"]
    assert looks[row].argmax() == inside and label(found.predicted[row]) == "에"
    assert found.hidden[inside, row] > 0.95 and found.unread[inside, row] > 0.95
    assert found.unread[verb, row] < 0.05 and looks[row, verb] < looks[row, inside]


def test_look_3_a_vector_is_not_a_word(claimed):
    looks, found, place, label = claimed("The child who found the book is happy.")
    row, verb = place["·행복"], place["·is"]
    assert looks[row].argmax() == verb and label(found.predicted[row]) == "해요"
    assert found.hidden[verb, row] > 0.8 and found.unread[verb, row] < 0.5
    words = [int(at) for at in looks.argmax(-1)]
    assert words.index(place["·book"]) < words.index(place["·found"]) < words.index(place["·child"])


def test_a_short_source_of_a_long_target_has_all_its_tokens_listed():
    app = crossing_page(lang="en", s="a dog", t=" the" * 250)
    assert len(drawn(app, "needs")["rows"]) >= len(app.session_state.view.tokens["encoder"])
