#!/usr/bin/env python3
"""Makes a Markdown page ready for Doxygen, which runs it as a filter (make docs).

    tools/doxygen_pages.py docs/data.md

- Headings get names of their own, so that links of GitHub's kind (data.md#splits) lead to them.
- Links to other pages and to public headers become Doxygen's references. A link to a file that the site does
  not have becomes the name of the file.
"""
import pathlib
import re
import sys

import check_docs

ROOT = check_docs.ROOT
SITE = {path.resolve() for pattern in check_docs.SITE_PAGES for path in ROOT.glob(pattern)}
HEADERS = {path.resolve() for path in (ROOT / "include/qw").rglob("*.h")}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(\s*([^()<>\s]+)\s*\)")
FENCE = check_docs.FENCE


def page_name(path: pathlib.Path) -> str:
    return "page_" + re.sub(r"\W", "_", str(path.resolve().relative_to(ROOT).with_suffix("")))


def heading_name(path: pathlib.Path, anchor: str) -> str:
    return page_name(path) + "_" + re.sub(r"\W", "_", anchor)


def reference(page: pathlib.Path, image: str, text: str, target: str) -> str:
    text = text.replace("\n", " ")  # Doxygen's references end with their line
    if check_docs.SCHEME.match(target):
        return f"{image}[{text}]({target})"
    place, _, anchor = target.partition("#")
    path = (page.parent / place).resolve() if place else page.resolve()
    if image:
        return f"![{text}]({path.name})"
    if path in SITE:
        if path == ROOT / "README.md":
            name = "index"
        else:
            name = heading_name(path, anchor) if anchor else page_name(path)
        return f"[{text}](@ref {name})"
    if path in HEADERS:
        return f"[{text}](@ref {path.relative_to(ROOT / 'include')})"
    shown = re.sub(r"`", "", text)
    return f"`{shown}`" if shown.split("/")[-1] in str(path) else f"{text} (`{path.relative_to(ROOT)}`)"


def filtered(page: pathlib.Path) -> str:
    lines = page.read_text(encoding="utf-8").splitlines()
    prose = {number for number, _ in check_docs.Page(page).prose}
    out: list[str] = []
    block: list[str] = []
    used: set[str] = set()

    def flush() -> None:
        text = "\n".join(block)
        spans = [span.span() for span in check_docs.CODE_SPAN.finditer(text)]

        def replaced(link: re.Match) -> str:
            if any(begin <= link.start() < end for begin, end in spans):
                return link.group()
            return reference(page, *link.groups())

        if block:
            out.extend(LINK.sub(replaced, text).split("\n"))
        block.clear()

    for number, line in enumerate(lines, start=1):
        if number not in prose:
            flush()
            # Doxygen knows languages by their file extension.
            out.append(re.sub(r"^(\s*```)(sh|console|text|cmake)$", r"\1", line))
            continue
        heading = check_docs.HEADING.match(line)
        if not heading:
            block.append(line)
            continue
        flush()
        text = heading.group(1)
        if line.startswith("# "):
            name = page_name(page)
        else:
            text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
            anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            count = 0
            while (unique := f"{anchor}-{count}" if count else anchor) in used:
                count += 1
            used.add(unique)
            name = heading_name(page, unique)
        out.append(f"{line} {{#{name}}}")
    flush()
    return "\n".join(out)


if __name__ == "__main__":
    print(filtered(pathlib.Path(sys.argv[1])))
