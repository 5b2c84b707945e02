"""Is it true? Every number of a pass checked twice: against its own inputs, and against torch's own modules.

`check` recomputes each recorded value from the recorded values that it is made of (see glossary.py), and runs the same
weights on the same ids through torch.nn. Where a pass was edited, torch.nn checks the unedited one, since it knows
of no edits; what follows from the edited values must still follow from them.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from explorer import glossary
from explorer.config import PAD
from explorer.trace import Trace, trace
from explorer.transformer import Stack, Transformer

TOLERANCE = 1e-4  # times the scale of a number, see `_scale`


@dataclass(frozen=True)
class Part:
    """One comparison: its largest error, relative to the scale of its number, and the cell where that stands.

    name is "inputs" (recomputed from recorded inputs), "masked" (cells that must be exact), or, against torch.nn,
    "streams" (after each layer and at the stack's end), "weights" (attention, each head) or "logits".
    """

    name: str
    error: float
    path: str
    index: tuple[int, ...]
    compared: int  # numbers that were compared

    @property
    def ok(self) -> bool:
        return self.error <= TOLERANCE


@dataclass(frozen=True)
class Proof:
    """What was compared, and which values were edited, so that they do not follow from their inputs."""

    parts: tuple[Part, ...]
    edited: tuple[str, ...] = ()

    @property
    def worst(self) -> Part:
        """The part with the largest error."""
        return max(self.parts, key=lambda part: part.error)

    @property
    def ok(self) -> bool:
        """Whether every part holds up to TOLERANCE."""
        return all(part.ok for part in self.parts)

    @property
    def error(self) -> float:
        return self.worst.error

    @property
    def where(self) -> str:
        """The cell of the largest error: `decoder.layers.1.self_attention.scores[2, 8, 2]`."""
        return f"{self.worst.path}[{', '.join(map(str, self.worst.index))}]"


def check(
    model: Transformer,
    recorded: Trace,
    source: Tensor | None,
    target: Tensor | None,
    twin: "Reference | None" = None,
) -> Proof:
    """Compare a recorded pass over `source` and `target` with its own inputs and with torch.nn.

    `twin` is `reference(model)`, for callers that keep one; it is built where none is given.
    """
    edited = tuple(path for path in recorded if path in recorded.edits)
    unedited = trace(model, source, target) if edited else recorded
    twin = reference(model) if twin is None else twin
    return Proof((*_against_inputs(recorded), *_against_torch(unedited, twin, source, target)), edited)


# From recorded inputs


def _against_inputs(recorded: Trace) -> Iterator[Part]:
    with torch.inference_mode():
        pairs = [
            (path, glossary.recompute(path, recorded), value.tensor)
            for path, value in recorded.items()
            if path not in recorded.edits
        ]
        yield _part("inputs", pairs)
        exact = [pair for path, value in recorded.items() for pair in _masked(path, value.tensor, recorded)]
        if exact:
            yield _part("masked", exact)


def _masked(path: str, value: Tensor, recorded: Trace) -> Iterator[tuple[str, Tensor, Tensor]]:
    """What is not allowed must have a score of minus infinity and a weight of zero, both exactly."""
    name = path.rpartition(".")[2]
    if name not in ("masked_scores", "weights") or path in recorded.edits:
        return
    scores = glossary.inputs(path, recorded)["scores"] if name == "weights" else path
    if scores in recorded.edits:
        return
    allowed = recorded[glossary.inputs(scores, recorded)["allowed"]].tensor
    floor = -math.inf if name == "masked_scores" else 0.0
    # A cell that is not exact counts as infinitely wrong: there is no tolerance here. A row in which nothing is allowed
    # has no shares at all.
    wrong = ~allowed & (value != floor) & ~value.isnan()
    yield path, torch.where(wrong, math.inf, 0.0), torch.zeros_like(value)


# Against torch.nn


class Reference(nn.Module):
    """The same weights in torch's own layers, put together by their documentation and not by this project's code.

    A stack of nn.TransformerEncoderLayer (also for a decoder that stands alone, with a causal mask) or
    nn.TransformerDecoderLayer. nn.Transformer is not used whole, since it ends its stacks with a norm in post-norm
    too. torch's masks say what is blocked.
    """

    def __init__(self, model: Transformer):
        super().__init__()
        self.config = config = model.config
        self.stacks = nn.ModuleDict()
        self.norms = nn.ModuleDict()
        self.table = model.embedding
        kind = nn.TransformerEncoderLayer
        for name in config.stacks:
            stack = getattr(model, name)
            self.stacks[name] = nn.ModuleList(
                kind(
                    config.d_model,
                    config.heads,
                    config.d_ff,
                    dropout=0.0,
                    activation=config.activation,
                    layer_norm_eps=config.epsilon,
                    norm_first=config.norm == "pre",
                    dtype=self.table.dtype,
                    device=self.table.device,
                )
                for _ in range(config.layers)
            )
            self._copy(stack, name)
            kind = nn.TransformerDecoderLayer
        self.eval().requires_grad_(False)

    def _copy(self, stack: Stack, name: str) -> None:
        for twin, layer in zip(self.stacks[name], stack.layers, strict=True):
            attentions = [(twin.self_attn, layer.self_attention)]
            residuals = [layer.self_attention_residual]
            if isinstance(twin, nn.TransformerDecoderLayer):
                attentions.append((twin.multihead_attn, layer.cross_attention))
                residuals.append(layer.cross_attention_residual)
            residuals.append(layer.feed_forward_residual)
            for theirs, ours in attentions:
                projections = (ours.w_q, ours.w_k, ours.w_v)
                theirs.in_proj_weight = _join(projection.weight for projection in projections)
                theirs.in_proj_bias = _join(projection.bias for projection in projections)
                theirs.out_proj.load_state_dict(ours.w_o.state_dict())
            twin.linear1.load_state_dict(layer.feed_forward.w_1.state_dict())
            twin.linear2.load_state_dict(layer.feed_forward.w_2.state_dict())
            for number, residual in enumerate(residuals, start=1):
                getattr(twin, f"norm{number}").load_state_dict(residual.norm.state_dict())
        if stack.norm is not None:
            last = nn.LayerNorm(self.config.d_model, eps=self.config.epsilon).to(self.table)
            last.load_state_dict(stack.norm.state_dict())
            self.norms[name] = last

    def forward(self, source: Tensor | None, target: Tensor | None) -> dict[str, Tensor]:
        """Each layer's and stack's output, attention weights by head, and logits, by the path of the same value."""
        found: dict[str, Tensor] = {}
        memory = padding = None
        for name, ids in (("encoder", source), ("decoder", target)):
            if name not in self.stacks:
                continue
            if name == "encoder":
                padding = ids == PAD
                blocked = {"key_padding_mask": padding}
            else:
                blocked = {"attn_mask": torch.ones(len(ids), len(ids), dtype=torch.bool, device=ids.device).triu(1)}
            x = self._embed(ids)
            for number, layer in enumerate(self.stacks[name]):
                prefix = f"{name}.layers.{number}"
                for attention, weights in self._weights(layer, x, blocked, memory, padding).items():
                    found[f"{prefix}.{attention}.weights"] = weights
                if isinstance(layer, nn.TransformerDecoderLayer):
                    x = layer(x, memory, tgt_mask=blocked["attn_mask"], memory_key_padding_mask=padding)
                else:
                    later = blocked.get("attn_mask")
                    x = layer(x, src_mask=later, src_key_padding_mask=blocked.get("key_padding_mask"))
                found[f"{prefix}.output"] = x
            if name in self.norms:
                x = found[f"{name}.output"] = self.norms[name](x)
            memory = x
        found["logits"] = nn.functional.linear(x, self.table)
        return found

    def _embed(self, ids: Tensor) -> Tensor:
        width = self.config.d_model
        place = torch.arange(len(ids), dtype=torch.float64, device=ids.device)
        waves = torch.empty(len(ids), width, dtype=torch.float64, device=ids.device)
        for column in range(0, width, 2):
            angle = place / 10000 ** (column / width)
            waves[:, column], waves[:, column + 1] = torch.sin(angle), torch.cos(angle)
        return nn.functional.embedding(ids, self.table) * width**0.5 + waves.to(self.table)

    def _weights(self, layer: nn.Module, x: Tensor, blocked, memory, padding) -> dict[str, Tensor]:
        """Attention weights, which the layers themselves do not hand out: their attentions are asked once more."""
        ask = {"need_weights": True, "average_attn_weights": False}
        read = layer.norm1(x) if layer.norm_first else x
        mixed, weights = layer.self_attn(read, read, read, **blocked, **ask)
        if not isinstance(layer, nn.TransformerDecoderLayer):
            return {"self_attention": weights}
        x = x + mixed if layer.norm_first else layer.norm1(x + mixed)
        read = layer.norm2(x) if layer.norm_first else x
        _, looked_up = layer.multihead_attn(read, memory, memory, key_padding_mask=padding, **ask)
        return {"self_attention": weights, "cross_attention": looked_up}


def _join(tensors) -> nn.Parameter:
    return nn.Parameter(torch.cat([tensor.detach() for tensor in tensors]))


def reference(model: Transformer) -> Reference:
    """The model's weights in torch.nn. It copies them: build it again when they change."""
    return Reference(model)


def _against_torch(unedited: Trace, twin: Reference, source: Tensor | None, target: Tensor | None) -> Iterator[Part]:
    with torch.inference_mode():
        found = twin(source, target)
        pairs = [(path := _ours(name, unedited), tensor, unedited[path].tensor) for name, tensor in found.items()]
        for part, fits in (
            ("streams", lambda name: name.endswith(".output")),
            ("weights", lambda name: name.endswith(".weights")),
            ("logits", lambda name: name == "logits"),
        ):
            yield _part(part, [pair for name, pair in zip(found, pairs, strict=True) if fits(name)])


def _ours(name: str, recorded: Trace) -> str:
    """The recorded value that a layer's or stack's output is."""
    if not name.endswith(".output"):
        return name
    if ".layers." not in name:
        return f"{name.removesuffix('.output')}.norm.output"
    residual = f"{name.removesuffix('.output')}.feed_forward_residual"
    added, normed = f"{residual}.sum", f"{residual}.norm.output"
    return normed if recorded.before(added, normed) else added


def _part(name: str, pairs: list[tuple[str, Tensor, Tensor]]) -> Part:
    """Compare (path, computed anew, recorded), value by value, and find the largest error."""
    worst = Part(name, -1.0, "", (), 0)
    for path, anew, recorded in pairs:
        errors = _errors(anew, recorded)
        error = float(errors.max())
        if error > worst.error:
            at = torch.unravel_index(errors.argmax(), errors.shape)
            worst = Part(name, error, path, tuple(int(number) for number in at), 0)
    return replace(worst, compared=sum(recorded.numel() for _, _, recorded in pairs))


def _errors(anew: Tensor, recorded: Tensor) -> Tensor:
    """How far apart, relative to the scale; equal infinities agree, and so do two that are no number."""
    if not recorded.is_floating_point():
        return torch.where(anew == recorded, 0.0, math.inf)  # ids and masks are right or wrong
    errors = (anew - recorded).abs_() / _scale(recorded)
    if not errors.sum().isfinite():  # rare: told apart only where it is needed
        same = (anew == recorded) | (anew.isnan() & recorded.isnan())
        errors = torch.where(same, 0.0, errors.nan_to_num(nan=math.inf, posinf=math.inf))
    return errors


def _scale(recorded: Tensor) -> Tensor:
    """What an error is a share of: the number's size, or that of its row (root mean square), and at least 1.

    Rounding grows with the terms of a sum, and a small number in a row of large ones is a sum of terms as large as
    theirs: in a stream of numbers around 50, one near 0 is as inexact as the others.
    """
    finite = recorded.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
    return torch.maximum(recorded.abs(), finite.square().mean(-1, keepdim=True).sqrt()).clamp_(min=1)
