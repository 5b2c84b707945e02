"""What recording costs: a silent pass, a recorded one, and others over as many tokens, side by side in one run.

    python -m bench.passes            prints a table, and writes it to bench/passes.json
    python -m bench.passes --plain    with the allocator as it is, not as the app sets it; writes nothing

Ours: the silent pass, the pass with all its values, and the check of them that follows it on every page. Beside them
the same weights in torch.nn, which records nothing, and, where they are installed (bench/requirements.txt), two that
record a GPT-2 of the same size: Hugging Face transformers, and TransformerLens. They are timed in turn, again and
again, and the medians are printed of the processor's time, which is what a reader of an idle machine waits: each runs
on one thread. So is what each one keeps: tensors, and millions of numbers in them. A tensor that is a view of another
counts with all its numbers.
"""

import argparse
import json
import os
import resource
import statistics
import time
import warnings
from collections.abc import Callable, Iterable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor

from explorer import checkpoints, serving
from explorer.analysis.proof import check, reference
from explorer.config import BOS, EOS, MAX_TOKENS, Config
from explorer.trace import trace

MODELS = ("decoder-pre-4", "encoder-pre-4", "encoder-decoder-pre-4")
LENGTHS = (16, 64, 256)
ROUNDS = 40
PEERS = {"transformers": "transformers", "TransformerLens": "transformer_lens"}  # name -> module
HEAD = f"{'model':22}{'tokens':>7}  {'pass':16}{'ms':>8}{'/ silent':>10}{'faults':>8}{'tensors':>9}{'millions':>10}"
RESULT = Path(__file__).with_suffix(".json")

Run = Callable[[], Iterable[Tensor]]  # a pass, which returns the tensors that it kept


def hugging_face(config: Config) -> Callable[[Tensor], Iterable[Tensor]]:
    """GPT-2 of transformers, which keeps the vectors between layers, the attention weights and the logits."""
    from transformers import GPT2Config, GPT2LMHeadModel

    made = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=config.vocabulary, n_positions=MAX_TOKENS, n_embd=config.d_model, n_layer=config.layers,
            n_head=config.heads, n_inner=config.d_ff, activation_function="gelu", attn_implementation="eager",
            bos_token_id=BOS, eos_token_id=EOS,
        )
    ).eval()  # fmt: skip

    def run(ids: Tensor) -> Iterable[Tensor]:
        kept = made(ids.unsqueeze(0), output_attentions=True, output_hidden_states=True, use_cache=False)
        return (kept.logits, *kept.hidden_states, *kept.attentions)

    return run


def transformer_lens(config: Config) -> Callable[[Tensor], Iterable[Tensor]]:
    """HookedTransformer of TransformerLens with all its hooks."""
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it is gone in version 4; run_with_cache is its own there
        made = HookedTransformer(
            HookedTransformerConfig(
                n_layers=config.layers, d_model=config.d_model, n_ctx=MAX_TOKENS, d_head=config.d_k,
                n_heads=config.heads, d_mlp=config.d_ff, d_vocab=config.vocabulary, act_fn="gelu",
                normalization_type="LN", seed=0, device="cpu",
            )
        ).eval()  # fmt: skip

    def run(ids: Tensor) -> Iterable[Tensor]:
        logits, kept = made.run_with_cache(ids.unsqueeze(0))
        return (logits, *kept.values())

    return run


def kinds(name: str, length: int, peers: Iterable[str]) -> dict[str, Run]:
    """The passes that are compared, over `length` tokens."""
    model = checkpoints.load(name)
    twin = reference(model)
    ids = torch.randint(4, model.config.vocabulary, (length,), generator=torch.Generator().manual_seed(0))
    ids[0] = BOS
    source = ids if "encoder" in model.config.stacks else None
    target = ids if "decoder" in model.config.stacks else None
    recorded = trace(model, source, target)

    def silent() -> Iterable[Tensor]:
        return (model(source, target),)

    def record() -> Iterable[Tensor]:
        return (value.tensor for value in trace(model, source, target).values())

    def prove() -> Iterable[Tensor]:
        check(model, recorded, source, target, twin)
        return ()

    def others() -> Iterable[Tensor]:
        twin(source, target)
        return ()

    found: dict[str, Run] = {"silent": silent, "recorded": record, "check": prove, "torch.nn": others}
    if model.config.architecture == "decoder":  # theirs are decoders
        made = {"transformers": hugging_face, "TransformerLens": transformer_lens}
        for peer in peers:
            run = made[peer](model.config)
            found[peer] = lambda run=run: run(ids)
    return found


def measure(name: str, length: int, peers: Iterable[str]) -> dict:
    """Median milliseconds of each pass over `length` tokens, and what it keeps."""
    compared = kinds(name, length, peers)
    times: dict[str, list[float]] = {kind: [] for kind in compared}
    faults: dict[str, list[int]] = {kind: [] for kind in compared}
    kept = {}
    with torch.inference_mode():
        for _ in range(ROUNDS):
            for kind, run in compared.items():
                before, started = _page_faults(), time.process_time()
                tensors = run()
                times[kind].append((time.process_time() - started) * 1000)
                faults[kind].append(_page_faults() - before)
                if kind not in kept:
                    sizes = [tensor.numel() for tensor in tensors]
                    kept[kind] = {"tensors": len(sizes), "millions": round(sum(sizes) / 1e6, 3)}
                del tensors
    medians = {kind: statistics.median(found) for kind, found in times.items()}
    return {
        "model": name,
        "tokens": length,
        "milliseconds": {kind: round(value, 2) for kind, value in medians.items()},
        "of the silent pass": {kind: round(value / medians["silent"], 2) for kind, value in medians.items()},
        "page faults": {kind: round(statistics.median(found)) for kind, found in faults.items()},
        "kept": {kind: found for kind, found in kept.items() if kind in ("recorded", *PEERS)},
    }


def _page_faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def table(rows: list[dict]) -> str:
    """The rows as a table, one pass a line."""
    lines = [HEAD]
    for row in rows:
        for kind, milliseconds in row["milliseconds"].items():
            ratio, faults = row["of the silent pass"][kind], row["page faults"][kind]
            kept = row["kept"].get(kind, {"tensors": "", "millions": ""})
            lines.append(
                f"{row['model']:22}{row['tokens']:7}  {kind:16}{milliseconds:8.2f}{ratio:10.2f}{faults:8}"
                f"{kept['tensors']:>9}{kept['millions']:>10}"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.passes", description=__doc__.partition("\n")[0])
    parser.add_argument("--plain", action="store_true", help="leave the allocator as it is; write nothing")
    parser.add_argument("--model", nargs="+", default=MODELS)
    parser.add_argument("--tokens", type=int, nargs="+", default=LENGTHS)
    chosen = parser.parse_args()
    if chosen.plain:
        torch.set_num_threads(1)
    else:
        serving.prepare()
    peers = [peer for peer, module in PEERS.items() if find_spec(module)]
    if missing := [peer for peer in PEERS if peer not in peers]:
        print(f"Without {' and '.join(missing)}, which bench/requirements.txt would install.")
    load = os.getloadavg()[0]
    rows = [measure(name, length, peers) for name in chosen.model for length in chosen.tokens]
    print(table(rows))
    if not chosen.plain:
        versions = {name: version(PEERS.get(name, name)) for name in ("torch", *peers)}
        found = {"cores": os.cpu_count(), "load before": round(load, 1), "versions": versions, "rows": rows}
        RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
