"""The lens ends at the model's real output, in every architecture and norm order."""

import pytest
import torch

from explorer import checkpoints
from explorer.analysis import lens
from explorer.config import BOS, EOS, Config
from explorer.tokens import Tokenizer
from explorer.trace import trace
from tests.small import GRID, READERS, model, named, recorded, texts

SMALL = Config("decoder", "pre", 2, layers=2, d_model=16, d_ff=24, vocabulary=40)


@pytest.mark.parametrize("config", GRID[::2], ids=named)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_last_stage_is_the_real_output_bit_for_bit(config, dtype):
    seen = recorded(config, dtype=dtype)
    for place in range(len(seen["logits"].tensor)):
        assert torch.equal(lens.lens(seen, place).logits[-1], seen["logits"].tensor[place])


@pytest.mark.parametrize("config", GRID[::8], ids=named)
def test_every_stage_is_read_as_the_model_would_read_it(config):
    """Switch every later sublayer off: what the model then says is what the lens says."""
    seen = recorded(config)
    found = lens.lens(seen, 2)
    if config.norm == "post":  # the later norms would still norm
        last = seen[found.stages[1].path].tensor
        assert torch.allclose(found.logits[1], last[2] @ model(config).embedding.detach().T)
        return
    for number, stage in enumerate(found.stages):
        later = [f"{path.path.removesuffix('_residual.sum')}.output" for path in found.stages[number + 1 :]]
        cut = recorded(config, edits={path: [lambda value, _: value * 0] for path in later})
        assert torch.allclose(found.logits[number], cut["logits"].tensor[2], atol=1e-12), stage


def test_ranks_and_top_tokens():
    seen = recorded(SMALL)
    found = lens.lens(seen)
    ids, probabilities = found.top(3)
    assert found.position == 4 and ids.shape == probabilities.shape == (5, 3)
    assert (probabilities.diff() <= 0).all()
    assert found.rank(found.final)[-1] == 1
    for stage in range(5):
        order = found.logits[stage].argsort(descending=True).tolist()
        assert [int(found.rank(token)[stage]) for token in (0, 7)] == [order.index(0) + 1, order.index(7) + 1]


def test_the_grid_is_the_lens_at_every_position():
    seen = recorded(SMALL)
    found = lens.grid(seen)
    for place in range(5):
        one = lens.lens(seen, place)
        ids, probabilities = one.top(1)
        assert torch.equal(found.token[:, place], ids[:, 0])
        assert torch.equal(found.probability[:, place], probabilities[:, 0])
        assert torch.equal(found.rank[:, place], one.rank(one.final))


def test_an_edited_pass_is_read_to_its_own_end():
    seen = recorded(SMALL, edits={"decoder.norm.output": [lambda value, _: value + 1]})
    assert torch.equal(lens.lens(seen).logits[-1], seen["logits"].tensor[-1])


@pytest.mark.parametrize("name", checkpoints.available())
def test_the_lens_of_the_models_that_ship_ends_at_their_output(name):
    shipped = checkpoints.load(name)
    source, target = texts(shipped.config, padding=0)
    seen = trace(shipped, source, target)
    found = lens.lens(seen)
    assert torch.equal(found.logits[-1], seen["logits"].tensor[-1])
    assert torch.equal(lens.grid(seen).token[-1], seen["logits"].tensor.argmax(-1))


@pytest.mark.parametrize("name", READERS)
def test_the_prediction_of_the_models_that_ship_comes_about_through_depth(name):
    """The token that is first in the end is not at the entrance, and is much likelier in the end."""
    shipped, tokenizer = checkpoints.load(name), Tokenizer.load(checkpoints.TOKENIZER)
    if shipped.config.architecture == "encoder":
        before, after = (tokenizer.encode(text) for text in ("The girl is playing in the", "."))
        mask = tokenizer.encode(" [MASK]")
        ids, place = [BOS, *(token.id for token in (*before, *mask, *after)), EOS], len(before) + 1
        seen = trace(shipped, torch.tensor(ids), None)
    else:
        ids, place = [BOS, *(token.id for token in tokenizer.encode("Once upon a time there was a little"))], -1
        seen = trace(shipped, None, torch.tensor(ids))
    found = lens.lens(seen, place)
    ranks = found.rank(found.final)
    assert ranks[0] > 1 and ranks[-2] <= ranks[0] and ranks[-1] == 1
    assert found.probabilities[-1, found.final] > 10 * found.probabilities[0, found.final]
