"""What a model expects at a position, over its whole vocabulary."""

from dataclasses import dataclass

from explorer.trace import Trace


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
