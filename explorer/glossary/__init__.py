"""What every recorded value is: its symbol, its formula, what it is computed from, and how, down to a single cell.

One table holds an `Entry` for each kind of value and parameter, found by its path. From it follow

    entry(path, trace)              what it is called, its formula, what the operation does, in words
    inputs(path, trace)             the values and parameters it is computed from, by the part that each plays
    consumers(path, trace)          the values that are computed from it
    recompute(path, trace)          the whole value, from its recorded inputs
    arithmetic(path, index, trace)  one cell, as the numbers of its formula

Which value feeds which is read from the trace: a sublayer that ran after its norm read the norm, one that ran before
it read the stream. Nothing here asks for the norm order or the architecture. The formulas are written apart from
the model's own code, so that agreement between the two means something.

One symbol, one meaning. Letters that count: i a position (of the query), j a position that is looked at (of the key),
c a place in a vector, m a place in the vector that is summed over.

    t  token id            q k v  query, key, value          h  hidden, before the bend    E    embedding matrix
    e  a token's vector    r  raw score    s  scaled score   g  hidden, after the bend     W b  weights and biases
    p  a place's vector    A  what is allowed                f  feed-forward output        gamma beta  gain and shift
    x  the stream          alpha  attention weight           mu sigma  mean, deviation     d    a width
    x' with a sum added    z  a head's output  Z  all        l  logit   P  probability     epsilon  keeps a root from 0
    M  encoder's output    a  attention output               x-hat, x-bar  normalised stream, normed stream
"""

from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache

from torch import Tensor

from explorer.glossary.forms import Cell
from explorer.glossary.table import NORM_AFTER, NORM_BEFORE, TABLE, Entry, beside, module
from explorer.glossary.terms import Arithmetic, Condition, Factor, Index, Outer, Role, Term, Words
from explorer.trace import Trace

__all__ = [
    "TABLE",
    "Arithmetic",
    "Condition",
    "Entry",
    "Factor",
    "Index",
    "Outer",
    "Role",
    "Term",
    "Words",
    "arithmetic",
    "consumers",
    "entry",
    "inputs",
    "recompute",
    "tensor",
]


@lru_cache(maxsize=4096)
def _entry(path: str) -> Entry:
    for pattern, found in TABLE.items():
        if fnmatchcase(path, pattern):
            return found
    raise KeyError(f"The glossary knows no value or parameter called {path}.")


def _describe(path: str) -> tuple[str, Role]:
    return _entry(path).symbol, _entry(path).role


def tensor(path: str, trace: Trace) -> Tensor:
    """The numbers of a recorded value or a parameter."""
    _present(path, trace)
    return trace[path].tensor if path in trace else trace.parameters[path].detach()


def _present(path: str, trace: Trace) -> Entry:
    found = _entry(path)
    if path not in trace and path not in trace.parameters:
        raise KeyError(f"{path} is not in this trace.")
    return found


def entry(path: str, trace: Trace | None = None) -> Entry:
    """What the glossary says of a value or parameter; with a trace, as it was in that pass.

    With a trace, {x} in the formulas is the symbol of what was read (the stream or its normed copy), the activation
    has its name, and a norm's sentence says whether it stands before its sublayer or after the sum.
    Raises KeyError, naming the path, when there is no such value.
    """
    if trace is None:
        return _entry(path)
    found = _present(path, trace)
    sources = inputs(path, trace)
    read = _entry(sources["x"]).symbol if "x" in sources else "x"
    formula, cell = (text.replace("{x}", read) for text in (found.formula, found.cell))
    if path.endswith(".feed_forward.activated"):
        formula, cell = (
            (r"g = \max(0, h)", r"g_c = h_c\, [h_c > 0]")
            if trace.config.activation == "relu"
            else (r"g = \mathrm{GELU}(h) = h \odot \Phi(h)", r"g_c = h_c\, \Phi(h_c)")
        )
    sentence = found.sentence
    if "_residual.norm." in path:
        after = trace.before(f"{module(module(path))}.sum", path)
        sentence = (NORM_AFTER if after else NORM_BEFORE).get(path.rpartition(".")[2], sentence)
    return replace(found, formula=formula, cell=cell, sentence=sentence)


def inputs(path: str, trace: Trace) -> dict[str, str]:
    """The paths of the values and parameters that a value is computed from, by the part that each plays.

    Empty for what is given: ids and parameters, and what depends on places alone. Raises KeyError for an unknown path.
    """
    reads = _present(path, trace).reads
    return {part: beside(path, rule) if isinstance(rule, str) else rule(path, trace) for part, rule in reads.items()}


def consumers(path: str, trace: Trace) -> list[str]:
    """The values that are computed from a value or parameter, in the order of the pass."""
    _present(path, trace)
    return [other for other in trace if path in inputs(other, trace).values()]


def recompute(path: str, trace: Trace) -> Tensor:
    """A value, computed anew from its recorded inputs and the parameters, in the precision of the recorded one."""
    found = _present(path, trace)
    recorded = tensor(path, trace)
    values = {part: tensor(source, trace) for part, source in inputs(path, trace).items()}
    return found.form.whole(values, recorded, trace.config).to(recorded.dtype)


def arithmetic(path: str, index: Index, trace: Trace) -> Arithmetic:
    """One cell of a value, laid out as the numbers of its formula.

    `index` has one whole number for each axis. Raises KeyError for an unknown path and IndexError, with the shape,
    for an index outside it.
    """
    found = entry(path, trace)
    shape = tuple(tensor(path, trace).shape)
    index = tuple(int(at) for at in index)
    if len(index) != len(shape) or not all(0 <= at < size for at, size in zip(index, shape, strict=True)):
        raise IndexError(f"{path} has shape {shape}, so it has no cell {index}.")
    cell = Cell(path, index, trace, inputs(path, trace), tensor, _describe, arithmetic)
    return Arithmetic(
        path=path,
        index=index,
        symbol=found.symbol,
        formula=found.cell,
        recorded=cell.recorded,
        edited=path in trace.edits,
        **found.form.cell(cell),
    )
