"""Probe, gate, compose; what fires a neuron and what it promotes."""

import pytest
import torch

from explorer import checkpoints
from explorer.analysis import attribution, memory
from explorer.analysis.stream import last_stack
from explorer.config import BOS, EOS, Config
from explorer.tokens import Tokenizer
from explorer.trace import trace
from tests.small import GRID, KINDS, model, named, recorded

SMALL = Config("decoder", "pre", 2, layers=2, d_model=16, d_ff=24, vocabulary=40)
LAYER = "decoder.layers.1.feed_forward"


@pytest.mark.parametrize("config", GRID[::4], ids=named)
def test_probe_gate_and_compose_are_what_the_layer_did(config):
    seen = recorded(config)
    path = f"{last_stack(seen)}.layers.1.feed_forward"
    found = memory.probe(seen, path, 3)
    assert torch.allclose(found.dot + found.bias, found.hidden, atol=1e-12)
    row = seen.parameters[f"{path}.w_1.weight"].detach()[5]
    assert torch.allclose(found.cosine[5], row @ found.x / row.norm() / found.x.norm())
    opened = memory.gate(seen, path)
    assert torch.equal(getattr(opened, config.activation), seen[f"{path}.activated"].tensor)
    assert opened.used == config.activation
    assert torch.allclose(opened.open, (opened.relu != 0).double().mean(-1))
    mixed = memory.compose(seen, path, 3)
    assert torch.allclose(mixed.parts.sum(0) + mixed.bias, seen[f"{path}.output"].tensor[3], atol=1e-12)
    assert (mixed.size[mixed.order].diff() <= 0).all()


def test_gelu_leaks_a_little_of_what_relu_shuts():
    opened = memory.gate(recorded(SMALL), LAYER)
    assert opened.gelu.min() > -0.17005
    assert ((opened.leak > 0) & (opened.leak < 0.5)).all()
    assert (opened.relu >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_each_token_is_alone_in_the_feed_forward_layer(kind):
    """Change every other token's vector at its entrance, and this one's output stays the same, bit for bit."""
    config = Config(*kind, 2, layers=2, d_model=16, d_ff=24, vocabulary=40)
    plain = recorded(config)
    path = f"{last_stack(plain)}.layers.1.feed_forward"
    entrance = memory.read_by(plain, f"{path}.hidden")

    def others(value, _):
        changed = value + 3
        changed[2] = value[2]
        return changed

    moved = recorded(config, edits={entrance: [others]})
    assert torch.equal(moved[f"{path}.output"].tensor[2], plain[f"{path}.output"].tensor[2])
    assert not torch.allclose(moved[f"{path}.output"].tensor[1], plain[f"{path}.output"].tensor[1])


def test_the_tokens_that_fire_a_neuron_most():
    small = model(SMALL)
    read = [(None, [1, 5, 9]), (None, [1, 7, 20, 30])]
    found = memory.firing(small, read, LAYER)
    assert found.activated.shape == (7, 24)
    first, *rest = found.strongest(4, 7)
    recorded_value = trace(small, None, torch.tensor(read[first.text][1]))[f"{LAYER}.activated"].tensor[first.place, 4]
    assert first.value == recorded_value == found.activated[:, 4].max()
    assert [one.value for one in (first, *rest)] == sorted((one.value for one in (first, *rest)), reverse=True)


def test_the_bundled_sentences_are_pairs_that_a_model_can_read():
    english, korean = memory.sentences("en"), memory.sentences("ko")
    assert len(english) == len(korean) == len(set(english)) == len(set(korean)) == 60
    assert all(line.isascii() and line.strip() == line for line in english)
    assert all(any("가" <= letter <= "힣" for letter in line) for line in korean)
    tokenizer = Tokenizer.load(checkpoints.TOKENIZER)
    assert max(len(tokenizer.encode(line)) for line in (*english, *korean)) < 60
    with pytest.raises(ValueError, match="no sentences in 'fr'; choose one of en, ko"):
        memory.sentences("fr")


def test_the_value_side_is_direct_up_to_the_last_norms_scale():
    """Norm first: one unit more of a neuron moves each logit by effect / sigma, with the scale held."""
    seen = recorded(SMALL)
    found = memory.value(seen, LAYER, 6)
    sigma = (seen["decoder.norm.variance"].tensor[3] + SMALL.epsilon).sqrt()
    activated = seen[f"{LAYER}.activated"].tensor[3, 6]
    for token in (0, 7, 39):
        part = attribution.neurons(seen, LAYER, 3, token)[6]
        assert float(part) == pytest.approx(float(found.effect[token] / sigma * activated), abs=1e-12)
    assert found.reading == "direct"
    ids, effects = found.promoted(3)
    assert effects[0] == found.effect.max() and int(ids[0]) == int(found.effect.argmax())
    assert found.suppressed(3)[1][0] == found.effect.min()


@pytest.mark.parametrize("kind", KINDS)
def test_where_the_value_side_is_not_direct(kind):
    seen = recorded(Config(*kind, 2, layers=2, d_model=16, d_ff=24, vocabulary=40))
    direct = {"pre": "direct", "post": "normed-again"}[kind[1]]
    assert memory.value(seen, f"{last_stack(seen)}.layers.0.feed_forward", 1).reading == direct
    if kind[0] == "encoder-decoder":
        assert memory.value(seen, "encoder.layers.0.feed_forward", 1).reading == "other-stack"


@pytest.mark.parametrize("name", ["decoder-pre-4", "encoder-decoder-post-4"])
def test_a_model_that_ships_reads_the_bundled_sentences(name):
    shipped, tokenizer = checkpoints.load(name), Tokenizer.load(checkpoints.TOKENIZER)
    pairs = []
    for english, korean in list(zip(memory.sentences("en"), memory.sentences("ko"), strict=True))[:6]:
        source = [BOS, *(token.id for token in tokenizer.encode(english)), EOS]
        target = [BOS, *(token.id for token in tokenizer.encode(korean))]
        pairs.append((source if "encoder" in shipped.config.stacks else None, target))
    path = f"{shipped.config.stacks[-1]}.layers.1.feed_forward"
    found = memory.firing(shipped, pairs, path)
    assert len(found.activated) == sum(len(target) for _, target in pairs)
    assert found.activated.isfinite().all()
