"""Who notices a change: feed-forward layers only their own token, causal stacks only what comes after it."""

import pytest
import torch

from explorer.analysis import dropout, reach
from explorer.analysis.stream import last_stack, stages
from explorer.trace import trace
from tests.small import GRID, model, named, recorded, texts

SOME = [config for config in GRID if config.heads == 4]


@pytest.mark.parametrize("config", SOME, ids=named)
def test_feed_forward_does_not_see_the_others_and_attention_does(config):
    made, read = model(config), texts(config, padding=0)
    plain = trace(made, *read)
    layer = f"{last_stack(plain)}.layers.1"
    alone = reach.others_turned(made, *read, plain, f"{layer}.feed_forward", 3)
    assert (alone.difference, alone.unchanged, alone.of) == (0, config.d_model, config.d_model)
    assert reach.others_turned(made, *read, plain, f"{layer}.self_attention", 3).difference > 1e-6


@pytest.mark.parametrize("config", SOME, ids=named)
def test_a_later_token_changes_nothing_before_it_unless_the_stack_reads_both_ways(config):
    made, (source, target) = model(config), texts(config, padding=0)
    before = trace(made, source, target)
    ids = source if config.architecture == "encoder" else target
    other = torch.tensor(reach.replaced(ids.tolist(), 3, (int(ids[3]) + 1) % config.vocabulary or 1))
    after = trace(made, *((other, target) if config.architecture == "encoder" else (source, other)))
    found = reach.spread(before, after)
    assert [stage.path for stage in found.stages] == [stage.path for stage in stages(before)]
    causal = config.architecture != "encoder"
    assert found.equal[:, :3].all() == causal
    assert (found.difference[1:, 3:] > 0).all()
    if causal:
        assert torch.equal(before["logits"].tensor[:3], after["logits"].tensor[:3])


def test_texts_of_two_lengths_are_not_compared():
    config = next(config for config in SOME if config.architecture == "decoder")
    made, (_, target) = model(config), texts(config)
    with pytest.raises(ValueError, match="5 and 4"):
        reach.spread(trace(made, None, target), trace(made, None, target[:4]))


@pytest.mark.parametrize("config", SOME[::2], ids=named)
def test_dropout_drops_its_share_wherever_training_does_and_the_same_for_a_seed(config):
    plain = recorded(config)
    draw = dropout.edits(plain, seed=3)
    kinds = ("Embedding", "MultiHeadAttention", "FeedForward")
    dropping = [path for path, module in model(config).named_modules() if type(module).__name__ in kinds]
    assert set(draw) == {f"{path}.output" for path in dropping}
    path = f"{last_stack(plain)}.embedding.output"
    dropped, again = (recorded(config, edits=edits)[path].tensor for edits in (draw, dropout.edits(plain, seed=3)))
    assert torch.equal(dropped, again)
    kept = dropped != 0
    assert torch.allclose(dropped[kept] * (1 - config.dropout), plain[path].tensor[kept])
    assert 0 < int((~kept).sum()) < 0.3 * kept.numel()
