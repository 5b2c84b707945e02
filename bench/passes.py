"""What recording costs: a silent pass, a recorded pass, and torch.nn on the same weights, side by side in one run.

    python -m bench.passes            prints a table, and writes it to bench/passes.json

The three are timed in turn, again and again, so that whatever else the machine is doing falls on all of them alike;
medians and ratios are printed.
"""

import json
import statistics
import time
from pathlib import Path

import torch

from explorer import checkpoints
from explorer.analysis.proof import reference
from explorer.config import BOS
from explorer.trace import trace

LENGTHS = (16, 64, 256)
ROUNDS = 60
RESULT = Path(__file__).with_suffix(".json")


def measure(name: str, length: int) -> dict:
    """Median milliseconds of each kind of pass over `length` tokens."""
    model = checkpoints.load(name)
    twin = reference(model)
    ids = torch.randint(4, model.config.vocabulary, (length,), generator=torch.Generator().manual_seed(0))
    ids[0] = BOS
    source = ids if "encoder" in model.config.stacks else None
    target = ids if "decoder" in model.config.stacks else None
    kinds = {
        "silent": lambda: model(source, target),
        "recorded": lambda: trace(model, source, target),
        "torch.nn": lambda: twin(source, target),
    }
    times = {kind: [] for kind in kinds}
    with torch.inference_mode():
        for _ in range(ROUNDS):
            for kind, run in kinds.items():
                started = time.perf_counter()
                run()
                times[kind].append((time.perf_counter() - started) * 1000)
    medians = {kind: statistics.median(values) for kind, values in times.items()}
    return {"model": name, "tokens": length, **{kind: round(value, 2) for kind, value in medians.items()},
            "recorded / silent": round(medians["recorded"] / medians["silent"], 2)}  # fmt: skip


def main() -> None:
    torch.set_num_threads(1)
    rows = [measure(name, length) for name in ("encoder-pre-4", "decoder-pre-4", "encoder-decoder-pre-4")
            for length in LENGTHS]  # fmt: skip
    for row in rows:
        print("  ".join(f"{key} {value}" for key, value in row.items()))
    RESULT.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
