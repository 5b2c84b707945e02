"""Both languages say the same things, and what a person typed is never read as Markdown."""

import ast
import re
import string
from pathlib import Path

import pytest

from explorer.words import FOLDER, LANGUAGES, Words, labels, pages, sections, verbatim

ROOT = Path(__file__).parents[1]


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("key", labels())
def test_a_label_is_there_in_each_language(key):
    said = labels()[key]
    assert set(said) == set(LANGUAGES)
    forms = {language: said[language] if isinstance(said[language], list) else [said[language]] for language in said}
    assert all(form.strip() for language in forms for form in forms[language])
    assert all(len(forms[language]) in (1, 2) for language in forms)
    filled = {language: set().union(*map(places, forms[language])) for language in forms}
    assert len(set(map(frozenset, filled.values()))) == 1, filled
    if any(len(found) == 2 for found in forms.values()):
        assert "n" in filled["en"]


def test_the_same_pages_have_prose():
    found = {language: {path.name for path in (FOLDER / language).iterdir()} for language in LANGUAGES}
    assert found["en"] == found["ko"] == {f"{page}.md" for page in pages()}


@pytest.mark.parametrize("page", pages())
def test_a_page_has_the_same_sections(page):
    english, korean = (sections(page, language) for language in ("en", "ko"))
    assert list(english) == list(korean)
    for name in english:
        assert english[name] and korean[name]
        assert english[name].count("**") == korean[name].count("**"), name
        assert re.search("[가-힣]", korean[name]), f"{page}, {name} is not Korean."


def test_every_page_of_the_app_has_a_title_and_prose():
    for path in (ROOT / "pages").glob("*.py"):
        assert f"page.{path.stem}" in labels()
        assert path.stem in pages()


def test_every_label_that_the_code_names_exists_and_every_label_is_named():
    code = "\n".join(path.read_text(encoding="utf-8") for path in [ROOT / "app.py", *ROOT.glob("pages/*.py")])
    code += "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("explorer/**/*.py"))
    for key in re.findall(r"""\bwords\(\s*"([\w.\-]+)\"""", code):
        assert key in labels(), f"The code says {key!r}, the table does not."
    prefixes = set(re.findall(r"""words\(f?["']([\w.]+\.)["'{]""", code)) | {"address.", "start.tokens.", "card.text."}
    for key in labels():
        said = f'"{key}"' in code or f"'{key}'" in code
        assert said or any(key.startswith(prefix) for prefix in prefixes), f"Nothing says {key!r}."


def test_number_and_places():
    english, korean = Words("en"), Words("ko")
    assert english("tokens", n=1) == "1 token"
    assert english("tokens", n=1234) == "1,234 tokens"
    assert korean("tokens", n=1) == "토큰 1개"
    with pytest.raises(ValueError, match="choose one of en, ko"):
        Words("fr")
    with pytest.raises(KeyError):
        english("no such label")


AWKWARD = [
    "*a*", "**b**", "$x$", ":red[r]", ":material/home:", ":smile:", "`c`", "[l](http://e.org)", "![i](http://e.org/i)",
    "->", "<-", "--", "---", "&lt;", "~~s~~", "\\", "# h", "> q", "1. one", "- one", "<b>", "<script>", "a\nb",
    "\t", "",
]  # fmt: skip


@pytest.mark.parametrize("text", AWKWARD)
def test_verbatim_leaves_no_markdown(text):
    escaped = verbatim(text)
    bare = re.sub(r"\\(.)", "", escaped)  # what is left when every escaped character is taken away
    assert not re.search(r"[*_`$\[\]<>#~|!&:-]", bare), escaped
    assert "\n" not in escaped and escaped


def test_words_imports_nothing_of_ours():
    tree = ast.parse((FOLDER / "__init__.py").read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not any(module.startswith(("explorer", "streamlit")) for module in modules)
