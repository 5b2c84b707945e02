"""What if a gate were another one: a neuron switched off, ReLU in the place of GELU, dropout as in training.

Each is an edit of a pass: the model's own code runs, with one recorded value replaced.
"""

import torch
from torch import Tensor

from explorer.trace import Edit, Trace

Edits = dict[str, list[Edit]]


def without(path: str, neuron: int) -> Edits:
    """Switch one neuron of the feed-forward layer at `path` off: at every position it hands on 0."""

    def off(value: Tensor, _: Trace) -> Tensor:
        shut = value.clone()
        shut[..., neuron] = 0
        return shut

    return {f"{path}.activated": [off]}


def rectified(plain: Trace) -> Edits:
    """ReLU in every feed-forward layer of a pass. The model was trained with another gate, so this is untrained."""
    return {path: [_relu(f"{path.removesuffix('activated')}hidden")] for path in plain if path.endswith(".activated")}


def _relu(hidden: str) -> Edit:
    def relu(_: Tensor, so_far: Trace) -> Tensor:
        return so_far[hidden].tensor.relu()

    return relu


def dropped(size: int, share: float, seed: int) -> Tensor:
    """One draw of dropout as in training, [size]: False for a number set to 0; the others are divided by 1 - share."""
    return torch.rand(size, generator=torch.Generator().manual_seed(seed)) >= share
