"""The page from rules to attention: every architecture and language, its numbers, what it says of the models."""

import pytest
import torch

from explorer import changes, checkpoints, passes
from explorer.analysis import rules, swaps
from explorer.analysis.predictions import followed, loss
from explorer.analysis.rules import RULES
from explorer.changes import Change
from explorer.config import MASK
from explorer.trace import trace
from explorer.views.numerals import number, percent
from explorer.words import LANGUAGES, Words, strong
from tests.small import LEARNT
from tests.visits import reads, sound, texts, visit, widget

GIRL = "The girl is playing in the park."
LONG = "cat " * 250


def opened(**address):
    return visit("rules", **{"s": GIRL, "lang": "en", **address})


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("architecture", "kind"),
    [
        ("encoder", "encoder.self"),
        ("decoder", "decoder.self"),
        ("encoder-decoder", "encoder.self"),
        ("encoder-decoder", "decoder.self"),
        ("encoder-decoder", "decoder.cross"),
    ],
)
def test_every_attention_and_its_numbers(architecture, kind, language):
    app = opened(arch=architecture, lang=language, attention=kind, layer=1, head=2, norm="post")
    view, words, said = app.session_state.view, Words(language), texts(app)
    path = kind.replace(".", ".layers.1.") + "_attention"
    weights = view.trace[f"{path}.weights"].tensor[2]
    if architecture == "encoder-decoder" or language == "ko":  # no ready sentence there, so no pair of its own
        query = view.focus if kind.startswith(view.stack) else 1
        key = int(weights[query].argmax())
    else:
        query, key = 4, 2  # playing, girl
    for rung in rules.ladder(view.trace, path):
        found = rung.weights[2 if rung.rule == "learned" else 0]
        assert f"**{float(found[query, key]):.3f}**" in said
        if rung.itself is not None:
            assert f"{words('rules.itself')} **{rung.itself:.3f}**" in said
    scores = view.trace[f"{path}.scores"].tensor[2]
    assert f"={number(float(scores[query, key]), 3)}$" in said
    prose = words.prose("rules")
    assert (prose["cross"] in said) is (kind == "decoder.cross")
    assert prose["swap cross" if kind == "decoder.cross" else "swap self"] in said
    if kind != "decoder.self" or architecture == "decoder":  # nothing is offered for the words of a translation
        assert said.count(words("swap.unmoved")) == 2


def test_rules_in_the_model_and_what_they_cost():
    app = opened(arch="decoder", at=4)
    view, words, said = app.session_state.view, Words("en"), texts(app)
    plain = view.trace["probabilities"].tensor[4]
    best = int(plain.argmax())
    truth = view.tokens["decoder"][5].id
    for rule in changes.RULES:
        made = ";".join(changes.write([Change(rule, "decoder", layer, "self_attention")]) for layer in range(4))
        run = passes.edited("decoder-pre-4", *view.run.ids, made)
        after = run.trace["probabilities"].tensor[4]
        for id, label in ((best, "install.best"), (truth, "install.truth")):
            if label == "install.truth" and truth == best:
                continue
            shares = {"before": percent(float(plain[id])), "after": percent(float(after[id]))}
            assert words(label, token=strong(view.token(id).label), **shares) in said
        assert words("install.moved", share=percent(float((after - plain).abs().sum()) / 2)) in said
        answers = followed(run.trace)
        assert words("install.loss", loss=f"{loss(answers):.2f}", n=len(answers)) in said
    by_key = {button.key: button for button in app.button}
    app = sound(by_key["keep distance"].click().run())
    assert [one.action for one in app.session_state.choices.edits] == ["distance"] * 4
    assert Words("en")("edits.unedited") in texts(app)
    app = sound({button.key: button for button in app.button}["keep alike"].click().run())
    assert [one.action for one in app.session_state.choices.edits] == ["alike"] * 4  # in the other's place


def test_an_encoder_predicts_a_word_that_it_does_not_see():
    app = opened(arch="encoder", at=4)
    view, said = app.session_state.view, texts(app)
    ids = list(view.run.ids[0])
    truth, ids[4] = ids[4], MASK
    chance = passes.run("encoder-pre-4", tuple(ids), ()).trace["probabilities"].tensor[4, truth]
    assert Words("en")("install.loss_one", loss=f"{-float(chance.log()):.2f}") in said
    assert "**1 → 1**" not in texts(opened(arch="encoder", at=0, s="a"))


def test_another_word_is_swapped_and_the_pair_stands_in_the_address():
    app = opened(arch="decoder", swap="4:girl:teacher", pair="3,2,355,779", layer=2)
    view, said = app.session_state.view, texts(app)
    assert strong("teacher") in said and strong("·is") in said
    other = tuple(token.id for token in passes.tokenizer().decoder_input(GIRL.replace("girl", "teacher")))
    after = passes.run("decoder-pre-4", (), other).trace
    path = "decoder.layers.2.self_attention"
    found = {one.rule: one for one in swaps.swapped(view.trace, after, path)}
    assert Words("en")("swap.moved", share=f"{found['learned'].others:.4f}") in said
    change = swaps.between_kept(view.trace, after, path)["learned"]
    assert Words("en")("swap.between", change=number(change, 3)) in said
    assert "pair=3%2C2%2C355%2C779" in app.session_state.address
    app = sound(widget(app.text_input, "swap for").set_value("very old man").run())
    assert Words("en")("swap.cut") in texts(app)
    app = sound(widget(app.text_input, "swap for").set_value("*grandmother's*").run())


@pytest.mark.parametrize("pair", ("x", "1,2", "99,0,1,1", "4,2,1,1", "2,4,779,1220"))
def test_a_pair_that_is_not_there_gives_way(pair):
    assert f"{strong('·playing')} → {strong('·girl')}" in texts(opened(arch="decoder", pair=pair))


@pytest.mark.parametrize("where", ("head", "layer"))
def test_a_rule_in_part_of_the_model(where):
    assert texts(opened(arch="decoder", where=where)).count("Probability that went elsewhere") == 3


@pytest.mark.parametrize(
    ("architecture", "text"),
    [
        ("decoder", "a"),
        ("encoder", "!"),
        ("decoder", LONG),
        ("encoder-decoder", "*a* | $x$ <b> ![](http://x.invalid) :red[x] 漢字 \\ _"),
        ("encoder", "The [MASK] sat."),
    ],
)
def test_short_long_and_nasty(architecture, text):
    assert reads(opened(arch=architecture, s=text), text)


# What the page says of the models


def encoded(name: str, text: str):
    """A text as the first stack of a model reads it, in a pass; a translator's decoder has only begun."""
    config, read = checkpoints.load(name).config, passes.tokenizer()
    tokens = read.decoder_input(text) if config.architecture == "decoder" else read.encoder_input(text)
    ids = torch.tensor([token.id for token in tokens])
    both = {"encoder": (ids, None), "decoder": (None, ids), "encoder-decoder": (ids, torch.tensor([1]))}
    return trace(checkpoints.load(name), *both[config.architecture])


SWAPS = (
    ("Lily went to Paris.", "Lily went to museum."),
    ("The doctor is in the kitchen.", "The doctor is in the garden."),
)


@pytest.mark.parametrize("name", LEARNT)
@pytest.mark.parametrize("pair", SWAPS)
def test_only_learned_scores_above_the_first_layer_know_the_context(name, pair):
    before, after = (encoded(name, text) for text in pair)
    stack = before.config.stacks[0]
    first, *above = (
        swaps.between_kept(before, after, f"{stack}.layers.{layer}.self_attention")
        for layer in range(before.config.layers)
    )
    assert first == dict.fromkeys(RULES, 0)
    assert all(moved["embeddings"] == 0 for moved in above)
    # In a decoder, what follows the swapped word may be nothing but a full stop.
    assert any(moved["learned"] > 0 for moved in above) or stack == "decoder"
    if len(before.config.stacks) > 1:
        across = swaps.between_kept(before, after, "decoder.layers.0.cross_attention")
        assert across["learned"] > 0 and across["embeddings"] == 0


@pytest.mark.parametrize("name", LEARNT)
@pytest.mark.parametrize("text", ("Tom has a red ball. Tom likes the red", "나는 사과를 먹고 너는 사과를"))
def test_raw_embeddings_look_at_copies_as_much_as_at_themselves(name, text):
    seen = encoded(name, text)
    stack = seen.config.stacks[0]
    ids = seen[f"{stack}.embedding.ids"].tensor.tolist()
    last = len(ids) - 1 - (stack == "encoder")
    last -= ids[last] not in ids[:last]  # the particle may be one token with the word or not
    weights = rules.weights(seen, f"{stack}.layers.0.self_attention", "embeddings")[last]
    first = ids.index(ids[last])
    assert first < last
    assert weights[first] == pytest.approx(float(weights[last]), abs=1e-4) and weights[last] > 0.4
