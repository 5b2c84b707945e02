"""Neighbours, the map of the stream, parameters by part, waves, and what grows with the length."""

import math

import pytest
import torch

from explorer import checkpoints
from explorer.analysis import embedding
from explorer.config import Config
from explorer.tokens import Tokenizer
from explorer.trace import trace
from explorer.transformer import sinusoids
from tests.small import GRID, KINDS, READERS, model, named, recorded, texts


def small(architecture="decoder", norm="pre"):
    return Config(architecture, norm, 2, layers=2, d_model=16, d_ff=24, vocabulary=40)


def test_nearest_by_direction_and_with_the_lengths():
    table = torch.zeros(9, 2)
    table[4], table[5], table[6], table[7], table[0] = (
        torch.tensor(pair) for pair in ([1.0, 0], [0.5, 0.01], [3.0, 3.0], [-1.0, 0], [9.0, 0])
    )
    assert [found.id for found in embedding.nearest(table, 4, 2)] == [5, 6]
    by_dot = embedding.nearest(table, 4, 2, by="dot")
    assert [found.id for found in by_dot] == [6, 5]
    assert by_dot[0].dot == 3 and by_dot[0].cosine == pytest.approx(1 / math.sqrt(2))
    assert embedding.nearest(table, 4, 9)[-1].id == 7, "and neither itself nor a special token"
    with pytest.raises(ValueError, match="no token 9; the embedding has 9, from 0 to 8"):
        embedding.nearest(table, 9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_map_is_the_best_plane_and_the_same_each_time(kind):
    seen = recorded(small(*kind))
    found = embedding.plane(seen)
    flat = torch.stack([seen[stage.path].tensor for stage in found.stages]).flatten(0, 1)
    centred = flat - flat.mean(0)
    values = torch.linalg.eigvalsh(centred.mT @ centred)
    assert found.explained == pytest.approx([float(values[-1] / values.sum()), float(values[-2] / values.sum())])
    assert torch.allclose(found.basis @ found.basis.mT, torch.eye(2).double(), atol=1e-10)
    kept = found.points.square().sum() / centred.square().sum()
    assert float(kept) == pytest.approx(sum(found.explained))
    assert torch.equal(found.points, embedding.plane(recorded(small(*kind))).points)


def test_a_map_of_the_other_stack():
    seen = recorded(small("encoder-decoder"))
    assert embedding.plane(seen, "encoder").points.shape == (5, 7, 2)
    assert embedding.plane(seen).points.shape == (7, 5, 2)


def test_a_text_of_a_single_token_still_has_a_map():
    found = embedding.plane(trace(model(small()), None, torch.tensor([1])))
    assert found.points.shape == (5, 1, 2) and found.points.isfinite().all()
    off = {
        f"decoder.layers.{layer}.{name}.output": [lambda value, _: value * 0]
        for layer in (0, 1)
        for name in ("self_attention", "feed_forward")
    }
    still = embedding.plane(trace(model(small()), None, torch.tensor([1]), off))
    assert still.explained == (0, 0) and still.points.abs().max() < 1e-12


@pytest.mark.parametrize("config", GRID[::8], ids=named)
def test_every_parameter_is_counted_once(config):
    made = model(config)
    counts = embedding.parameters(made)
    assert sum(count.parameters for count in counts) == sum(p.numel() for p in made.parameters())
    feed_forward = [count for count in counts if count.part == "feed_forward"]
    assert len(feed_forward) == 2 * len(config.stacks)
    assert {count.parameters for count in feed_forward} == {16 * 24 * 2 + 24 + 16}
    assert [count.parameters for count in counts if count.part == "embedding"] == [40 * 16]
    attention = [count for count in counts if count.part.endswith("_attention")]
    assert len(attention) == embedding.attentions(config)
    assert {count.parameters for count in attention} == {4 * (16 * 16 + 16)}


def test_waves_are_the_models_positions():
    found = embedding.waves(16)
    assert found[0].wavelength == pytest.approx(2 * math.pi)
    assert found[-1].frequency == pytest.approx(10000 ** (-14 / 16))
    far = sinusoids(60, 16)[59]
    for wave in found:
        even, odd = wave.pair
        assert float(far[even]) == pytest.approx(math.sin(59 * wave.frequency), abs=1e-9)
        assert float(far[odd]) == pytest.approx(math.cos(59 * wave.frequency), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_what_grows_with_the_length_is_what_a_pass_holds(kind):
    config = small(*kind)
    made = model(config)
    row, longer = embedding.growth(made, [5, 10])
    source, target = texts(config, padding=0)
    seen = trace(made, None if source is None else source[:5], target)
    weights = [value.tensor for value in seen.select("*.weights").values()]
    assert row.all_scores == sum(value.numel() for value in weights)
    assert row.scores == weights[0][0].numel()
    assert row.stream == seen[f"{config.stacks[0]}.embedding.output"].tensor.numel()
    assert longer.parameters == row.parameters and longer.scores == 4 * row.scores and longer.stream == 2 * row.stream


@pytest.mark.parametrize("name", checkpoints.available())
def test_the_same_weights_serve_three_tokens_and_two_hundred(name):
    shipped = checkpoints.load(name)
    before = sum(p.numel() for p in shipped.parameters())
    generator = torch.Generator().manual_seed(0)
    for length in (3, 200):
        ids = torch.randint(4, shipped.config.vocabulary, (length,), generator=generator)
        source, target = (ids if stack in shipped.config.stacks else None for stack in ("encoder", "decoder"))
        assert trace(shipped, source, target)["logits"].tensor.shape == (length, shipped.config.vocabulary)
    assert sum(count.parameters for count in embedding.parameters(shipped)) == before


@pytest.mark.parametrize("name", READERS)
def test_words_of_like_meaning_lie_close_in_the_models_that_ship(name):
    """Spelt otherwise, used alike: animals beside a cat, places beside a park."""
    table, tokenizer = checkpoints.load(name).embedding, Tokenizer.load(checkpoints.TOKENIZER)
    for word, others in (
        (" cat", (" dog", " mouse", " bird", " rabbit", " bear")),
        (" park", (" garden", " beach", " kitchen", " school", " store", " pond", " village", " market", " forest")),
    ):
        (token,) = tokenizer.encode(word)
        likely = {piece.id for other in others for piece in tokenizer.encode(other)}
        found = embedding.nearest(table, token.id, 10)
        assert len(likely & {neighbour.id for neighbour in found}) >= 2
        assert found[0].cosine > 0.25
