"""Run folders as files: what Python keeps in them, and what it reads of them by itself."""

from __future__ import annotations

import json
import os
import pathlib
import struct
from typing import Any

import numpy as np

from ._lib import fail

KEPT = "python.json"  # what this package keeps beside the files of a run folder; other programs skip it
TRAINED_ON = "trained_on.safetensors"


def files_of(folder: str) -> dict[str, bytes]:
    root = pathlib.Path(folder)
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def write_files(folder: str, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


def keep_in(folder: str | os.PathLike[str], kept: dict[str, Any]) -> None:
    pathlib.Path(folder, KEPT).write_text(json.dumps(kept, default=_plain, indent=2) + "\n")


def kept_in(folder: str) -> dict[str, Any]:
    path = pathlib.Path(folder, KEPT)
    if not path.exists():
        return {}
    try:
        kept = json.loads(path.read_text())
        found = {name: kept[name] for name in ("estimator", "parameters", "classes")}
        return {**found, "quoted": kept.get("quoted", [])}
    except (ValueError, KeyError, TypeError) as error:
        raise fail(f"{path} is damaged ({error}); without it classes are read as the command line names them") from None


def safetensors_header(path: str | pathlib.Path) -> dict[str, Any]:
    """Eight bytes of length, and so much JSON."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header: dict[str, Any] = json.loads(file.read(size))
    return header


def trained_on(folder: str) -> dict[str, Any]:
    """What stands of the training's graph in a run folder: tensors by name, and their "__metadata__"."""
    return safetensors_header(pathlib.Path(folder, TRAINED_ON))


def was_directed(folder: str) -> bool:
    return bool(trained_on(folder)["__metadata__"]["directed"] == "1")


def members_of(folder: str) -> dict[int, float]:
    """The runs that predict together, each with its weight; the heaviest first."""
    members = json.loads(pathlib.Path(folder, "ensemble.json").read_text())
    found = dict(zip(members["runs"], members["weights"]))
    return dict(sorted(found.items(), key=lambda each: -each[1]))
