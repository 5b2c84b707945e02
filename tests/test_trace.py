"""The recorder files what the model hands it, refuses what cannot be right, and lets edits through."""

import pytest
import torch
from torch import nn

from explorer.config import Config
from explorer.trace import Trace, silent, trace
from tests.small import model, recorded, texts

SMALL = Config("decoder", "pre", 2, layers=2, d_model=16, d_ff=24, vocabulary=40)
WEIGHTS = "decoder.layers.0.self_attention.weights"
ACTIVATED = "decoder.layers.1.feed_forward.activated"


class House(nn.Module):
    def __init__(self):
        super().__init__()
        self.room = nn.Linear(2, 2)


def test_silent_hands_back_the_very_value():
    value = torch.ones(3)
    assert silent(nn.Linear(1, 1), "x", value, "position") is value


def test_a_value_is_filed_under_its_modules_path_and_its_own_name():
    house = House()
    made = Trace(house)
    made.record(house.room, "light", torch.ones(2, 3), "position d_model")
    made.record(house, "heat", torch.zeros(4), "position")
    assert list(made) == ["room.light", "heat"]
    assert made["room.light"].axes == ("position", "d_model")
    assert len(made) == 2
    assert set(made.parameters) == {"room.weight", "room.bias"}


def test_axes_must_fit_the_tensor():
    house = House()
    with pytest.raises(ValueError, match=r"room\.light has 2 axes, \(2, 3\), but is recorded with \('position',\)"):
        Trace(house).record(house.room, "light", torch.ones(2, 3), "position")


def test_a_value_recorded_twice_is_refused():
    house = House()
    made = Trace(house)
    made.record(house.room, "light", torch.ones(2), "position")
    with pytest.raises(ValueError, match=r"room\.light was recorded twice"):
        made.record(house.room, "light", torch.ones(2), "position")


def test_order_is_that_of_the_pass():
    made = recorded(SMALL)
    assert made.before("decoder.embedding.ids", "logits")
    assert not made.before("logits", "decoder.embedding.ids")
    assert not made.before("logits", "logits")
    assert not made.before("decoder.embedding.ids", "encoder.embedding.ids")
    assert not made.before("encoder.embedding.ids", "decoder.embedding.ids")


def test_select_takes_a_pattern():
    found = recorded(SMALL).select("decoder.layers.*.self_attention.weights")
    assert list(found) == [WEIGHTS, WEIGHTS.replace("0", "1")]


def test_a_trace_knows_the_models_configuration():
    assert recorded(SMALL).config == SMALL
    assert Trace(House()).config is None


def test_the_model_goes_on_with_an_edited_value():
    small, (_, target) = model(SMALL), texts(SMALL)
    off = trace(small, None, target, {WEIGHTS: [lambda value, _: value * 0]})
    assert off[WEIGHTS].tensor.count_nonzero() == 0
    assert off["decoder.layers.0.self_attention.heads"].tensor.count_nonzero() == 0
    assert not torch.equal(off["logits"].tensor, trace(small, None, target)["logits"].tensor)


def test_edits_of_one_value_stack_in_order():
    small, (_, target) = model(SMALL), texts(SMALL)
    plain = trace(small, None, target)[ACTIVATED].tensor
    edits = {ACTIVATED: [lambda value, _: value + 1, lambda value, _: value * 2]}
    assert torch.equal(trace(small, None, target, edits)[ACTIVATED].tensor, (plain + 1) * 2)


def test_an_edit_sees_the_trace_so_far():
    small, (_, target) = model(SMALL), texts(SMALL)

    def relu(value, so_far):
        assert "logits" not in so_far
        return so_far["decoder.layers.1.feed_forward.hidden"].tensor.relu()

    edited = trace(small, None, target, {ACTIVATED: [relu]})
    assert torch.equal(edited[ACTIVATED].tensor, edited["decoder.layers.1.feed_forward.hidden"].tensor.relu())


def test_an_edit_must_keep_the_shape():
    small, (_, target) = model(SMALL), texts(SMALL)
    with pytest.raises(ValueError, match=r"edit of logits returned shape \(5, 39\) in place of \(5, 40\)"):
        trace(small, None, target, {"logits": [lambda value, _: value[:, 1:]]})


def test_an_edit_of_what_is_not_computed_is_refused():
    small, (_, target) = model(SMALL), texts(SMALL)
    with pytest.raises(ValueError, match=r"computes no decoder\.norm\.median, so it cannot be edited"):
        trace(small, None, target, {"decoder.norm.median": [lambda value, _: value]})
