"""The lens: what the output would say if the pass ended after this sublayer (nostalgebraist 2020, "the logit lens").

The stream of the stack that predicts is read as the model reads its last vectors: with the norm first, through the
stack's last norm, which was made for the last stage alone; with the norm after the sum, as it stands, since each stage
has been normed. An encoder-decoder is read in its decoder: its encoder's stream never meets the output. The last stage
is the model's real output.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from explorer import glossary
from explorer.analysis.stream import Stage, last_stack, parameter, position, stages
from explorer.trace import Trace


@dataclass(frozen=True)
class Lens:
    """One position through depth: `logits`, [stage, vocabulary], for each of `stages`."""

    position: int
    stages: tuple[Stage, ...]
    logits: Tensor

    @property
    def probabilities(self) -> Tensor:
        """[stage, vocabulary]."""
        return self.logits.softmax(-1)

    @property
    def final(self) -> int:
        """The token that the model really puts first here."""
        return int(self.logits[-1].argmax())

    def top(self, count: int = 5) -> tuple[Tensor, Tensor]:
        """The likeliest tokens of each stage, best first: their ids and probabilities, each [stage, count]."""
        found = self.probabilities.topk(min(count, self.logits.shape[-1]))
        return found.indices, found.values

    def rank(self, token: int) -> Tensor:
        """A token's place among all at each stage, [stage]; 1 is first, and equals share the better place."""
        return ranks(self.logits, torch.tensor(token))


@dataclass(frozen=True)
class Grid:
    """Every position through depth, each [stage, position]: the likeliest token and its probability, and the rank
    that the token had which is first in the end."""

    stages: tuple[Stage, ...]
    token: Tensor
    probability: Tensor
    rank: Tensor


def lens(trace: Trace, place: int = -1) -> Lens:
    """What each stage would predict at one position. Raises ValueError for a position beyond the text."""
    place = position(trace, place)
    found = tuple(stages(trace))
    return Lens(place, found, torch.stack([read(trace, stage)[place] for stage in found]))


def grid(trace: Trace) -> Grid:
    """What each stage would predict at every position."""
    found = tuple(stages(trace))
    final = read(trace, found[-1]).argmax(-1)
    rows = []
    for stage in found:
        logits = read(trace, stage)
        best = logits.softmax(-1).max(-1)
        rows.append((best.indices, best.values, ranks(logits, final)))
    return Grid(found, *(torch.stack(column) for column in zip(*rows, strict=True)))


def ranks(logits: Tensor, token: Tensor) -> Tensor:
    """A token's place among all in each row of logits, [..., vocabulary]; 1 is first."""
    own = logits.gather(-1, token.expand(logits.shape[:-1]).unsqueeze(-1))
    return (logits > own).sum(-1) + 1


def read(trace: Trace, stage: Stage) -> Tensor:
    """A stage's vectors as logits, [position, vocabulary].

    All positions at once, as the model does it: a single row would be multiplied in another order, and differ in the
    last bits.
    """
    x = trace[stage.path].tensor
    norm = f"{last_stack(trace)}.norm"
    if f"{norm}.output" in trace:
        if stage.path == glossary.inputs(f"{norm}.mean", trace)["x"]:
            x = trace[f"{norm}.output"].tensor
        else:
            x = _norm(x, parameter(trace, f"{norm}.weight"), parameter(trace, f"{norm}.bias"), trace.config.epsilon)
    return x @ parameter(trace, glossary.inputs("logits", trace)["table"]).mT


def _norm(x: Tensor, gain: Tensor, bias: Tensor, epsilon: float) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return gain * (centred / (centred.square().mean(-1, keepdim=True) + epsilon).sqrt()) + bias
