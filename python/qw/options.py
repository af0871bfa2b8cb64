"""Options of a training, as JSON has them."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from ._lib import fail
from .convert import is_instance


def plain(name: str, value: Any) -> Any:
    """A number, a text, True or False: numpy's numbers, torch's devices and paths become these."""
    if isinstance(value, np.generic):
        value = value.item()
    if is_instance(value, "torch", "device"):
        value = str(value)
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if value is None:
        raise fail(f"{name} cannot be None; leave it out for what it is by itself")
    if not isinstance(value, (bool, int, float, str)):
        raise fail(f"{name} must be a number, a text, True or False, got {value!r}".split("\n")[0])
    if isinstance(value, float) and not math.isfinite(value):
        raise fail(f"{name} must be finite, got {value}")
    if isinstance(value, int) and abs(value) >= 2**63:
        raise fail(f"{name} must be below 2^63, got {value}")
    return value


def whole(name: str, value: Any, least: int = 0) -> int:
    number = plain(name, value)
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        what = "that is not negative" if least == 0 else f"from {least}"
        raise fail(f"{name} must be a whole number {what}, got {value!r}")
    return number


def text(name: str, value: Any) -> str:
    found = plain(name, value)
    if not isinstance(found, str):
        raise fail(f"{name} must be a text, got {value!r}")
    return found
