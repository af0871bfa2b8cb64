#!/usr/bin/env python3
"""Checks Markdown pages: links and anchors resolve, lines are short, no commit hashes, fences are closed.

    tools/check_docs.py [FILE...]        default: the project's own pages

Tables and code may have long lines. Links with a scheme (https:, mailto:) are not followed.
"""
import pathlib
import re
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
SITE_PAGES = ["docs/*.md", "docs/notes/*.md", "README.md", "CHANGELOG.md", "CONTRIBUTING.md"]
PAGES = [*SITE_PAGES, "bench/peers/README.md", "tests/golden/README.md"]
LONGEST = 100
LIST_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s")
FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*<?([^()<>\s]+)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^\[[^\]]+\]:\s+<?([^<>\s]+)>?", re.MULTILINE)
SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)
CODE_SPAN = re.compile(r"(`+)(?:(?!\1|\n\n).)+\1", re.DOTALL)
# A hash has digits and letters: 1073679 and "defaced" are none.
HASH = re.compile(r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b")


class Page:
    """The lines of a page; prose is what stands in neither fences nor indented code."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.lines: list[tuple[int, str]] = []
        self.prose: list[tuple[int, str]] = []
        self.unclosed = 0  # the line of a fence that nothing closes
        mark, previous, in_list, in_code = "", "", False, False
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            self.lines.append((number, line))
            fence = FENCE.match(line)
            if mark:
                if fence and fence.group(1).startswith(mark) and line.strip() == fence.group(1):
                    mark, self.unclosed = "", 0
            elif fence:
                mark, self.unclosed = fence.group(1), number
            else:
                in_list = bool(LIST_ITEM.match(line)) or in_list and (not line or line[0] == " ")
                in_code = line.startswith("    ") and not in_list and (in_code or not previous)
                if not in_code:
                    self.prose.append((number, line))
            previous = line.strip()

    def links(self):
        """Line numbers and targets; the text of a link may go over several lines."""
        prose = dict(self.prose)
        text = "\n".join(prose.get(number, "") for number, _ in self.lines)
        text = CODE_SPAN.sub(lambda span: re.sub(r"[^\n]", " ", span.group()), text)
        for link in [*LINK.finditer(text), *REFERENCE.finditer(text)]:
            yield text.count("\n", 0, link.start(1)) + 1, link.group(1)

    def anchors(self) -> set[str]:
        """The names that GitHub gives to the headings."""
        names: set[str] = set()
        for _, line in self.prose:
            heading = HEADING.match(line)
            if not heading:
                continue
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1))
            name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            count = 0
            while (unique := f"{name}-{count}" if count else name) in names:
                count += 1
            names.add(unique)
        return names


def broken_link(page: Page, target: str) -> str | None:
    """Why a link leads nowhere."""
    if SCHEME.match(target):
        return None
    place, _, anchor = target.partition("#")
    path = page.path.parent / urllib.parse.unquote(place) if place else page.path
    if not path.exists():
        return f"link to {target}: there is no {place}"
    if anchor and path.suffix == ".md" and anchor not in (page if not place else Page(path)).anchors():
        return f"link to {target}: no heading is called #{anchor}"
    return None


def findings(page: Page):
    """Line numbers and texts."""
    if page.unclosed:
        yield page.unclosed, "this code fence is not closed"
    for number, line in page.lines:
        for found in HASH.finditer(line):
            yield number, f"{found.group()} looks like a commit hash"
    for number, line in page.prose:
        if len(line) > LONGEST and not line.lstrip().startswith("|"):
            yield number, f"{len(line)} characters, more than {LONGEST}"
    for number, target in page.links():
        reason = broken_link(page, target)
        if reason:
            yield number, reason


def main() -> int:
    given = [pathlib.Path(argument) for argument in sys.argv[1:]]
    paths = given or [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))]
    count = 0
    for path in paths:
        name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        try:
            page = Page(path)
        except (OSError, UnicodeDecodeError) as error:
            print(f"{name}:1: cannot be read: {error}")
            count += 1
            continue
        for number, text in sorted(findings(page)):
            print(f"{name}:{number}: {text}")
            count += 1
    if not count:
        print(f"docs: {len(paths)} pages, nothing to mend")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
