"""The page of the feed-forward layer: in every architecture, norm and language, with the trace's own numbers."""

import json

import pytest
from streamlit.testing.v1 import AppTest

from explorer.analysis.edits import install
from explorer.changes import read
from explorer.trace import trace
from explorer.views.numerals import percent
from explorer.words import Words
from tests.visits import visit

KINDS = [  # every architecture in every language and norm
    (kind, norm, language)
    for kind in ("encoder", "decoder", "encoder-decoder")
    for norm, language in (("pre", "en"), ("post", "ko"))
]
TEXT = "The cat saw the [MASK] dog."


def data(app: AppTest, kind: str) -> dict:
    """What one of the page's two pictures was given."""
    for element in app.get("bidi_component"):
        if element.proto.component_name == "explorer_feed_forward":
            found = json.loads(element.proto.json)
            if found["kind"] == kind:
                return found
    raise AssertionError(f"There is no picture of a {kind}.")


@pytest.mark.parametrize(("kind", "norm", "language"), KINDS)
def test_the_picture_holds_the_numbers_of_the_trace(kind, norm, language):
    app = visit("feed_forward", arch=kind, norm=norm, lang=language, s=TEXT, layer=1)
    view = app.session_state.view
    path = f"{view.stack}.layers.1.feed_forward"
    seen, drawn = view.trace, data(app, "layer")
    hidden, activated = (seen[f"{path}.{name}"].tensor[view.focus] for name in ("hidden", "activated"))
    assert drawn["hidden"] == pytest.approx(hidden.tolist(), abs=6e-4)
    assert drawn["open"] == int((hidden > 0).sum())
    best = activated.argsort(descending=True, stable=True)[:8].tolist()
    assert [row["n"] for row in drawn["rows"]] == best
    for row in drawn["rows"]:
        assert row["h"] == float(hidden[row["n"]])
        assert row["w_2"] == pytest.approx(
            seen.parameters[f"{path}.w_2.weight"].detach()[:, row["n"]].tolist(), abs=6e-4
        )
    output = seen[f"{path}.output"].tensor[view.focus]
    assert drawn["output"] == pytest.approx(output.tolist(), abs=6e-4)
    assert drawn["symbol"] == ("x̄" if norm == "pre" else "x")
    one = data(app, "neuron")
    assert one["n"] == best[0]
    assert [bar["value"] for bar in one["opens"]] == pytest.approx(
        seen[f"{path}.activated"].tensor[:, best[0]].tolist(), abs=6e-4
    )
    assert len(one["contexts"]) == 6 and one["contexts"][0]["value"] >= one["contexts"][-1]["value"]
    assert one["words"]["up"] == Words(language)("ff.up")


def test_the_neuron_that_is_off_is_a_pass_without_it_and_the_neuron_stands_in_the_address():
    app = visit("feed_forward", arch="decoder", norm="pre", lang="en", s=TEXT, layer=2, neuron=77)
    view, off = app.session_state.view, data(app, "neuron")["off"]
    assert data(app, "layer")["chosen"] == 77
    assert "neuron=77" in app.session_state.address
    run = view.run
    without = trace(run.model, run.source, run.target, install(read("off:d2f.n77"), run.config))
    id = off["chip"]["id"]
    for name, seen in (("before", view.trace), ("after", without)):
        assert off[name] == float(seen["probabilities"].tensor[view.focus, id])
    assert off["said"] == [percent(off["before"]), percent(off["after"])]


def test_relu_is_another_pass_and_says_so():
    app = visit("feed_forward", arch="decoder", norm="pre", lang="en", s=TEXT, layer=3, gate="relu")
    drawn = data(app, "layer")
    assert (drawn["gate"], drawn["own"]) == ("relu", "gelu")
    assert drawn["activated"] == [max(0.0, h) for h in drawn["hidden"]]
    view = app.session_state.view
    assert drawn["hidden"] != pytest.approx(
        view.trace["decoder.layers.3.feed_forward.hidden"].tensor[view.focus].tolist(), abs=6e-4
    )
    assert any("trained with GELU" in element.value for element in app.markdown)


def test_each_token_is_alone_and_the_page_shows_it():
    app = visit("feed_forward", arch="decoder", norm="pre", lang="en", s=TEXT)
    table = next(element.value for element in app.markdown if element.value.startswith("| sublayer"))
    feed_forward, attention = table.splitlines()[2:]
    assert "| 0 | 128 of 128 |" in feed_forward
    assert "| 0 |" not in attention


def test_an_encoder_of_two_stacks_has_no_logit_of_its_own():
    app = visit("feed_forward", arch="encoder-decoder", norm="pre", lang="ko", s="The cat sat.", side="encoder")
    drawn = data(app, "layer")
    assert drawn["target"] is None
    assert all(row["push"] > 0 for row in drawn["rows"])


@pytest.mark.parametrize("text", ("a", "**b** $x$ <i> :red[r] " * 3, "no " * 250))
def test_odd_texts(text):
    app = visit("feed_forward", arch="decoder", norm="post", lang="ko", s=text)
    assert data(app, "layer")["rows"]
    assert len(data(app, "neuron")["opens"]) <= 40


def test_a_cell_opens_its_arithmetic_and_bad_addresses_open_nothing():
    path = "decoder.layers.1.feed_forward.hidden"
    app = visit("feed_forward", arch="decoder", norm="pre", lang="en", s=TEXT, layer=1, p=path, pc="3,40")
    assert any(f"`{path}[3, 40]`" in element.value for element in app.markdown)
    app = visit(
        "feed_forward",
        arch="decoder",
        norm="pre",
        lang="en",
        s=TEXT,
        layer=1,
        p="nonsense",
        pc="3,40",
        neuron="99999",
        draw="x",
    )
    assert not any("[3, 40]" in element.value for element in app.markdown)
