"""Measures of heads, their shares of the output, scaling and masks."""

import math

import pytest
import torch

from explorer import checkpoints
from explorer.analysis import attention
from explorer.analysis.stream import last_stack, position, stages, sublayers
from explorer.config import BOS, Config, kind_of
from explorer.tokens import Tokenizer
from explorer.trace import trace
from tests.small import GRID, KINDS, READERS, model, named, recorded

FIRST = "decoder.layers.0.self_attention"
SMALL = Config("decoder", "pre", 2, layers=2, d_model=16, d_ff=24, vocabulary=40)


def of(architecture, norm="pre"):
    return Config(architecture, norm, 2, layers=2, d_model=16, d_ff=24, vocabulary=40)


@pytest.mark.parametrize("kind", KINDS)
def test_the_stages_of_the_stream_follow_the_pass(kind):
    seen = recorded(of(*kind))
    stack = last_stack(seen)
    kinds = ["self_attention", *(["cross_attention"] if kind[0] == "encoder-decoder" else []), "feed_forward"]
    assert [sub.kind for sub in sublayers(seen, stack)] == kinds * 2
    found = stages(seen)
    assert found[0].path == f"{stack}.embedding.output"
    for stage, sub in zip(found, sublayers(seen, stack), strict=False):
        assert torch.equal(seen[stage.path].tensor, seen[f"{sub.residual}.input"].tensor)
    assert found[-1].path.endswith("norm.output" if kind[1] == "post" else "feed_forward_residual.sum")


def test_a_position_beyond_the_text_is_refused_with_both_numbers():
    seen = recorded(SMALL)
    assert position(seen, -1) == 4
    with pytest.raises(ValueError, match="A text of 5 tokens has no position 5; choose one from 0 to 4"):
        position(seen, 5)


def test_measures_of_weights_that_are_known():
    def known(value, _):
        weights = torch.zeros_like(value)
        weights[0] = torch.eye(5)
        weights[1, 0, 0] = 1
        weights[1, range(1, 5), range(4)] = 0.75
        weights[1, range(1, 5), 0] += 0.25
        return weights

    seen = recorded(SMALL, edits={f"{FIRST}.weights": [known]})
    to_itself, to_previous, *_ = attention.measures(seen)
    assert to_itself.itself == 1 and to_itself.previous == 0 and to_itself.spread == 0
    assert to_itself.first == 0  # the first query has no choice, and does not count
    assert to_previous.previous == pytest.approx((1 + 3 * 0.75) / 4)
    assert to_previous.first == pytest.approx((1 + 3 * 0.25) / 4)
    assert to_previous.next is None, "a decoder may not look at the next token"


def test_the_same_token_elsewhere_is_measured_where_there_is_one():
    made = model(of("encoder"))
    ids = torch.tensor([1, 9, 5, 9, 2])
    seen = trace(made, ids)
    weights = seen["encoder.layers.0.self_attention.weights"].tensor
    measured = attention.measures(seen)[0]
    assert measured.same == pytest.approx(float((weights[0, 1, 3] + weights[0, 3, 1]) / 2))
    assert attention.measures(trace(made, torch.tensor([1, 9, 5, 2])))[0].same is None


def test_cross_attention_is_measured_only_where_it_makes_sense():
    found = attention.measures(recorded(of("encoder-decoder")))
    crossing = [one for one in found if one.kind == "cross_attention"]
    assert len(found) == 3 * 2 * 2 and len(crossing) == 4
    for one in crossing:
        assert (one.itself, one.previous, one.next) == (None, None, None)
        assert 0 < one.first < 1 and 0 < one.spread < 1


def test_spread_counts_allowed_keys_only():
    weights = torch.tensor([[1.0, 0, 0, 0], [0.5, 0.5, 0, 0], [1, 0, 0, 0], [0.25, 0.25, 0.25, 0.25]])
    found = attention.spread(weights, torch.ones(4, 4, dtype=torch.bool).tril())
    assert found[0].isnan()
    assert found[1:].tolist() == pytest.approx([1, 0, 1])


@pytest.mark.parametrize("config", GRID[::5], ids=named)
def test_the_heads_contributions_and_the_bias_are_the_output(config):
    seen = recorded(config)
    for path in attention.attentions(seen):
        found = attention.contributions(seen, path)
        torch.testing.assert_close(found.parts.sum(0) + found.bias, seen[f"{path}.output"].tensor, atol=1e-12, rtol=0)
        assert torch.allclose(found.share.sum(0), torch.ones(()).double())


def test_unscaled_scores_of_random_vectors_saturate_and_scaled_ones_do_not():
    found = attention.random_saturation()
    unscaled, scaled = found[::2], found[1::2]
    assert [one.d_k for one in scaled] == [16, 32, 64, 128] and all(one.scaled for one in scaled)
    assert [one.deviation for one in unscaled] == pytest.approx([math.sqrt(d) for d in (16, 32, 64, 128)], rel=0.05)
    assert [one.deviation for one in scaled] == pytest.approx([1] * 4, rel=0.05)
    spreads = [one.spread for one in unscaled]
    assert spreads == sorted(spreads, reverse=True) and spreads[-1] < 0.2
    assert min(one.spread for one in scaled) > 0.8
    assert found == attention.random_saturation()


def test_this_heads_own_scores_with_and_without_scaling():
    seen = recorded(SMALL)
    unscaled, scaled = attention.saturation(seen, FIRST, 1)
    assert unscaled.deviation == pytest.approx(scaled.deviation * math.sqrt(8))
    assert unscaled.largest > scaled.largest
    assert unscaled.spread < scaled.spread
    unmasked = attention.unscaled_weights(seen, FIRST, 1)
    assert torch.equal(unmasked.triu(1), torch.zeros_like(unmasked))


def test_wrong_masks_beside_the_right_one():
    seen = recorded(SMALL)
    found = attention.masks(seen, FIRST, 0)
    assert torch.equal(found.right, seen[f"{FIRST}.weights"].tensor[0])
    assert found.forbidden["right"].tolist() == [0] * 5
    assert (found.forbidden["zero"][:-1] > 0).all() and found.forbidden["zero"][-1] == 0
    assert found.total["zero"].tolist() == pytest.approx([1] * 5)
    assert (found.total["afterwards"][:-1] < 1).all() and found.forbidden["afterwards"].tolist() == [0] * 5


def test_the_products_add_up_to_the_raw_score():
    seen = recorded(SMALL)
    found = attention.products(seen, FIRST, 1, 3, 2)
    assert len(found) == 8
    assert sum(one.product for one in found) == pytest.approx(float(seen[f"{FIRST}.raw_scores"].tensor[1, 3, 2]))


@pytest.mark.parametrize("name", [name for name in READERS if kind_of(name)[2] > 1])
def test_the_heads_of_the_models_that_ship_do_different_things(name):
    shipped, tokenizer = checkpoints.load(name), Tokenizer.load(checkpoints.TOKENIZER)
    ids = torch.tensor([BOS, *(token.id for token in tokenizer.encode("The boy gave the dog a ball and the dog ran."))])
    seen = trace(shipped, *((ids, None) if shipped.config.architecture == "encoder" else (None, ids)))
    found = attention.measures(seen)
    assert len(found) == shipped.config.layers * shipped.config.heads
    place = "next" if shipped.config.architecture == "encoder" else "first"
    for measure in ("previous", place, "spread"):
        values = [getattr(one, measure) for one in found]
        assert max(values) - min(values) > 0.15, measure
    for path in attention.attentions(seen):
        for head in range(shipped.config.heads):
            unscaled, scaled = attention.saturation(seen, path, head)
            assert unscaled.spread <= scaled.spread and unscaled.largest >= scaled.largest
