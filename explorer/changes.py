"""The vocabulary of what-if: what can be changed in a running model, each change with a short text for a link.

A text is `action:place`, with what the action needs behind another colon; several are joined by semicolons:

    off:d0a             switch off the decoder's self-attention in layer 0 (so it adds nothing)
    off:d0a.h2          switch off its head 2                       off:d1f.n17   neuron 17 of a feed-forward layer
    scale:d0a.h2:0.5    multiply by a number
    mean:d1f.n17        put its mean over all positions of the text in its place, later ones included
    block:d0a.h2:5>3    query 5 may not look at key 3 (in every head without .h2)
    only:d0a:5>3        query 5 may look at nothing but key 3
    unscaled:d0a        do not divide the scores by the root of d_k
    unmasked:d0a        let every query look at every key
    unlinked:d0a        remove the residual connection around it: its output alone goes on
    relu:d0f, gelu:d0f  that activation in the place of the model's own
    alike:, distance:, embeddings:d0a   a rule in the place of the learned weights (see rules.py)
    unplaced:d          leave out the positions of a stack
    patch:PATH          take a recorded value from the other sentence, everywhere
    patch:PATH:4        or at position 4 alone

A place is a stack (e, d), a layer's number and a sublayer: a self-attention, x cross-attention, f feed-forward. A stack
alone, as in `unscaled:d`, means every sublayer of it that the action fits.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

Action = Literal[
    "off", "scale", "mean", "block", "only", "unscaled", "unmasked", "unlinked", "relu", "gelu",
    "alike", "distance", "embeddings", "unplaced", "patch",
]  # fmt: skip
ACTIONS: tuple[Action, ...] = get_args(Action)

STACKS = {"e": "encoder", "d": "decoder"}
SUBLAYERS = {"a": "self_attention", "x": "cross_attention", "f": "feed_forward"}

RULES = ("alike", "distance", "embeddings")  # that can take the place of the learned weights
ATTENTION = ("self_attention", "cross_attention")
FITTING: dict[Action, tuple[str, ...]] = {  # the sublayers that an action fits
    **dict.fromkeys(("off", "scale", "mean", "unlinked"), (*ATTENTION, "feed_forward")),
    **dict.fromkeys(("block", "only", "unscaled", "unmasked", *RULES), ATTENTION),
    **dict.fromkeys(("relu", "gelu"), ("feed_forward",)),
    **dict.fromkeys(("unplaced", "patch"), ()),
}
HEADED = ("off", "scale", "mean", "block", "only", "unscaled", *RULES)  # can be done to a single head
LEVELS = ("off", "scale", "mean")  # of these a place has one at a time
PAIRED = ("block", "only")
ALONE = ("off", "unplaced", "mean", "unscaled", "unmasked", "unlinked", "gelu", "relu", *RULES)  # need only a place
CHANGING = ("off", "scale", "mean", "block", "only")  # these change a value; the others put another in its place


@dataclass(frozen=True)
class Change:
    """One edit, as a choice that can be listed, undone and written down. Fields that an action does not use are None.

    stack `encoder` or `decoder`; layer and sublayer (`self_attention`) None for the whole stack; head or neuron for one
    of them; `factor` for scale; `pair` (query, key) for block and only; for patch `path`, and `position` for one place.
    """

    action: Action
    stack: str | None = None
    layer: int | None = None
    sublayer: str | None = None
    head: int | None = None
    neuron: int | None = None
    factor: float | None = None
    pair: tuple[int, int] | None = None
    path: str | None = None
    position: int | None = None

    @property
    def place(self) -> tuple[str | None, int | None, str | None, int | None, int | None]:
        """Where it is made, whatever is done there: the stack, the layer, the sublayer, the head, the neuron."""
        return self.stack, self.layer, self.sublayer, self.head, self.neuron


def write(changes: Sequence[Change]) -> str:
    """The text of several changes; `read` makes the same changes of it."""
    return ";".join(map(_write, changes))


def read(text: str) -> list[Change]:
    """The changes that a text names. Raises ValueError, in one sentence, for a text that names none."""
    return [_read(part.strip()) for part in text.split(";") if part.strip()]


def offered(place: Change) -> list[Change]:
    """What can be done at the place of a change: the actions that fit it and need nothing else, each as a change.

    The parts of a whole stack are not levelled together.
    """
    found = []
    for action in ALONE:
        change = Change(action, *place.place)
        try:
            _checked(write([change]), change)
        except ValueError:
            continue
        if action != "mean" or place.sublayer is not None:
            found.append(change)
    return found


def _write(change: Change) -> str:
    if change.action == "patch":
        place = change.path
    else:
        place = change.stack[0]
        if change.sublayer is not None:
            letter = next(letter for letter, name in SUBLAYERS.items() if name == change.sublayer)
            place += f"{change.layer}{letter}"
        if change.head is not None:
            place += f".h{change.head}"
        if change.neuron is not None:
            place += f".n{change.neuron}"
    parts = [change.action, place]
    if change.factor is not None:
        parts.append(repr(change.factor))
    if change.pair is not None:
        parts.append(f"{change.pair[0]}>{change.pair[1]}")
    if change.position is not None:
        parts.append(str(change.position))
    return ":".join(parts)


_PLACE = re.compile(
    r"(?P<stack>[ed])(?:(?P<layer>[0-9]{1,4})(?P<sublayer>[axf])(?:\.(?P<part>[hn])(?P<number>[0-9]{1,6}))?)?"
)


def _read(text: str) -> Change:
    action, _, rest = text.partition(":")
    if action not in ACTIONS:
        raise ValueError(f"{text!r} does not begin with an action; choose one of {', '.join(ACTIONS)}.")
    place, _, argument = rest.partition(":")
    if action == "patch":
        return _checked(text, Change("patch", path=place, position=_number(text, argument) if argument else None))
    found = _PLACE.fullmatch(place)
    if not found:
        raise ValueError(f"{text!r} names no place; write one like d, d0a, d0a.h2 or e1f.n17 after the action.")
    part, number = found["part"], found["number"]
    change = Change(
        action,
        stack=STACKS[found["stack"]],
        layer=None if found["layer"] is None else int(found["layer"]),
        sublayer=SUBLAYERS.get(found["sublayer"]),
        head=int(number) if part == "h" else None,
        neuron=int(number) if part == "n" else None,
        factor=_factor(text, argument) if action == "scale" else None,
        pair=_pair(text, argument) if action in PAIRED else None,
    )
    if argument and action != "scale" and action not in PAIRED:
        raise ValueError(f"{text!r} says {argument!r} after its place, and {action} needs nothing there.")
    return _checked(text, change)


def _number(text: str, argument: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", argument):
        raise ValueError(f"{text!r} needs a position as a whole number in the place of {argument!r}.")
    return int(argument)


def _factor(text: str, argument: str) -> float:
    try:
        factor = float(argument)
    except ValueError:
        factor = math.nan
    if not math.isfinite(factor):
        raise ValueError(f"{text!r} needs a number to multiply by, like scale:d0a:0.5.")
    return factor


def _pair(text: str, argument: str) -> tuple[int, int]:
    found = re.fullmatch(r"([0-9]{1,6})>([0-9]{1,6})", argument)
    if not found:
        raise ValueError(f"{text!r} needs a query and a key, like block:d0a:5>3.")
    return int(found[1]), int(found[2])


def _checked(text: str, change: Change) -> Change:
    """The change, if its action fits its place."""
    action, sublayer = change.action, change.sublayer
    if action == "patch":
        if not change.path:
            raise ValueError(f"{text!r} names no value; write its path after the action.")
    elif action == "unplaced":
        if sublayer is not None:
            raise ValueError(f"{text!r} names a sublayer, but positions are a whole stack's; write unplaced:{text[9]}.")
    elif sublayer is not None and sublayer not in FITTING[action]:
        raise ValueError(f"{text!r} does not fit: {action} is for {' and '.join(FITTING[action])}.")
    elif change.pair is not None and sublayer is None:
        raise ValueError(f"{text!r} needs a layer's attention for its place, like {action}:d0a:5>3.")
    elif change.head is not None and (sublayer not in ATTENTION or action not in HEADED):
        raise ValueError(f"{text!r} names a head, but {action} is not done to a head there.")
    elif change.neuron is not None and (sublayer != "feed_forward" or action not in ("off", "scale", "mean")):
        raise ValueError(f"{text!r} names a neuron, but {action} is not done to a neuron there.")
    return change
