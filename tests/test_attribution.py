"""The parts of a logit add up to it, and a part is what it claims to be."""

from collections import Counter

import pytest
import torch

from explorer import checkpoints
from explorer.analysis import attribution
from explorer.analysis.stream import last_stack
from explorer.config import Config
from explorer.trace import trace
from tests.small import GRID, KINDS, model, named, recorded, texts


@pytest.mark.parametrize("config", GRID, ids=named)
def test_the_parts_add_up_to_the_logit(config):
    seen = recorded(config)
    logits = seen["logits"].tensor
    for place, token in ((0, 7), (3, 39), (-1, 0)):
        found = attribution.attribute(seen, place, token)
        assert abs(found.total - float(logits[place, token])) < 1e-9
        assert found.logit == float(logits[place, token])
        difference = attribution.attribute(seen, place, token, against=11)
        assert abs(difference.total - float(logits[place, token] - logits[place, 11])) < 1e-9
        above = attribution.attribute(seen, place, token, against="mean")
        assert abs(above.total - float(logits[place, token] - logits[place].mean())) < 1e-9


@pytest.mark.parametrize("name", checkpoints.available())
def test_the_parts_add_up_in_the_models_that_ship(name):
    shipped = checkpoints.load(name).double()
    seen = trace(shipped, *texts(shipped.config, padding=0))
    token = int(seen["logits"].tensor[-1].argmax())
    assert abs(attribution.attribute(seen, -1, token).total - float(seen["logits"].tensor[-1, token])) < 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_part_is_there_once(kind):
    seen = recorded(Config(*kind, 4, layers=2, d_model=16, d_ff=24, vocabulary=40))
    parts = attribution.attribute(seen, -1, 7).parts
    attentions = 4 if kind[0] == "encoder-decoder" else 2
    counts = {"token": 1, "position": 1, "head": 4 * attentions, "attention_bias": attentions, "feed_forward": 2}
    counts["norm_bias"] = 1 if kind[1] == "pre" else attentions + 2
    assert Counter(part.kind for part in parts) == counts
    assert all(part.path.startswith(last_stack(seen)) for part in parts)
    assert len({(part.path, part.head) for part in parts}) == len(parts)


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_is_how_the_logit_would_move_if_the_scales_stayed(kind):
    """Add a little to one sublayer's output, with the later sublayers' outputs and all the norms' scales held."""
    config = Config(*kind, 2, layers=2, d_model=16, d_ff=24, vocabulary=40)
    seen = recorded(config)
    stack = last_stack(seen)
    layer = f"{stack}.layers.0.feed_forward"
    nudge = torch.linspace(-1, 1, 16).double()
    held = {
        path: [lambda value, _, kept=value.tensor: kept]
        for path, value in seen.items()
        if path.endswith((".variance", "attention.output", "feed_forward.output"))
    }
    held[f"{layer}.output"] = [lambda value, _, kept=seen[f"{layer}.output"].tensor: kept + nudge]
    moved = recorded(config, edits=held)["logits"].tensor[2, 7] - seen["logits"].tensor[2, 7]
    back = attribution.directions(seen, 2, 7)[f"{layer}_residual.sum"]
    assert float(back @ nudge) == pytest.approx(float(moved), abs=1e-12)
    assert abs(moved) > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_neurons_and_bias_add_up_to_their_layer(kind):
    seen = recorded(Config(*kind, 2, layers=2, d_model=16, d_ff=24, vocabulary=40))
    path = f"{last_stack(seen)}.layers.1.feed_forward"
    whole = next(part for part in attribution.attribute(seen, 3, 5).parts if part.path == f"{path}.output")
    found = attribution.neurons(seen, path, 3, 5)
    assert found.shape == (24,)
    assert float(found.sum()) + attribution.feed_forward_bias(seen, path, 3, 5) == pytest.approx(whole.value, abs=1e-12)


def test_an_encoders_neurons_reach_a_translation_only_through_cross_attention():
    seen = recorded(Config("encoder-decoder", "pre", 2, layers=2, d_model=16, d_ff=24, vocabulary=40))
    assert attribution.neurons(seen, "encoder.layers.0.feed_forward", 1, 5).count_nonzero() == 0


def test_what_an_edit_put_in_is_a_part_of_its_own():
    config = Config("decoder", "post", 2, layers=2, d_model=16, d_ff=24, vocabulary=40)
    path = "decoder.layers.1.self_attention_residual.sum"
    seen = recorded(config, edits={path: [lambda value, _: value + torch.linspace(-1, 1, 16)]})
    found = attribution.attribute(seen, -1, 7)
    assert found.parts[-1].kind == "edit" and abs(found.parts[-1].value) > 1e-3
    assert found.total == pytest.approx(found.logit)
    off = trace(model(config), *texts(config), {"decoder.layers.1.feed_forward.output": [lambda value, _: value * 0]})
    assert abs(attribution.attribute(off, -1, 7).parts[-1].value) < 1e-12
