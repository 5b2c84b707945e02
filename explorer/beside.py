"""What stands beside the view on the screen: the same but for one thing; which token stands for which, and what of
both is shown."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from explorer import address, reader
from explorer.analysis import compare, limits
from explorer.analysis.compare import Alignment
from explorer.analysis.stream import after_layer
from explorer.tokens import Token
from explorer.trace import Value
from explorer.view import Attention, View, of

if TYPE_CHECKING:
    from torch import Tensor

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
    """Two views, what differs between them (one of KINDS), and the attention whose texts are followed on each side.

    Where a side is asked for by number, 0 is the left one and 1 the right one.
    """

    left: View
    right: View
    what: str
    attentions: tuple[Attention, Attention]

    @property
    def both(self) -> tuple[View, View]:
        return self.left, self.right

    @property
    def same_model(self) -> bool:
        """Whether both are passes of the same weights, so that a layer, a head, a number mean the same in both."""
        return self.left.choices.model == self.right.choices.model

    def stacks(self, axis: str = "query") -> tuple[str, str]:
        """The stacks whose tokens ask, or are asked (`key`)."""
        return tuple(
            view.config.stacks[0] if axis == "key" and one.crossing else one.stack
            for view, one in zip(self.both, self.attentions, strict=True)
        )

    def aligned(self, stacks: tuple[str, str]) -> Alignment:
        """Which token of the one stack stands for which of the other."""
        texts = (view.tokens[stack] for view, stack in zip(self.both, stacks, strict=True))
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


def sides(left: View, right: View, attention: Attention, what: str) -> Sides:
    """Both views, each with the attention that reads the same text: of another architecture, the first stack's own."""
    there = Attention(right.config.stacks[0]) if what == "arch" else attention
    return Sides(left, right, what, (attention, there))


Cell = tuple[int, ...]  # of a picture: a query and a key, or a position and a number of its vector
SHOWN = ("weights", "scores", "stream", "predictions")


@dataclass(frozen=True)
class Comparison:
    """What is shown of two sides, one of SHOWN: an attention's weights or scores, of the head at hand or the mean of
    all heads; the stream after the layer at hand; or predictions alone, which have no picture of numbers.

    `rows` says which row of the left picture stands for which of the right one, and `columns` the same where columns
    are tokens too, else None.
    """

    sides: Sides
    shown: str
    mean: bool = False

    @property
    def of_attention(self) -> bool:
        return self.shown in ("weights", "scores")

    @property
    def stacks(self) -> tuple[str, str]:
        """The stacks whose tokens stand beside the rows."""
        if self.shown == "predictions":
            return self.sides.left.stack, self.sides.right.stack
        return self.sides.stacks()

    @cached_property
    def rows(self) -> Alignment:
        return self.sides.aligned(self.stacks)

    @cached_property
    def columns(self) -> Alignment | None:
        return self.sides.aligned(self.sides.stacks("key")) if self.of_attention else None

    @cached_property
    def places(self) -> tuple[int, int]:
        """The row that the reader follows on each side."""
        return self.sides.places(self.stacks)

    def tokens(self, side: int) -> tuple[Token, ...]:
        """The tokens beside the rows."""
        return self.sides.both[side].tokens[self.stacks[side]]

    def keys(self, side: int) -> tuple[Token, ...] | None:
        """The tokens above the columns, where columns are tokens."""
        return self.sides.both[side].tokens[self.sides.stacks("key")[side]] if self.of_attention else None

    # The numbers of each side

    def path(self, side: int) -> str:
        """Where a side's value is recorded."""
        view, attention = self.sides.both[side], self.sides.attentions[side]
        if self.shown == "stream":
            return after_layer(view.trace, view.layer, attention.stack).path
        return f"{attention.path(view.layer)}.{self.shown}"

    def part(self, side: int) -> Cell:
        """Which part of the recorded value is drawn: its head; nothing where it is all of it, or the mean of all."""
        return (self.sides.both[side].head,) if self.of_attention and not self.mean else ()

    @cached_property
    def values(self) -> tuple[Value, Value]:
        """The numbers of each side, [query, key] or [position, d_model]."""
        return self._value(0), self._value(1)

    def _value(self, side: int) -> Value:
        found = self.sides.both[side].trace[self.path(side)]
        if not self.of_attention:
            return found
        return Value(found.tensor.mean(0) if self.mean else found.tensor[self.part(side)], found.axes[1:])

    def allowed(self, side: int) -> "Tensor | None":
        """Which cells the mask leaves; None where nothing is masked."""
        if not self.of_attention:
            return None
        view = self.sides.both[side]
        return view.trace[f"{self.sides.attentions[side].path(view.layer)}.allowed"].tensor

    @property
    def limit(self) -> float:
        """The end of the scale that both pictures share."""
        if self.shown == "weights":
            return 1.0
        if self.shown == "stream":
            return max(limits.limit(self.sides.both[side].trace, self.path(side)) or 1.0 for side in (0, 1))
        return max(float(self.values[side].tensor[self.allowed(side)].abs().max()) or 1.0 for side in (0, 1))

    # What lies between them

    @property
    def incomparable(self) -> str | None:
        """Why numbers cannot be subtracted: too few `rows` or `columns` stand for each other, or a number of the
        `stream` means another thing on the other side; None where they can."""
        for name, aligned in (("rows", self.rows), ("columns", self.columns)):
            if aligned is not None and not aligned.enough:
                return name
        return "stream" if self.shown == "stream" and not self.sides.same_model else None

    @cached_property
    def difference(self) -> "tuple[Tensor, Tensor | None]":
        """Right minus left over what stands for each other, and which of its cells are allowed: on either side for
        weights, which are 0 where they are masked, on both for scores."""
        found = compare.difference(*(value.tensor for value in self.values), self.rows, self.columns)
        if not self.of_attention:
            return found, None
        one, two = (compare.chosen(self.allowed(side), self.rows, self.columns, side) for side in (0, 1))
        mask = one | two if self.shown == "weights" else one & two
        return found * mask, mask

    @property
    def row(self) -> int | None:
        """The row of the difference that the reader follows, where what is followed stands for each other."""
        return self.rows.pairs.index(self.places) if self.places in self.rows.pairs else None

    @property
    def column_pairs(self) -> Sequence[tuple[int, int]]:
        """The columns of the difference, each by its place on the left and on the right."""
        return self.columns.pairs if self.columns else [(at, at) for at in range(self.values[0].tensor.shape[1])]

    @cached_property
    def cells(self) -> tuple[Cell | None, Cell | None]:
        """The cell at hand on each side, None where it has no partner there: the one that the reader chose, else the
        one of the followed row that differs most."""
        side = int(reader.option("whose") == "right")
        cell = reader.cell(self.values[side].tensor.shape, "pair")
        if cell is not None:
            return (self.partner(cell, side), cell) if side else (cell, self.partner(cell, side))
        if self.incomparable or self.row is None:
            return None, None
        most = self.column_pairs[int(self.difference[0][self.row].abs().argmax())]
        return tuple(zip(self.places, most, strict=True))

    def partner(self, cell: Cell, side: int) -> Cell | None:
        """The cell of the other side that stands for one of this side."""
        found = []
        for at, aligned in zip(cell, (self.rows, self.columns), strict=True):
            found.append(at if aligned is None else aligned.left_of(at) if side else aligned.right_of(at))
        return None if None in found else tuple(found)

    def in_difference(self, cells: tuple[Cell | None, Cell | None]) -> Cell | None:
        """The cell of the difference that lies between two that stand for each other."""
        if None in cells:
            return None
        (row, column), (other_row, other_column) = cells
        return self.rows.pairs.index((row, other_row)), list(self.column_pairs).index((column, other_column))

    def left_of(self, cell: Cell) -> Cell:
        """The left one of the two cells that a cell of the difference lies between."""
        return self.rows.pairs[cell[0]][0], self.column_pairs[cell[1]][0]
