"""Train and evaluate the models that ship with the explorer: `python -m explorer.training --help`."""

import argparse
import os
from dataclasses import asdict
from pathlib import Path

import torch
from tokenizers import Tokenizer

from explorer import checkpoints
from explorer.checkpoints import MODELS, TWIN, UNMASKED, WATCHED
from explorer.config import Config, kind_of
from explorer.training import corpus, seen, vocabulary
from explorer.training.evaluate import evaluate
from explorer.training.loop import Progress, rates, snapshot, train
from explorer.training.objectives import OBJECTIVES, WITHOUT_MASK
from explorer.transformer import Transformer

SEED = 17
BUDGET = {"encoder": 8_000_000, "decoder": 9_500_000, "encoder-decoder": 6_500_000}  # tokens
UNMASKED_BUDGET = 1_000_000  # tokens: its loss has fallen long before
CURVE_POINTS = 200

HELP = """\
Train the explorer's models from text, and measure what they learnt.

  python -m explorer.training tokenizer              learn the tokenizer (first, and once: every model depends on it)
  python -m explorer.training words                  count the words of the training text (for hints in the app)
  python -m explorer.training train decoder-pre-4    train one model; run it again after a stop and it goes on
  python -m explorer.training train all              train all 24, one after the other
  python -m explorer.training evaluate decoder-pre-4 measure one that is trained
  python -m explorer.training train decoder-pre-4-unmasked
                                                     train a decoder without its mask, to see what the mask is for

A model is called by architecture, norm and heads: decoder-pre-4 is a decoder with pre-norm and 4 attention heads.
One takes 15 to 30 minutes on one core, the one without a mask a tenth of that. The text comes from the folder given
with --corpora; the README says which file is what and where it comes from. What a training needs to go on lies in the
folder given with --state.
"""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m explorer.training", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=("tokenizer", "words", "train", "evaluate"))
    parser.add_argument("models", nargs="*", metavar="model", help="names such as encoder-post-8, or all")
    parser.add_argument("--corpora", type=Path, default=Path("corpora"), help="folder of text (default: corpora)")
    parser.add_argument(
        "--state",
        type=Path,
        default=Path.home() / ".cache" / "transformer-explorer",
        help="folder for what resuming needs (default: %(default)s)",
    )
    parser.add_argument("--tokens", type=int, help="budget of tokens (default: 6.5 to 9.5 million, 1 without the mask)")
    parser.add_argument("--seed", type=int, default=SEED, help="default: %(default)s")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="default: all cores")
    chosen = parser.parse_args()
    names = MODELS if chosen.models == ["all"] else chosen.models
    if unknown := [name for name in names if name not in (*MODELS, UNMASKED)]:
        parser.error(f"there is no model {', '.join(unknown)}; choose from {', '.join((*MODELS, UNMASKED))}, or all")
    if chosen.task in ("train", "evaluate") and not names:
        parser.error(f"which model? Name one, such as {MODELS[10]}, or all")
    chosen.models = names
    return chosen


def config_of(name: str) -> Config:
    """The configuration that a name stands for."""
    architecture, norm, heads = kind_of(TWIN if name == UNMASKED else name)
    return Config(architecture, norm, heads, layers=3 if architecture == "encoder-decoder" else 4)


def budget_of(name: str, chosen: argparse.Namespace) -> int:
    """How many tokens a model is trained on."""
    usual = UNMASKED_BUDGET if name == UNMASKED else BUDGET[config_of(name).architecture]
    return chosen.tokens or usual


def card(name: str, chosen: argparse.Namespace, progress: Progress) -> dict:
    """Everything about a trained model that is not its weights."""
    config = config_of(name)
    step = max(1, len(progress.tokens) // CURVE_POINTS)
    points = range(step - 1, len(progress.tokens), step)

    def smooth(values: list[float]) -> list[float]:
        return [round(sum(values[i - step + 1 : i + 1]) / step, 4) for i in points]

    objective = OBJECTIVES[config.architecture]
    without = {}
    if name == UNMASKED:
        objective, without = WITHOUT_MASK, {"masked": False}
    return {
        "objective": objective.name,
        **without,
        "data": [{"title": source.title, "licence": source.licence} for source in corpus.SOURCES]
        + [{"title": "sentences of the project's own grammar", "licence": "CC BY-SA 4.0"}],
        "licence": "CC BY-SA 4.0",
        "seed": chosen.seed,
        "budget_tokens": budget_of(name, chosen),
        "rates": asdict(rates(config)),
        "steps": len(progress.tokens),
        "seconds": round(progress.seconds),
        "torch": torch.__version__,
        "curves": {
            "tokens": [progress.tokens[i] for i in points],
            "loss": smooth(progress.loss),
            "gradient_norm": smooth(progress.gradient_norm),
        },
        "held_out": {},
    }


def main() -> None:
    chosen = arguments()
    torch.set_num_threads(chosen.threads)
    if chosen.task == "tokenizer":
        vocabulary.build(chosen.corpora, checkpoints.TOKENIZER)
        print(f"wrote {checkpoints.TOKENIZER}")
        return
    if chosen.task == "words":
        seen.build(chosen.corpora, BUDGET["decoder"], chosen.seed)
        print(f"wrote {checkpoints.SEEN}")
        return
    tokenizer = Tokenizer.from_file(str(checkpoints.TOKENIZER))
    for name in chosen.models:
        if chosen.task == "train":
            budget, masked = budget_of(name, chosen), name != UNMASKED
            model, progress = train(
                config_of(name), chosen.corpora, tokenizer, budget, chosen.seed, chosen.state, masked
            )
            checkpoints.save(model, card(name, chosen, progress))
            if name in WATCHED.values():
                save_snapshots(name, chosen)
        measure(name, tokenizer, chosen.corpora)


def save_snapshots(name: str, chosen: argparse.Namespace) -> None:
    """Write a model as it was on the way, so that readers can watch it learn."""
    for share, folder in checkpoints.SNAPSHOTS.items():
        model = Transformer(config_of(name))
        model.load_state_dict(torch.load(snapshot(chosen.state, name, share), weights_only=True))
        read = round(share * budget_of(name, chosen))
        checkpoints.save(model, {"licence": "CC BY-SA 4.0", "seed": chosen.seed, "read_tokens": read}, folder)


def measure(name: str, tokenizer: Tokenizer, corpora: Path) -> None:
    """Print the held-out figures of a model as it lies on disk; with the corpora at hand, write them into its card."""
    text = corpora if corpora.is_dir() else None
    figures = evaluate(checkpoints.load(name), tokenizer, text, masked=name != UNMASKED)
    if corpora.is_dir():
        checkpoints.describe(name, {**checkpoints.card(name), "held_out": figures})
    print(name)
    for text, figure in figures.items():
        print(f"  {text:28}", "  ".join(f"{key} {value}" for key, value in figure.items()))


if __name__ == "__main__":
    try:
        main()
    except (corpus.CorpusError, checkpoints.CheckpointError) as problem:
        raise SystemExit(str(problem)) from None
