#!/usr/bin/env python3
"""The shared libraries export what public headers declare, and nothing else.

exports_test.py INCLUDE_FOLDER LIBRARY...
"""
import pathlib
import re
import subprocess
import sys

PREFIX = re.compile(r"^(?:typeinfo for |typeinfo name for |vtable for )?qw::(?:detail::)?(~?\w+)")


def symbols(library, *options):
    output = subprocess.run(["nm", "-D", "-C", *options, library], check=True, capture_output=True, text=True).stdout
    return [line.split(maxsplit=2 if "--defined-only" in options else 1)[-1] for line in output.splitlines()]


def problems(library, public_names):
    exported = symbols(library, "--defined-only")
    if not exported:
        yield "exports nothing"
    for name in exported:
        match = PREFIX.match(name)
        if match is None:
            yield f"exports {name}, which is not of namespace qw"
        elif match.group(1) not in public_names:
            yield f"exports {name}, which no public header declares"


def main(include, *libraries):
    text = "\n".join(path.read_text() for path in pathlib.Path(include).rglob("*.h"))
    public_names = set(re.findall(r"\w+", re.sub(r"//.*", "", text)))
    found = [f"{library} {problem}" for library in libraries for problem in problems(library, public_names)]
    # One copy of what has a state: libqw's.
    found += [f"{library} has a thread count of its own" for library in libraries
              if "libqw_learn" in library and "qw::thread_count()" not in symbols(library, "--undefined-only")]
    print("\n".join(found) or f"{len(libraries)} libraries export public names only")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
