"""The page of the prediction: in every architecture, norm and language, with the trace's own numbers."""

import json
import math
import re

import pytest
import torch
from streamlit.testing.v1 import AppTest

from explorer import checkpoints, passes
from explorer.analysis import attribution, reach, sampling
from explorer.analysis.predictions import followed
from explorer.config import MASK
from explorer.trace import trace
from tests.visits import visit

KINDS = [  # every architecture in every language and norm
    (kind, norm, language)
    for kind in ("encoder", "decoder", "encoder-decoder")
    for norm, language in (("pre", "en"), ("post", "ko"))
]
TEXT = "The cat saw the [MASK] dog."


def pictures(app: AppTest) -> dict[str, list[dict]]:
    """What the page's pictures were given, by kind."""
    found: dict[str, list[dict]] = {}
    for element in app.get("bidi_component"):
        if element.proto.component_name == "explorer_prediction":
            data = json.loads(element.proto.json)
            found.setdefault(data["kind"], []).append(data)
    return found


def said(app: AppTest) -> str:
    return "\n".join(element.value for element in app.markdown)


@pytest.mark.parametrize(("kind", "norm", "language"), KINDS)
def test_the_pictures_hold_the_numbers_of_the_trace(kind, norm, language):
    app = visit("prediction", arch=kind, norm=norm, lang=language, s=TEXT)
    view, found = app.session_state.view, pictures(app)
    seen, place = view.trace, view.focus
    rows = found["output"][0]["rows"]
    for row in rows:
        assert row["logit"] == float(seen["logits"].tensor[place, row["chip"]["id"]])
        assert row["share"] == pytest.approx(float(seen["probabilities"].tensor[place, row["chip"]["id"]]), rel=1e-6)
        assert row["drawn"] == pytest.approx(row["share"], rel=1e-5)
    assert [row["logit"] for row in rows] == sorted((row["logit"] for row in rows), reverse=True)
    grid = found["lens"][0]["rows"]
    last = [cell["chip"]["id"] for cell in grid[-1]["cells"]]
    shown = [column["at"] for column in found["lens"][0]["columns"]]
    assert last == seen["probabilities"].tensor[shown].argmax(-1).tolist()
    assert grid[-1]["rank"] == 1
    parts = found["parts"][0]
    assert sum(row["value"] for row in parts["rows"]) == pytest.approx(rows[0]["logit"], abs=2e-4)
    assert float(parts["total"].replace("−", "-")) == pytest.approx(rows[0]["logit"], abs=1.5e-3)  # rounded twice


def test_filters_are_shown_over_the_whole_vocabulary():
    app = visit(
        "prediction", arch="decoder", norm="pre", lang="en", s=TEXT, temperature="0.5", top_k="50", top_p="0.60"
    )
    output, curve = pictures(app)["output"][0], pictures(app)["curve"][0]
    assert curve["size"] == app.session_state.view.config.vocabulary
    assert curve["points"][-1] == [curve["size"], 1.0]
    assert curve["marks"][0] == [50, "top-k"]
    count = curve["kept"]
    assert [row["kept"] for row in output["rows"]] == [place < count for place in range(len(output["rows"]))]
    figures = re.search(r"\*\*([\d,]+) of ([\d,]+) tokens\*\*", said(app))
    assert int(figures[1].replace(",", "")) == count
    for name in ("temperature=0.5", "top_k=50", "top_p=0.60"):
        assert name in app.session_state.address


def test_what_was_expected_everywhere_and_its_loss():
    app = visit("prediction", arch="decoder", norm="pre", lang="en", s=TEXT)
    view = app.session_state.view
    answers = followed(view.trace)
    rows = pictures(app)["each"][0]["rows"]
    assert [row["share"] for row in rows[:-1]] == [answer.share for answer in answers]
    assert rows[-1]["to"] is None
    loss = -sum(math.log(answer.share) for answer in answers) / len(answers)
    assert f"{loss:.3g}" in said(app)


def test_without_a_mask_an_encoder_claims_nothing_and_with_masks_it_fills_them():
    app = visit("prediction", arch="encoder", norm="pre", lang="en", s="The cat sat.")
    assert {"output", "lens", "parts"}.isdisjoint(pictures(app))
    assert "no prediction is claimed" in said(app)
    app = visit("prediction", arch="encoder", norm="pre", lang="en", s="The [MASK] ate the [MASK].")
    view = app.session_state.view
    strips = [
        json.loads(element.proto.json)
        for element in app.get("bidi_component")
        if "tokens" in element.proto.component_name
    ]
    filled = next(strip for strip in strips if strip.get("name", "").startswith("Filled"))
    for at, token in enumerate(view.tokens["encoder"]):
        best = int(view.trace["probabilities"].tensor[at].argmax())
        assert filled["chips"][at]["id"] == (best if token.id == MASK else token.id)


@pytest.mark.parametrize("name", checkpoints.available())
def test_the_parts_of_a_logit_of_each_model_add_up(name):
    model = checkpoints.load(name)
    source, target = torch.tensor([1, 300, 420, 3, 17, 2]), torch.tensor([1, 310, 290, 500, 800])
    read = [ids if stack in model.config.stacks else None for stack, ids in (("encoder", source), ("decoder", target))]
    seen = trace(model, *read)
    for place, token, against in ((3, 264, None), (-1, 900, 17)):
        found = attribution.attribute(seen, place, token, against)
        assert found.total == pytest.approx(found.logit, abs=1e-4 * max(1, abs(found.logit)))


@pytest.mark.parametrize("name", [name for name in checkpoints.available() if not name.startswith("encoder-p")])
def test_a_vector_of_each_decoder_knows_nothing_of_later_tokens(name):
    model = checkpoints.load(name)
    source = torch.tensor([1, 300, 420, 2]) if len(model.config.stacks) > 1 else None
    target = torch.tensor([1, 310, 290, 500, 800, 17])
    changed = torch.tensor(reach.replaced(target.tolist(), 4, 901))
    found = reach.spread(trace(model, source, target), trace(model, source, changed))
    assert found.equal[:, :4].all()
    assert not found.equal[1:, 4].any()  # a later vector may give the changed one a weight of exactly 0


@pytest.mark.parametrize("text", ("a", "**b** $x$ <i> :red[r] " * 3, "no " * 250))
@pytest.mark.parametrize("kind", ("encoder", "decoder"))
def test_odd_texts_and_odd_addresses(kind, text):
    text = f"{text} [MASK]" if kind == "encoder" else text
    app = visit(
        "prediction",
        arch=kind,
        norm="post",
        lang="ko",
        s=text,
        token="99999",
        swap="-1",
        top_k="7",
        temperature="hot",
        p="q",
    )
    assert pictures(app)["output"][0]["rows"]
    assert len(pictures(app)["lens"][0]["columns"]) <= 9


@pytest.mark.parametrize("character", "뷁🤗")
def test_a_drawn_token_that_is_part_of_a_character_is_finished(monkeypatch, character):
    first, *_, last = (token.id for token in passes.tokenizer().encode(character) if token.part)
    monkeypatch.setattr(sampling, "draw", lambda drawn: first)
    app = visit("prediction", arch="decoder", lang="ko", s="나는")
    app.button(key="draw one").click().run()
    assert not app.exception
    written = app.session_state.choices.text.removeprefix("나는")
    assert "⟨" not in written and "\ufffd" not in written  # no bytes are left that spell nothing
    assert written or character == "🤗"
    monkeypatch.setattr(sampling, "draw", lambda drawn: last)  # a part that nothing begins
    before = app.session_state.choices.text
    app.run()
    app.button(key="draw one").click().run()
    assert app.session_state.choices.text == before
