"""Text to token ids, and ids to pieces that a person can read.

One byte-level BPE serves both languages (Sennrich et al. 2016; on bytes as in Radford et al. 2019). Its vocabulary is
written in an alphabet of 256 letters that stand for bytes: a space is spelt `Ġ`, and `한`, three bytes long, is spelt
`íķľ`. Nobody should have to see that. A `Token` therefore keeps its bytes, and says which piece of the person's own
text they belong to.

Of what is typed only `[MASK]` is special. Everything else is text, also when it spells a special token: `[BOS]` is five
characters. `[BOS]` and `[EOS]` are added by `encoder_input` and `decoder_input`.
"""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path

import tokenizers

from explorer.config import BOS, EOS, MASK, PAD, SPECIAL_TOKENS

SPACE = "·"  # how a space is shown
MASK_TEXT = SPECIAL_TOKENS[MASK]


@dataclass(frozen=True)
class Token:
    """One token, and the piece of text that it covers.

    `text` is `whole_text[start:end]`: every character of which the token holds at least one byte. Where several tokens
    share a character, `part` says that this one is the k-th of n; elsewhere it is None. The tokens that the model adds
    at the ends of a text cover nothing of it.
    """

    id: int
    bytes: bytes
    text: str
    start: int
    end: int
    special: bool = False
    part: tuple[int, int] | None = None

    @property
    def spaces(self) -> int:
        """How many of the label's first characters stand for spaces, so that they can be drawn paler."""
        return len(self.text) - len(self.text.lstrip(" "))

    @property
    def label(self) -> str:
        """What a person reads: `·the`, `한 1/3`, `⏎`, `⟨bos⟩`, `⟨ED 95⟩`."""
        if self.special:
            return f"{SPACE * self.spaces}⟨{SPECIAL_TOKENS[self.id][1:-1].lower()}⟩"
        label = SPACE * self.spaces + visible(self.text[self.spaces :])
        return f"{label} {self.part[0]}/{self.part[1]}" if self.part else label

    @property
    def hex(self) -> str:
        """The token's bytes, as in `ED 95`."""
        return self.bytes.hex(" ").upper()


class Tokenizer:
    """The byte-level BPE that every model shares."""

    def __init__(self, bpe: tokenizers.Tokenizer):
        self._bpe = bpe
        self._alone: dict[int, Token] = {}

    @classmethod
    def load(cls, path: str | Path) -> "Tokenizer":
        """Read a `tokenizer.json`. Raises ValueError when it is missing or is not one."""
        try:
            return cls(tokenizers.Tokenizer.from_str(Path(path).read_text(encoding="utf-8")))
        except Exception as error:  # the library raises bare Exception for a file that it cannot read
            raise ValueError(f"{path} cannot be read as a tokenizer: {error}") from error

    @property
    def size(self) -> int:
        """How many entries the vocabulary has."""
        return self._bpe.get_vocab_size()

    @cached_property
    def entries(self) -> tuple[bytes, ...]:
        """Each entry's bytes, by id. A special token's are its name."""
        spellings = self._bpe.get_vocab()
        entries = [b""] * len(spellings)
        for spelling, id in spellings.items():
            special = id < len(SPECIAL_TOKENS)
            entries[id] = spelling.encode() if special else bytes(_BYTES[letter] for letter in spelling)
        return tuple(entries)

    def encode(self, text: str) -> list[Token]:
        """The tokens of a text, which together hold exactly its bytes; a typed `[MASK]` is one of them.

        One space before a `[MASK]` belongs to it, since the token that it hides would hold it: `the [MASK]` is two
        tokens, as `the cat` is. Raises ValueError for half a surrogate pair, which no bytes can spell.
        """
        spelling = text.encode()
        ids: list[int] = []
        spelt: list[bytes] = []
        pieces = text.split(MASK_TEXT)
        for i, piece in enumerate(pieces):
            spaced = i < len(pieces) - 1 and piece.endswith(" ")
            found = self._bpe.encode(piece[:-1] if spaced else piece, add_special_tokens=False).ids
            ids += found
            spelt += [self.entries[id] for id in found]
            if i < len(pieces) - 1:
                ids.append(MASK)
                spelt.append((" " * spaced + MASK_TEXT).encode())
        if b"".join(spelt) != spelling:
            raise ValueError("This tokenizer's vocabulary does not cover every byte, so it cannot hold the text.")
        return _pieces(ids, spelt)

    def tokens(self, ids: Sequence[int]) -> list[Token]:
        """The tokens of ids, as pieces of the text that they spell (see `decode`)."""
        return _pieces(ids, [b"" if id in (PAD, BOS, EOS) else self.entries[id] for id in ids])

    def encoder_input(self, text: str) -> list[Token]:
        """`[BOS] text [EOS]`: what an encoder reads."""
        return [*self.decoder_input(text), Token(EOS, b"", "", len(text), len(text), special=True)]

    def decoder_input(self, text: str) -> list[Token]:
        """`[BOS] text`: what a decoder reads. Its last token is the one after which the next is predicted."""
        return [Token(BOS, b"", "", 0, 0, special=True), *self.encode(text)]

    def token(self, id: int) -> Token:
        """An entry of the vocabulary on its own, as a prediction names it; bytes that spell no character as hex."""
        if id not in self._alone:
            if id < len(SPECIAL_TOKENS):
                name = SPECIAL_TOKENS[id]
                self._alone[id] = Token(id, self.entries[id], name, 0, len(name), special=True)
            else:
                self._alone[id] = self.tokens([id])[0]
        return self._alone[id]

    def decode(self, ids: Iterable[int]) -> str:
        """The text that ids spell, in whole characters. An unfinished last character is held back (see `unfinished`).

        Bytes that spell no character inside the text are written as hex, `⟨ED 95⟩`. [PAD], [BOS] and [EOS] spell
        nothing, [MASK] spells itself.
        """
        spelt = self._spelt(ids)
        return "".join(character for character, _ in _characters(spelt[: len(spelt) - len(_unfinished(spelt))]))

    def unfinished(self, ids: Iterable[int]) -> bytes:
        """The bytes at the end that begin a character which further tokens may finish; empty if there are none."""
        return _unfinished(self._spelt(ids))

    def _spelt(self, ids: Iterable[int]) -> bytes:
        return b"".join(self.entries[id] for id in ids if id not in (PAD, BOS, EOS))


def groups(tokens: Sequence[Token]) -> list[list[int]]:
    """The tokens' positions, those together that share a character: `[[0], [1, 2, 3], [4]]`."""
    return _runs([token.part is None or token.part[0] == token.part[1] for token in tokens])


def _pieces(ids: Sequence[int], spelt: Sequence[bytes]) -> list[Token]:
    """Tokens from ids and the bytes that each of them spells here."""
    characters = list(_characters(b"".join(spelt)))
    byte_at = list(accumulate((size for _, size in characters), initial=0))  # where each character begins
    text_at = list(accumulate((len(character) for character, _ in characters), initial=0))
    bounds = list(accumulate(map(len, spelt), initial=0))

    tokens = []
    for id, spelling, (begin, end) in zip(ids, spelt, pairwise(bounds), strict=True):
        first, last = bisect_right(byte_at, begin) - 1, bisect_left(byte_at, end)
        text = "".join(character for character, _ in characters[first:last])
        tokens.append(Token(id, spelling, text, text_at[first], text_at[last], id < len(SPECIAL_TOKENS)))
    whole = set(byte_at)
    runs = _runs([bound in whole for bound in bounds[1:]])
    return [
        replace(tokens[i], part=(k + 1, len(run))) if len(run) > 1 else tokens[i]
        for run in runs
        for k, i in enumerate(run)
    ]


def _runs(ends: Sequence[bool]) -> list[list[int]]:
    """Positions cut into runs, each closed by a position that is an end."""
    runs: list[list[int]] = [[]]
    for i, end in enumerate(ends):
        runs[-1].append(i)
        if end:
            runs.append([])
    return [run for run in runs if run]


def cut(tokens: Sequence[Token], limit: int) -> list[Token]:
    """The first tokens, as many as fit; an [EOS] at the end of a text stays at its end."""
    kept = list(tokens[:limit])
    if len(tokens) > limit and tokens[-1].id == EOS:
        kept[-1] = replace(tokens[-1], start=kept[-2].end, end=kept[-2].end)
    return kept


def visible(text: str) -> str:
    """A text with every character visible: a newline as ⏎, a tab as ⇥, what has no glyph by its number, as in U+200B.

    A mark that combines with the character before it is given a dotted circle where there is none.
    """
    seen = "".join(map(_visible, text))
    return f"◌{seen}" if text and unicodedata.combining(text[0]) and seen[0] == text[0] else seen


def _visible(character: str) -> str:
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    if code < 0x20:
        return chr(0x2400 + code)  # Unicode's pictures of the control characters
    if not character.isprintable() or any(code in codes for codes in _NO_GLYPH):
        return f"U+{code:04X}"
    return character


_NAMED = {"\n": "⏎", "\t": "⇥", "\r": "␍", "\x7f": "␡"}
_NO_GLYPH = (  # counted as printable, but nothing is seen: fillers, variation selectors, the blank Braille pattern
    range(0x034F, 0x0350),
    range(0x115F, 0x1161),
    range(0x17B4, 0x17B6),
    range(0x180B, 0x1810),
    range(0x2800, 0x2801),
    range(0x3164, 0x3165),
    range(0xFE00, 0xFE10),
    range(0xFFA0, 0xFFA1),
    range(0xE0100, 0xE01F0),
)


def _characters(spelt: bytes) -> Iterable[tuple[str, int]]:
    """What bytes spell, as (character, number of bytes); bytes that spell no character are one piece, in hex."""
    at = 0
    while at < len(spelt):
        try:
            text, end = spelt[at:].decode(), len(spelt)
        except UnicodeDecodeError as error:
            text, end = spelt[at : at + error.start].decode(), at + error.start
            stray = spelt[end : at + error.end]
        for character in text:
            yield character, len(character.encode())
        at = end
        if at < len(spelt):
            yield f"⟨{stray.hex(' ').upper()}⟩", len(stray)
            at += len(stray)


def _unfinished(spelt: bytes) -> bytes:
    """The bytes at the end that could still become a character."""
    while True:
        try:
            spelt.decode()
            return b""
        except UnicodeDecodeError as error:
            if error.end == len(spelt) and error.reason == "unexpected end of data":
                return spelt[error.start :]
            spelt = spelt[error.end :]


def _byte_letters() -> dict[str, int]:
    """The alphabet of byte-level BPE: a printable Latin-1 byte is its own letter, the others follow from U+0100 on."""
    own = [byte for byte in range(256) if chr(byte).isprintable() and chr(byte) != " "]
    others = [byte for byte in range(256) if byte not in own]
    return {chr(byte): byte for byte in own} | {chr(256 + i): byte for i, byte in enumerate(others)}


_BYTES = _byte_letters()
