"""Every chart on every kind of value and on awkward words: its specification is valid, and says what it should."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

from explorer.config import Config
from explorer.frames import frame
from explorer.trace import trace
from explorer.transformer import Transformer
from explorer.views import charts

AWKWARD = ["the", "the", " the", "it's", 'say "hi"', "\\", "\u2028", "</script>", "a.b", "[x]", "c:d", "한국어", "🤗"]


@pytest.fixture(scope="module")
def recorded():
    torch.manual_seed(0)
    config = Config("encoder-decoder", heads=2, layers=1, d_model=8, d_ff=16, vocabulary=50)
    return trace(Transformer(config).eval(), torch.arange(4, 9), torch.arange(4, 8))


def rows(spec):
    return [row for data in spec["datasets"].values() for row in data]


def finite(spec):
    json.dumps(spec, allow_nan=False)  # a bare NaN or Infinity would stop the browser
    return spec


def test_bars_keep_order_and_awkward_words():
    table = pd.DataFrame({"label": AWKWARD, "probability": np.linspace(0.3, 0.01, len(AWKWARD))})
    spec = finite(charts.bars(table).to_dict())
    assert [row["label"] for row in rows(spec)] == AWKWARD
    assert [row["place"] for row in rows(spec)] == list(range(len(AWKWARD)))
    assert [row["tone"] for row in rows(spec)] == [charts.BEST] + [charts.OTHERS] * (len(AWKWARD) - 1)
    written = json.dumps({key: part for key, part in spec.items() if key != "datasets"})
    assert not any(word in written for word in ("</script>", "it's", "한국어"))
    assert "scheme" not in written


def test_bars_of_one_of_equal_and_of_negative_numbers():
    for values in ([0.5], [0.0, 0.0], [-1.0, 2.0, -np.inf], [1e-9, 3e-9]):
        finite(charts.bars(pd.DataFrame({"label": "x", "probability": values})).to_dict())
    spec = charts.bars(pd.DataFrame({"label": ["a", "b"], "logit": [-1.0, 2.0]}), "logit").to_dict()
    assert spec["layer"][0]["encoding"]["color"]["scale"] == {"domain": [-2.0, 2.0], "domainMid": 0}


def test_distribution_of_every_value(recorded):
    for path, value in recorded.items():
        spec = finite(charts.distribution(frame(value)).to_dict())
        assert sum(row["count"] for row in rows(spec)) == int(torch.isfinite(value.tensor).sum()), path


def test_curves_end_in_their_name_and_number():
    table = pd.DataFrame({"step": [0, 1, 0, 1], "loss": [3.0, 2.0, 3.0, -2.5], "norm": ["pre", "pre", "post", "post"]})
    spec = finite(charts.curves(table, "step", "loss", "norm").to_dict())
    assert {row["end"] for row in rows(spec) if "end" in row} == {"pre  2.00", "post  −2.50"}
    assert "legend" not in json.dumps(spec["layer"][0]["encoding"]["color"]).replace('"legend": null', "")


def test_curves_over_positions_of_every_value(recorded):
    for path, value in recorded.items():
        table = frame(value).groupby(value.axes[0], as_index=False)["value"].max()
        if np.isfinite(table["value"].astype(float)).any():
            finite(charts.curves(table, value.axes[0], "value").to_dict())
        assert len(table) == value.tensor.shape[0], path


def test_what_cannot_be_drawn_is_said():
    empty = pd.DataFrame({"label": [], "probability": []})
    with pytest.raises(ValueError, match="no rows"):
        charts.bars(empty)
    with pytest.raises(ValueError, match="no column share; it has label, probability"):
        charts.bars(pd.DataFrame({"label": ["a"], "probability": [1]}), "share")
    with pytest.raises(ValueError, match="No finite number"):
        charts.distribution(pd.DataFrame({"value": [-np.inf, np.nan]}))


def test_the_names_of_lines_that_end_together_stand_apart():
    ends = pd.Series([0.25, 0.15, 0.16, 3.0])
    places = charts._apart(ends, 0.2)
    assert places.tolist() == pytest.approx([0.55, 0.15, 0.35, 3.0])
    lone = charts._apart(pd.Series([1.0]), 0.2)
    assert lone.tolist() == [1.0]
