"""Normalisation: by hand for one token, beside batch norm, and what its place does to sizes and gradients.

A norm is named by its module's path, `decoder.layers.0.feed_forward_residual.norm` or `decoder.norm`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

import torch
from torch import Tensor
from torch.nn import functional

from explorer.analysis.stream import Sublayer, parameter, position, read_by, sublayers
from explorer.config import EOS, MASK, MASKED_SHARE, PAD, Config, Norm
from explorer.trace import Trace, trace
from explorer.transformer import Transformer


@dataclass(frozen=True)
class ByHand:
    """One token's layer norm, step by step; each vector is [d_model].

    x, less its mean: `centred`; over the deviation, the root of variance + epsilon: `normalised` (mean 0, variance 1);
    times the gain, plus the bias: `output`.
    """

    x: Tensor
    mean: float
    centred: Tensor
    variance: float
    deviation: float
    normalised: Tensor
    gain: Tensor
    bias: Tensor
    output: Tensor


def norms(trace: Trace) -> list[str]:
    """The paths of all layer norms, in the order of the pass."""
    return [path.removesuffix(".mean") for path in trace if path.endswith("norm.mean")]


def by_hand(trace: Trace, path: str, place: int) -> ByHand:
    """The steps of a layer norm at one position, computed from what the norm read."""
    x = trace[read_by(trace, f"{path}.mean")].tensor[position(trace, place, path.split(".")[0])]
    mean = x.mean()
    centred = x - mean
    variance = centred.square().mean()
    deviation = (variance + trace.config.epsilon).sqrt()
    normalised = centred / deviation
    gain, bias = parameter(trace, f"{path}.weight"), parameter(trace, f"{path}.bias")
    output = gain * normalised + bias
    return ByHand(x, float(mean), centred, float(variance), float(deviation), normalised, gain, bias, output)


def walk(trace: Trace, sub: Sublayer) -> list[str]:
    """The paths of a sublayer, its residual connection and its norm, [position, d_model], in the order of the pass."""
    norm = [f"{sub.residual}.norm.{name}" for name in ("normalised", "output")]
    added = [f"{sub.path}.output", f"{sub.residual}.sum"]
    return [f"{sub.residual}.input", *(added + norm if sub.norm_after else norm + added)]


def unaccounted(trace: Trace, stack: str) -> float:
    """How far the stream's end, before a last norm, is from the entrance plus all that the sublayers put in.

    The largest difference of a number, over the largest number there. With the norm first nothing else touches the
    stream, so only rounding is left; with the norm after the sum, each norm has changed what came before it.
    """
    subs = sublayers(trace, stack)
    added = trace[f"{stack}.embedding.output"].tensor + sum(trace[f"{sub.path}.output"].tensor for sub in subs)
    end = trace[subs[-1].leaves].tensor
    return float((end - added).abs().max() / end.abs().max())


def layer_norm(x: Tensor, epsilon: float) -> Tensor:
    """Each row of [..., d_model] brought to mean 0 and variance 1 over d_model; no gain, no bias (Ba et al. 2016)."""
    return functional.layer_norm(x, x.shape[-1:], eps=epsilon)


def batch_norm(x: Tensor, epsilon: float) -> Tensor:
    """Each column of [token, d_model] brought to mean 0 and variance 1 over all tokens of the batch; no gain, no bias.

    As in training (Ioffe and Szegedy 2015); in use it would go on with averages kept from there.
    """
    mean, variance = x.mean(0), x.var(0, correction=0)
    return (x - mean) / (variance + epsilon).sqrt()


@dataclass(frozen=True)
class Padded:
    """A text in a batch of one, with `padding` more rows at its end: what both norms make of the text's own tokens.

    layer and batch are [token, d_model], without the padding's rows. `moved_by_layer` and `moved_by_batch`, [token],
    say how far each token went from where it was without padding (root mean square over d_model).
    """

    padding: int
    layer: Tensor
    batch: Tensor
    moved_by_layer: Tensor
    moved_by_batch: Tensor


def padded(
    model: Transformer, source: Tensor | None, target: Tensor | None, path: str, paddings: Sequence[int] = (0, 4, 16)
) -> list[Padded]:
    """Batch norm against layer norm on the vectors at `path`, as the text's batch is padded further and further.

    The padding is real: [PAD] tokens behind the text of the stack that `path` belongs to, run through the model, where
    no real token looks at them. So the text's own vectors stay what they are, and so does their layer norm; batch norm
    takes its means and variances over the padding too.
    """
    stack = path.split(".")[0]
    plain = _activations(model, source, target, path, stack, 0)
    epsilon = model.config.epsilon
    before = layer_norm(plain, epsilon), batch_norm(plain, epsilon)
    rows = []
    for padding in paddings:
        x = _activations(model, source, target, path, stack, padding)
        layer, batch = layer_norm(x, epsilon)[: len(plain)], batch_norm(x, epsilon)[: len(plain)]
        moved = [_rms(after - unpadded) for after, unpadded in zip((layer, batch), before, strict=True)]
        rows.append(Padded(padding, layer, batch, *moved))
    return rows


def _activations(model, source, target, path: str, stack: str, padding: int) -> Tensor:
    if stack == "encoder":
        source = functional.pad(source, (0, padding), value=PAD)
    else:
        target = functional.pad(target, (0, padding), value=PAD)
    return trace(model, source, target)[path].tensor


def _rms(x: Tensor) -> Tensor:
    return x.square().mean(-1).sqrt()


@dataclass(frozen=True)
class Size:
    """The size of the stream at one place, `rms` over d_model for each position, [position].

    kind is `embedding`, a sublayer's (`feed_forward`), or `end` for a stack's last norm; `normed` says whether a norm
    has just been there.
    """

    path: str
    layer: int | None
    kind: str
    normed: bool
    rms: Tensor


def sizes(trace: Trace, stack: str) -> list[Size]:
    """How large the stream is through depth: at the entrance, after each sum, after each norm on it, and at the end.

    With the norm first the sums grow; with the norm after the sum each is brought back. A norm that stands on the way
    into a sublayer is not on the stream, and is left out.
    """
    found = [(f"{stack}.embedding.output", None, "embedding", False)]
    for sub in sublayers(trace, stack):
        found.append((f"{sub.residual}.sum", sub.layer, sub.kind, False))
        if sub.norm_after:
            found.append((sub.leaves, sub.layer, sub.kind, True))
    if f"{stack}.norm.output" in trace:
        found.append((f"{stack}.norm.output", None, "end", True))
    return [Size(*about, _rms(trace[about[0]].tensor)) for about in found]


@dataclass(frozen=True)
class Gradient:
    """How strongly training would pull at a sublayer's matrices at the start: the root mean square of their gradients.

    Averaged over the seeds' models; `norm` is the order that they have, `path` the sublayer.
    """

    norm: Norm
    stack: str
    layer: int
    kind: str
    path: str
    rms: float


def gradients(
    config: Config, texts: Sequence[tuple[Tensor | None, Tensor | None]], seeds: Sequence[int] = (0, 1, 2)
) -> list[Gradient]:
    """The gradients of fresh models of this configuration, once in each norm order (Xiong et al. 2020).

    `texts` are pairs of source and target ids ([position] each, None for a stack that is not there), and the loss is
    what the architecture is trained on: the next token, or a share of tokens masked; without dropout. Raises ValueError
    when no text has a token to predict.
    """
    rows = []
    for norm in get_args(Norm):
        squares: dict[str, list[float]] = {}
        for seed in seeds:
            for path, square in _squares(replace(config, norm=norm), texts, seed).items():
                squares.setdefault(path, []).append(square)
        for path, values in squares.items():
            stack, _, layer, kind = path.split(".")
            rows.append(Gradient(norm, stack, int(layer), kind, path, (sum(values) / len(values)) ** 0.5))
    return rows


def _squares(config: Config, texts, seed: int) -> dict[str, float]:
    """The mean square of the gradients of each sublayer's matrices, by its path."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Transformer(config).eval()  # no dropout, so that the two orders differ in nothing else
    generator = torch.Generator().manual_seed(seed)
    with torch.enable_grad():
        losses = [_losses(model, *text, generator) for text in texts]
        if not sum(map(len, losses)):
            raise ValueError(f"None of the {len(texts)} texts has a token to predict; give one with a word in it.")
        torch.cat(losses).mean().backward()
    matrices: dict[str, list[Tensor]] = {}
    for path, weight in model.named_parameters():
        if path.endswith(".weight") and ".w_" in path:
            matrices.setdefault(path.rsplit(".", 2)[0], []).append(weight.grad.flatten())
    return {path: float(torch.cat(parts).square().mean()) for path, parts in matrices.items()}


def _losses(model: Transformer, source: Tensor | None, target: Tensor | None, generator: torch.Generator) -> Tensor:
    """The losses of one text's predicted tokens, [token]."""
    if model.config.architecture == "encoder":
        chosen = (source > MASK).nonzero().flatten()
        count = min(len(chosen), max(1, round(len(chosen) * MASKED_SHARE)))
        chosen = chosen[torch.randperm(len(chosen), generator=generator)[:count]]
        logits = model.predict(model.vectors(source.index_fill(0, chosen, MASK), None))
        return functional.cross_entropy(logits[chosen], source[chosen], reduction="none")
    expected = torch.cat([target[1:], torch.tensor([EOS])]) if source is not None else target[1:]
    logits = model.predict(model.vectors(source, target))[: len(expected)]
    return functional.cross_entropy(logits, expected, reduction="none")
