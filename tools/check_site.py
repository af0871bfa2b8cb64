#!/usr/bin/env python3
"""Checks HTML pages: links and images lead to files and anchors that exist, and no reference is left unread.

    tools/check_site.py build/docs/html
"""
import html.parser
import pathlib
import re
import sys
import urllib.parse

SCHEME = re.compile(r"^([a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)


class Page(html.parser.HTMLParser):
    """The targets of a page's links, and the names that links may lead to."""

    def __init__(self, path: pathlib.Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.raw = False  # a command of Doxygen stands in the text as it was written
        self.feed(path.read_text(encoding="utf-8"))

    def handle_data(self, data: str) -> None:
        self.raw |= "@ref " in data or "&lowast;" in data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and (name == "id" or name == "name" and tag == "a"):
                self.anchors.add(value)
            elif value and (name == "href" and tag == "a" or name == "src" and tag == "img"
                            or name == "data" and tag == "object"):
                self.targets.append(value)


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    pages = {path.name: Page(path) for path in sorted(folder.glob("*.html"))}
    count = 0
    for name, page in pages.items():
        if page.raw:
            print(f"{name}: has a reference or an escape that Doxygen did not understand")
            count += 1
        for target in sorted(set(page.targets)):
            place, _, anchor = target.partition("#")
            if SCHEME.match(target):
                continue
            place = urllib.parse.unquote(place) or name
            if not (folder / place).exists():
                print(f"{name}: {target}: there is no such file")
                count += 1
            elif anchor and place in pages and anchor not in pages[place].anchors:
                print(f"{name}: {target}: no such anchor in {place}")
                count += 1
    if not pages:
        print(f"{folder}: has no pages")
        return 1
    if not count:
        print(f"site: {len(pages)} pages, no broken link")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
