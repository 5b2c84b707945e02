"""Who notices a change: feed-forward layers only their own token, causal stacks only what comes after it."""

import pytest
import torch

from explorer.analysis import gates, reach
from explorer.analysis.stream import last_stack, stages
from explorer.trace import trace
from tests.small import GRID, named, model, recorded, texts

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


@pytest.mark.parametrize("config", SOME, ids=named)
def test_a_neuron_that_is_off_takes_its_part_away_and_nothing_else_of_the_layer(config):
    plain = recorded(config)
    path = f"{last_stack(plain)}.layers.0.feed_forward"
    off = recorded(config, edits=gates.without(path, 7))
    part = plain[f"{path}.activated"].tensor[:, 7:8] * plain.parameters[f"{path}.w_2.weight"].detach()[:, 7]
    assert torch.allclose(off[f"{path}.output"].tensor + part, plain[f"{path}.output"].tensor, atol=1e-10)
    assert (off[f"{path}.activated"].tensor[:, 7] == 0).all()
    assert plain[f"{path}.activated"].tensor[:, 7].abs().sum() > 0 or config.activation == "relu"


def test_rectified_is_relu_in_every_layer():
    config = next(config for config in SOME if config.architecture == "encoder-decoder" and config.activation == "gelu")
    plain = recorded(config)
    cut = recorded(config, edits=gates.rectified(plain))
    paths = [path for path in cut if path.endswith(".activated")]
    assert len(paths) == 4
    for path in paths:
        hidden = cut[path.replace("activated", "hidden")].tensor
        assert torch.equal(cut[path].tensor, hidden.relu())
    assert not torch.equal(cut["logits"].tensor, plain["logits"].tensor)


def test_dropout_drops_about_its_share_and_the_same_for_a_seed():
    kept = gates.dropped(100_000, 0.05, seed=3)
    assert 0.94 < float(kept.double().mean()) < 0.96
    assert torch.equal(kept, gates.dropped(100_000, 0.05, seed=3))
    assert not torch.equal(kept, gates.dropped(100_000, 0.05, seed=4))
