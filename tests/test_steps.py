"""The table of one attention's steps: its numbers are the trace's, its rows say what they leave out."""

import json

import numpy as np
import pytest
import torch

from explorer import checkpoints
from explorer.analysis.attention import attentions
from explorer.config import ARCHITECTURES, BOS
from explorer.trace import trace
from explorer.views.components import steps
from tests.small import GRID, named, recorded


@pytest.mark.parametrize("config", GRID[::2], ids=named)
def test_every_number_is_the_traces(config):
    seen = recorded(config, dtype=torch.float32)
    for path in attentions(seen):
        place, head = 2, config.heads - 1
        found = steps.table(seen, path, head, place)
        keys = seen[f"{path}.weights"].tensor.shape[-1]
        assert found.rows == list(range(keys)) and not found.gaps
        for name, part in (("keys", found.keys), ("values", found.values)):
            assert np.array_equal(part, seen[f"{path}.{name}"].tensor[head])
        assert np.array_equal(found.query, seen[f"{path}.queries"].tensor[head, place])
        assert np.array_equal(found.output, seen[f"{path}.heads"].tensor[head, place])
        assert np.allclose((found.keys * found.query).sum(1), found.numbers[:, 0], atol=1e-4)
        assert np.allclose(found.numbers[:, 3] @ found.values, found.output, atol=1e-5)
        for at, name in enumerate(("raw_scores", "scores", "masked_scores", "weights")):
            assert np.array_equal(found.numbers[:, at], seen[f"{path}.{name}"].tensor[head, place])
        weight, bias = (seen.parameters[f"{path}.w_k.{name}"].detach() for name in ("weight", "bias"))
        part = slice(head * config.d_k, (head + 1) * config.d_k)
        assert np.allclose(found.read @ weight[part].numpy().T + bias[part].numpy(), found.keys, atol=1e-4)


@pytest.mark.parametrize("place", (0, 60, 255))
def test_a_long_text_leaves_nothing_out_unsaid(place):
    model = checkpoints.load("decoder-pre-4")
    ids = torch.randint(4, model.config.vocabulary, (256,), generator=torch.Generator().manual_seed(1))
    ids[0] = BOS
    seen = trace(model, None, ids)
    path = "decoder.layers.1.self_attention"
    found = steps.table(seen, path, 2, place, keep=[place, 200])
    weights = seen[f"{path}.weights"].tensor[2, place]
    assert {0, place, 200, int(weights.argmax())} <= set(found.rows) and len(found.rows) <= 2 * steps.MOST
    covered = sorted([*found.rows, *(key for gap in found.gaps for key in range(gap.first, gap.last + 1))])
    assert covered == list(range(256))
    assert float(weights[found.rows].sum()) + sum(gap.weight for gap in found.gaps) == pytest.approx(1, abs=1e-5)
    assert sum(gap.masked for gap in found.gaps) == sum(key > place for key in range(256) if key not in found.rows)
    assert all(gap.last > gap.first for gap in found.gaps if gap.first > 0 and gap.last < 255)


def test_the_message_is_read_back():
    seen = recorded(GRID[0], dtype=torch.float32)
    found = steps.table(seen, attentions(seen)[0], 0, 1)
    sent = steps.message(found, {"alt": "한국어"})
    length = int.from_bytes(sent[:4], "little")
    header = json.loads(sent[4 : 4 + length])
    numbers = np.frombuffer(sent[4 + length :], "<f4")
    assert header["alt"] == "한국어" and length % 4 == 0
    assert sum(header["parts"].values()) == len(numbers)
    assert np.array_equal(numbers[-found.numbers.size :].reshape(-1, 4), found.numbers)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_cell_is_written_and_read(architecture):
    seen = recorded(next(config for config in GRID if config.architecture == architecture and config.heads == 2))
    for path in attentions(seen):
        for name in steps.STEPS:
            cell = steps.path_of(seen, path, name)
            index = tuple(min(1, size - 1) for size in seen[cell].tensor.shape)
            text, head, query = steps.write_cell(seen, path, cell, index)
            assert steps.read_cell(seen, path, head or 0, query or 0, text) == (cell, index)
        assert steps.write_cell(seen, path, f"{path}.concat", (0, 0)) is None
        for bad in ("", "keys", "keys,1", "keys,1,999", "keys,x,1", "weights,-1", "allowed,0", "weights,1,1"):
            assert steps.read_cell(seen, path, 0, 0, bad) is None


def test_a_head_that_is_not_there():
    seen = recorded(GRID[0])
    with pytest.raises(IndexError, match="1 heads and .* query 99"):
        steps.table(seen, attentions(seen)[0], 0, 99)
