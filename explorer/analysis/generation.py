"""Text that a model writes itself, one token after the other."""

from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.config import BOS, EOS
from explorer.transformer import Transformer


@dataclass(frozen=True)
class Generated:
    """The ids that a model wrote, without [BOS] and [EOS], and whether it came to an end or ran into the limit."""

    ids: tuple[int, ...]
    finished: bool


def greedy(model: Transformer, source: Tensor, limit: int) -> Generated:
    """Translate source ids, of shape [position], always taking the likeliest next token, up to `limit` of them.

    Each step is a whole pass over all that was written so far: slower than keeping keys and values, and the same.
    Raises ValueError for a model that does not translate.
    """
    if model.config.architecture != "encoder-decoder":
        raise ValueError(f"{model.config.name} does not translate; choose an encoder-decoder.")
    ids = [BOS]
    with torch.inference_mode():
        while len(ids) <= limit:
            following = int(model(source, torch.tensor(ids))[-1].argmax())
            if following == EOS:
                return Generated(tuple(ids[1:]), finished=True)
            ids.append(following)
    return Generated(tuple(ids[1:]), finished=False)
