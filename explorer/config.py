"""What a model is made of: its kind and its sizes, checked once, when they are stated."""

from dataclasses import dataclass
from typing import Literal, get_args

Architecture = Literal["encoder", "decoder", "encoder-decoder"]
Norm = Literal["pre", "post"]
Activation = Literal["gelu", "relu"]

ARCHITECTURES: tuple[Architecture, ...] = get_args(Architecture)
NORMS: tuple[Norm, ...] = get_args(Norm)
HEADS = (1, 2, 4, 8)  # numbers of heads that models are trained with; others are as possible
ACTIVATIONS: tuple[Activation, ...] = get_args(Activation)

MAX_TOKENS = 256  # the longest text a model was trained on; the model itself has no limit
MASKED_SHARE = 0.25  # of an encoder's ordinary tokens, in training (Devlin et al. 2019 masked 0.15)

PAD, BOS, EOS, MASK = range(4)  # the special tokens' ids, the first of the vocabulary
SPECIAL_TOKENS = ("[PAD]", "[BOS]", "[EOS]", "[MASK]")


@dataclass(frozen=True)
class Config:
    """A Transformer's kind and sizes.

    Raises ValueError, with the numbers and the remedy, when they do not fit together.
    """

    architecture: Architecture = "decoder"
    norm: Norm = "pre"  # "post" is the order of Vaswani et al. 2017, "pre" that of most models since
    heads: int = 4
    layers: int = 4  # of each stack
    d_model: int = 128
    d_ff: int = 512
    vocabulary: int = 4096
    activation: Activation = "gelu"
    dropout: float = 0.02  # in training only; little, since these models are too small to learn by heart
    epsilon: float = 1e-5  # added to the variance in a layer norm

    def __post_init__(self):
        for field, allowed in (("architecture", ARCHITECTURES), ("norm", NORMS), ("activation", ACTIVATIONS)):
            if getattr(self, field) not in allowed:
                raise ValueError(f"{field} is {getattr(self, field)!r}; choose one of {', '.join(allowed)}.")
        for field in ("heads", "layers", "d_model", "d_ff", "vocabulary"):
            if getattr(self, field) < 1:
                raise ValueError(f"{field} is {getattr(self, field)}; it must be at least 1.")
        if self.d_model % self.heads:
            fitting = [h for h in range(1, self.d_model + 1) if self.d_model % h == 0]
            raise ValueError(
                f"d_model = {self.d_model} cannot be shared evenly by {self.heads} heads; "
                f"choose one of {', '.join(map(str, fitting))}."
            )
        if self.d_model % 2:
            raise ValueError(
                f"d_model is {self.d_model}; sinusoidal positions pair a sine with a cosine, so choose an even number."
            )
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout is {self.dropout}; choose a share from 0 up to, but not including, 1.")

    @property
    def d_k(self) -> int:
        """The width of one head: d_model shared evenly."""
        return self.d_model // self.heads

    @property
    def stacks(self) -> tuple[str, ...]:
        """The stacks, in the order in which data passes through them."""
        return tuple(self.architecture.split("-"))

    @property
    def name(self) -> str:
        """What its files are called: `decoder-pre-4`."""
        return model_name(self.architecture, self.norm, self.heads)


def model_name(architecture: str, norm: str, heads: int) -> str:
    """What a model of this kind is called, wherever models are told apart: `decoder-pre-4`."""
    return f"{architecture}-{norm}-{heads}"


def kind_of(name: str) -> tuple[str, str, int]:
    """The architecture, the norm order and the number of heads that a model's name stands for."""
    architecture, norm, heads = name.rsplit("-", 2)
    return architecture, norm, int(heads)


def longest_translation(source: int) -> int:
    """How many tokens a translation of so many tokens may have, before it is taken to run on without an end."""
    return min(MAX_TOKENS - 1, 2 * source + 16)
