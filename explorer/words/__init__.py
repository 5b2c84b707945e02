"""What the app says, in English and Korean: labels in one table, the prose of each page in a file for each language.

`labels.toml` holds one line a label: `key = { en = "...", ko = "..." }`; a label may have places to fill, `{n}`, and
a list of two is the form for one and the form for more. `en/<page>.md` and `ko/<page>.md` hold a page's prose in
sections, each under a line `# name`. A test holds the two languages equal in keys, sections and places to fill.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
LANGUAGES = {"en": "English", "ko": "한국어"}  # each by its own name


class Words:
    """One language: `words("tokens", n=12)` is a label, `words.prose("start")["intro"]` a section of a page."""

    def __init__(self, language: str):
        if language not in LANGUAGES:
            raise ValueError(f"There is no language {language!r}; choose one of {', '.join(LANGUAGES)}.")
        self.language = language

    def __call__(self, key: str, **values: object) -> str:
        """A label with its places filled; the number `n` chooses between the form for one and the form for more."""
        said = labels()[key][self.language]
        if isinstance(said, list):
            said = said[values["n"] != 1]
        return said.format(**{name: _written(value) for name, value in values.items()}) if values else said

    def has(self, key: str) -> bool:
        """Whether there is a label of this name."""
        return key in labels()

    def prose(self, page: str) -> Mapping[str, str]:
        """A page's sections by name, in Markdown."""
        return sections(page, self.language)


@cache
def labels() -> dict[str, dict[str, str | list[str]]]:
    """The table of labels: key, then language."""
    return tomllib.loads((FOLDER / "labels.toml").read_text(encoding="utf-8"))


@cache
def sections(page: str, language: str) -> dict[str, str]:
    """A page's prose by section. Raises ValueError for text before the first section and for a repeated one."""
    text = (FOLDER / language / f"{page}.md").read_text(encoding="utf-8")
    before, *parts = re.split(r"^# (.+)$", text, flags=re.MULTILINE)
    names = [name.strip() for name in parts[::2]]
    if before.strip() or len(set(names)) < len(names):
        raise ValueError(f"{language}/{page}.md must consist of sections, each with a name of its own.")
    return {name: body.strip() for name, body in zip(names, parts[1::2], strict=True)}


def pages() -> list[str]:
    """The pages that have prose."""
    return sorted(path.stem for path in (FOLDER / "en").glob("*.md"))


def verbatim(text: str) -> str:
    """Markdown that shows a text exactly as it is, wherever Streamlit reads Markdown.

    A backslash alone does not do: arrows, dashes and icons (`->`, `--`, `:material/home:`) are replaced afterwards,
    so an invisible word joiner stands between their letters. A newline becomes ⏎.
    """
    text = text.replace("\n", "⏎").replace("\r", "␍").replace("\t", "⇥")
    text = "".join(c if c.isprintable() else f"U+{ord(c):04X}" for c in text)
    text = _MARKDOWN.sub(r"\\\1", text)
    for character in ":-<=~":
        text = text.replace(f"\\{character}", f"\\{character}{_JOINER}")
    return text.replace("\\>", f"{_JOINER}\\>") or " "


def strong(text: str) -> str:
    """Markdown that shows a text exactly as it is, in bold, also where a Korean particle follows at once.

    Asterisks between punctuation and a letter would not count as bold; a word joiner stands between.
    """
    return f"**{_JOINER}{verbatim(text)}{_JOINER}**"


def chip(label: str) -> str:
    """Markdown for a token that a sentence names: on grey, since it may be a full stop, a space or half a word."""
    return f":gray-background[{verbatim(label)}]"


_MARKDOWN = re.compile(r"""([\\`*_{}\[\]()#+\-.!|>~$:<&^=@/"'])""")
_JOINER = "\u2060"


def _written(value: object) -> object:
    """A whole number with its thousands set apart; anything else as it is."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value
