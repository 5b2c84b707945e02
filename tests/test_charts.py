"""Every chart on every kind of value and on awkward words: its specification is valid, and says what it should.

A chart of the app has its looks made once: other numbers are put into what is there.
"""

import copy
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from streamlit.testing.v1 import AppTest

from explorer.config import Config
from explorer.frames import frame
from explorer.trace import trace
from explorer.transformer import Transformer
from explorer.views import charts, compare, embedding, heads, lessons, saturation, saving, terms
from explorer.views.plot import Plot
from explorer.words import Words

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
    spec = finite(charts.bars(table).chart().to_dict())
    assert [row["label"] for row in rows(spec)] == AWKWARD
    assert [row["place"] for row in rows(spec)] == list(range(len(AWKWARD)))
    assert [row["tone"] for row in rows(spec)] == [charts.BEST] + [charts.OTHERS] * (len(AWKWARD) - 1)
    written = json.dumps({key: part for key, part in spec.items() if key != "datasets"})
    assert not any(word in written for word in ("</script>", "it's", "한국어"))
    assert "scheme" not in written


def test_bars_of_one_of_equal_and_of_negative_numbers():
    for values in ([0.5], [0.0, 0.0], [-1.0, 2.0, -np.inf], [1e-9, 3e-9]):
        finite(charts.bars(pd.DataFrame({"label": "x", "probability": values})).chart().to_dict())
    spec = charts.bars(pd.DataFrame({"label": ["a", "b"], "logit": [-1.0, 2.0]}), "logit").chart().to_dict()
    ends = [{"expr": "-largest"}, {"expr": "largest"}]
    assert spec["layer"][0]["encoding"]["color"]["scale"] == {"domain": ends, "domainMid": 0}
    assert spec["params"] == [{"name": "largest", "value": 2.0}]


def test_curves_end_in_their_name_and_number():
    table = pd.DataFrame({"step": [0, 1, 0, 1], "loss": [3.0, 2.0, 3.0, -2.5], "norm": ["pre", "pre", "post", "post"]})
    spec = finite(charts.curves(table, "step", "loss", "norm").chart().to_dict())
    assert {row["end"] for row in rows(spec) if "end" in row} == {"pre  2.00", "post  −2.50"}
    assert "legend" not in json.dumps(spec["layer"][0]["encoding"]["color"]).replace('"legend": null', "")


def test_curves_over_positions_of_every_value(recorded):
    for path, value in recorded.items():
        table = frame(value).groupby(value.axes[0], as_index=False)["value"].max()
        if np.isfinite(table["value"].astype(float)).any():
            finite(charts.curves(table, value.axes[0], "value").chart().to_dict())
        assert len(table) == value.tensor.shape[0], path


def test_what_cannot_be_drawn_is_said():
    empty = pd.DataFrame({"label": [], "probability": []})
    with pytest.raises(ValueError, match="no rows"):
        charts.bars(empty)
    with pytest.raises(ValueError, match="no column share; it has label, probability"):
        charts.bars(pd.DataFrame({"label": ["a"], "probability": [1]}), "share")
    with pytest.raises(ValueError, match="No finite number"):
        charts.bars(pd.DataFrame({"label": ["a", "b"], "probability": [-np.inf, np.nan]}))


def test_the_names_of_lines_that_end_together_stand_apart():
    assert charts._apart([0.25, 0.15, 0.16, 3.0], 0.2) == pytest.approx([0.55, 0.15, 0.35, 3.0])
    assert charts._apart([1.0], 0.2) == [1.0]


def curve(numbers, words):
    table = pd.DataFrame({"at": [0, 1] * 2, words("layer"): numbers[:4], "norm": [words("norm.pre")] * 2 + ["b"] * 2})
    return charts.curves(table, "at", words("layer"), "norm")


def drawn_terms(numbers, words):
    return terms.chart(terms.table([SimpleNamespace(value=one) for one in numbers]), words)


def parts(numbers):
    return [
        SimpleNamespace(name=name, multiplied_whole=int(one), multiplied_anew=1)
        for name, one in zip(("keys", "attention"), numbers, strict=False)
    ]


# Each chart of the app from some numbers, six at least, of which none is below zero, in a language.
PLOTS = {
    "differences": lambda numbers, words: compare.differences(
        [(word, -one) for word, one in zip(AWKWARD, numbers[:4], strict=False)], words("compare.difference")
    ),
    "curves": curve,
    "terms": drawn_terms,
    "wave": lambda numbers, words: embedding.wave(np.resize(numbers, 256).tolist(), len(numbers), 2, words),
    "wavelengths": lambda numbers, words: embedding.wavelengths((numbers + 1).tolist(), 2, words),
    "plane": lambda numbers, words: embedding.plane(
        np.resize(numbers, (3, 4, 2)), AWKWARD[:4], int(numbers[0]) % 3, 1, [2], words
    ),
    "losses": lambda numbers, words: embedding.losses(
        [(64 * at, 64 * at + 63, one) for at, one in enumerate(numbers.tolist())], 128, words
    ),
    "strung": lambda numbers, words: embedding.strung(
        [(at, 5.0 * at, one) for at, one in enumerate(numbers[:5].tolist(), 1)], words
    ),
    "shares": lambda numbers, words: heads.shares((numbers[:4] - 1).tolist(), int(numbers[0]) % 4, words),
    "one query": lambda numbers, words: saturation.one_query(numbers, numbers, AWKWARD[: len(numbers)], words),
    "by position": lambda numbers, words: lessons.by_position({words("norm.pre"): [None, *numbers.tolist()]}, words),
}


@pytest.mark.parametrize("kind", PLOTS)
def test_other_numbers_take_the_looks_that_are_there(kind, monkeypatch):
    one, other = np.array([0.0, 1.5, 2.0, 0.5, 4.0, 3.0]), np.array([1.0, 2.5, 9.0, 0.25, 2.0, 7.0, 1.0, 8.0])
    words = Words("en")
    first = PLOTS[kind](one, words)
    written = copy.deepcopy(first.specification)
    finite(first.chart().to_dict())
    with monkeypatch.context() as patched:  # neither is a chart made, nor is one checked
        patched.setattr(charts.alt.Chart, "__init__", lambda *_, **__: pytest.fail("A chart is made again."))
        second = PLOTS[kind](other, Words("en"))
        drawn = second.filled()
    assert second.specification is first.specification and written == first.specification
    assert "datasets" not in drawn and {**drawn, "params": 0} == {**first.filled(), "params": 0}
    before, after = (json.dumps(one.chart().to_dict()["datasets"]) for one in (first, second))
    assert before != after
    korean = PLOTS[kind](one, Words("ko"))
    assert finite(korean.chart().to_dict())["layer"] and finite(second.chart().to_dict())["layer"]
    if kind != "shares":  # which has no words but those of its rows
        assert korean.specification != first.specification


def test_titles_series_and_counts_do_not_share_their_looks():
    table = pd.DataFrame({"a": [0, 1], "b": [1.0, 2.0], "name": ["x", "y"]})
    looks = [
        charts.curves(table, "a", "b"),
        charts.curves(table, "a", "b", "name"),
        charts.curves(table[::-1], "a", "b", "name"),
        charts.curves(table, "b", "a", "name"),
        charts.curves(table, "a", "b", "name", height=100),
        *(charts.bars(table[:count], value, "name") for count in (1, 2) for value in ("a", "b")),
        *(saving.multiplications(parts(numbers), Words("en")) for numbers in ([1], [1, 2])),
    ]
    made = [json.dumps(one.specification) for one in looks]
    assert len(set(made)) == len(made)


def test_a_parameter_needs_its_number():
    lacking = Plot({"mark": "bar", "params": [{"name": "largest"}]}, {}, {"most": 1.0})
    with pytest.raises(KeyError, match="largest"):
        lacking.filled()


def test_the_app_sends_the_tables_and_leaves_the_looks_alone():
    def page():
        import streamlit as st

        from explorer.views.components.plot import plot

        plot(st.session_state.drawn, key="drawn")

    drawn = PLOTS["one query"](np.array([0.0, 0.5, 0.25]), Words("en"))
    before = copy.deepcopy(drawn.specification)
    app = AppTest.from_function(page)
    app.session_state.drawn = drawn
    (sent,) = app.run().get("vega_lite_chart")
    assert not app.exception and drawn.specification == before
    spec = json.loads(sent.proto.spec)
    assert {one["name"]: one["value"] for one in spec["params"]} == drawn.numbers and "datasets" not in spec
    ((name, rows),) = [(one.name, pa.ipc.open_stream(one.data.data).read_pandas()) for one in sent.proto.datasets]
    assert name == spec["data"]["name"] == "keys"
    pd.testing.assert_frame_equal(rows, pd.DataFrame(drawn.tables["keys"]), check_dtype=False)
