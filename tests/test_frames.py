"""Every recorded value as a table."""

import numpy as np
import pandas as pd
import pytest
import torch

from explorer.config import Config
from explorer.frames import frame, statistics
from explorer.trace import Value, trace
from explorer.transformer import Transformer

WORDS = ["the", "the", "a.b", "c:d", "[x]", "don't"]


@pytest.fixture(scope="module")
def recorded():
    torch.manual_seed(0)
    config = Config("encoder-decoder", heads=2, layers=1, d_model=8, d_ff=16, vocabulary=50)
    return trace(Transformer(config).eval(), torch.arange(4, 10), torch.arange(4, 8))


def test_every_value_becomes_one_row_a_number_and_comes_back(recorded):
    for path, value in recorded.items():
        table = frame(value)
        axes = [axis for axis in value.axes if axis != "1"]
        assert [column for column in table if column != "masked"] == [*axes, "value"], path
        assert len(table) == value.tensor.numel()
        sizes = [size for size, axis in zip(value.tensor.shape, value.axes, strict=True) if axis != "1"]
        back = torch.full(sizes, 0, dtype=value.tensor.dtype)
        back[tuple(torch.from_numpy(table[axis].to_numpy().astype(int)) for axis in axes)] = torch.from_numpy(
            table["value"].to_numpy().astype(value.tensor.numpy().dtype)
        )
        assert torch.equal(back, value.tensor.reshape(sizes)), path


def test_types_are_compact(recorded):
    table = frame(recorded["decoder.layers.0.self_attention.weights"])
    assert {str(table[axis].dtype) for axis in ("head", "query", "key")} == {"uint8"}
    assert table["value"].dtype == np.float32
    assert frame(recorded["decoder.layers.0.self_attention.allowed"])["value"].dtype == bool
    assert frame(recorded["encoder.embedding.ids"])["value"].dtype.kind == "u"
    assert frame(Value(torch.zeros(2, 300), ("position", "vocabulary")))["vocabulary"].max() == 299


def test_masked_scores_keep_minus_infinity_and_say_so(recorded):
    table = frame(recorded["decoder.layers.0.self_attention.masked_scores"])
    assert (table["masked"] == (table["key"] > table["query"])).all()
    assert np.isneginf(table.loc[table["masked"], "value"]).all()


def test_words_are_data_and_equal_words_stay_apart(recorded):
    value = recorded["encoder.layers.0.self_attention.weights"]
    table = frame(value, {"query": WORDS, "key": WORDS})
    assert list(table) == ["head", "query", "key", "query_token", "key_token", "value"]
    assert (table["query_token"].astype(str) == [WORDS[at] for at in table["query"]]).all()
    assert table.groupby(["query", "query_token"], observed=True).ngroups == len(WORDS)


def test_labels_that_do_not_fit_are_refused_with_their_numbers(recorded):
    value = recorded["encoder.layers.0.self_attention.weights"]
    with pytest.raises(ValueError, match="5 labels for the 6 places of the axis query"):
        frame(value, {"query": WORDS[:5]})
    with pytest.raises(ValueError, match="no axis position"):
        frame(value, {"position": WORDS})


def test_statistics(recorded):
    found = statistics(Value(torch.tensor([[1.0, -torch.inf], [3.0, 5.0]]), ("query", "key")))
    assert found == {
        "shape": (2, 2),
        "least": 1.0,
        "largest": 5.0,
        "mean": 3.0,
        "deviation": pytest.approx(np.std([1, 3, 5])),
        "masked": 0.25,
    }
    assert statistics(Value(torch.full((2,), -torch.inf), ("key",)))["mean"] is None
    assert statistics(recorded["decoder.layers.0.self_attention.allowed"])["masked"] == pytest.approx(6 / 16)
    for path, value in recorded.items():
        assert all(x is None or pd.notna(x) for x in statistics(value).values() if not isinstance(x, tuple)), path
