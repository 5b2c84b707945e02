"""Layer norm by hand, batch norm and its padding, the stream's size, and gradients at the start."""

import pytest
import torch
from torch import nn

from explorer import checkpoints
from explorer.analysis import memory, norms
from explorer.analysis.stream import sublayers
from explorer.config import ARCHITECTURES, BOS, EOS, Config
from explorer.tokens import Tokenizer
from explorer.transformer import Transformer
from tests.small import GRID, KINDS, model, named, recorded, texts


def small(architecture, norm="pre"):
    return Config(architecture, norm, 2, layers=2, d_model=16, d_ff=24, vocabulary=40)


@pytest.mark.parametrize("config", GRID[::8], ids=named)
def test_by_hand_is_what_the_model_did(config):
    seen = recorded(config)
    for path in norms.norms(seen):
        found = norms.by_hand(seen, path, 2)
        assert torch.allclose(found.output, seen[f"{path}.output"].tensor[2], atol=1e-12)
        assert torch.allclose(found.normalised, seen[f"{path}.normalised"].tensor[2], atol=1e-12)
        assert abs(float(found.normalised.mean())) < 1e-12
        assert found.mean == pytest.approx(float(seen[f"{path}.mean"].tensor[2, 0]), abs=1e-12)


def test_both_norms_are_those_of_torch():
    x = torch.randn(7, 16, generator=torch.Generator().manual_seed(0)).double() * 3 + 1
    batch = nn.BatchNorm1d(16, eps=1e-5, affine=False).double().train()
    assert torch.allclose(norms.batch_norm(x, 1e-5), batch(x), atol=1e-12)
    assert torch.allclose(norms.layer_norm(x, 1e-5), nn.LayerNorm(16, elementwise_affine=False).double()(x), atol=1e-12)
    assert norms.batch_norm(x, 0).mean(0).abs().max() < 1e-12
    assert norms.layer_norm(x, 0).mean(-1).abs().max() < 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_padding_moves_batch_norm_and_not_layer_norm(kind):
    config = small(*kind)
    source, target = texts(config, padding=0)
    stack = config.stacks[-1]
    path = f"{stack}.layers.1.feed_forward_residual.sum"
    rows = norms.padded(model(config), source, target, path, (0, 3, 12))
    assert [row.padding for row in rows] == [0, 3, 12]
    assert rows[0].moved_by_batch.max() == 0
    for row in rows[1:]:
        assert row.batch.shape == row.layer.shape == rows[0].batch.shape
        assert row.moved_by_layer.max() < 1e-12
        assert row.moved_by_batch.min() > 0.01


def test_padding_a_source_for_the_encoders_half():
    config = small("encoder-decoder")
    rows = norms.padded(model(config), *texts(config, padding=0), "encoder.layers.0.feed_forward_residual.sum", (5,))
    assert rows[0].moved_by_layer.max() < 1e-12 and rows[0].batch.shape == (7, 16)


@pytest.mark.parametrize("kind", KINDS)
def test_sizes_through_depth(kind):
    seen = recorded(small(*kind))
    stack = small(*kind).stacks[-1]
    found = norms.sizes(seen, stack)
    per_layer = 3 if kind[0] == "encoder-decoder" else 2
    assert len(found) == (2 + 2 * per_layer if kind[1] == "pre" else 1 + 4 * per_layer)
    assert found[-1].normed and not found[0].normed
    for size in found:
        recorded_value = seen[size.path].tensor[3]
        assert float(size.rms[3]) == pytest.approx(float((recorded_value @ recorded_value / 16).sqrt()))
    ends = seen[found[-1].path].tensor
    assert torch.equal(ends, seen[f"{stack}.norm.output" if kind[1] == "pre" else found[-1].path].tensor)


def test_gradients_repeat_and_leave_the_random_state_alone():
    config = small("decoder")
    read = [(None, torch.tensor([1, 9, 5, 30])), (None, torch.tensor([1, 4]))]
    torch.manual_seed(5)
    before = torch.rand(1)
    torch.manual_seed(5)
    first = norms.gradients(config, read)
    assert torch.equal(torch.rand(1), before)
    assert first == norms.gradients(config, read)
    assert {(row.norm, row.layer, row.kind) for row in first} == {
        (norm, layer, kind)
        for norm in ("pre", "post")
        for layer in (0, 1)
        for kind in ("self_attention", "feed_forward")
    }
    with pytest.raises(ValueError, match="None of the 1 texts has a token to predict"):
        norms.gradients(config, [(None, torch.tensor([1]))])


def test_gradients_are_those_of_the_whole_batchs_mean_loss():
    config = small("decoder")
    ids = torch.tensor([1, 9, 5, 30])
    row = next(row for row in norms.gradients(config, [(None, ids)], seeds=(3,)) if row.kind == "feed_forward")
    torch.manual_seed(3)
    fresh = Transformer(config).eval()
    loss = -fresh(None, ids)[:-1].log()[range(3), ids[1:]].mean()
    loss.backward()
    layer = fresh.decoder.layers[0].feed_forward
    whole = torch.cat([layer.w_1.weight.grad.flatten(), layer.w_2.weight.grad.flatten()])
    assert row.rms == pytest.approx(float(whole.square().mean().sqrt()), rel=1e-4)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_norm_order_shapes_the_gradients_of_the_models_that_ship(architecture):
    """Xiong et al. 2020, at our depth: towards the output they fall with the norm first, and do not with it after."""
    config = Config(**checkpoints.card(checkpoints.WATCHED[architecture])["config"])
    tokenizer = Tokenizer.load(checkpoints.TOKENIZER)
    read = []
    for english, korean in list(zip(memory.sentences("en"), memory.sentences("ko"), strict=True))[:6]:
        source = torch.tensor([BOS, *(token.id for token in tokenizer.encode(english)), EOS])
        target = torch.tensor([BOS, *(token.id for token in tokenizer.encode(korean))])
        read.append((source if "encoder" in config.stacks else None, target if "decoder" in config.stacks else None))
    rows = norms.gradients(config, read, seeds=(0,))
    stack = config.stacks[-1]
    by_layer = {
        norm: [row.rms for row in rows if (row.norm, row.stack, row.kind) == (norm, stack, "feed_forward")]
        for norm in ("pre", "post")
    }
    assert by_layer["pre"] == sorted(by_layer["pre"], reverse=True)
    assert by_layer["post"][-1] / by_layer["post"][0] > 1.25 * by_layer["pre"][-1] / by_layer["pre"][0]
    assert by_layer["post"][-1] > 1.4 * by_layer["pre"][-1]


@pytest.mark.parametrize("config", GRID[::8], ids=named)
def test_a_sublayer_line_by_line(config):
    seen = recorded(config)
    order = list(seen)
    for sub in sublayers(seen):
        paths = norms.walk(seen, sub)
        assert [order.index(path) for path in paths] == sorted(order.index(path) for path in paths)
        lines = {path.rpartition(".")[2]: seen[path].tensor for path in paths if ".norm." not in path}
        assert torch.equal(lines["sum"], lines["input"] + lines["output"])
        read = lines["input" if config.norm == "pre" else "sum"]
        (normalised,) = (seen[path].tensor for path in paths if path.endswith("normalised"))
        assert torch.allclose(normalised, norms.layer_norm(read, config.epsilon), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_stream_is_a_sum_when_the_norm_comes_first(kind):
    seen = recorded(small(*kind))
    for stack in small(*kind).stacks:
        left = norms.unaccounted(seen, stack)
        assert left < 1e-12 if kind[1] == "pre" else left > 0.1
