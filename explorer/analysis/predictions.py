"""What a model expects, over its whole vocabulary: at one position, and at every one as in training."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.analysis.stream import last_stack
from explorer.config import MASK, SPECIAL_TOKENS
from explorer.trace import Trace
from explorer.transformer import Transformer


@dataclass(frozen=True)
class Prediction:
    """The likeliest tokens at a position, as (id, probability), and the probability of all others together."""

    best: tuple[tuple[int, float], ...]
    others: float
    vocabulary: int


def prediction(trace: Trace, position: int, count: int = 8) -> Prediction:
    """The `count` likeliest tokens at a position of the stack that predicts."""
    probabilities = trace["probabilities"].tensor[position]
    shares, ids = probabilities.double().topk(count)
    best = tuple(zip(ids.tolist(), shares.tolist(), strict=True))
    return Prediction(best, max(0.0, 1 - sum(share for _, share in best)), len(probabilities))


@dataclass(frozen=True)
class Answer:
    """A position that was asked as in training: the right token's id, the probability it was given, the likeliest."""

    position: int
    id: int
    share: float
    best: int


def followed(trace: Trace) -> list[Answer]:
    """For each position of a decoder's text but the last: the token that really follows, and what was expected.

    Empty for an encoder, which does not predict what follows.
    """
    stack = last_stack(trace)
    if stack == "encoder":
        return []
    ids = trace[f"{stack}.embedding.ids"].tensor.tolist()
    return [_answer(trace["probabilities"].tensor[place], place, id) for place, id in enumerate(ids[1:])]


def in_turn(model: Transformer, ids: Tensor, places: Sequence[int]) -> list[Answer]:
    """For an encoder: each of the places masked on its own, and what the model expects there. A pass for each place.

    Special tokens are left out: nobody masks them in training.
    """
    found = []
    with torch.inference_mode():
        for place in places:
            if int(ids[place]) < len(SPECIAL_TOKENS):
                continue
            masked = ids.clone()
            masked[place] = MASK
            found.append(_answer(model(masked)[place], place, int(ids[place])))
    return found


def _answer(probabilities: Tensor, place: int, id: int) -> Answer:
    return Answer(place, id, float(probabilities[id]), int(probabilities.argmax()))


def loss(answers: Sequence[Answer]) -> float:
    """The mean of -ln of the chance that the right token was given, in nats a token; the loss of training."""
    return -sum(math.log(max(answer.share, 1e-37)) for answer in answers) / len(answers)
