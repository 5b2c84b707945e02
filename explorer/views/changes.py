"""A change of the model in words."""

from collections.abc import Sequence

from explorer.changes import Change
from explorer.words import Words, verbatim

STREAM = ("embedding.output", "_residual.sum", "_residual.norm.output")  # how the path of a stream's stage ends


def in_words(change: Change, words: Words, stacks: Sequence[str] = ()) -> str:
    """What a change does and where, in Markdown. `stacks` are the model's; where it has only the change's, that goes
    without saying."""
    if change.action == "patch":
        said = words("edit.patch", place=_value(change.path, words, stacks))
        return said if change.position is None else f"{said}, {words('edit.at', n=change.position)}"
    place = place_in_words(change, words, stacks)
    one, other = change.pair or (None, None)
    factor = None if change.factor is None else f"{change.factor:g}".replace("-", "−")
    return words(f"edit.{change.action}", place=place, factor=factor, one=one, other=other)


def place_in_words(change: Change, words: Words, stacks: Sequence[str] = ()) -> str:
    """Where a change is made: layer 2 self-attention, head 3."""
    stack = words(f"stack.{change.stack}").lower()
    if change.action == "unplaced":
        return stack
    said = [] if tuple(stacks) == (change.stack,) else [stack]
    if change.sublayer is None:
        return " ".join([*said, words("edit.everywhere")])
    said += [words("layer.of", n=change.layer), words(f"part.{change.sublayer}")]
    if change.head is not None:
        said.append(words("head.of", n=change.head))
    if change.neuron is not None:
        said.append(words("edit.neuron", n=change.neuron))
    return " ".join(said)


def _value(path: str, words: Words, stacks: Sequence[str]) -> str:
    """A recorded value: the stream by its place in the model, any other by its path."""
    names = path.split(".")
    known = names[0] in ("encoder", "decoder") and path.endswith(STREAM)
    if known and names[1] == "embedding":
        said = words("edit.entrance")
    elif known and len(names) > 3 and names[2].isdecimal() and words.has(f"part.{names[3].removesuffix('_residual')}"):
        part = words(f"part.{names[3].removesuffix('_residual')}")
        said = words("edit.stream", place=f"{words('layer.of', n=int(names[2]))} {part}")
    else:
        return verbatim(path[:80])
    return said if tuple(stacks) == (names[0],) else f"{words(f'stack.{names[0]}').lower()} {said}"
