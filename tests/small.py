"""Small models and their passes: every configuration in milliseconds."""

import torch

from explorer import checkpoints
from explorer.config import ACTIVATIONS, ARCHITECTURES, NORMS, PAD, Config
from explorer.trace import Trace, trace
from explorer.transformer import Transformer

torch.set_num_threads(1)  # as the app serves; more threads only wait for each other on sizes like these

VOCABULARY = 40
KINDS = [(architecture, norm) for architecture in ARCHITECTURES for norm in NORMS]
GRID = [
    Config(architecture, norm, heads, layers=2, d_model=16, d_ff=24, vocabulary=VOCABULARY, activation=activation)
    for architecture, norm in KINDS
    for heads in (1, 2, 4, 8)
    for activation in ACTIVATIONS
]


# Of the models that ship, those that learnt, so that their loss halved: what is said of trained models holds for them.
# An encoder may stay with the frequencies of words for millions of tokens.
LEARNT = [
    name
    for name in checkpoints.available()
    if (curve := checkpoints.card(name)["curves"]["loss"]) and curve[-1] < curve[0] / 2
]
READERS = [name for name in LEARNT if not name.startswith("encoder-decoder")]  # those that read one text


def named(config: Config) -> str:
    return f"{config.name}-{config.activation}"


def model(config: Config, seed: int = 0, dtype: torch.dtype = torch.float64) -> Transformer:
    """A model in which every parameter matters: fresh ones have biases of 0 and gains of 1, which hide mistakes."""
    torch.manual_seed(seed)
    made = Transformer(config).to(dtype).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return made


def texts(config: Config, seed: int = 0, padding: int = 2) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """Ids for the stacks that there are; a source of other length than the target, with padding at its end."""
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(PAD + 1, config.vocabulary, (7,), generator=generator)
    source[7 - padding :] = PAD
    target = torch.randint(PAD + 1, config.vocabulary, (5,), generator=generator)
    return source if "encoder" in config.stacks else None, target if "decoder" in config.stacks else None


def recorded(config: Config, seed: int = 0, dtype: torch.dtype = torch.float64, edits=None) -> Trace:
    return trace(model(config, seed, dtype), *texts(config, seed), edits=edits)
