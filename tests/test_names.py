"""A value is called the same on both sides of its line: `scores = record(self, "scores", ...)`."""

import ast
from pathlib import Path

import pytest

MODEL = Path(__file__).parents[1] / "explorer" / "transformer.py"
SYMBOLS = {"input": "x"}  # the stream goes by its symbol, and `input` is a function of Python


def records(text: str) -> list[tuple[str, str | None, int]]:
    """Each recorded name, the variable that takes it (None where it is handed on at once), and the line."""
    found = []
    tree = ast.parse(text)
    takers = {
        id(node.value): node.targets[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "record":
            found.append((node.args[1].value, takers.get(id(node)), node.lineno))
    return found


@pytest.mark.parametrize("name, taker, line", records(MODEL.read_text(encoding="utf-8")))
def test_both_sides_say_the_same(name, taker, line):
    assert taker in (None, SYMBOLS.get(name, name)), f"line {line}: {taker} = record(self, {name!r}, ...)"


def test_every_line_of_the_model_was_seen():
    names = [name for name, _, _ in records(MODEL.read_text(encoding="utf-8"))]
    assert len(names) == 28
    assert {"ids", "scaled", "variance", "raw_scores", "masked_scores", "concat", "hidden", "logits"} <= set(names)


def test_a_slip_would_be_found():
    slip = 'score = record(self, "scores", q @ k.mT, "head query key")'
    assert records(slip) == [("scores", "score", 1)]
