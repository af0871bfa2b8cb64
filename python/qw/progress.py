"""How far a training is, for people."""

from __future__ import annotations

import sys
from typing import Any


class Progress:
    """A bar where tqdm is installed, a line now and then where it is not."""

    def __init__(self, verbose: int) -> None:
        try:
            from tqdm.auto import tqdm

            self._bar: Any = tqdm(total=1, unit="epoch", leave=verbose > 1)
        except ImportError:
            self._bar = None
        self._runs: dict[int, int] = {}

    def __call__(self, run: int, epoch: int, epochs: int, loss: float, metric: float) -> None:
        self._runs[run] = epoch + 1
        if self._bar is None:
            if epoch % 100 == 0:
                print(
                    f"qw: run {run}, epoch {epoch} of {epochs}: loss {loss:.4g}, validation {metric:.4g}",
                    file=sys.stderr,
                )
            return
        self._bar.total = epochs * len(self._runs)
        self._bar.n = sum(self._runs.values())
        if epoch % 10 == 0:
            self._bar.set_postfix(loss=f"{loss:.4g}", val=f"{metric:.4g}")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
