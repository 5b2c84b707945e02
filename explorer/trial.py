"""What a reader tries out in the running model: the place at hand, the token whose logit tells, and sweeps of changes.

What a sweep has found is kept by the visit, so one that was stopped goes on where it was.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import streamlit as st

from explorer import changes, reader
from explorer.analysis import edits, sweeps
from explorer.analysis.predictions import prediction
from explorer.changes import Change
from explorer.passes import Pass
from explorer.view import View

QUICK = 48  # tokens up to which every head is tried without being asked for: half a second
KEPT = 12  # sweeps that a visit remembers
SWEEPS = ("model", "neurons", "patch")


@dataclass(frozen=True)
class Trial:
    """A view; the place in its model that was clicked last, as the change that switches it off; the token whose logit
    is looked at; and the sweeps that go on by themselves once they are on the page."""

    view: View
    place: Change
    token: int
    running: tuple[str, ...]

    @property
    def start(self) -> Pass:
        """The pass that sweeps start from: of the model as it was trained, or as the reader has changed it."""
        return self.view.run if reader.option("over") == "changed" else self.view.plain

    @property
    def layer(self) -> int:
        """The layer of the place at hand; of a whole stack, the one that the reader looks at."""
        return self.view.layer if self.place.layer is None else self.place.layer

    def sweep(self, kind: str, tries: Sequence[Change]) -> "Sweep":
        """One of SWEEPS over these changes, with what the visit has found of it."""
        known = st.session_state.setdefault("what_if tried", {})
        start, view = self.start, self.view
        other = view.other if kind == "patch" else start.other
        at = (kind, view.choices.model, start.ids, start.changes, other, view.focus, self.token)
        if at not in known:
            while len(known) >= KEPT:
                del known[next(iter(known))]
            known[at] = {}
        return Sweep(self, kind, tuple(tries), known[at])


def of(view: View) -> Trial:
    """What the reader tries in the model at hand."""
    place = _place(view)
    likely = prediction(view.plain.trace, view.focus, 1).best[0][0]
    token = reader.whole("token", likely, view.config.vocabulary)
    short = sum(map(len, view.tokens.values())) <= QUICK
    asked = reader.option("sweep", "model" if short else "off", ("off", *SWEEPS))
    return Trial(view, place, token, {"off": ()}.get(asked, ("model", asked) if short else (asked,)))


def _place(view: View) -> Change:
    usual = Change("off", view.stack, view.layer, "self_attention", head=view.head)
    try:
        found = place_of(reader.option("place"))
    except ValueError:
        return usual
    return found if edits.exists(found, view.config) else usual


def code(place: Change) -> str:
    """A place as a link has it: d0a.h2."""
    return changes.write([place]).removeprefix("off:")


def place_of(code: str) -> Change:
    """The place that a link names, as the change that switches it off. Raises ValueError where it names none."""
    (found,) = changes.read(f"off:{code}")
    return found


@dataclass(frozen=True)
class Sweep:
    """Changes that are tried one by one, and what each was found to do to the logit, by its text."""

    trial: Trial
    kind: str
    tries: tuple[Change, ...]
    known: dict[str, float]

    def effect(self, change: Change) -> float | None:
        """What a change does to the logit; None while it has not been tried."""
        return self.known.get(changes.write([change]))

    @cached_property
    def texts(self) -> list[str]:
        """The text of each change."""
        return [changes.write([change]) for change in self.tries]

    @property
    def left(self) -> list[Change]:
        """What has not been tried."""
        return [change for change, text in zip(self.tries, self.texts, strict=True) if text not in self.known]

    @property
    def done(self) -> int:
        """How many have been tried."""
        return sum(text in self.known for text in self.texts)

    @property
    def limit(self) -> float:
        """The size of the largest effect that was found; 1 where there is none."""
        return max((abs(self.known[text]) for text in self.texts if text in self.known), default=0.0) or 1.0

    def go_on(self) -> Iterator[None]:
        """Try what is left, one change at a step."""
        start, view = self.trial.start, self.trial.view
        run = edits.Run(start.model, start.source, start.target, view.second and view.second.trace)
        for step in sweeps.sweep(run, self.left, view.focus, self.trial.token, changes.read(start.changes)):
            self.known[changes.write([step.change])] = step.effect
            yield
