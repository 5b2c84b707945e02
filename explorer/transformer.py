"""The Transformer of Vaswani et al. 2017, "Attention Is All You Need", and its two halves on their own.

Encoder-decoder as in the paper; encoder alone (Devlin et al. 2019) and decoder alone (Radford et al. 2018) are the
same layers without the other stack. The norm stands after each sublayer, as in the paper, or before it
(Xiong et al. 2020), with one more norm at the end of the stack.

Each line hands its result to a recorder (see trace.py) under the word that the paper uses. The axes are

    position     a token's place in its stack's text; called `query` where it asks and `key` where it is asked
    head         one of h attention heads
    d_model      the width of the residual stream         d_ff        the width of the feed-forward layer
    d_k, d_v     the width of a head's keys and values    vocabulary  one entry for each token that exists
    1            an axis kept after a mean over it

There is no batch axis in a recorded pass. Axes are addressed from the right, so the same code runs on batches.
A mask says what it allows: True means may attend.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from explorer.config import PAD, Config
from explorer.trace import Record, silent


class Embedding(nn.Module):
    """Token ids to vectors, with their place in the text added (sections 3.4 and 3.5)."""

    def __init__(self, config: Config):
        super().__init__()
        self.d_model = config.d_model
        self.weight = nn.Parameter(torch.empty(config.vocabulary, config.d_model))
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, ids: Tensor, record: Record = silent) -> Tensor:
        ids = record(self, "ids", ids, "position")
        tokens = record(self, "tokens", functional.embedding(ids, self.weight), "position d_model")
        scaled = record(self, "scaled", tokens * math.sqrt(self.d_model), "position d_model")
        positions = record(self, "positions", sinusoids(ids.shape[-1], self.d_model).to(scaled), "position d_model")
        output = record(self, "output", scaled + positions, "position d_model")
        return self.dropout(output)


def sinusoids(length: int, d_model: int) -> Tensor:
    """Positions as waves, [position, d_model]: sin(p / 10000^(i / d_model)) for even i, and its cosine beside it.

    Section 3.5. Computed in float64, so that far positions keep their digits.
    """
    position = torch.arange(length, dtype=torch.float64)
    frequency = 10000 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angle = torch.outer(position, frequency)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)


class LayerNorm(nn.Module):
    """Each position brought to mean 0 and variance 1 over d_model, then stretched and shifted (Ba et al. 2016)."""

    def __init__(self, config: Config):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(config.d_model))
        self.bias = nn.Parameter(torch.zeros(config.d_model))
        self.epsilon = config.epsilon

    def forward(self, x: Tensor, record: Record = silent) -> Tensor:
        mean = record(self, "mean", x.mean(-1, keepdim=True), "position 1")
        variance = record(self, "variance", (x - mean).square().mean(-1, keepdim=True), "position 1")
        normalised = record(self, "normalised", (x - mean) / (variance + self.epsilon).sqrt(), "position d_model")
        return record(self, "output", self.weight * normalised + self.bias, "position d_model")


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each on its own projections (section 3.2).

    Each head projects the whole vector; w_q, w_k and w_v hold the heads' matrices one below the other.
    """

    def __init__(self, config: Config):
        super().__init__()
        self.n_heads, self.d_k = config.heads, config.d_k
        self.w_q = nn.Linear(config.d_model, config.d_model)
        self.w_k = nn.Linear(config.d_model, config.d_model)
        self.w_v = nn.Linear(config.d_model, config.d_model)
        self.w_o = nn.Linear(config.d_model, config.d_model)

    def split(self, x: Tensor) -> Tensor:
        """[position, d_model] to [head, position, d_k]."""
        return x.unflatten(-1, (self.n_heads, self.d_k)).transpose(-3, -2)

    def forward(self, x: Tensor, memory: Tensor, allowed: Tensor, record: Record = silent) -> Tensor:
        """Attend from x to memory; self-attention is the case in which they are the same."""
        queries = record(self, "queries", self.split(self.w_q(x)), "head query d_k")
        keys = record(self, "keys", self.split(self.w_k(memory)), "head key d_k")
        values = record(self, "values", self.split(self.w_v(memory)), "head key d_v")
        raw_scores = record(self, "raw_scores", queries @ keys.mT, "head query key")
        scores = record(self, "scores", raw_scores / math.sqrt(self.d_k), "head query key")
        allowed = record(self, "allowed", allowed, "query key")
        masked_scores = scores.masked_fill(~allowed.unsqueeze(-3), -math.inf)
        masked_scores = record(self, "masked_scores", masked_scores, "head query key")
        weights = record(self, "weights", masked_scores.softmax(-1), "head query key")
        heads = record(self, "heads", weights @ values, "head query d_v")
        concat = record(self, "concat", heads.transpose(-3, -2).flatten(-2), "query d_model")
        return record(self, "output", self.w_o(concat), "query d_model")


class FeedForward(nn.Module):
    """Two linear maps with a bend between them, the same for each position and on each alone (section 3.3)."""

    def __init__(self, config: Config):
        super().__init__()
        self.w_1 = nn.Linear(config.d_model, config.d_ff)
        self.w_2 = nn.Linear(config.d_ff, config.d_model)
        self.activation = {"gelu": functional.gelu, "relu": functional.relu}[config.activation]

    def forward(self, x: Tensor, record: Record = silent) -> Tensor:
        hidden = record(self, "hidden", self.w_1(x), "position d_ff")
        activated = record(self, "activated", self.activation(hidden), "position d_ff")
        return record(self, "output", self.w_2(activated), "position d_model")


class Residual(nn.Module):
    """What a sublayer found, added to what was there; the norm stands before the sublayer or after the sum."""

    def __init__(self, config: Config):
        super().__init__()
        self.norm = LayerNorm(config)
        self.norm_first = config.norm == "pre"
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, sublayer, record: Record = silent) -> Tensor:
        x = record(self, "input", x, "position d_model")
        if self.norm_first:
            return record(self, "sum", x + self.dropout(sublayer(self.norm(x, record))), "position d_model")
        return self.norm(record(self, "sum", x + self.dropout(sublayer(x)), "position d_model"), record)


class Layer(nn.Module):
    """Self-attention, cross-attention where there is another stack to look at, and feed-forward (section 3.1)."""

    def __init__(self, config: Config, crossing: bool):
        super().__init__()
        self.self_attention = MultiHeadAttention(config)
        self.self_attention_residual = Residual(config)
        if crossing:
            self.cross_attention = MultiHeadAttention(config)
            self.cross_attention_residual = Residual(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x, allowed, memory=None, memory_allowed=None, record: Record = silent) -> Tensor:
        x = self.self_attention_residual(x, lambda y: self.self_attention(y, y, allowed, record), record)
        if memory is not None:
            x = self.cross_attention_residual(
                x, lambda y: self.cross_attention(y, memory, memory_allowed, record), record
            )
        return self.feed_forward_residual(x, lambda y: self.feed_forward(y, record), record)


class Stack(nn.Module):
    """An embedding and layers; with the norm first, one more norm at the end, since the stream was never normed."""

    def __init__(self, config: Config, crossing: bool = False):
        super().__init__()
        self.embedding = Embedding(config)
        self.layers = nn.ModuleList(Layer(config, crossing) for _ in range(config.layers))
        self.norm = LayerNorm(config) if config.norm == "pre" else None

    def forward(self, ids, allowed, memory=None, memory_allowed=None, record: Record = silent) -> Tensor:
        x = self.embedding(ids, record)
        for layer in self.layers:
            x = layer(x, allowed, memory, memory_allowed, record)
        return x if self.norm is None else self.norm(x, record)


class Transformer(nn.Module):
    """An encoder, a decoder, or both, and the prediction from their last vectors.

    All embeddings and the output share one matrix E (section 3.4).
    """

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        if "encoder" in config.stacks:
            self.encoder = Stack(config)
        if "decoder" in config.stacks:
            self.decoder = Stack(config, crossing="encoder" in config.stacks)
        for stack in config.stacks[1:]:
            getattr(self, stack).embedding.weight = self.encoder.embedding.weight
        self.initialise()

    @property
    def embedding(self) -> nn.Parameter:
        """E, [vocabulary, d_model]: read at the entrance of each stack, and again for the prediction."""
        return getattr(self, self.config.stacks[0]).embedding.weight

    def initialise(self) -> None:
        """Xavier for the linear maps; E at a deviation of d_model^-0.5, since it is scaled on the way in and tied."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
        nn.init.normal_(self.embedding, std=self.config.d_model**-0.5)

    def vectors(self, source: Tensor | None, target: Tensor | None, record: Record = silent) -> Tensor:
        """The last stack's vectors, [position, d_model]. The encoder reads `source`, the decoder `target`.

        Raises ValueError when a stack has nothing to read.
        """
        for stack, text, ids in (("encoder", "source", source), ("decoder", "target", target)):
            if stack in self.config.stacks and ids is None:
                raise ValueError(f"The {stack} of this model reads the {text}, and there is none; pass {text}=ids.")
        if self.config.architecture == "encoder":
            return self.encoder(source, everything(source, source), record=record)
        if self.config.architecture == "decoder":
            return self.decoder(target, everything_before(target), record=record)
        memory = self.encoder(source, everything(source, source), record=record)
        return self.decoder(target, everything_before(target), memory, everything(target, source), record)

    def predict(self, vectors: Tensor, record: Record = silent) -> Tensor:
        """Logits, [position, vocabulary]: each vector's dot product with every token's embedding."""
        return record(self, "logits", vectors @ self.embedding.mT, "position vocabulary")

    def forward(self, source: Tensor | None = None, target: Tensor | None = None, record: Record = silent) -> Tensor:
        """Probabilities, [position, vocabulary], from token ids, [position]."""
        logits = self.predict(self.vectors(source, target, record), record)
        return record(self, "probabilities", logits.softmax(-1), "position vocabulary")


def everything(queries: Tensor, keys: Tensor) -> Tensor:
    """Every query may attend to every key that is not padding: [query, key] from two texts' ids."""
    return (keys != PAD).unsqueeze(-2).expand(*queries.shape, keys.shape[-1])


def everything_before(ids: Tensor) -> Tensor:
    """Every position may attend to itself and to those before it, so that it cannot see what it is to predict."""
    length = ids.shape[-1]
    return torch.ones(length, length, dtype=torch.bool, device=ids.device).tril().expand(*ids.shape, length)
