"""Which tokens of a Korean text end in a particle or a verb ending, judged by their spelling.

A rough rule, without a dictionary: the last token of a word counts, by the syllables that the word ends in. It knows
no meaning, so `아이` (child) is taken for `아` with a particle.
"""

from collections.abc import Sequence

from explorer.tokens import Token

PARTICLES = (
    "에게서", "한테서", "으로", "에서", "에게", "한테", "부터", "까지", "보다",
    "은", "는", "이", "가", "을", "를", "에", "께", "의", "와", "과", "도", "만", "로",
)  # fmt: skip
ENDINGS = ("니다", "니까", "지만", "다", "요", "까", "죠", "서", "고", "면")


def kinds(tokens: Sequence[Token]) -> dict[str, list[int]]:
    """The positions of the tokens that end in a particle (`particle`) and in a verb ending (`ending`)."""
    found: dict[str, list[int]] = {"particle": [], "ending": []}
    word, last, end = "", None, 0
    for place, token in enumerate([*tokens, None]):
        text = "" if token is None or token.special else token.text[max(0, end - token.start) :]
        end = token.end if token else end
        if token and not token.special and not text and last is not None:  # another piece of the same character
            last = place
            continue
        if last is not None and not (text and _hangul(text[0])):
            kind = _kind(word)
            if kind:
                found[kind].append(last)
            word, last = "", None
        if text.strip() and _hangul(text[-1]):
            word, last = word + text.strip(), place
        else:
            word, last = "", None
    return found


def _kind(word: str) -> str | None:
    """A word that is longer than the particle or the ending that it ends in."""
    if any(word.endswith(part) and len(word) > len(part) for part in PARTICLES):
        return "particle"
    return "ending" if any(word.endswith(part) and len(word) > len(part) for part in ENDINGS) else None


def _hangul(character: str) -> bool:
    """Whether a character is a Hangul syllable."""
    return "가" <= character <= "힣"
