"""The page of one attention: every architecture and language, its numbers, its choices in the address."""

import pytest
from streamlit.testing.v1 import AppTest

from explorer.analysis import attention
from explorer.views.numerals import number
from explorer.words import LANGUAGES, Words
from tests.visits import reads, sound, texts, visit, widget

SENTENCE = "The cat sat on the mat."


def opened(**address) -> AppTest:
    return sound(visit("attention", **{"s": SENTENCE, **address}))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("architecture", "kind"),
    [
        ("encoder", "encoder.self"),
        ("decoder", "decoder.self"),
        ("encoder-decoder", "decoder.self"),
        ("encoder-decoder", "decoder.cross"),
        ("encoder-decoder", "encoder.self"),
    ],
)
def test_every_attention_and_its_numbers(architecture, kind, language):
    app = opened(arch=architecture, lang=language, attention=kind, norm="post", layer=1, head=2, t="그것은 고양이.")
    view, words, said = app.session_state.view, Words(language), texts(app)
    path = kind.replace(".", ".layers.1.") + "_attention"
    place = view.focus if kind.startswith(view.stack) else 1
    weights = view.trace[f"{path}.weights"].tensor[2, place]
    best = int(weights.argmax())
    raw = float(view.trace[f"{path}.raw_scores"].tensor[2, place, best])
    assert f"= **{number(raw)}**" in said  # the panel opens at the key that is looked at most
    assert f"{path}.raw_scores[2, {place}, {best}]" in said
    assert f"{float(weights[best]):.3f}" in said
    masked = kind == "decoder.self"
    assert (words.prose("attention")["mask"] in said) is masked
    if masked:
        tried = attention.masks(view.trace, path, 2)
        for name in ("right", "zero", "afterwards"):
            assert f"**{float(tried.forbidden[name].mean()):.3f}**" in said
    raw, scaled = attention.saturation(view.trace, path, 2)
    figures = dict(with_most=scaled.largest, with_spread=scaled.spread, most=raw.largest, spread=raw.spread)
    assert words("saturation.figures", **{name: f"{figure:.2f}" for name, figure in figures.items()}) in said


def test_a_step_follows_the_query_and_the_head():
    app = opened(arch="decoder", lang="en", step="keys,2,5", head=1, at=4)
    assert "self_attention.keys[1, 2, 5]" in texts(app)
    sound(widget(app.segmented_control, "attention head").set_value(3).run())
    assert "self_attention.keys[3, 2, 5]" in texts(app)
    assert "step=keys%2C2%2C5" in app.session_state.address and "head=3" in app.session_state.address


@pytest.mark.parametrize("step", ("nothing", "keys,2", "keys,2,9999", "weights,99", "x,1,128", "‽,1"))
def test_a_step_that_is_not_there_gives_way(step):
    assert ".raw_scores[0, 5, " in texts(opened(arch="decoder", lang="en", at=5, step=step))


def test_a_button_leads_to_the_other_architectures():
    app = opened(arch="encoder", lang="en", layer=3)
    words = Words("en")
    by_label = {button.label: button for button in app.button}
    sound(by_label[words("attention.to_cross")].click().run())
    view = app.session_state.view
    assert view.config.architecture == "encoder-decoder" and view.layer == 2  # it has three layers


def test_the_habits_are_measured_and_lead_to_their_head():
    app = opened(arch="decoder", lang="en", s="Tom has a red ball. Tom likes the red")
    heads = attention.measures(app.session_state.view.trace)
    best = max((one for one in heads if one.same is not None), key=lambda one: one.same)
    (button,) = [button for button in app.button if button.key == "most same"]
    assert f"layer {best.layer}, head {best.head}" in button.label and f"{best.same:.2f}" in button.label
    sound(button.click().run())
    assert (app.session_state.view.layer, app.session_state.view.head) == (best.layer, best.head)


@pytest.mark.parametrize(
    ("architecture", "text"),
    [("encoder", "a"), ("decoder", "cat " * 250), ("encoder", "*a* | $x$ <b> ![](http://x.invalid) :red[x] 漢字 \\ _")],
)
def test_short_long_and_nasty(architecture, text):
    assert reads(opened(arch=architecture, lang="en", s=text), text)


def test_scaling_keeps_random_scores_alike_and_its_lack_does_not():
    """What the page says of random vectors of 16 to 128 numbers."""
    rows = attention.random_saturation()
    raw = [row for row in rows if not row.scaled]
    scaled = [row for row in rows if row.scaled]
    assert all(abs(row.deviation - 1) < 0.1 for row in scaled)
    assert all(abs(row.deviation / row.d_k**0.5 - 1) < 0.1 for row in raw)
    assert max(row.spread for row in scaled) - min(row.spread for row in scaled) < 0.02
    assert all(one.spread > other.spread for one, other in zip(raw, raw[1:], strict=False)) and raw[-1].spread < 0.2
