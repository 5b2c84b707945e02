"""Who may import whom. A room that this table does not know is refused until somebody decides where it stands."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# What each room may import: rooms of this project, and packages of others. The standard library is free to all.
ROOMS: dict[str, tuple[set[str], set[str]]] = {
    "config": (set(), set()),
    "words": (set(), set()),
    "changes": (set(), set()),
    "trace": (set(), {"torch"}),
    "masking": ({"config"}, {"torch"}),
    "tokens": ({"config"}, {"tokenizers"}),
    "transformer": ({"config", "trace"}, {"torch"}),
    "glossary": ({"config", "trace"}, {"torch"}),
    "checkpoints": ({"config", "transformer"}, {"torch", "safetensors"}),
    "analysis": ({"config", "masking", "changes", "trace", "tokens", "transformer", "glossary"}, {"torch"}),
    "training": (
        {"config", "masking", "trace", "transformer", "checkpoints"},
        {"torch", "tokenizers", "tqdm", "sacrebleu"},
    ),
    "frames": ({"trace"}, {"numpy", "pandas"}),
    "views": ({"config", "changes", "glossary", "words"}, {"numpy", "pandas", "altair"}),
    "views.components": ({"tokens", "trace", "glossary", "views", "words"}, {"torch", "numpy", "pyarrow", "streamlit"}),
    "export": ({"trace", "frames"}, {"torch", "numpy", "safetensors"}),
    "notebook": (
        {"config", "changes", "checkpoints", "tokens", "trace", "transformer", "glossary", "analysis", "frames"}
        | {"export", "views"},
        {"torch", "pandas", "altair"},
    ),
    "": ({"notebook"}, set()),  # the package itself: what a notebook imports
    "__main__": ({"checkpoints", "config", "export", "frames", "notebook"}, set()),
    "serving": (set(), {"torch"}),
    "address": ({"config", "changes"}, set()),
    "passes": (
        {"config", "changes", "tokens", "checkpoints", "trace", "transformer", "analysis", "serving"},
        {"torch", "streamlit"},
    ),
    "reader": ({"config", "changes", "tokens", "checkpoints", "words", "address", "passes"}, {"streamlit"}),
    "view": (
        {"config", "changes", "tokens", "checkpoints", "words", "address", "passes", "reader", "analysis"},
        {"streamlit"},
    ),
    "beside": ({"tokens", "trace", "address", "reader", "view", "analysis"}, {"torch"}),
    "writing": ({"config", "address", "passes", "reader", "view"}, set()),
    "trial": ({"changes", "passes", "reader", "view", "analysis"}, {"streamlit"}),
    "lesson": ({"config", "address", "passes", "reader", "view", "analysis"}, set()),
    "controls": (
        {"config", "changes", "checkpoints", "words", "address", "passes", "reader", "view", "views"},
        {"streamlit"},
    ),
    "take_away": (
        {"config", "reader", "view", "panel", "notebook", "export", "words", "views.components"},
        {"streamlit", "torch"},
    ),
    "panel": ({"reader", "view", "analysis", "views.components"}, {"streamlit"}),
}
FRAME = {"streamlit"}  # what app.py and the pages may import besides `explorer`


def files() -> list[Path]:
    return sorted((ROOT / "explorer").rglob("*.py"))


def room(parts: tuple[str, ...]) -> str:
    """The room that a module of `explorer` belongs to: the longest name in the table that it starts with."""
    for length in range(len(parts), 0, -1):
        if ".".join(parts[:length]) in ROOMS:
            return ".".join(parts[:length])
    return parts[0] if parts else ""


def home(file: Path) -> str:
    parts = file.relative_to(ROOT / "explorer").with_suffix("").parts
    return room(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(file: Path) -> set[tuple[str, ...]]:
    """Every module that a file imports, at its top or inside, for types or in earnest, as its parts."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"), str(file))):
        if isinstance(node, ast.Import):
            found |= {tuple(alias.name.split(".")) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports relatively; say the whole name."
            module = tuple(node.module.split("."))
            # `from explorer import trace` and `from explorer.views import charts` import modules below.
            below = module[0] == "explorer"
            found |= {(*module, alias.name) if below else module for alias in node.names}
    return found


def named(file: Path) -> str:
    return str(file.relative_to(ROOT))


@pytest.mark.parametrize("file", files(), ids=named)
def test_a_room_imports_what_it_may(file):
    here = home(file)
    assert here in ROOMS, f"{named(file)} is in no room of the table; decide what it may import."
    ours, others = ROOMS[here]
    for parts in imported(file):
        if parts[0] == "explorer":
            there = room(parts[1:])
            same = there == here or there.startswith(f"{here}.") or here.startswith(f"{there}.")
            assert same or there in ours or there.split(".")[0] in ours, f"{named(file)} may not import {there}."
        else:
            assert parts[0] in sys.stdlib_module_names or parts[0] in others, (
                f"{named(file)} may not import {parts[0]}."
            )


@pytest.mark.parametrize("file", sorted([*(ROOT / "pages").rglob("*.py"), *ROOT.glob("app.py")]), ids=named)
def test_a_page_imports_streamlit_and_explorer_only(file):
    for parts in imported(file):
        assert parts[0] == "explorer" or parts[0] in FRAME or parts[0] in sys.stdlib_module_names, (
            f"{named(file)} may not import {parts[0]}."
        )
        if file.parent.name == "pages":
            assert parts[0] in {"explorer"} | FRAME, f"A page imports streamlit and explorer only; it has {parts[0]}."


def test_the_rooms_have_an_order():
    """No two rooms import each other, not even by way of others."""

    def reached(start: str) -> set[str]:
        seen, todo = set(), [start]
        while todo:
            for there in ROOMS[todo.pop()][0] - seen:
                seen.add(there)
                todo.append(there)
        return seen

    assert [name for name in ROOMS if name in reached(name)] == []


def test_there_is_no_room_for_odds_and_ends():
    assert [named(file) for file in files() if file.stem in ("utils", "util", "helpers", "misc", "common")] == []


def test_this_test_sees_imports_wherever_they_stand(tmp_path):
    file = tmp_path / "sample.py"
    file.write_text(
        "import torch.nn\nfrom explorer import trace\nfrom explorer.config import PAD\n"
        "def f():\n    import pandas\nif TYPE_CHECKING:\n    from altair import Chart\n"
    )
    assert imported(file) == {
        ("torch", "nn"),
        ("explorer", "trace"),
        ("explorer", "config", "PAD"),
        ("pandas",),
        ("altair",),
    }
    assert room(("views", "components", "matrix")) == "views.components"
    assert room(("config", "PAD")) == "config"
