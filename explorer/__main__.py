"""The explorer on the command line: `python -m explorer trace "..."`."""

import argparse
import sys
from pathlib import Path

from explorer import checkpoints
from explorer.config import ARCHITECTURES, HEADS, NORMS, model_name

DESCRIPTION = """\
Run a small trained Transformer over a text and see every number of its forward pass.

    python -m explorer trace "Once upon a time there was a"
    python -m explorer models

The app with pictures of all this:   streamlit run app.py
Training:                            python -m explorer.training --help
"""
EXAMPLES = """\
examples:
  the values of a pass, and what the model expects next
    python -m explorer trace "The cat sat on the mat because it was"
  an encoder fills a mask
    python -m explorer trace "The little [MASK] was very happy." --architecture encoder
  an encoder-decoder translates to Korean by itself, or reads your translation
    python -m explorer trace "The doctor is in the kitchen." --architecture encoder-decoder
    python -m explorer trace "I see a dog." --architecture encoder-decoder --target "나는 개를 봅니다."
  only the attention weights, and each number of one of them as a table
    python -m explorer trace "The cat sat" --values "*.self_attention.weights"
    python -m explorer trace "The cat sat" --csv decoder.layers.0.self_attention.weights > weights.csv
  everything in a file, to be opened with `explorer.load(...)`, safetensors or NumPy
    python -m explorer trace "The cat sat" --save pass.safetensors
  with head 2 of layer 0 switched off
    python -m explorer trace "The cat sat" --edit off:d0a.h2
"""


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    made = argparse.ArgumentParser(
        "python -m explorer", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = made.add_subparsers(dest="command", metavar="command", title="commands")
    trace = commands.add_parser(
        "trace",
        help="run a model over a text and list every value that it computed",
        description="Run a model over a text, and list every value that it computed: its path, its axes\n"
        "with their sizes, and the least, mean and largest of its numbers.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    trace.add_argument("text", help="what the model reads, in quotation marks; [MASK] stands for a hidden word")
    model = trace.add_argument_group("which model (see `python -m explorer models`)")
    model.add_argument("--architecture", choices=ARCHITECTURES, default="decoder", help="default: decoder")
    model.add_argument("--norm", choices=NORMS, default="pre", help="layer norm before or after a sublayer (pre)")
    model.add_argument(
        "--heads", type=int, default=4, metavar="N", help=f"attention heads: {', '.join(map(str, HEADS))} (4)"
    )
    read = trace.add_argument_group("what it reads")
    read.add_argument("--target", default="", metavar="TEXT", help="what the decoder of an encoder-decoder reads "
                      "(its own translation)")  # fmt: skip
    read.add_argument("--edit", default="", metavar="CHANGES", help="changes of the model, several with ; between them")
    read.add_argument("--other", default="", metavar="TEXT", help="a second text, for changes that patch from it")
    read.add_argument("--beginning", action="store_true", help="of a text that is too long, read the beginning")
    shown = trace.add_argument_group("what comes out")
    shown.add_argument("--values", default="*", metavar="PATTERN", help="only values whose path fits, such as "
                       '"*.weights"; holds for --save too')  # fmt: skip
    shown.add_argument("--predictions", type=int, default=5, metavar="N", help="likeliest tokens to show first (5)")
    shown.add_argument("--csv", metavar="PATH", help="instead, print each number of the value at a path as a table")
    shown.add_argument("--save", type=Path, metavar="FILE", help="also write the values to FILE, which ends in "
                       ".safetensors or .npz")  # fmt: skip
    commands.add_parser("models", help="list the trained models", description="List the trained models.")
    return made


def main(arguments: list[str] | None = None) -> int:
    """Run a command; 0 when all went well, 2 with one sentence on the error output when not."""
    made = parser()
    asked = made.parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")  # what is written here is Korean as often as not
    try:
        {"models": lambda _: _models(), "trace": _trace, None: lambda _: made.print_help()}[asked.command](asked)
    except BrokenPipeError:  # the reader has seen enough: `... | head`
        sys.stderr.close()
        return 0
    except KeyError as error:
        return _failed(error.args[0])
    except OSError as error:
        return _failed(f"{error.filename} cannot be written: {error.strerror}.")
    except (ValueError, checkpoints.CheckpointError) as error:
        return _failed(str(error))
    return 0


def _failed(reason: str) -> int:
    print(f"{reason}\n`python -m explorer trace --help` lists the options, with examples.", file=sys.stderr)
    return 2


def _models() -> None:
    for name in checkpoints.available():
        card = checkpoints.card(name)
        print(f"{name:24} {card['config']['layers']} layers, d_model {card['config']['d_model']}")


def _trace(asked: argparse.Namespace) -> None:
    from explorer import export, notebook  # with torch, which takes seconds: not for --help

    if asked.save and asked.save.suffix not in export.KINDS:
        raise ValueError(f"--save needs a file that ends in {' or '.join(export.KINDS)}, not {asked.save.name!r}.")
    seen = notebook.read(
        asked.text, model_name(asked.architecture, asked.norm, asked.heads), target=asked.target, edits=asked.edit,
        other=asked.other, beginning=asked.beginning,
    )  # fmt: skip
    if asked.csv:
        sys.stdout.write(seen.frame(asked.csv).to_csv(index=False))
    else:
        _table(seen, asked.values, asked.predictions)
    if asked.save:
        seen.save(asked.save, asked.values)
        print(f"Written: {asked.save} ({asked.save.stat().st_size:,} bytes)", file=sys.stderr)


def _table(seen, pattern: str, count: int) -> None:
    """The tokens, the predictions, and a row for each value."""
    from explorer import frames

    found = seen.select(pattern)
    if not found:
        raise ValueError(f"No value's path fits {pattern!r}; without --values you see them all.")
    print(seen.name)
    for stack, tokens in seen.tokens.items():
        print(f"{stack} reads: {' '.join(token.label for token in tokens)}")
    if count > 0:
        print("it expects: " + "  ".join(f"{label} {share:.1%}" for label, share in seen.predictions(count)))
    rows = [("value", "axes", "least", "mean", "largest")]
    for path, value in found.items():
        figures = frames.statistics(value)
        axes = " × ".join(
            f"{size} {axis}" if axis != "1" else axis for axis, size in zip(value.axes, figures["shape"], strict=True)
        )
        numbers = (figures[name] for name in ("least", "mean", "largest"))
        rows.append((path, axes, *("–" if number is None else f"{number:.4g}" for number in numbers)))
    wide = [max(len(row[column]) for row in rows) for column in range(2)]
    print()
    for path, axes, *numbers in rows:
        print(f"{path:{wide[0]}}  {axes:{wide[1]}}  " + " ".join(f"{number:>10}" for number in numbers))


if __name__ == "__main__":
    sys.exit(main())
