"""A key-value cache: a decoder that reads on from where it was, with the keys and values of earlier tokens kept.

The model goes on with what its recorder returns (see trace.py), so the cache is a recorder. To the keys and values of
the new tokens it adds the kept ones in front, and positions it counts on from them. All else has rows for the new
tokens alone: that is what a cache saves. The model needs no line for it, and a step that is read with a cache is
recorded like any other pass.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from explorer.trace import Record, Trace, silent, trace
from explorer.transformer import Transformer, everything, everything_before, sinusoids

TOLERANCE = 1e-5  # how far the probabilities of the two ways may lie apart
TRIES = 5  # of which the fastest counts
PARTS = ("encoder", "embedding", "keys", "memory", "attention", "feed_forward", "stream", "prediction")


@dataclass(frozen=True)
class Cache:
    """What a decoder keeps of the text that it has read so far, and of the encoder's `source` where there is one.

    `ids` are the tokens read; `kept` holds the keys and values, [head, key, d_k], of each attention of the decoder.
    Reading on makes a new cache and leaves this one as it is, so a text can go on from it in several ways.
    """

    model: Transformer
    source: Tensor | None = None
    ids: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.long))
    kept: Mapping[tuple[nn.Module, str], Tensor] = field(default_factory=dict)

    def read(self, ids: Tensor, record: Record = silent) -> tuple[Tensor, "Cache"]:
        """Read further ids, of shape [position]: their logits, [position, vocabulary], and the cache to go on with.

        The encoder reads at the first time only: its memory's keys and values are kept as well.
        Raises ValueError for a model without a decoder, a source that is missing, or no ids.
        """
        model, earlier, text = self.model, len(self.ids), torch.cat([self.ids, ids])
        if "decoder" not in model.config.stacks:
            raise ValueError(f"{model.config.name} sees every token at once and keeps none; choose one with a decoder.")
        if "encoder" in model.config.stacks and self.source is None:
            raise ValueError("The encoder of this model reads the source, and there is none; pass source=ids.")
        if not len(ids):
            raise ValueError("There is nothing to read; give at least one token.")
        kept = dict(self.kept)

        def keep(module: nn.Module, name: str, value: Tensor, axes: str) -> Tensor:
            if name in ("keys", "values"):
                value = kept[module, name] = torch.cat([kept[module, name], value], dim=-2) if earlier else value
            elif name == "positions":
                value = sinusoids(len(text), model.config.d_model).to(value)[earlier:]
            return record(module, name, value, axes)

        with torch.inference_mode():
            memory = memory_allowed = None
            if self.source is not None:
                memory_allowed = everything(ids, self.source)
                if earlier:
                    memory = model.embedding.new_empty(0, model.config.d_model)  # no new rows: all are kept
                else:
                    memory = model.encoder(self.source, everything(self.source, self.source), record=record)
            vectors = model.decoder(ids, everything_before(text)[earlier:], memory, memory_allowed, keep)
            logits = model.predict(vectors, record)
            record(model, "probabilities", logits.softmax(-1), "position vocabulary")
        return logits, Cache(model, self.source, text, kept)


# What it saves


@dataclass(frozen=True)
class Part:
    """Some values of a pass: how many numbers it has of them (`whole`), how many of these a step with a cache computes
    anew, and how many it takes from the cache; and the multiplications of their matrix products, both ways.

    name is one of PARTS: "keys" and "memory" are the keys and values of self- and cross-attention, "attention" and
    "feed_forward" their other values, "stream" residuals and norms, "prediction" logits and probabilities.
    """

    name: str
    whole: int = 0
    anew: int = 0
    kept: int = 0
    multiplied_whole: int = 0
    multiplied_anew: int = 0

    @property
    def left_out(self) -> int:
        """Numbers that the whole pass computes again and that nobody asks for."""
        return self.whole - self.anew - self.kept


@dataclass(frozen=True)
class Saved:
    """The last step of a text, read by a whole pass and with a cache.

    `probability` is the largest difference between the two ways in the probabilities after each token; `difference` the
    largest in any number of the last step, as a share of the number where that is greater than 1. In single precision
    the latter reaches a few 1e-5: products of other sizes are summed in another order, and sums in which large terms
    cancel show it. `milliseconds` were measured, the fastest of `tries`: a whole pass, and a step with the cache.
    """

    parts: tuple[Part, ...]
    probability: float
    difference: float
    milliseconds: tuple[float, ...]
    tries: int = TRIES

    @property
    def ok(self) -> bool:
        """Whether both ways predict the same, up to TOLERANCE."""
        return self.probability <= TOLERANCE

    @property
    def all(self) -> Part:
        """All parts together."""
        names = ("whole", "anew", "kept", "multiplied_whole", "multiplied_anew")
        return Part("all", *(sum(getattr(part, name) for part in self.parts) for name in names))


def saved(model: Transformer, source: Tensor | None, ids: Tensor) -> Saved:
    """Read a decoder's text token by token with a cache, and at once, and compare; `ids` is of shape [position].

    Raises ValueError as `Cache.read` does, and for a text of one token, of which nothing is kept.
    """
    if len(ids) < 2:
        raise ValueError(f"The text has {len(ids)} token, and a cache needs an earlier one; give 2 or more.")
    cache, steps = Cache(model, source), []
    for at in range(len(ids) - 1):
        logits, cache = cache.read(ids[at : at + 1])
        steps.append(logits.softmax(-1))
    step, whole = Trace(model), trace(model, source, ids)
    cache.read(ids[-1:], step.record)
    last, all_of_them = step["probabilities"].tensor, whole["probabilities"].tensor
    return Saved(
        _parts(whole, step, cache),
        float((torch.cat([*steps, last]) - all_of_them).abs().max()),
        max(_difference(value.tensor, _last(whole[path].tensor, value.tensor)) for path, value in step.items()),
        _fastest(lambda: model.predict(model.vectors(source, ids)), lambda: cache.read(ids[-1:])),
    )


def _last(whole: Tensor, like: Tensor) -> Tensor:
    """The last rows of a value of the whole pass, as many as the other way has."""
    return whole[-len(like) :] if whole.dim() == 1 else whole[..., -like.shape[-2] :, :]


def _difference(one: Tensor, other: Tensor) -> float:
    one, other = one.double(), other.double()
    apart = (one - other).abs() / other.abs().clamp(min=1)
    return float(torch.where(one == other, 0.0, apart).max())  # minus infinity in both is no difference


def _parts(whole: Trace, step: Trace, cache: Cache) -> tuple[Part, ...]:
    paths = {module: path for path, module in cache.model.named_modules()}
    kept = {f"{paths[module]}.{name}": tensor.numel() for (module, name), tensor in cache.kept.items()}
    parts = {name: Part(name) for name in PARTS}
    for path, value in whole.items():
        held, each, name = kept.get(path, 0), _multiplications(path, whole), _part(path)
        all_of_it, anew = value.tensor.numel(), step[path].tensor.numel() - held if path in step else 0
        part = parts[name]
        parts[name] = Part(
            name,
            part.whole + all_of_it,
            part.anew + anew,
            part.kept + held,
            part.multiplied_whole + each * all_of_it,
            part.multiplied_anew + each * anew,
        )
    return tuple(part for part in parts.values() if part.whole)


def _part(path: str) -> str:
    *_, owner, name = ("", *path.split("."))
    if path.startswith("encoder."):
        return "encoder"
    if owner in ("self_attention", "cross_attention"):
        return ("keys" if owner == "self_attention" else "memory") if name in ("keys", "values") else "attention"
    return {"": "prediction", "embedding": "embedding", "feed_forward": "feed_forward"}.get(owner, "stream")


def _multiplications(path: str, whole: Trace) -> int:
    """How many multiplications each number of a matrix product takes; 0 for what is none."""
    config, (*_, owner, name) = whole.config, ("", *path.split("."))
    if name in ("queries", "keys", "values", "hidden", "logits"):
        return config.d_model
    if name == "raw_scores":
        return config.d_k
    if name == "heads":
        return whole[path.replace("heads", "weights")].tensor.shape[-1]
    return {"self_attention": config.d_model, "cross_attention": config.d_model, "feed_forward": config.d_ff}.get(
        owner if name == "output" else "", 0
    )


def _fastest(*steps: Callable[[], object]) -> tuple[float, ...]:
    """The times of some steps, taken in turn, in milliseconds: of each the fastest try."""
    times: list[list[float]] = [[] for _ in steps]
    with torch.inference_mode():
        for _ in range(TRIES):
            for step, taken in zip(steps, times, strict=True):
                start = time.perf_counter()
                step()
                taken.append(time.perf_counter() - start)
    return tuple(1000 * min(taken) for taken in times)
