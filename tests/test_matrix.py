"""What the matrix component sends: read back as the browser does, and held against the trace."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from explorer.config import Config
from explorer.trace import Value, trace
from explorer.transformer import Transformer
from explorer.views.components import matrix as component
from explorer.views.components.matrix import BYTES, payload, valid

MASKED = object()


@pytest.fixture(scope="module")
def recorded():
    torch.manual_seed(0)
    config = Config("encoder-decoder", heads=2, layers=1, d_model=8, d_ff=16, vocabulary=50)
    return trace(Transformer(config).eval(), torch.arange(4, 11), torch.arange(4, 8))


def part(header, cells, name):
    at, size, item = header["parts"][name]
    kind = {"cells": "i", "window": "i"}.get(name, "u")
    return np.frombuffer(cells, f"<{kind}{item}", size, at)


def read(header, cells):
    """(panel, row, column) -> number or MASKED, for each cell of the grid."""
    panels, tall, wide = header["grid"]
    down, across = header["group"]
    numbers = iter(part(header, cells, "cells"))
    places = iter(part(header, cells, "places")) if "places" in header["parts"] else None
    count = header.get("masks", 0)
    bits = np.unpackbits(part(header, cells, "mask"), bitorder="little") if count else None
    found = {}
    for panel, row, column in np.ndindex(panels, tall, wide):
        cell = row * wide + column + (panel * tall * wide if count > 1 else 0)
        if count and bits[cell]:
            found[panel, row * down, column * across] = MASKED
            continue
        place = int(next(places)) if places else 0
        found[panel, row * down + place // across, column * across + place % across] = (
            next(numbers) / 10 ** header["digits"]
        )
    assert next(numbers, None) is None
    return found


def scale_of(path, value):
    return {"weights": "weight", "queries": "query", "keys": "key", "values": "value"}.get(
        path.rpartition(".")[2], "mask" if value.tensor.dtype == torch.bool else "signed"
    )


def test_every_value_comes_out_as_it_went_in(recorded):
    for path, value in recorded.items():
        header, cells = payload(value, scale_of(path, value))
        json.dumps(header, allow_nan=False)
        found = read(header, cells)
        tensor = value.tensor.double()
        assert len(found) == tensor.numel(), path
        flat = dict(zip(np.ndindex(*header["shape"]), tensor.flatten().tolist(), strict=True))
        for place, number in found.items():
            if number is MASKED:
                assert flat[place] in (-np.inf, 0.0)
            else:
                assert number == pytest.approx(flat[place], abs=0.5 * 10 ** -header["digits"] + 1e-12), (path, place)
        assert header["digits"] >= (3 if value.tensor.is_floating_point() else 0)


def test_small_numbers_get_more_decimals_and_large_ones_stay_exact():
    header, _ = payload(Value(torch.tensor([[0.00123, -0.004]]), ("query", "d_model")))
    assert header["digits"] == 5
    tensor = torch.tensor([[1234.5678, -40.0]], dtype=torch.float64)
    header, cells = payload(Value(tensor, ("query", "d_model")))
    assert header["item"] == 4
    assert list(read(header, cells).values()) == [1234.568, -40.0]


def test_masked_cells_are_those_that_are_not_allowed(recorded):
    path = "decoder.layers.0.self_attention."
    header, cells = payload(recorded[path + "weights"], "weight", allowed=recorded[path + "allowed"].tensor)
    masked = {place for place, number in read(header, cells).items() if number is MASKED}
    assert masked == {(h, q, k) for h in range(2) for q in range(4) for k in range(q + 1, 4)}
    assert header["masks"] == 1
    infinite, more = payload(recorded[path + "masked_scores"])
    assert masked == {place for place, number in read(infinite, more).items() if number is MASKED}


def test_masks_may_differ_by_panel():
    allowed = torch.tensor([[[True, False]], [[True, True]]])
    header, cells = payload(Value(torch.ones(2, 1, 2), ("head", "query", "key")), "weight", allowed=allowed)
    assert header["masks"] == 2
    assert [number is MASKED for number in read(header, cells).values()] == [False, True, False, False]


def test_what_is_no_number_is_marked():
    value = Value(torch.tensor([[torch.nan, torch.inf, 1.0]]), ("query", "d_model"))
    header, cells = payload(value)
    assert list(part(header, cells, "cells")) == [-(2**15) + 1, 2**15 - 1, 1000]
    json.dumps(header, allow_nan=False)


@pytest.mark.parametrize(
    ("shape", "axes", "causal"),
    [
        ((8, 128, 128), ("head", "query", "key"), True),
        ((8, 128, 128), ("head", "query", "key"), False),
        ((8, 256, 256), ("head", "query", "key"), False),
        ((1, 256, 256), ("head", "query", "key"), True),
        ((4, 256, 30), ("head", "query", "key"), False),
        ((256, 4096), ("position", "vocabulary"), False),
        ((4096, 128), ("vocabulary", "d_model"), False),
        ((40, 512), ("position", "d_ff"), False),
    ],
)
def test_a_grouped_matrix_shows_the_largest_and_sends_a_window(shape, axes, causal):
    torch.manual_seed(1)
    tensor = torch.randn(shape)
    allowed = torch.ones(shape[-2:], dtype=torch.bool).tril() if causal else None
    chosen = tuple(size // 2 for size in shape)
    header, cells = payload(Value(tensor, axes), allowed=allowed, chosen=chosen)
    assert len(cells) <= BYTES + 6_000
    down, across = header["group"]
    full = tensor.reshape(header["shape"])
    if allowed is not None:
        full = full.masked_fill(~allowed, 0)
    for (panel, row, column), number in read(header, cells).items():
        top, left = row // down * down, column // across * across
        group = full[panel, top : top + down, left : left + across]
        if number is not MASKED:
            assert abs(number) == pytest.approx(group.abs().max().item(), abs=6e-4)
            assert number == pytest.approx(full[panel, row, column].item(), abs=6e-4)
    if down * across == 1:
        return
    panel, top, left, tall, wide = header["window"]
    window = part(header, cells, "window").reshape(tall, wide) / 10 ** header["digits"]
    inside = full[panel, top : top + tall, left : left + wide].numpy()
    shown = window > -32
    assert np.abs(window - inside)[shown].max() <= 6e-4
    assert top <= chosen[-2] < top + tall and left <= chosen[-1] < left + wide
    if len(shape) == 3:
        assert panel == chosen[0]


def test_a_click_stays_under_60_kb():
    for tokens in (32, 43, 44, 128, 256):
        words = ["⟨bos⟩", *["·because"] * (tokens - 1)]
        value = Value(torch.rand(8, tokens, tokens), ("head", "query", "key"))
        header, cells = payload(value, "weight", rows=words, columns=list(words), focus=1, chosen=(1, 2, 3))
        size = len(json.dumps(header, ensure_ascii=False).encode()) + len(cells)
        assert size < 58_000, tokens


def test_lines_keep_what_is_large_and_count_the_rest():
    torch.manual_seed(0)
    tensor = torch.randn(2, 9, 9).mul(2).softmax(-1)
    header, cells = payload(Value(tensor, ("head", "query", "key")), "weight", mode="lines", least=0.2)
    places = zip(*(part(header, cells, name) for name in ("panel", "row", "column")), strict=True)
    assert {tuple(map(int, place)) for place in places} == set(map(tuple, (tensor >= 0.2).nonzero().tolist()))
    assert header["links"] == int((tensor >= 0.2).sum()) and header["possible"] == 162
    header, _ = payload(Value(torch.full((8, 64, 64), 1 / 8), ("head", "query", "key")), "weight", mode="lines")
    assert header["links"] == header["possible"]


def test_labels_and_masks_that_do_not_fit_are_refused():
    value = Value(torch.zeros(2, 3), ("query", "key"))
    with pytest.raises(ValueError, match="2 column labels for 3 columns"):
        payload(value, columns=["a", "b"])
    with pytest.raises(ValueError, match=r"mask has shape \(3, 2\)"):
        payload(value, allowed=torch.ones(3, 2, dtype=torch.bool))
    with pytest.raises(ValueError, match="choose one of weight"):
        payload(value, "rainbow")
    with pytest.raises(ValueError, match="one to three axes"):
        payload(Value(torch.zeros(1, 1, 1, 1), ("a", "b", "c", "d")))


@pytest.mark.parametrize("cell", [None, 3, "0", [0], [0, 3], [-1, 0], [0, True], [0, 1.0], {"cell": 1}, [0, 1, 2]])
def test_a_choice_that_does_not_exist_is_dropped(cell):
    assert valid(cell, (2, 3)) is None


def test_a_choice_that_exists_is_kept():
    assert valid([1, 2], (2, 3)) == (1, 2)


@pytest.fixture
def clicked(monkeypatch):
    """`clicked(value, click, on_choose)` mounts a matrix and reports a click, as a browser does, to its callback."""
    kept, state = {}, {}
    monkeypatch.setattr(component, "mount", lambda *_: None)
    monkeypatch.setattr(component, "_picture", lambda **given: kept.update(given))
    monkeypatch.setattr(component.st, "session_state", state)

    def click(value, said, on_choose=None, again=False):
        if not again:
            component.matrix(
                value, name="Weights", path="weights", scale="weight", key="map", chosen=(0, 1, 1), on_choose=on_choose
            )
        if said is not None:
            state["map"] = SimpleNamespace(click=said)
        kept["on_click_change"]()
        length = int.from_bytes(kept["data"][:4], "little")
        return json.loads(kept["data"][4 : 4 + length])

    return click


WEIGHTS = Value(torch.eye(4)[None], ("head", "query", "key"))


def test_a_click_is_told_once_and_the_page_says_what_is_chosen(clicked):
    found = []
    header = clicked(WEIGHTS, {"number": 7, "cell": [0, 3, 2]}, found.append)
    assert found == [(0, 3, 2)]
    assert (header["chosen"], header["heard"], header["clickable"]) == ([0, 1, 1], None, True)
    clicked(WEIGHTS, {"number": 7, "cell": [0, 3, 2]}, found.append, again=True)
    assert found == [(0, 3, 2)]
    header = clicked(WEIGHTS, {"number": 8, "cell": [0, 3, 2]}, found.append)
    assert found == [(0, 3, 2)] * 2 and header["heard"] == 7
    assert clicked(WEIGHTS, None, found.append)["heard"] == 8


@pytest.mark.parametrize(
    "said", [None, "x", {}, {"cell": [0, 1, 1]}, {"number": "1", "cell": [0, 1, 1]}, {"number": 1}]
)
def test_what_is_no_click_does_nothing(clicked, said):
    clicked(WEIGHTS, said, lambda cell: pytest.fail(f"{cell} was not clicked"))


@pytest.mark.parametrize("cell", [[0, 4, 0], [0, 0], [0, -1, 0], None, "0,1,1", [[0], 1, 1], [0, 1.0, 1]])
def test_a_click_on_a_cell_that_is_not_there_does_nothing(clicked, cell):
    clicked(WEIGHTS, {"number": 1, "cell": cell}, lambda found: pytest.fail(f"{found} is no cell"))


def test_a_matrix_without_a_callback_is_there_to_be_read(clicked):
    header = clicked(WEIGHTS, {"number": 1, "cell": [0, 1, 1]})
    assert not header["clickable"] and "Enter" not in header["alt"]


def test_both_languages_have_the_same_words():
    english, korean = component.WORDS["en"], component.WORDS["ko"]
    assert english.keys() == korean.keys()
    for name in ("axes", "scales"):
        assert english[name].keys() == korean[name].keys()
