"""What a reader has chosen, and the address that says so.

The address holds everything: whoever opens a copied one sees the same view. It is read once, when a visit begins or
the reader goes back in the browser's history, and every choice in it is checked against the models there are: a bad
or an old one is replaced by the nearest that exists, and `read` says which were.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from urllib.parse import urlencode
from zlib import crc32

from explorer import changes
from explorer.changes import Change
from explorer.config import ARCHITECTURES, NORMS, Config, model_name

LONGEST = 2_000  # characters of a text that an address carries; servers and browsers refuse much longer ones
MOST_EDITS = 32  # each is tried and looked at on its own, which takes a pass


@dataclass
class Choices:
    """What is on the screen: the texts, the model, and where in it the reader looks."""

    language: str = "en"
    text: str = ""
    target: str = ""  # what the decoder of an encoder-decoder reads; empty: the model's own translation
    written_for: str = ""  # the fingerprint of the source for which the target was typed
    architecture: str = "decoder"
    norm: str = "pre"
    heads: int = 4
    layer: int = 0
    head: int = 0
    focus: int | None = None  # a position in the stack that predicts; None: where the prediction of interest is
    cut: bool = False  # show the first tokens of a text that is too long
    options: dict[str, str] = field(default_factory=dict)  # what single pages let the reader choose, by name
    edits: tuple[Change, ...] = ()  # what is changed in the model (see changes.py)
    other: str = ""  # the second sentence, from which patches are taken

    @property
    def model(self) -> str:
        """The name of the model's files."""
        return model_name(self.architecture, self.norm, self.heads)


@dataclass(frozen=True)
class Notice:
    """A choice in an address that could not be kept, and the one that was made instead: none for what was left out."""

    name: str
    given: str
    used: str = ""


NAMES = (  # the rest are page options
    "lang", "s", "t", "for", "arch", "norm", "heads", "layer", "head", "at", "cut", "edit", "s2",
)  # fmt: skip


def whole_number(text: str) -> int | None:
    """The number that a part of an address says; None where it says none, or one that is beyond everything here."""
    return int(text) if text.isdecimal() and len(text) < 10 else None


def fingerprint(text: str) -> str:
    """Eight letters by which a text can be told from another."""
    return f"{crc32(text.encode(errors='surrogatepass')):08x}"


def read(
    address: Mapping[str, str], models: Mapping[str, Config], languages: Sequence[str], otherwise: Choices
) -> tuple[Choices, list[Notice]]:
    """The choices that an address holds, those it lacks taken from `otherwise`, and what had to be changed."""
    notices: list[Notice] = []

    def nearest(name: str, offered: Sequence, usual):
        if name not in address:
            given = usual
        else:
            given = address[name]
            if offered and isinstance(offered[0], int):
                given = int(given) if given.removeprefix("-").isdecimal() and len(given) < 10 else given
        if given in offered or not offered:
            return given
        if isinstance(given, int):
            used = min(offered, key=lambda option: (abs(option - given), option))
        else:
            close = get_close_matches(str(given).lower(), [str(option) for option in offered], 1)
            used = next((option for option in offered if str(option) in close), None)
            if used is None:
                used = usual if usual in offered else offered[0]
        if name in address:
            notices.append(Notice(name, address[name], str(used)))
        return used

    language = nearest("lang", languages, otherwise.language)
    architecture = nearest("arch", architectures(models), otherwise.architecture)
    norm = nearest("norm", norms(models, architecture), otherwise.norm)
    heads = nearest("heads", head_counts(models, architecture, norm), otherwise.heads)
    config = models.get(model_name(architecture, norm, heads), Config())
    target = address.get("t", otherwise.target)
    text = address.get("s", otherwise.text)
    focus = otherwise.focus
    if "at" in address:
        focus = whole_number(address["at"])
        if focus is None:
            notices.append(Notice("at", address["at"], "–"))
    return (
        Choices(
            language=language,
            text=text,
            target=target,
            written_for=(address.get("for") or fingerprint(text)) if target else "",
            architecture=architecture,
            norm=norm,
            heads=heads,
            layer=nearest("layer", range(config.layers), otherwise.layer),
            head=nearest("head", range(config.heads), otherwise.head),
            focus=focus,
            cut=address.get("cut") == "1",
            options={name: value for name, value in address.items() if name not in NAMES},
            edits=_edits(address["edit"], notices) if "edit" in address else otherwise.edits,
            other=address.get("s2", otherwise.other),
        ),
        notices,
    )


def _edits(text: str, notices: list[Notice]) -> tuple[Change, ...]:
    """The changes that a text names; a notice for each part of it that names none, and for those beyond the limit."""
    found = []
    for part in filter(None, map(str.strip, text.split(";"))):
        try:
            found += changes.read(part)
        except ValueError:
            notices.append(Notice("edit", part))
    if len(found) > MOST_EDITS:
        notices.append(Notice("edit", changes.write(found[MOST_EDITS:])))
    return tuple(found[:MOST_EDITS])


def write(choices: Choices, options: Sequence[str] = ()) -> str:
    """The address of these choices, and of the named page options, as a query string.

    A text that is too long for an address is left out of it (see `carries`).
    """
    parts = {"lang": choices.language}
    if carries(choices.text):
        parts["s"] = choices.text
    parts |= {"arch": choices.architecture, "norm": choices.norm, "heads": choices.heads, "layer": choices.layer}
    if choices.head:
        parts["head"] = choices.head
    if choices.focus is not None:
        parts["at"] = choices.focus
    if choices.target and carries(choices.target):
        parts["t"] = choices.target
        if choices.written_for != fingerprint(choices.text):
            parts["for"] = choices.written_for
    if choices.cut:
        parts["cut"] = 1
    if choices.edits:
        parts["edit"] = changes.write(choices.edits)
    if choices.other and carries(choices.other):
        parts["s2"] = choices.other
    parts |= {name: choices.options[name] for name in options if choices.options.get(name)}
    return urlencode(parts)


def carries(text: str) -> bool:
    """Whether an address has room for a text."""
    return len(text) <= LONGEST


def architectures(models: Mapping[str, Config]) -> list[str]:
    """The architectures of which there is a model."""
    return [kind for kind in ARCHITECTURES if any(config.architecture == kind for config in models.values())]


def norms(models: Mapping[str, Config], architecture: str) -> list[str]:
    """The norm orders in which there is a model of an architecture."""
    there = {config.norm for config in models.values() if config.architecture == architecture}
    return [norm for norm in NORMS if norm in there]


def head_counts(models: Mapping[str, Config], architecture: str, norm: str) -> list[int]:
    """The head counts with which there is a model of an architecture and norm order."""
    kinds = [config for config in models.values() if (config.architecture, config.norm) == (architecture, norm)]
    return sorted(config.heads for config in kinds)


def shortened(text: str) -> str:
    """The beginning of a value from an address, as much as a notice has room for."""
    return text if len(text) <= 40 else f"{text[:39]}…"
