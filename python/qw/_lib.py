"""The C++ libraries: the part without torch is loaded at once, the rest when torch is first needed."""

from __future__ import annotations

import functools
import pathlib
import sys
import warnings
from typing import Any

from . import _core

FOLDER = pathlib.Path(__file__).parent / "lib"

Error = _core.Error
InternalError = _core.InternalError


def wrong_torch(error: Exception) -> ImportError:
    """What to raise where a library does not load."""
    import torch

    return ImportError(
        f"qw was built for torch {_core.torch_version} and does not load with torch {torch.__version__}; "
        f"install it again in this environment: pip install --no-build-isolation . ({error})"
    )


@functools.cache
def operators() -> Any:
    """torch.ops.qw, with all operators of the library registered."""
    import torch

    if not _core.torch_version:
        raise ImportError("this qw was built without torch; install torch, and then qw again")
    try:
        torch.ops.load_library(str(FOLDER / "libqw_torch.so.0"))
    except OSError as error:
        raise wrong_torch(error) from error
    return torch.ops.qw


@functools.cache
def learning() -> Any:
    """The module of trainings."""
    operators()
    try:
        from . import _learn
    except ImportError as error:
        raise wrong_torch(error) from error
    return _learn


def fail(text: str) -> Error:
    """The exception to raise."""
    return Error(f"qw: {text}")


def error_of(error: RuntimeError) -> RuntimeError | Error:
    """What an operator refused, as qw.Error with its first line; any other error as it is."""
    first = str(error).split("\n", 1)[0]
    return Error(first) if first.startswith("qw::") or first.startswith("qw: ") else error


def warn(text: str) -> None:
    """A warning at the line that called this package, however deep in it this is."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)
