"""What was expected at every position, as in training."""

import pytest
import torch

from explorer.analysis.predictions import followed, in_turn, loss, prediction
from explorer.config import MASK, Config
from explorer.trace import trace
from tests.small import GRID, model, named, recorded, texts


@pytest.mark.parametrize("config", [config for config in GRID if config.heads == 2], ids=named)
def test_what_followed_is_the_text_one_further_and_an_encoder_is_not_asked(config):
    seen = recorded(config)
    found = followed(seen)
    if config.architecture == "encoder":
        assert found == []
        return
    ids = seen["decoder.embedding.ids"].tensor
    assert [answer.id for answer in found] == ids[1:].tolist()
    probabilities = seen["probabilities"].tensor[:-1]
    assert loss(found) == pytest.approx(float(torch.nn.functional.nll_loss(probabilities.log(), ids[1:])))
    for answer in found:
        assert answer.share == float(seen["probabilities"].tensor[answer.position, answer.id])
        assert answer.best == prediction(seen, answer.position, 1).best[0][0]


def test_masked_in_turn_is_a_pass_with_that_token_masked():
    config = Config("encoder", "pre", 2, layers=2, d_model=16, d_ff=24, vocabulary=40)
    made = model(config)
    ids, _ = texts(config, padding=0)
    ids[0], ids[3] = 1, MASK
    found = in_turn(made, ids, range(len(ids)))
    asked = [place for place in range(len(ids)) if ids[place] > MASK]
    assert [answer.position for answer in found] == asked
    masked = ids.clone()
    masked[asked[1]] = MASK
    there = trace(made, masked, None)["probabilities"].tensor[asked[1]]
    assert torch.isclose(there[ids[asked[1]]], torch.tensor(found[1].share, dtype=there.dtype))
