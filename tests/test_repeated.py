"""A decoder's earlier rows come out again at the next step; an encoder's do not."""

import pytest
import torch

from explorer.analysis.repeated import repeated
from explorer.trace import trace
from tests.small import GRID, model, texts

DECODERS = [config for config in GRID if "decoder" in config.stacks and config.activation == "gelu"]


@pytest.mark.parametrize("config", DECODERS, ids=lambda config: config.name)
def test_a_step_on_repeats_everything_that_was_there(config):
    made, (source, target) = model(config), texts(config, padding=0)
    before, after = trace(made, source, target[:-1]), trace(made, source, target)
    found = repeated(before, after)
    assert found.difference < 1e-12
    assert found.again == sum(value.tensor.numel() for value in before.values())
    assert found.again + found.new == sum(value.tensor.numel() for value in after.values())
    kept = [before[path].tensor.numel() for path in before if path.endswith((".keys", ".values"))]
    assert found.cached == sum(kept)
    with pytest.raises(ValueError, match="no step on"):
        repeated(after, before)


def test_another_text_is_seen():
    config = DECODERS[0]
    made, (source, target) = model(config), texts(config, padding=0)
    other = torch.cat([target[:1] % 30 + 5, target[1:]])
    assert repeated(trace(made, source, target[:-1]), trace(made, source, other)).difference > 1e-3


def test_an_encoder_changes_all_its_rows():
    config = next(config for config in GRID if config.architecture == "encoder")
    made, (source, _) = model(config), texts(config, padding=0)
    assert repeated(trace(made, source[:-1]), trace(made, source)).difference > 1e-3
