"""The trained models that ship with the project: weights, and a card that says what each one is.

`<name>.safetensors` holds half-precision weights, `<name>.json` the card: configuration, data and licences, budget,
seed, recorded curves, held-out figures, and the weights' SHA-256, which is checked at each load.

One decoder more lies here that was trained without its mask. Its card says so (`masked`), it is not among the models
that are `available`, and it makes sense only when it is read without the mask, as it was trained.

Of one model of each architecture, the weights on the way lie in the folders of SNAPSHOTS.
"""

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.config import ARCHITECTURES, HEADS, NORMS, Config, model_name

if TYPE_CHECKING:
    from explorer.transformer import Transformer  # imported where it is used: cards are read before torch is there

FOLDER = Path(__file__).parent
TOKENIZER = FOLDER / "tokenizer.json"
SEEN = FOLDER / "seen.tsv"  # words of the training text, and how often each kind of model read them
SNAPSHOTS = {0.01: FOLDER / "after_1_percent", 0.10: FOLDER / "after_10_percent"}  # by share of the budget
NAME = re.compile(rf"({'|'.join(ARCHITECTURES)})-({'|'.join(NORMS)})-\d+")
MODELS = [model_name(kind, norm, heads) for kind in ARCHITECTURES for norm in NORMS for heads in HEADS]
WATCHED = {kind: model_name(kind, "pre", 4) for kind in ARCHITECTURES}  # those that SNAPSHOTS holds
_UNMASKED = "-unmasked"  # how the name of a model ends that was trained without its mask
TWIN = WATCHED["decoder"]
UNMASKED = f"{TWIN}{_UNMASKED}"  # trained as its twin was, but for the mask
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


class CheckpointError(RuntimeError):
    """A model's file is missing, cut short or altered; the message names it and says how to restore it."""


def available(folder: Path = FOLDER) -> list[str]:
    """The names of the models that have a card here, such as `decoder-pre-4`."""
    return sorted(path.stem for path in folder.glob("*-*.json") if NAME.fullmatch(path.stem))


def name_of(config: Config, masked: bool = True) -> str:
    """What a model's files are called, trained with its mask or without."""
    return config.name if masked else f"{config.name}{_UNMASKED}"


def card(name: str, folder: Path = FOLDER) -> dict:
    """What is known about a model. Raises CheckpointError when the card cannot be read, or is that of another."""
    path = folder / f"{name}.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        config, _ = Config(**found["config"]), found["sha256"]
    except FileNotFoundError:
        raise CheckpointError(broken(path, "is missing")) from None
    except (ValueError, TypeError, KeyError):  # no JSON, no table, or one that describes no model
        raise CheckpointError(broken(path, "cannot be read")) from None
    if (other := name_of(config, found.get("masked", True))) != name:
        raise CheckpointError(broken(path, f"is the card of another model, {other}"))
    return found


def load(name: str, folder: Path = FOLDER) -> "Transformer":
    """A trained model in float32, ready for use. Raises CheckpointError when a file is missing or altered."""
    import safetensors.torch

    from explorer.transformer import Transformer

    about = card(name, folder)
    path = folder / f"{name}.safetensors"
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise CheckpointError(broken(path, "is missing")) from None
    if hashlib.sha256(data).hexdigest() != about["sha256"]:
        raise CheckpointError(broken(path, f"({len(data):,} bytes) is not the file that its card describes"))
    model = Transformer(Config(**about["config"]))
    weights = {name: tensor.float() for name, tensor in safetensors.torch.load(data).items()}
    expected = {(name, parameter.shape) for name, parameter in model.named_parameters()}
    unlike = sorted({name for name, _ in expected ^ {(name, tensor.shape) for name, tensor in weights.items()}})
    if unlike:
        raise CheckpointError(broken(path, f"does not fit its card's configuration ({', '.join(unlike)})"))
    model.load_state_dict(weights, strict=False)  # strict would ask for the shared embedding under each of its names
    return model.eval().requires_grad_(False)


@dataclass(frozen=True)
class Word:
    """A word of a text in small letters: a run of letters, with apostrophes inside; it is `text[start:end]`."""

    text: str
    start: int
    end: int


def words(text: str) -> list[Word]:
    """The words of a text, in their order."""
    return [Word(found[0].lower(), found.start(), found.end()) for found in WORD.finditer(text.replace("’", "'"))]


def unseen(text: str, architecture: str) -> list[Word]:
    """The words of a text that a model of this architecture met at most twice in training, in their order."""
    column = 1 if architecture == "encoder-decoder" else 0
    counts = word_counts()
    return [word for word in words(text) if counts.get(word.text, (0, 0))[column] < 3]


@lru_cache
def word_counts() -> dict[str, tuple[int, int]]:
    """Word -> how often encoder and decoder read it, and how often the encoder-decoder read it as a source."""
    try:
        lines = SEEN.read_text(encoding="utf-8").splitlines()[1:]
    except FileNotFoundError:
        raise CheckpointError(broken(SEEN, "is missing")) from None
    rows = (line.split("\t") for line in lines)
    return {word: (int(reading), int(translating)) for word, reading, translating in rows}


def save(model: "Transformer", about: dict, folder: Path = FOLDER) -> None:
    """Write a model's weights in half precision, and its card."""
    import safetensors.torch
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.detach().to(torch.float16).contiguous() for name, tensor in model.named_parameters()}
    data = safetensors.torch.save(weights)
    name = name_of(model.config, about.get("masked", True))
    (folder / f"{name}.safetensors").write_bytes(data)
    describe(name, {"config": asdict(model.config), "sha256": hashlib.sha256(data).hexdigest(), **about}, folder)


def describe(name: str, about: dict, folder: Path = FOLDER) -> None:
    """Write a model's card."""
    (folder / f"{name}.json").write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def broken(path: Path, what: str) -> str:
    """One sentence that says what is wrong with a file of this folder and how to get it back."""
    task = {"tokenizer": "tokenizer", "seen": "words"}.get(path.stem, f"train {path.stem}")
    file = "/".join(path.parts[-3:])
    return (
        f"{path.name} {what}. Restore it with `git checkout -- {file}`, "
        f"or make it anew with `python -m explorer.training {task}`."
    )
