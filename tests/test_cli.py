"""`python -m explorer`: what it prints, what it writes, and what it says when something is wrong."""

import subprocess
import sys

import pytest
import torch

import explorer
from explorer import export
from explorer.__main__ import main
from tests.visits import ROOT

TEXT = "The cat sat"


def test_the_help_is_there_at_once_and_names_everything():
    told = subprocess.run(
        [sys.executable, "-c", "import sys, explorer.__main__ as m\ntry: m.main(['trace', '--help'])\n"
         "finally: print('torch' in sys.modules)"],
        cwd=ROOT, capture_output=True, text=True, encoding="utf-8", env={"PYTHONUTF8": "1", "PATH": ""},
    )  # fmt: skip
    assert told.returncode == 0 and told.stdout.endswith("False\n")
    for word in (
        "--architecture",
        "--norm",
        "--heads",
        "--target",
        "--edit",
        "--save",
        "--csv",
        "examples:",
        *export.KINDS,
    ):
        assert word in told.stdout


def test_a_trace_lists_every_value_with_its_numbers(capsys):
    assert main(["trace", TEXT]) == 0
    out, seen = capsys.readouterr().out, explorer.read(TEXT)
    rows = {line.split()[0]: line for line in out.splitlines() if line}
    assert all(path in rows for path in seen)
    logits = seen["logits"].tensor
    assert rows["logits"].split()[-3:] == [
        f"{float(n):.4g}" for n in (logits.min(), logits.double().mean(), logits.max())
    ]
    assert "4 head × 4 query × 4 key" in rows["decoder.layers.0.self_attention.weights"]
    assert "⟨bos⟩ The ·cat ·sat" in out
    (label, share), *_ = seen.predictions(1)
    assert f"it expects: {label} {share:.1%}" in out


@pytest.mark.parametrize("kind", export.KINDS)
def test_a_trace_is_saved(kind, tmp_path, capsys):
    file = tmp_path / f"pass{kind}"
    asked = ["--architecture", "encoder-decoder", "--target", "개", "--values", "*.weights", "--save", str(file)]
    assert main(["trace", TEXT, *asked]) == 0
    values, about = explorer.load(file)
    seen = explorer.read(TEXT, "encoder-decoder-pre-4", target="개")
    assert list(values) == list(seen.select("*.weights")) and about["target"] == "개"
    assert all(torch.equal(value.tensor, seen[path].tensor) for path, value in values.items())
    assert str(file.stat().st_size)[:1] in capsys.readouterr().err


def test_a_value_is_printed_as_a_table(capsys):
    path = "decoder.layers.1.self_attention.weights"
    assert main(["trace", TEXT, "--csv", path, "--edit", "off:d0a"]) == 0
    assert capsys.readouterr().out == explorer.read(TEXT, edits="off:d0a").frame(path).to_csv(index=False)


def test_the_models_are_listed(capsys):
    assert main(["models"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == explorer.models()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["trace", ""], "The text is empty"),
        (["trace", "x", "--heads", "3"], "no model 'decoder-pre-3'"),
        (["trace", "x", "--edit", "of:d0a"], "'of:d0a' does not begin with an action"),
        (["trace", "x", "--target", "y"], "a target is for an encoder-decoder"),
        (["trace", "x", "--csv", "logit"], "There is no value 'logit' in this pass; near it: logits."),
        (["trace", "x", "--values", "nothing"], "No value's path fits 'nothing'"),
        (["trace", "x", "--save", "x.txt"], "--save needs a file that ends in .safetensors or .npz, not 'x.txt'"),
        (["trace", "x", "--save", "/nowhere/at/all.npz"], "/nowhere/at/all.npz cannot be written"),
        (["trace", "word " * 300], "shorten it, or read its beginning"),
        (["trace", "x", "--predictions", "99999"], "predictions"),
    ],
)
def test_an_error_is_one_plain_sentence(wrong, said, capsys):
    assert main(wrong) == 2
    told = capsys.readouterr().err
    assert said in told and "Traceback" not in told and "--help" in told


def test_without_a_command_it_says_what_there_is(capsys):
    assert main([]) == 0
    told = capsys.readouterr().out
    assert "run a model over a text" in told and "list the trained models" in told
