"""The page of what training sees: in every architecture, norm and language, with losses that torch finds as well."""

import json
import re

import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch.nn import functional

from explorer import checkpoints, passes
from explorer.config import EOS, MASK, MAX_TOKENS, PAD, model_name
from explorer.lesson import TRUTHS
from explorer.words import Words
from tests.visits import texts, visit

KINDS = [  # every architecture in every language and norm
    (kind, norm, language)
    for kind in ("encoder", "decoder", "encoder-decoder")
    for norm, language in (("pre", "en"), ("post", "ko"))
]
ORDER = ("decoder", "encoder", "encoder-decoder")
TEXT = "My brother plays the piano every day."


def pictures(app: AppTest, kind: str) -> list[dict]:
    """What the page's pictures of a kind were given, in their order."""
    given = [
        json.loads(element.proto.json)
        for element in app.get("bidi_component")
        if element.proto.component_name == "explorer_lesson"
    ]
    return [data for data in given if data["kind"] == kind]


def rows(data: dict) -> tuple[list[int], list[int], list[float]]:
    """What a lesson reads, what is asked for ([PAD] where nothing is), and the losses that are shown."""
    lines = data["rows"]
    asked = [line["out"]["id"] if line["out"] else PAD for line in lines]
    assert all((line["loss"] is None) == (line["out"] is None) for line in lines)
    return [line["in"]["id"] for line in lines], asked, [line["loss"] for line in lines if line["loss"] is not None]


@pytest.mark.parametrize(("kind", "norm", "language"), KINDS)
def test_the_losses_are_those_of_torch(kind, norm, language):
    app = visit("sees", arch=kind, norm=norm, lang=language, s=TEXT)
    words, said = Words(language), texts(app)
    source = torch.tensor([token.id for token in passes.tokenizer().encoder_input(TEXT)])
    for name, data in zip(ORDER, pictures(app, "lesson"), strict=True):
        inputs, asked, losses = rows(data)
        model, ids, targets = checkpoints.load(model_name(name, norm, 4)), torch.tensor(inputs), torch.tensor(asked)
        with torch.inference_mode():
            read = {"decoder": (None, ids), "encoder": (ids, None), "encoder-decoder": (source, ids)}[name]
            logits = model.predict(model.vectors(*read))
        each = functional.cross_entropy(logits, targets, ignore_index=PAD, reduction="none")
        assert losses == pytest.approx(each[targets != PAD].tolist(), abs=1e-4)
        mean = float(functional.cross_entropy(logits, targets, ignore_index=PAD))
        before = words("sees.figures", n=99, loss="L", perplexity="P").split("L")[0]
        shown = re.findall(re.escape(before) + r"([\d.]+)\*\*", said)
        assert any(float(figure) == pytest.approx(mean, abs=1e-3) for figure in shown)
        if name == "encoder":
            assert all((id == MASK) == (right != PAD) for id, right in zip(inputs, asked, strict=True))
        else:
            assert asked[:-1] == inputs[1:]
            assert asked[-1] == (PAD if name == "decoder" else EOS)


def test_the_translator_is_asked_for_the_truth_that_is_known_and_else_for_its_own():
    app = visit("sees", arch="decoder", lang="en", s=TEXT)
    spell, words = passes.tokenizer().decode, Words("en")
    inputs, asked, _ = rows(pictures(app, "lesson")[2])
    assert spell(inputs) == spell(asked) == TRUTHS[TEXT] and words("sees.own_truth") not in texts(app)
    app = visit("sees", arch="encoder-decoder", lang="en", s=TEXT, t="형은 피아노를 쳐요.")
    assert spell(rows(pictures(app, "lesson")[2])[0]) == "형은 피아노를 쳐요."
    app = visit("sees", arch="encoder-decoder", lang="en", s="The dog is small.")
    view = app.session_state.view
    assert rows(pictures(app, "lesson")[2])[0] == list(view.run.ids[1])
    assert words("sees.own_truth") in texts(app)


def test_drawing_again_hides_other_tokens():
    app = visit("sees", arch="encoder", lang="en", s=TEXT)
    before = rows(pictures(app, "lesson")[1])[1]
    app.button(key="draw").click().run()
    assert rows(pictures(app, "lesson")[1])[1] != before and "masks=1" in app.session_state.address
    again = visit("sees", arch="encoder", lang="en", s=TEXT)
    assert rows(pictures(again, "lesson")[1])[1] == before


def test_a_clicked_loss_opens_its_arithmetic():
    id = passes.tokenizer().decoder_input(TEXT)[3].id
    app = visit("sees", arch="encoder", lang="en", s=TEXT, p="probabilities", pc=f"2,{id}", **{"in": "decoder"})
    data = pictures(app, "lesson")[0]
    assert data["chosen"] == 2
    assert f"= **{data['rows'][2]['loss']:.3f}** nats" in texts(app)
    assert f"`probabilities[2, {id}]`" in texts(app)


def test_a_batch_has_its_padding_marked_and_left_out():
    for kind in ORDER:
        app = visit("sees", arch=kind, lang="en", s=TEXT)
        for row in pictures(app, "batch")[0]["rows"]:
            assert all(cell["pad"] == (cell["in"]["id"] == PAD) for cell in row["cells"])
            assert not any(cell["out"] or cell["said"] for cell in row["cells"] if cell["pad"])
        assert any(cell["pad"] for row in pictures(app, "batch")[0]["rows"] for cell in row["cells"])


def test_where_it_drifts_is_marked():
    app = visit("sees", arch="encoder-decoder", lang="en", s=TEXT)
    data = pictures(app, "drift")[0]
    assert data["apart"] == 0 and not data["rows"][0]["own"]["right"]
    app = visit("sees", arch="encoder-decoder", lang="en", s="The doctor is in the kitchen.")
    data = pictures(app, "drift")[0]
    assert data["apart"] is None
    assert all(row["own"]["chip"]["id"] == row["answer"]["id"] for row in data["rows"])
    assert Words("en")("sees.together") in texts(app)


def test_the_mask_table_holds_the_losses_of_both_readings():
    text = "Once upon a time, there was a little girl named Lily. She loved to play with her dog."
    app = visit("sees", arch="decoder", lang="en", s=text)
    table = next(element.value for element in app.markdown if element.value.startswith("| mean loss"))
    figures = [tuple(map(float, re.findall(r"\*\*([\d.]+)\*\*", line))) for line in table.splitlines()[2:]]
    with_it, removed, never, *translator = figures
    assert with_it[0] == with_it[1] and removed[0] > with_it[0] + 0.2
    assert never[0] < 0.2 and never[1] > 5
    assert translator[0][0] == translator[0][1]
    ids = torch.tensor([token.id for token in passes.tokenizer().decoder_input(text)])
    model = checkpoints.load("decoder-pre-4")
    with torch.inference_mode():
        loss = functional.cross_entropy(model.predict(model.vectors(None, ids[:-1])), ids[1:])
    assert with_it[0] == pytest.approx(float(loss), abs=6e-3)


@pytest.mark.parametrize("kind", ORDER)
@pytest.mark.parametrize("text", ["a", "[MASK]", "🤖 *b* $x$ [l](http://e.org) :red[r]"])
def test_odd_texts(kind, text):
    app = visit("sees", arch=kind, lang="ko", s=text)
    assert len(pictures(app, "lesson")) == 3 and not app.error


def test_the_longest_text():
    app = visit("sees", arch="encoder", lang="en", s=" the" * (MAX_TOKENS - 2))
    assert not app.error and len(rows(pictures(app, "lesson")[1])[0]) == MAX_TOKENS


def test_changes_of_the_model_reach_the_losses():
    plain, changed = (visit("sees", arch="decoder", lang="en", s=TEXT, **more) for more in ({}, {"edit": "unmasked:d"}))
    before, after = (rows(pictures(app, "lesson")[0])[2] for app in (plain, changed))
    assert before != after
    assert Words("en")("edits.unedited") in texts(changed)
    encoder = (rows(pictures(app, "lesson")[1])[2] for app in (plain, changed))
    assert next(encoder) == next(encoder)
