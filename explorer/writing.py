"""The text that a reader lets a model write: what it goes on from, how far, and what was chosen by hand on the way."""

from dataclasses import dataclass
from functools import cached_property

from explorer import reader
from explorer.address import fingerprint, whole_number
from explorer.config import BOS, MAX_TOKENS
from explorer.passes import Ids
from explorer.view import View


@dataclass(frozen=True)
class Writing:
    """A text that is being written. How far it goes and what was chosen by hand stand in the address."""

    view: View

    @property
    def model(self) -> str:
        return self.view.choices.model

    @cached_property
    def source(self) -> Ids:
        """What an encoder-decoder translates; nothing for a decoder."""
        return tuple(token.id for token in self.view.tokens.get("encoder", ()))

    @cached_property
    def start(self) -> Ids:
        """What the decoder goes on from."""
        return (BOS,) if self.view.own is not None else tuple(token.id for token in self.view.tokens["decoder"])

    @property
    def mark(self) -> str:
        """By what the address knows this beginning again."""
        return fingerprint(f"{self.source} {self.start}")

    @property
    def asked_for(self) -> int:
        """How many tokens are to be written; none where another text has been typed since."""
        mark, _, number = reader.option("wrote").partition("-")
        return min(whole_number(number) or 0, MAX_TOKENS) if mark == self.mark else 0

    @property
    def by_hand(self) -> dict[int, int]:
        """The tokens that the reader chose in the place of the drawn ones, by position."""
        pairs = [[whole_number(one) for one in pair.split(".")] for pair in reader.option("hand").split(",")]
        numbers = [pair for pair in pairs if len(pair) == 2 and None not in pair]
        return {at: id for at, id in numbers if id < self.view.config.vocabulary}

    def write_until(self, number: int) -> None:
        """So many tokens are to be written. For callbacks, as those below."""
        reader.set_option("wrote", f"{self.mark}-{number}")
        reader.set_option("seen", "")
        reader.set_option("halted", "")

    def rewind(self, to: int) -> None:
        """Forget what was written from a place on, and the tokens chosen by hand there."""
        self._keep({at: id for at, id in self.by_hand.items() if at < len(self.start) + to})
        self.write_until(to)

    def branch(self, place: int, id: int) -> None:
        """Another token at a place of the written text, and go on from there."""
        position = len(self.start) + place
        self._keep({at: one for at, one in self.by_hand.items() if at < position} | {position: id})
        self.write_until(place + 1)

    def halt(self, done: int) -> None:
        """Keep what a run has written so far."""
        self.write_until(done)
        reader.set_option("halted", str(done))

    def _keep(self, chosen: dict[int, int]) -> None:
        reader.set_option("hand", ",".join(f"{at}.{id}" for at, id in sorted(chosen.items())))
