"""The page of residuals and norms: every architecture and language, its numbers, and what it says of the models."""

import pytest
from streamlit.testing.v1 import AppTest

from explorer import passes
from explorer.analysis import norms
from explorer.config import ARCHITECTURES, NORMS, Config, model_name
from explorer.views.numerals import number
from explorer.views.residuals import decimal
from explorer.words import LANGUAGES, Words
from tests.visits import reads, sound, texts, visit

SENTENCE = "The cat sat on the mat."


def opened(**address) -> AppTest:
    return sound(visit("residuals", **{"s": SENTENCE, **address}))


@pytest.mark.parametrize(("language", "norm"), list(zip(LANGUAGES, NORMS, strict=True)))
@pytest.mark.parametrize(
    ("architecture", "stack", "kind"),
    [
        ("encoder", "encoder", "self_attention"),
        ("decoder", "decoder", "feed_forward"),
        ("encoder-decoder", "encoder", "feed_forward"),
        ("encoder-decoder", "decoder", "cross_attention"),
    ],
)
def test_every_stack_and_its_numbers(architecture, stack, kind, norm, language):
    app = opened(
        arch=architecture, lang=language, side=stack, sub=kind, norm=norm, layer=1, t="그것은 고양이.", **{"from": 2}
    )
    view, words, said = app.session_state.view, Words(language), texts(app)
    place = view.focus if stack == view.stack else 2
    path = f"{stack}.layers.1.{kind}_residual"
    variance = float(view.trace[f"{path}.norm.variance"].tensor[place, 0])
    assert f"{path}.norm.variance[{place}, 0]" in said and f"= **{number(variance)}**" in said
    figures = {
        f"figure {name}": float(view.trace[f"{path}.norm.{name}"].tensor[place, 0]) for name in ("mean", "variance")
    }
    for button in app.button:
        if button.key in figures:
            assert number(figures.pop(button.key)) in button.label
    assert not figures
    for name in (f"{path}.input", f"{path}.sum", f"{stack}.layers.1.{kind}.output", f"{path}.norm.output"):
        numbers = view.trace[name].tensor[place]
        moments = {"mean": decimal(float(numbers.mean())), "deviation": decimal(float(numbers.std(correction=0)))}
        assert words("residuals.moments", **moments) in said
    for order in ("pre", "post"):  # both orders, each with its own model
        ids = [tuple(part.tolist()) if part is not None else () for part in (view.run.source, view.run.target)]
        trace = passes.run(model_name(architecture, order, 4), *ids).trace
        assert words(f"residuals.sum.{order}", share=number(norms.unaccounted(trace, stack), 2)) in said


def test_a_line_follows_the_token_and_the_layer():
    app = opened(arch="decoder", lang="en", line="residual.sum,7", at=3, layer=2)
    assert "decoder.layers.2.feed_forward_residual.sum[3, 7]" in texts(app)
    sound(app.segmented_control(key="layer").set_value(0).run())
    assert "decoder.layers.0.feed_forward_residual.sum[3, 7]" in texts(app)
    assert "line=residual.sum%2C7" in app.session_state.address


@pytest.mark.parametrize("line", ("", "nothing", "residual.sum", "residual.sum,128", "mean,5", "output,-1"))
def test_a_line_that_is_not_there_gives_way(line):
    assert "_residual.norm." in texts(opened(arch="decoder", lang="en", line=line))


@pytest.mark.parametrize(
    ("architecture", "text"),
    [("decoder", "a"), ("decoder", "cat " * 250), ("encoder", "*a* | $x$ <b> ![](http://x.invalid) :red[x] 漢字 \\ _")],
)
def test_short_long_and_nasty(architecture, text):
    assert reads(opened(arch=architecture, lang="en", s=text), text)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_gradients_at_the_start_fall_only_with_the_norm_first(architecture):
    """What the page says of fresh models: towards the output the norm's place makes the difference."""
    config = Config(architecture, layers=3 if architecture == "encoder-decoder" else 4)
    rows = passes.gradients(config, architecture, 4)
    stack = config.stacks[-1]
    for kind in {row.kind for row in rows if row.stack == stack}:
        sizes = {
            norm: [row.rms for row in rows if (row.stack, row.kind, row.norm) == (stack, kind, norm)]
            for norm in ("pre", "post")
        }
        assert sizes["pre"][-1] < 0.96 * sizes["pre"][0]
        assert sizes["post"][-1] > 1.3 * sizes["pre"][-1]
        assert sizes["post"][-1] / sizes["post"][0] > sizes["pre"][-1] / sizes["pre"][0]


@pytest.mark.parametrize(("architecture", "norm"), list(zip(ARCHITECTURES, ("pre", "post", "pre"), strict=True)))
def test_padding_moves_batch_norm_and_leaves_layer_norm(architecture, norm):
    app = opened(arch=architecture, norm=norm, t="그것은 고양이.", pad=16)
    view = app.session_state.view
    ids = [tuple(part.tolist()) if part is not None else () for part in (view.run.source, view.run.target)]
    path = f"{view.stack}.layers.0.feed_forward_residual.{'input' if norm == 'pre' else 'sum'}"
    rows = passes.padded(view.choices.model, *ids, path)
    assert [row.padding for row in rows] == list(passes.PADDINGS)
    assert all(float(row.moved_by_layer.max()) < 1e-4 for row in rows)
    assert float(rows[-1].moved_by_batch[view.focus]) > 0.1


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_stream_grows_only_with_the_norm_first(architecture):
    """What the page says of the models that ship: sums add up, or are brought back after each."""
    app = opened(arch=architecture, t="그것은 고양이.")
    view = app.session_state.view
    ids = [tuple(part.tolist()) if part is not None else () for part in (view.run.source, view.run.target)]
    sizes = {
        order: [
            (float(at.rms.mean()), at.normed)
            for at in norms.sizes(passes.run(model_name(architecture, order, 4), *ids).trace, view.stack)
            if at.kind != "end"
        ]
        for order in NORMS
    }
    pre, post = sizes["pre"], [size for size, normed in sizes["post"] if normed]
    assert pre[-1][0] > 1.3 * pre[0][0]
    assert max(post) < 3 * min(post)
    assert pre[-1][0] / pre[0][0] > post[-1] / post[0]
