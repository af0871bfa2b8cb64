#!/usr/bin/env python3
"""Who may include whom: fails when a source breaks the table of docs/architecture.md.

Reads the #include lines of include/qw, src and python/src, and how public headers open the namespace; knows nothing else of C++.
"""
import pathlib
import re
import sys

# module: the modules it may include, itself apart.
ALLOWED = {
    "core": set(),
    "graph": {"core"},
    "data": {"core", "graph"},
    "transport": {"core", "graph"},
    "metrics": {"core"},
    "baseline": {"core", "graph", "metrics"},
    "kernels": {"core"},
    "ops": {"core", "graph", "transport", "kernels"},
    "comm": {"core"},
    "nn": {"core", "graph", "ops"},
    "learn": {"core", "graph", "transport", "metrics", "baseline", "ops", "nn"},
    "report": {"core", "graph", "data", "transport", "metrics"},
    "distributed": {"core", "graph", "data", "ops", "nn", "learn", "comm"},
    "study": {"core", "graph", "metrics", "nn", "learn", "report"},
    "paper": {"core", "learn", "report", "study"},
    "python": {"core", "graph", "data", "transport", "report", "learn", "study"},
    "cli": {"core", "graph", "data", "transport", "metrics", "baseline", "kernels", "ops", "comm", "nn", "learn", "distributed", "report", "study", "paper"},
}
# What a training remembers of its data; it reads no files of its own.
SCHEMA = re.compile(r"^(data/schema/|qw/data/(schema|trained_on|partition)\.h$)")
MAY_INCLUDE_SCHEMA = {"learn"}
TORCH = {"comm", "ops", "nn", "learn", "distributed", "study", "paper"}
TORCH_FOLDERS = {"src/cli/learn"}  # the program qw-learn
TORCH_FILES = {"python/src/learn.cpp"}
PUBLIC_ONLY = {"python"}  # modules that see what is installed
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')
TORCH_HEADER = re.compile(r"^(torch|ATen|c10|caffe2)/")
MODULE = re.compile(r"^(?:qw/)?([a-z]+)/")


def module_of(path, root):
    parts = path.relative_to(root).parts
    if parts[0] == "python":
        return "python"
    return parts[2].removesuffix(".h") if parts[0] == "include" else parts[1]


def missing_from_umbrellas(root):
    """include/qw/X.h includes every header of include/qw/X."""
    for folder in sorted(path for path in (root / "include" / "qw").iterdir() if path.is_dir()):
        umbrella = folder.with_suffix(".h")
        text = umbrella.read_text() if umbrella.exists() else ""
        for header in sorted(folder.glob("*.h")):
            line = f'#include "qw/{folder.name}/{header.name}"'
            if line not in text:
                yield f"{umbrella.relative_to(root)}: lacks {line}"


def violations(root):
    folders = [root / "include" / "qw", root / "src", root / "python" / "src"]
    paths = [p for folder in folders for p in sorted(folder.rglob("*")) if p.suffix in {".h", ".cpp", ".cu", ".cuh"}]
    for path in paths:
        module = module_of(path, root)
        if module not in ALLOWED:
            yield f"{path.relative_to(root)}: module '{module}' is not in the table of tools/check_layers.py"
            continue
        is_public = path.is_relative_to(root / "include")
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            if is_public and line.startswith("namespace qw"):
                yield f"{path.relative_to(root)}:{number}: a public header opens `namespace QW_PUBLIC qw` (qw/core/export.h)"
            match = INCLUDE.match(line)
            if not match:
                continue
            header = match.group(1)
            where = f"{path.relative_to(root)}:{number}"
            name = path.relative_to(root)
            allowed = module in TORCH or str(name.parent) in TORCH_FOLDERS or str(name) in TORCH_FILES
            if TORCH_HEADER.match(header) and not allowed:
                yield f"{where}: module '{module}' must not include torch ({header})"
            target = MODULE.match(header)
            if not target or target.group(1) not in ALLOWED:
                continue
            if module in MAY_INCLUDE_SCHEMA and SCHEMA.match(header):
                continue
            if target.group(1) != module and target.group(1) not in ALLOWED[module]:
                yield f"{where}: module '{module}' must not include '{header}'"
            if is_public and not header.startswith("qw/"):
                yield f"{where}: a public header must not include the private '{header}'"
            if module in PUBLIC_ONLY and not header.startswith("qw/"):
                yield f"{where}: module '{module}' must not include the private '{header}'"


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    found = [*violations(root), *missing_from_umbrellas(root)]
    print("\n".join(found) if found else "layers: no violation")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
