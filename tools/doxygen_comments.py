#!/usr/bin/env python3
"""Makes Doxygen comments of the plain // comments of a public header: Doxygen's INPUT_FILTER (make docs).

    tools/doxygen_comments.py include/qw/graph/graph.h

- The comment above `#pragma once` is about the file. An umbrella header (include/qw/graph.h) makes a module,
  and what the headers of its folder declare belongs to that module.
- A comment above a declaration is about it and about the declarations that follow without a blank line and
  without a comment of their own.
- A comment behind a declaration is about that declaration.
- Indented lines of a comment are code. Private members are left out.
- Other comments, and those in function bodies, stay as they are.
"""
import pathlib
import re
import sys

SCOPE = re.compile(r"\b(namespace|struct|class|enum|union)\b")
LABEL = re.compile(r"^\s*(public|private|protected):\s*$")
# Lines that declare nothing that has a page: their neighbours' comments are not theirs.
NO_SYMBOL = re.compile(r"^\s*(friend\b|(class|struct) \w+;|using [\w:]+;|#include|#pragma|#if|#endif)")
# "int64_t train = 0, val = 0;": Doxygen takes a comment for the last name only.
SEVERAL = re.compile(r"^(\s*[\w:]+(?:<[^;()]*>)?) (\w+(?: = [^,;()]+)?(?:, \w+(?: = [^,;()]+)?)+);\s*$")
SPECIAL = [
    (re.compile(r"^\s*~\w+\("), "Releases what the object holds."),
    (re.compile(r"^\s*(\w+)\((const )?\1&& ?\w*\)"), "Move constructor."),
    (re.compile(r"^\s*(\w+)\(const \1& ?\w*\)"), "Copy constructor."),
    (re.compile(r"^\s*(\w+)& operator=\(\1&& ?\w*\)"), "Move assignment."),
    (re.compile(r"^\s*(\w+)& operator=\(const \1& ?\w*\)"), "Copy assignment."),
    (re.compile(r"^\s*\w+\(\) = default;"), "An empty value: every member has its default."),
]


def split_comment(line: str) -> tuple[str, str | None]:
    """The code of a line and its comment; // in a string or a character is no comment."""
    quote = ""
    position = 0
    while position < len(line):
        character = line[position]
        if quote:
            if character == "\\":
                position += 1
            elif character == quote:
                quote = ""
        elif character == '"' or character == "'" and not line[position - 1 : position].isalnum():
            quote = character
        elif line.startswith("//", position):
            return line[:position], line[position + 2 :]
        position += 1
    return line, None


def without_strings(code: str) -> str:
    return re.sub(r"\"(?:\\.|[^\"\\])*\"|(?<!\w)'(?:\\.|[^'\\])*'", '""', code)


def without_private(lines: list[str]):
    """The lines, empty from `private:` to the end of a class: Doxygen would link to what is there."""
    indent = None  # of the class that is being hidden
    for line in lines:
        if indent is not None and re.match(rf"\s{{{indent}}}(\}};|  ?(public|protected):)", line):
            indent = None
        label = re.match(r"(\s*) private:$", line)
        if label and indent is None:
            indent = len(label.group(1))
        yield line if indent is None else ""


def escaped(text: str) -> str:
    """Comment text with what Doxygen would take for commands, tags and links disarmed, `code` excepted."""
    pieces = re.split(r"(`[^`]*`)", text)
    for number in range(0, len(pieces), 2):
        pieces[number] = re.sub(r"([\\@<>#%&$])", r"\\\1", pieces[number]).replace("*", "&lowast;")
    return "".join(pieces)


def paragraphs(lines: list[str]) -> list[str]:
    """The text of comment lines as Doxygen reads it: prose escaped, indented blocks as code."""
    out: list[str] = []
    in_code = in_list = False
    for line in lines:
        text = line.removeprefix(" ")
        if not text.strip():
            in_list = False
        elif text.startswith("- "):
            in_list = True
        indented = text.startswith("  ") and not in_list
        if indented and not in_code:
            out.append("@code{.unparsed}")
            in_code = True
        elif in_code and not indented and text.strip():
            while out[-1] == "":
                out.pop()
            out.append("@endcode")
            in_code = False
        if in_code:
            out.append(text.replace("*/", "* /"))
        else:
            begins_list = re.match(r"([-+]|\d+[.)])\s", text)
            prose_goes_on = out and out[-1].strip() and not in_list
            out.append(("\\" if begins_list and prose_goes_on else "") + escaped(text))
    if in_code:
        out.append("@endcode")
    return out


def one_by_one(code: str, several: re.Match | None) -> list[str]:
    """Declarations of several names as one line each."""
    return [f"{several.group(1)} {name};  " for name in several.group(2).split(", ")] if several else [code]


def block(lines: list[str], indent: str, first: str = "") -> list[str]:
    out = [f"{indent}/// {first}"] if first else []
    return out + [f"{indent}/// {text}".rstrip() for text in paragraphs(lines)]


class Filter:
    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.out: list[str] = []
        self.scopes: list[str] = []  # "scope", "enum" or "body" of every open brace
        self.statement = ""  # what stands since the last end of a declaration
        self.own: list[str] = []  # the comment that stands above the next line
        self.shared: list[list[str] | None] = [None]  # by depth of scopes: of the last declaration
        parts = path.parts
        at = max((number for number, part in enumerate(parts[:-1]) if part == "qw"), default=-1)
        self.module = parts[at + 1] if at >= 0 and at + 2 < len(parts) else ""
        self.umbrella = at >= 0 and at + 2 == len(parts)

    def in_body(self) -> bool:
        return "body" in self.scopes

    def flush_plain(self) -> None:
        self.out += ["//" + line for line in self.own]
        self.own = []

    def file_comment(self) -> None:
        if self.umbrella:
            name = self.path.stem
            title = re.sub(r"^ ?All of qw/\w+: ", "", self.own[0]) if self.own else name
            title = title[:1].upper() + title[1:].rstrip(".")
            self.out += block(self.own, "", "@file") + [""]
            self.out += [f"/// @defgroup {name} {name}: {escaped(title)}"]
            self.out += [f'/// Include `"qw/{name}.h"` for all of it.']
        else:
            self.out += block(self.own, "", "@file")
        self.own = []

    def run(self, text: str) -> list[str]:
        seen_pragma = False
        for line in without_private(text.splitlines()):
            code, comment = split_comment(line)
            if self.out and self.out[-1].startswith("#") and self.out[-1].endswith("\\"):
                self.out[-1] = self.out[-1][:-1] + line.strip()  # a macro goes on
            elif not seen_pragma and line.startswith("#pragma once"):
                seen_pragma = True
                self.file_comment()
                self.out.append(line)
            elif not code.strip() and comment is not None:
                self.comment_line(code, comment, line)
            elif not code.strip():
                self.flush_plain()
                if not self.in_body():
                    self.shared[-1] = None
                self.out.append(line)
            else:
                self.code_line(code, comment, line)
        self.flush_plain()
        return self.out

    def comment_line(self, code: str, comment: str, line: str) -> None:
        behind = self.out and "///<" in self.out[-1] and self.out[-1].index("///<") == len(code)
        if self.in_body() or self.statement.strip():
            self.out.append(line)
        elif behind and not self.own:
            self.out.append(code + "///<" + escaped(comment))
        else:
            self.own.append(comment)

    def code_line(self, code: str, comment: str | None, line: str) -> None:
        indent = code[: len(code) - len(code.lstrip())]
        if comment is not None and re.match(r"\s*(NOLINT|namespace\b)", comment):
            comment = None
        if not self.in_body() and not self.statement.strip():
            self.begin_declaration(code, comment, indent)
        depth, in_body = len(self.scopes), self.in_body()
        self.follow_braces(code)
        ends = not self.statement.strip() or self.scopes[-1:] == ["enum"] and depth == len(self.scopes)
        several = SEVERAL.match(code)
        opens = len(self.scopes) > depth
        if comment is not None and ends and not in_body and not opens and not code.startswith("#"):
            for declaration in one_by_one(code, several):
                self.out.append(declaration + "///<" + escaped(comment))
        elif several and self.shared[-1]:
            for number, declaration in enumerate(one_by_one(code, several)):
                self.out += block(self.shared[-1], indent) if number else []
                self.out.append(declaration)
        elif re.match(r"namespace QW_PUBLIC qw \{", code) and self.module:
            self.out += [code, f"/// @addtogroup {self.module}", "/// @{"]
        elif re.match(r"\}\s*// namespace qw$", line) and self.module:
            self.out += ["/// @}", line]
        else:
            self.out.append(line)

    def begin_declaration(self, code: str, comment: str | None, indent: str) -> None:
        if LABEL.match(code) or NO_SYMBOL.match(code) or code.strip().startswith("}"):
            self.flush_plain()
            if not NO_SYMBOL.match(code):
                self.shared[-1] = None
            return
        if self.own:
            self.out += block(self.own, indent)
            # A comment behind the declaration adds to the one above it; both are about this one alone.
            self.shared[-1] = self.own if comment is None else None
            self.own = []
        elif comment is not None:
            self.shared[-1] = None
        elif special := next((text for pattern, text in SPECIAL if pattern.match(code)), None):
            self.out.append(f"{indent}/// {special}")
            self.shared[-1] = None
        elif self.shared[-1]:
            self.out += block(self.shared[-1], indent)

    def follow_braces(self, code: str) -> None:
        if code.lstrip().startswith("#") or LABEL.match(code):
            return
        for character in without_strings(code):
            if character == "{":
                self.open_brace()
            elif character == "}":
                self.close_brace()
            elif character == ";" and not self.in_body() or character == "," and self.scopes[-1:] == ["enum"]:
                self.statement = ""
            else:
                self.statement += character
        # A namespace ends without a semicolon.
        if self.statement.strip() == "}":
            self.statement = ""

    def open_brace(self) -> None:
        kind = SCOPE.search(self.statement)
        if kind and not self.in_body() and "(" not in self.statement:
            self.scopes.append("enum" if kind.group(1) == "enum" else "scope")
            self.shared.append(None)
            self.statement = ""
        else:
            self.scopes.append("body")
            self.statement += "{"

    def close_brace(self) -> None:
        if self.scopes.pop() != "body":
            self.shared.pop()
            self.statement = "}"
            return
        self.statement += "}"
        if not self.in_body() and self.ends_function():
            self.statement = ""

    def ends_function(self) -> bool:
        """Whether the closing brace just read ends the body of a function, not an initialiser."""
        head = self.statement.split("{")[0]
        outside = re.sub(r"\([^()]*\)", "", head).replace("operator=", "").replace("==", "")
        return "(" in head and "=" not in outside


def main() -> int:
    path = pathlib.Path(sys.argv[1])
    print("\n".join(Filter(path).run(path.read_text(encoding="utf-8"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
