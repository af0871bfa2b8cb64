"""What a training or a fit has to say, as an HTML page that a notebook shows."""

from __future__ import annotations

import html
import os
import pathlib
from typing import Any

from . import _core
from ._lib import fail


def _folder_of(run: Any) -> str:
    if isinstance(run, (str, os.PathLike)):
        return os.fsdecode(run)
    if hasattr(run, "_check_fitted"):
        run._check_fitted()
        return str(run.fitted_.folder)
    raise fail(f"Report takes a run folder or a fitted estimator, or a list of them, got {type(run).__name__}")


class Report:
    """The page of `qw report` (docs/report.md): qw.Report("runs/teams"), qw.Report(model) or qw.Report([one, other])

    run: a folder of `qw train --out`, of `qw fit --out` or of an estimator's save(), or a fitted estimator; or a list
    of them, which are compared with the first.
    title: above the page; what was learned, unless given.
    height: of the page in a notebook, in pixels; its lower corner can be drawn.

    In a notebook it displays itself, apart from the notebook's styles and scripts. It is what the run was when it was
    made: what happens to the run later does not change it. html is the whole page, one file that needs nothing else.
    """

    def __init__(self, run: Any, *, title: str = "", height: int = 640) -> None:
        if height < 1:
            raise fail(f"the height of a report must be at least 1 pixel, got {height}")
        self._folders = [_folder_of(each) for each in (run if isinstance(run, (list, tuple)) else [run])]
        if not self._folders:
            raise fail("Report has no run to show: the list is empty")
        self._height = int(height)
        self.html: str = _core.report_html(self._folders, title).decode("utf-8", "replace")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file, whole or not at all."""
        target = pathlib.Path(os.fsdecode(path))
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            part.write_text(self.html, encoding="utf-8")
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)

    def __repr__(self) -> str:
        shown = self._folders[0] if len(self._folders) == 1 else self._folders
        return f"qw.Report({shown!r})"

    def _repr_html_(self) -> str:
        # Without a base of its own a link to a section would lead to the notebook.
        page = self.html.replace("<head>", '<head><base href="about:srcdoc">', 1)
        # Its script may run, but in an origin of its own: it reaches neither the notebook nor its cookies.
        return (
            f'<iframe title="qw report" sandbox="allow-scripts" srcdoc="{html.escape(page)}" '
            f'style="width: 100%; height: {self._height}px; border: 0; resize: vertical; overflow: auto"></iframe>'
        )
