"""What stands beside the view on the screen: the same but for one thing, and which token stands for which."""

from dataclasses import dataclass, replace

from explorer import address, reader
from explorer.analysis import compare
from explorer.analysis.compare import Alignment
from explorer.view import View, of

KINDS = ("text", "arch", "norm", "heads", "layer", "head", "edits")  # what can differ
CHOSEN = ("arch", "heads", "layer", "head")  # of these the reader chooses which


def offered(view: View, what: str) -> list[str]:
    """What the other side can be, as codes."""
    chosen, known = view.choices, reader.models()
    found = {
        "arch": lambda: address.architectures(known),
        "heads": lambda: address.head_counts(known, chosen.architecture, chosen.norm),
        "layer": lambda: range(view.config.layers),
        "head": lambda: range(view.config.heads),
    }[what]()
    return [str(one) for one in found]


def own(view: View, what: str) -> str:
    """What this side is, as a code."""
    chosen = view.choices
    return {"arch": chosen.architecture, "heads": str(chosen.heads), "layer": str(view.layer), "head": str(view.head)}[
        what
    ]


def usual(view: View, what: str) -> str:
    """What the other side is before the reader chooses: the next one, or the last but one."""
    codes = offered(view, what)
    at = codes.index(own(view, what))
    return codes[at + 1] if at + 1 < len(codes) else codes[max(0, at - 1)]


def other(view: View, what: str, code: str = "") -> View:
    """The other side. Raises Nothing as `view.of` does."""
    chosen = view.choices
    if what == "text":
        return of(replace(chosen, text=chosen.other, focus=None))
    if what == "edits":
        return replace(view, run=view.plain)
    if what in ("layer", "head"):
        return replace(view, **{what: int(code)})
    asked = code if what != "norm" else {"pre": "post", "post": "pre"}[chosen.norm]
    return of(replace(reader.nearest(chosen, **{what: asked}), focus=None))


@dataclass(frozen=True)
class Sides:
    """Two views, and the attention (`decoder.self`, `decoder.cross`) whose texts are followed on each side."""

    left: View
    right: View
    kinds: tuple[str, str]

    @property
    def same_model(self) -> bool:
        """Whether both are passes of the same weights, so that a layer, a head, a number mean the same in both."""
        return self.left.choices.model == self.right.choices.model

    def stacks(self, axis: str = "query") -> tuple[str, str]:
        """The stacks whose tokens ask, or are asked (`key`)."""
        return tuple(
            view.config.stacks[0] if axis == "key" and kind.endswith("cross") else kind.partition(".")[0]
            for view, kind in zip((self.left, self.right), self.kinds, strict=True)
        )

    def aligned(self, stacks: tuple[str, str]) -> Alignment:
        """Which token of the one stack stands for which of the other."""
        texts = (view.tokens[stack] for view, stack in zip((self.left, self.right), stacks, strict=True))
        return compare.align(*([token.id for token in tokens] for tokens in texts))

    def places(self, stacks: tuple[str, str]) -> tuple[int, int]:
        """Where the reader looks on each side: at tokens that stand for each other, wherever there are such.

        A token of the right that has no partner is an option of its own (`beside`). Where the left one has none, the
        right is followed where its prediction is of interest.
        """
        place, aligned = self.left.place_in(stacks[0]), self.aligned(stacks)
        stack, _, given = reader.option("beside").partition(".")
        alone = address.whole_number(given)
        known = stack == stacks[1] and alone is not None and alone < aligned.right
        if known and aligned.left_of(alone) is None:
            return place, alone
        found = aligned.right_of(place)
        if found is None:
            found = self.right.focus if stacks[1] == self.right.stack else min(1, aligned.right - 1)
        return place, found

    def look_at(self, stacks: tuple[str, str], side: int, position: int) -> None:
        """Follow a token of one side, and its partner on the other. For callbacks."""
        if side:
            partner = self.aligned(stacks).left_of(position)
            reader.set_option("beside", "" if partner is not None else f"{stacks[1]}.{position}")
            if partner is None:
                return
            position = partner
        else:
            reader.set_option("beside", "")
        self.left.look_at(stacks[0], position)


def sides(left: View, right: View, kind: str, what: str) -> Sides:
    """Both views, each with the attention that reads the same text: of another architecture, the first stack's own."""
    return Sides(left, right, (kind, f"{right.config.stacks[0]}.self" if what == "arch" else kind))
