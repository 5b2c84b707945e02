"""Values as files: one as a table, any number of them with their names and axes as safetensors or npz.

A file keeps what a reader needs to know later: the axes of each value, and `about`, words on where the values come
from (the model, the texts, the tokens, the changes), a text for each. `load` reads both kinds back.
"""

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import safetensors
import safetensors.torch
import torch

from explorer import frames
from explorer.trace import Value

KINDS = (".safetensors", ".npz")  # endings of files that hold values
_AXES, _ABOUT = "axes", "about"


def csv(value: Value, labels: Mapping[str, Sequence[str]] | None = None) -> bytes:
    """A value as a table with a row for each number (see frames.frame), in UTF-8 that spreadsheets recognise."""
    return frames.frame(value, labels).to_csv(index=False).encode("utf-8-sig", errors="replace")


def safetensors_file(values: Mapping[str, Value], about: Mapping[str, str] | None = None) -> bytes:
    """Values by path as a safetensors file; its metadata hold the axes, in JSON, and each entry of `about`."""
    # Values may share memory (a stream goes on into the next layer unchanged), which the format does not allow.
    tensors = {path: value.tensor.detach().cpu().clone().contiguous() for path, value in values.items()}
    return safetensors.torch.save(tensors, {**_checked(about), _AXES: _axes(values)})


def npz_file(values: Mapping[str, Value], about: Mapping[str, str] | None = None) -> bytes:
    """Values by path as NumPy's npz; the entries `axes` and `about` are texts in JSON."""
    arrays = {path: value.tensor.detach().cpu().numpy() for path, value in values.items()}
    words = {_AXES: np.array(_axes(values)), _ABOUT: np.array(json.dumps(_checked(about), ensure_ascii=False))}
    file = io.BytesIO()
    np.savez_compressed(file, **words, **arrays)
    return file.getvalue()


def file(kind: str, values: Mapping[str, Value], about: Mapping[str, str] | None = None) -> bytes:
    """Values as a file of a kind, `.safetensors` or `.npz`. Raises ValueError for another."""
    if kind not in KINDS:
        raise ValueError(f"A file of values ends in {' or '.join(KINDS)}, not in {kind!r}.")
    return {".safetensors": safetensors_file, ".npz": npz_file}[kind](values, about)


def load(path: str | Path) -> tuple[dict[str, Value], dict[str, str]]:
    """The values of a file that was written here, in the order computed, and what the file says about them.

    Raises ValueError when it is no such file.
    """
    path = Path(path)
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as found:
                axes, about = json.loads(str(found[_AXES])), json.loads(str(found[_ABOUT]))
                tensors = {name: torch.from_numpy(found[name]) for name in axes}
        else:
            with safetensors.safe_open(path, "pt") as found:
                about = dict(found.metadata() or {})
                axes = json.loads(about.pop(_AXES))
                tensors = {name: found.get_tensor(name) for name in axes}
    except (KeyError, ValueError, zipfile.BadZipFile, safetensors.SafetensorError) as error:
        raise ValueError(f"{path.name} is no file of values that the explorer wrote: {error}") from error
    return {name: Value(tensors[name], tuple(axes[name])) for name in axes}, about


def _axes(values: Mapping[str, Value]) -> str:
    return json.dumps({path: value.axes for path, value in values.items()})


def _checked(about: Mapping[str, str] | None) -> dict[str, str]:
    """What is said about the values. Half a surrogate pair, which no file can hold, becomes a question mark."""
    about = dict(about or {})
    if taken := {_AXES} & about.keys():
        raise ValueError(f"{', '.join(taken)} is the file's own word; call that entry of `about` otherwise.")
    return {name: text.encode(errors="replace").decode() for name, text in about.items()}
