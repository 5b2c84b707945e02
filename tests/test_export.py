"""What is taken away: files that are read back, lines and a notebook that are run, charts of every value."""

import contextlib
import io
import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import safetensors
import torch

import explorer
from explorer import export, notebook, take_away
from explorer.config import MAX_TOKENS
from explorer.trace import Value
from explorer.views import cells
from explorer.words import LANGUAGES, Words
from tests.small import GRID, recorded
from tests.visits import ROOT, sound, texts, visit

TEXT = "The cat sat on the mat because it was"
MODELS = ("encoder-pre-4", "decoder-pre-4", "encoder-decoder-pre-4")
SMALL = [config for config in GRID if config.heads == 2 and config.activation == "gelu"]


@pytest.fixture(scope="module")
def seen():
    return explorer.read(TEXT, "decoder-pre-4")


@pytest.mark.parametrize("kind", export.KINDS)
@pytest.mark.parametrize("config", SMALL, ids=lambda config: config.name)
def test_a_whole_pass_comes_back_from_its_file(config, kind, tmp_path):
    values, about = dict(recorded(config)), {"text": "고양이 <b> \ud800", "model": config.name}
    (tmp_path / f"pass{kind}").write_bytes(export.file(kind, values, about))
    read, said = export.load(tmp_path / f"pass{kind}")
    assert list(read) == list(values)
    for path, value in values.items():
        assert read[path].axes == value.axes and read[path].tensor.dtype == value.tensor.dtype
        assert torch.equal(read[path].tensor, value.tensor), path
    assert said == {"text": "고양이 <b> ?", "model": config.name}


def test_other_programs_find_names_and_axes(seen, tmp_path):
    path = "decoder.layers.0.self_attention.weights"
    with safetensors.safe_open(seen.save(tmp_path / "a.safetensors"), "numpy") as file:
        assert json.loads(file.metadata()["axes"])[path] == ["head", "query", "key"]
        assert file.metadata()["text"] == TEXT and "⟨bos⟩ The ·cat" in file.metadata()["tokens of the decoder"]
        assert np.array_equal(file.get_tensor(path), seen[path].tensor.numpy())
    with np.load(seen.save(tmp_path / "a.npz"), allow_pickle=False) as file:
        assert json.loads(str(file["axes"]))[path] == ["head", "query", "key"]
        assert json.loads(str(file["about"]))["model"] == "decoder-pre-4"
        assert np.array_equal(file[path], seen[path].tensor.numpy())


def test_a_table_has_each_number_and_its_tokens():
    value = Value(torch.tensor([[0.25, -torch.inf], [1e-9, 3.0]]), ("query", "key"))
    data = export.csv(value, {"query": ["가", 'a,"b"'], "key": ["the", "the"]})
    assert data.startswith(b"\xef\xbb\xbf")
    table = pd.read_csv(io.BytesIO(data), encoding="utf-8-sig")
    assert table["query_token"].tolist() == ["가", "가", 'a,"b"', 'a,"b"'] and table["key"].tolist() == [0, 1, 0, 1]
    assert np.array_equal(table["value"].to_numpy(np.float32), value.tensor.flatten().numpy())
    assert table["masked"].tolist() == [False, True, False, False]


def test_what_is_no_file_of_values_is_refused(tmp_path):
    foreign = tmp_path / "other.safetensors"
    foreign.write_bytes(safetensors.torch.save({"x": torch.zeros(2)}))
    np.savez(tmp_path / "other.npz", x=np.zeros(2))
    (tmp_path / "cut.safetensors").write_bytes(b"\0" * 3)
    (tmp_path / "cut.npz").write_bytes(b"PK")
    for name in ("other.safetensors", "other.npz", "cut.safetensors", "cut.npz"):
        with pytest.raises(ValueError, match=f"^{name} is no file of values"):
            export.load(tmp_path / name)
    with pytest.raises(ValueError, match=r"ends in \.safetensors or \.npz, not in '\.csv'"):
        export.file(".csv", {})
    with pytest.raises(ValueError, match="axes"):
        export.safetensors_file({}, {"axes": "mine"})


# The lines of Python


def run(lines: str):
    """What the last line of some Python gives, in a namespace of its own."""
    *before, last = lines.strip().splitlines()
    names: dict = {}
    exec("\n".join(before), names)
    return eval(last, names)


VISITS = [
    {"arch": "decoder", "s": "It's \"quoted\" \\ and\n한국어 🤗", "v": "decoder.layers.2.feed_forward.activated"},
    {"arch": "encoder", "s": "The [MASK] sat.", "norm": "post", "v": "encoder.layers.1.self_attention.scores"},
    {"arch": "encoder-decoder", "s": "The dog ran.", "v": "decoder.layers.0.cross_attention.weights"},
    {"arch": "encoder-decoder", "s": "The dog ran.", "t": "개가 달린다", "v": "logits", "c": "2,7"},
    {"arch": "decoder", "s": "The cat sat", "edit": "off:d1a.h2;scale:d0f:0.5", "v": "decoder.norm.output"},
    {"arch": "decoder", "s": "The cat sat", "s2": "The dog ran", "edit": "patch:decoder.layers.1.feed_forward.output:1",
     "v": "probabilities", "c": "1,5"},
    {"arch": "decoder", "s": "word " * 300, "cut": 1, "v": "decoder.norm.output"},
    {"arch": "encoder", "s": "a " * 300, "cut": 1, "v": "encoder.embedding.ids"},
    {"arch": "decoder", "s": "Hello", "v": "decoder.layers.0.self_attention.w_q.weight", "c": "3,5"},
]  # fmt: skip


@pytest.mark.parametrize("asked", VISITS, ids=range(len(VISITS)))
def test_the_lines_on_the_screen_give_the_value_on_the_screen(asked):
    layer = re.search(r"layers\.(\d)", asked["v"])
    app = opened("values", lang="en", layer=layer[1] if layer else 0, **asked)
    view = app.session_state.view
    shown = view.run.value(asked["v"]).tensor
    if "c" in asked:
        shown = shown[tuple(map(int, asked["c"].split(",")))]
    if "edit" in asked:
        assert not torch.equal(shown, view.plain.value(asked["v"]).tensor if "c" not in asked else torch.tensor(0.0))
    assert torch.equal(run(app.code[0].value), shown)


def opened(page: str, **asked):
    """A visit with "take away" open."""
    app = visit(page, **asked)
    app.session_state[take_away.KEY] = True
    return sound(app.run())


# In the app


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("page", ("overview", "heads", "generation", "values"))
def test_take_away_offers_what_is_on_the_screen(page, language):
    app, words = opened(page, lang=language, arch="decoder", s="The cat"), Words(language)
    assert words("take.python") in texts(app)
    (choice,) = [box for box in app.selectbox if words("take.values") in box.label]
    whole = words("take.whole", n=len(app.session_state.view.trace))
    assert whole in choice.options and "decoder.layers.3.feed_forward.output" in choice.options
    assert "decoder.layers.0.self_attention.weights" in choice.options
    if page == "heads":
        assert choice.options.index("decoder.layers.0.self_attention.weights") < choice.options.index(whole)


def test_taking_away_leaves_the_address_alone():
    plain, app = visit("learning", lang="en"), opened("learning", lang="en")
    assert app.session_state.address == plain.session_state.address


def test_nothing_is_drawn_before_it_is_asked_for():
    assert not visit("values", lang="en").code


def test_a_value_of_another_pass_is_not_offered_as_this_one():
    app = opened("compare", lang="en", arch="decoder", s="The cat sat", s2="The dog ran", what="text")
    view = app.session_state.view
    other = explorer.read("The dog ran", "decoder-pre-4")
    drawn = app.session_state.pictured
    assert drawn and any(take_away.is_of(view, path, tensor) for path, tensor in drawn)
    assert not all(take_away.is_of(view, path, tensor) for path, tensor in drawn)
    for path in ("decoder.layers.0.self_attention.weights", "logits"):
        assert take_away.is_of(view, path, view.trace[path].tensor[0])  # a part of it is it, too
        assert not take_away.is_of(view, path, other[path].tensor)
        assert not take_away.is_of(view, path, view.trace[path].tensor.clone())


# Notebooks


def test_the_example_notebook_runs():
    book = json.loads((ROOT / "notebooks" / "explorer.ipynb").read_text(encoding="utf-8"))
    names, drawn, printed = {}, 0, io.StringIO()
    for cell in book["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [], "The notebook is kept without outputs."
        *before, last = "".join(cell["source"]).splitlines()
        with contextlib.redirect_stdout(printed):
            try:
                shown = compile(last, "cell", "eval")
                exec("\n".join(before), names)
                result = eval(shown, names)
            except SyntaxError:  # the last line is no expression: the cell shows nothing
                exec("".join(cell["source"]), names)
                continue
        if hasattr(result, "to_dict") and hasattr(result, "mark_rect") or type(result).__name__.endswith("Chart"):
            drawn += bool(result.to_dict()["config"])
    assert drawn == 3 and "의사" in printed.getvalue()


def test_importing_the_package_imports_nothing_heavy():
    heavy = "import sys, explorer; print([m for m in ('torch', 'streamlit', 'pandas', 'altair') if m in sys.modules])"
    told = subprocess.run([sys.executable, "-c", heavy], cwd=ROOT, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
    assert explorer.models is notebook.models and dir(explorer) == ["load", "models", "read"]
    with pytest.raises(AttributeError, match="nonsense"):
        explorer.nonsense  # noqa: B018


@pytest.mark.parametrize("name", MODELS)
def test_every_value_is_a_chart_of_its_own_numbers(name):
    read = explorer.read("The dog", name)
    for path, value in read.items():
        if re.search(r"layers\.[1-9]", path):  # of the same kinds as in layer 0
            continue
        places = {"position": 1} if value.tensor.numel() > cells.MOST else {}
        spec = read.chart(path, **places).to_dict()
        rows = _rows(spec)
        shown = value.tensor[1] if places else value.tensor
        assert len(rows) == shown.numel(), path
        flat = [float(number) for number in shown.flatten()]
        drawn = [-np.inf if row["value"] is None else row["value"] for row in rows]
        assert drawn == pytest.approx(flat, rel=1e-6)
        if not path.endswith("attention.weights"):
            assert [bool(row["masked"]) for row in rows] == [n == -np.inf for n in flat], path
        asked = set(re.findall(r"datum(?:\.(\w+)|\[.(\w+).\])", json.dumps(spec)))
        assert {"".join(name) for name in asked} <= {"masked", *value.axes}  # no expression reads what a token spells


def _rows(spec: dict) -> list[dict]:
    (rows,) = spec["datasets"].values()  # once, however many layers draw it
    return rows


def test_masked_weights_are_marked_and_no_others(seen):
    path = "decoder.layers.1.self_attention.weights"
    rows = _rows(seen.chart(path, head=1).to_dict())
    for row in rows:
        assert row["masked"] == (row["key"] > row["query"])


def test_weights_end_at_one_and_other_numbers_are_symmetrical(seen):
    def domain(path):
        scale = seen.chart(path, head=0).to_dict()["layer"][0]["encoding"]["color"]["scale"]
        return scale["domain"][0], scale["domain"][-1]

    assert domain("decoder.layers.0.self_attention.weights") == (0, 1)
    least, largest = domain("decoder.layers.0.self_attention.scores")
    assert least == -largest < 0


def test_what_cannot_be_read_is_said_with_its_remedy(seen, tmp_path):
    weights = "decoder.layers.0.self_attention.weights"
    for wrong, said in (
        (lambda: explorer.read("x", "decoder-pre-3"), "no model 'decoder-pre-3'.*decoder-pre-4"),
        (lambda: explorer.read(" \n"), "empty"),
        (lambda: explorer.read("word " * 300), f"tokens, and the models were trained on {MAX_TOKENS}.*beginning"),
        (lambda: explorer.read("x", target="y"), "reads one text"),
        (lambda: explorer.read("x", edits="off:d9a"), "layer 9"),
        (lambda: seen.chart("logits"), "20,000 at most.*position=…"),
        (lambda: seen.frame(weights, layer=1), "no axis layer; it has head, query, key"),
        (lambda: seen.frame(weights, head=4), "4 places along head, from 0 to 3; 4 is none"),
        (lambda: seen.predictions(position=99), "no position 99"),
        (lambda: seen.save(tmp_path / "x.csv"), "ends in"),
        (lambda: seen.save(tmp_path / "x.npz", "nothing.*"), "no value 'nothing"),
        (lambda: cells.cells(pd.DataFrame({"value": [1.0]})), "one to three axes"),
    ):
        with pytest.raises(ValueError, match=said):
            wrong()
    with pytest.raises(KeyError, match=r"near it: .*self_attention\.weights"):
        seen["decoder.layers.0.self_attention.weight"]


def test_a_recording_knows_its_tokens_and_predictions(seen):
    assert [token.label for token in seen.tokens["decoder"]][:4] == ["⟨bos⟩", "The", "·cat", "·sat"]
    best = seen.predictions(3)
    top = seen["probabilities"].tensor[-1].topk(3)
    assert [share for _, share in best] == pytest.approx(top.values.tolist())
    assert "decoder-pre-4" in repr(seen) and f"{len(seen.tokens['decoder'])} tokens" in repr(seen)
    masked = explorer.read("The little [MASK] was happy.", "encoder-pre-4")
    assert masked.predictions(1)[0][1] == pytest.approx(float(masked["probabilities"].tensor[3].max()))
