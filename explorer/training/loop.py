"""The training loop: one model, one budget of tokens, resumable, with its loss and gradient norm written down."""

import json
import math
import time
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import nn
from tqdm import tqdm

from explorer import checkpoints
from explorer.config import Config
from explorer.training.objectives import OBJECTIVES, WITHOUT_MASK
from explorer.transformer import Transformer

CLIP = 1.0
SAVE_EVERY = 100  # steps


@dataclass(frozen=True)
class Rates:
    """The highest learning rates of the two optimizers, and the share of the budget until they are reached."""

    muon: float = 0.02
    adamw: float = 3e-3
    warm_up: float = 0.04


def rates(config: Config) -> Rates:
    """The same for all models but one kind: an encoder with the norm after the sum needs lower rates.

    At those of the others it still guessed by the frequencies of words after 5.5 million tokens, with gradients ten
    times as large: what Xiong et al. 2020 describe.
    """
    if (config.architecture, config.norm) == ("encoder", "post"):
        return Rates(muon=0.005, adamw=1e-3, warm_up=0.08)
    return Rates()


@dataclass
class Progress:
    """How far a training has come, and what it saw: one entry of each list a step."""

    tokens: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    gradient_norm: list[float] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def read(self) -> int:
        return self.tokens[-1] if self.tokens else 0


def optimizers(model: Transformer) -> list[torch.optim.Optimizer]:
    """Muon (Jordan et al. 2024) for the matrices of the layers, AdamW for embedding, biases and norms."""
    matrices, rest = [], []
    for name, parameter in model.named_parameters():
        (matrices if parameter.dim() == 2 and ".layers." in name else rest).append(parameter)
    return [
        torch.optim.Muon(matrices, weight_decay=0.01),
        torch.optim.AdamW(rest, betas=(0.9, 0.98), weight_decay=0.0),
    ]


def schedule(done: float, warm_up: float) -> float:
    """The share of the full learning rate when `done` of the budget is read: a linear warm-up, then a half cosine."""
    if done < warm_up:
        return max(done, 1e-3) / warm_up
    return 0.5 * (1 + math.cos(math.pi * min(1.0, (done - warm_up) / (1 - warm_up))))


def train(
    config: Config, corpora: Path, tokenizer: Tokenizer, budget: int, seed: int, state: Path, masked: bool = True
) -> tuple[Transformer, Progress]:
    """Train one model on `budget` tokens and return it with its curves; a decoder without its mask if not `masked`.

    `state` is a folder for what resuming needs; a training found there goes on where it stopped, on the same batches.
    """
    torch.manual_seed(seed)
    model = Transformer(config)
    name = checkpoints.name_of(config, masked)
    objective = OBJECTIVES[config.architecture] if masked else WITHOUT_MASK
    highest = rates(config)
    steppers = optimizers(model)
    progress = Progress()
    state.mkdir(parents=True, exist_ok=True)
    resume_from = state / f"{name}.pt"
    if resume_from.exists():
        progress = resume(resume_from, model, steppers)

    batches = islice(objective.batches(corpora, tokenizer, seed), len(progress.tokens), None)
    model.train()
    started = time.monotonic() - progress.seconds
    bar = tqdm(total=budget, initial=progress.read, unit="token", unit_scale=True, desc=name, mininterval=2)
    with bar:
        while progress.read < budget:
            batch = next(batches)
            done = progress.read / budget
            for stepper, rate in zip(steppers, (highest.muon, highest.adamw), strict=True):
                stepper.zero_grad(set_to_none=True)
                for group in stepper.param_groups:
                    group["lr"] = rate * schedule(done, highest.warm_up)
            # Products in bfloat16, sums and weights in float32: a third faster on processors that know it.
            with torch.autocast("cpu", torch.bfloat16):
                loss = objective.loss(model, batch)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            for stepper in steppers:
                stepper.step()

            read = objective.tokens(batch)
            progress.tokens.append(progress.read + read)
            progress.loss.append(round(loss.item(), 4))
            progress.gradient_norm.append(round(norm.item(), 4))
            progress.seconds = time.monotonic() - started
            bar.update(read)
            recent = progress.loss[-50:]
            bar.set_postfix(loss=f"{sum(recent) / len(recent):.3f}")
            for share in checkpoints.SNAPSHOTS:
                if done < share <= progress.read / budget:
                    torch.save(model.state_dict(), snapshot(state, name, share))
            if len(progress.tokens) % SAVE_EVERY == 0 or progress.read >= budget:
                keep(resume_from, model, steppers, progress)
    return model.eval(), progress


def snapshot(state: Path, name: str, share: float) -> Path:
    """The file of a model's weights when this share of its budget was read."""
    return state / f"{name}.{share:.0%}.pt"


def keep(path: Path, model: Transformer, steppers: list[torch.optim.Optimizer], progress: Progress) -> None:
    """Write what resuming needs, under another name first, so that a stop while writing loses nothing."""
    partial = path.with_suffix(".partial")
    torch.save(
        {
            "model": model.state_dict(),
            "optimizers": [stepper.state_dict() for stepper in steppers],
            "progress": vars(progress),
            "random": torch.get_rng_state(),
        },
        partial,
    )
    partial.replace(path)
    path.with_suffix(".progress.json").write_text(json.dumps(vars(progress)))


def resume(path: Path, model: Transformer, steppers: list[torch.optim.Optimizer]) -> Progress:
    kept = torch.load(path, weights_only=True)
    model.load_state_dict(kept["model"])
    for stepper, stepper_state in zip(steppers, kept["optimizers"], strict=True):
        stepper.load_state_dict(stepper_state)
    torch.set_rng_state(kept["random"])
    return Progress(**kept["progress"])
