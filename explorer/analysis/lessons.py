"""What training sees: what goes in, what is asked for at each position, and the loss there; and what use sees instead.

A `question` is the row that goes in and the row that is asked for. Where nothing is asked for stands [PAD], which a
loss leaves out. Losses are in nats: the negative logarithm of the chance that the right token was given.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from explorer.analysis.cache import Cache
from explorer.config import EOS, MASK, MASKED_SHARE, PAD
from explorer.masking import padded, to_hide
from explorer.trace import Record, silent
from explorer.transformer import Transformer, everything


@dataclass(frozen=True)
class Question:
    """What a stack reads, and at each of its positions the id that is asked for, [PAD] where none is."""

    inputs: tuple[int, ...]
    targets: tuple[int, ...]

    @property
    def asked(self) -> list[int]:
        """The positions that count."""
        return [at for at, id in enumerate(self.targets) if id != PAD]


def next_token(ids: Sequence[int]) -> Question:
    """A text, from [BOS] on: each position is asked for the token after it, the last for nothing."""
    return Question(tuple(ids), (*ids[1:], PAD))


def translation(ids: Sequence[int]) -> Question:
    """The right translation, from [BOS] on and without its [EOS]: teacher forcing (Williams and Zipser 1989)."""
    return Question(tuple(ids), (*ids[1:], EOS))


def masked(ids: Sequence[int], seed: int, share: float = MASKED_SHARE) -> Question:
    """Some of the ordinary tokens hidden (see explorer.masking), and only those asked for (Devlin et al. 2019)."""
    text = torch.tensor(ids)
    chosen = to_hide(text, torch.Generator().manual_seed(seed), share)
    return Question(tuple(text.masked_fill(chosen, MASK).tolist()), tuple(text.masked_fill(~chosen, PAD).tolist()))


def losses(logits: Tensor, targets: Sequence[int]) -> Tensor:
    """The loss at each position, [position], from logits, [position, vocabulary]; not a number where none is asked."""
    ids = torch.tensor(targets)
    logits = logits.double()
    found = logits.logsumexp(-1) - logits.gather(-1, ids.unsqueeze(-1)).squeeze(-1)
    return found.masked_fill(ids == PAD, math.nan)


def numbers(found: Tensor) -> tuple[float | None, ...]:
    """Losses as plain numbers, None where nothing is asked."""
    return tuple(None if math.isnan(loss) else loss for loss in found.tolist())


def mean(found: Tensor) -> float:
    """The mean over the positions that count: what one step of training lowers. Not a number where none counts."""
    return float(found.nanmean())


def blind(vocabulary: int) -> float:
    """The loss of guessing blindly: every token of the vocabulary as likely as every other."""
    return math.log(vocabulary)


def perplexity(loss: float) -> float:
    """Among how many equally likely tokens one would have to guess to do as badly."""
    return math.exp(loss)


# Training against use


@dataclass(frozen=True)
class Fed:
    """One position, asked for the right token: the likeliest token there, and the right one's loss."""

    best: int
    loss: float


@dataclass(frozen=True)
class Drift:
    """A text from place `given` on, read twice: `forced`, with the right tokens before, and `own`, with the model's.

    One entry a position, that of the token `truth[i]`. `own` is shorter where the model came to an end by itself.
    """

    given: int
    truth: tuple[int, ...]
    forced: tuple[Fed, ...]
    own: tuple[Fed, ...]

    @property
    def apart(self) -> int | None:
        """The first entry at which the model writes another token than the right one; None while it never does."""
        return next((at for at, fed in enumerate(self.own) if fed.best != self.truth[at]), None)

    @property
    def means(self) -> tuple[float, float]:
        """The mean losses of the right tokens, forced and own, over the positions that both have."""
        both = (self.forced[: len(self.own)], self.own)
        forced, own = (math.fsum(fed.loss for fed in one) / len(one) for one in both)
        return forced, own


def drift(model: Transformer, source: Tensor | None, truth: Sequence[int], given: int, most: int) -> Drift:
    """Let a model write on after the first `given` ids of the truth, always the likeliest, for up to `most` tokens.

    Raises ValueError where nothing is given, or nothing is left to write.
    """
    if not 0 < given < len(truth):
        raise ValueError(f"Of {len(truth)} tokens {given} are given; give at least 1 and leave at least 1.")
    wanted = truth[given : given + most]
    with torch.inference_mode():
        logits = model.predict(model.vectors(source, torch.tensor(truth[: given + len(wanted) - 1])))[given - 1 :]
        forced = [_fed(row, right) for row, right in zip(logits, wanted, strict=True)]
        steps = _likeliest(model, source, truth[:given], len(wanted))
        own = [_fed(row, right) for right, row in zip(wanted, steps, strict=False)]
    return Drift(given, tuple(wanted), tuple(forced), tuple(own))


def _fed(logits: Tensor, right: int) -> Fed:
    return Fed(int(logits.argmax()), float(losses(logits.unsqueeze(0), [right])))


def step_by_step(
    model: Transformer, source: Tensor | None, question: Question, record: Record = silent, most: int | None = None
) -> Tensor:
    """The losses of a decoder that reads each beginning of its text by itself, as it must where it writes, [position].

    `most` positions at most. With a mask the losses are those of one pass over all of it. The beginnings are read side
    by side, in a batch.
    """
    asked = question.targets[:most]
    beginnings = padded([question.inputs[: at + 1] for at in range(len(asked))])
    attentions = {layer.self_attention for layer in model.decoder.layers}

    def within(module: nn.Module, name: str, value: Tensor, axes: str) -> Tensor:
        """Without a mask, too, a beginning ends where its padding begins."""
        value = record(module, name, value, axes)
        if name == "allowed" and module in attentions:
            return value & everything(beginnings, beginnings)
        return value

    with torch.inference_mode():
        vectors = model.vectors(source, beginnings, within)
        logits = model.predict(vectors[range(len(asked)), range(len(asked))])  # the last of each beginning
    return losses(logits, asked)


def all_at_once(model: Transformer, source: Tensor | None, question: Question, record: Record = silent) -> Tensor:
    """The losses of one pass over the whole text, as in training, [position]."""
    with torch.inference_mode():
        logits = model.predict(model.vectors(source, torch.tensor(question.inputs), record))
    return losses(logits, question.targets)


def written(model: Transformer, start: Sequence[int], most: int, record: Record = silent) -> tuple[int, ...]:
    """What a decoder writes after some ids, always the likeliest token, until [EOS] (left out) or `most` tokens."""
    with torch.inference_mode():
        ids = [int(row.argmax()) for row in _likeliest(model, None, start, most, record)]
    return tuple(ids[:-1] if ids[-1:] == [EOS] else ids)


def _likeliest(
    model: Transformer, source: Tensor | None, start: Sequence[int], most: int, record: Record = silent
) -> Iterator[Tensor]:
    """The logits of each token that a decoder writes after some ids, always the likeliest, [EOS] the last of them.

    With its mask a decoder reads on from a cache. Another record may take the mask away, and then each is a whole pass:
    the earlier vectors are no longer what a cache has kept.
    """
    ids, cache = list(start), Cache(model, source)
    while len(ids) < len(start) + most:
        if record is silent:
            rows, cache = cache.read(torch.tensor(ids[len(cache.ids) :]))
            logits = rows[-1]
        else:
            logits = model.predict(model.vectors(source, torch.tensor(ids), record)[-1])
        yield logits
        ids.append(int(logits.argmax()))
        if ids[-1] == EOS:
            return


# A batch


@dataclass(frozen=True)
class Batch:
    """Several texts read at once, filled up with [PAD] to the longest: ids and losses, [row, position].

    `source` is None where a model reads one text. `apart` is the largest difference of a loss from the one that the
    text has alone, `counted` the mean loss if the padding were asked for as well.
    """

    source: Tensor | None
    inputs: Tensor
    targets: Tensor
    losses: Tensor
    apart: float
    counted: float


def batch(model: Transformer, sources: Sequence[Sequence[int]], questions: Sequence[Question]) -> Batch:
    """Read several texts at once. `sources` is empty for a model of one stack, which reads the questions' inputs."""
    encoder = model.config.architecture == "encoder"

    def read(source: Tensor | None, ids: Tensor) -> Tensor:
        with torch.inference_mode():
            return model.predict(model.vectors(*((ids, None) if encoder else (source, ids))))

    source = padded(sources) if sources else None
    inputs, targets = (padded([getattr(one, name) for one in questions]) for name in ("inputs", "targets"))
    logits = read(source, inputs)
    found = torch.stack([losses(*row) for row in zip(logits, targets.tolist(), strict=True)])
    apart = 0.0
    for row, question in enumerate(questions):
        own = torch.tensor(sources[row]) if sources else None
        alone = losses(read(own, torch.tensor(question.inputs)), question.targets)
        apart = max([apart, *(alone - found[row, : len(alone)])[question.asked].abs().tolist()])
    # Where [PAD] is a target like any other: at padding, not at places that a question leaves out by itself.
    filled = inputs == PAD
    of_padding = -logits.double().log_softmax(-1)[..., PAD][filled]
    asked = found[~found.isnan()]
    return Batch(source, inputs, targets, found, apart, mean(torch.cat([asked, of_padding])))
