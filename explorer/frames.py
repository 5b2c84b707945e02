"""A recorded value as a table: one row for each number, one column for each axis.

The table is in long form and its columns are fixed words (the axes and `value`), so a token's text is only ever
data. Positions are whole numbers: two equal words are still two rows.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from explorer.trace import Value


def frame(value: Value, labels: Mapping[str, Sequence[str]] | None = None) -> pd.DataFrame:
    """One row for each number of a value, in the tensor's order, with the columns `head`, `query`, ..., `value`.

    Axes become whole numbers of the smallest type that holds them; an axis kept after a mean (named `1`) has none.
    `labels` gives an axis the texts of its tokens, which become the column `query_token`. Numbers keep their kind:
    float32, whole numbers, booleans. Minus infinity stays what it is, and a column `masked` marks it.
    Raises ValueError when an axis has another number of labels than places, or does not exist.
    """
    array = value.tensor.detach().cpu().numpy()
    columns = {}
    for axis, places in zip(value.axes, np.indices(array.shape, sparse=True), strict=True):
        if axis == "1":
            continue
        place = np.broadcast_to(places, array.shape).ravel()
        columns[axis] = place.astype(np.min_scalar_type(max(array.shape) - 1))
    for axis, texts in (labels or {}).items():
        if axis not in columns:
            raise ValueError(f"There is no axis {axis} to label; this value has {', '.join(columns)}.")
        length = array.shape[value.axes.index(axis)]
        if len(texts) != length:
            raise ValueError(f"{len(texts)} labels for the {length} places of the axis {axis}; give one for each.")
        columns[f"{axis}_token"] = pd.Categorical.from_codes(
            np.unique(np.asarray(texts, dtype=object), return_inverse=True)[1][columns[axis]],
            np.unique(np.asarray(texts, dtype=object)),
        )
    numbers = array.ravel()
    if numbers.dtype.kind == "f":
        numbers = numbers.astype(np.float32)
        if np.isneginf(numbers).any():
            columns["masked"] = np.isneginf(numbers)
    elif numbers.dtype.kind == "i":
        numbers = numbers.astype(np.result_type(*map(np.min_scalar_type, (numbers.min(), numbers.max()))))
    return pd.DataFrame({**columns, "value": numbers})


def statistics(value: Value) -> dict:
    """`shape`, `least`, `largest`, `mean`, `deviation` (over all numbers, not of a sample) and `masked`, a share.

    Minus infinity counts as masked and in nothing else, and so does False where a value says what is allowed.
    The four are None when no number is left.
    """
    array = value.tensor.detach().cpu().numpy()
    masked = ~array if array.dtype == bool else np.isneginf(array)
    numbers = array[~masked].astype(np.float64) if array.dtype != bool else array.astype(np.float64)
    empty = numbers.size == 0
    return {
        "shape": tuple(array.shape),
        "least": None if empty else float(numbers.min()),
        "largest": None if empty else float(numbers.max()),
        "mean": None if empty else float(numbers.mean()),
        "deviation": None if empty else float(numbers.std()),
        "masked": float(masked.sum()) / max(1, math.prod(array.shape)),
    }
