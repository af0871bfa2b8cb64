#!/usr/bin/env python3
"""Writes the reference values of this folder; with --check, compares them with the files instead.

Numbers agree when they differ by at most 1e-12 of the largest number of the same kind in a file: of
a tensor, or of all gradients of one loss, some of which are sums that cancel. Ends with 1 where
they do not agree, with 77 where numpy or scipy is missing.
"""

import argparse
import json
import sys
from pathlib import Path

try:
    import numpy as np

    from cases import model_cases
    from splits import splits_file
    from transport import transport_file
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

FOLDER = Path(__file__).resolve().parent
TOLERANCE = 1e-12


def text_of(document):
    """JSON with one line for each member, for each element of a list of objects and each tensor."""
    lines = []
    for name, value in document.items():
        if isinstance(value, dict) and name != "metadata":
            inner = [f"{json.dumps(key)}: {json.dumps(item)}" for key, item in value.items()]
            written = "{\n" + ",\n".join(inner) + "}"
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            written = "[\n" + ",\n".join(json.dumps(item) for item in value) + "]"
        else:
            written = json.dumps(value)
        lines.append(f"{json.dumps(name)}: {written}")
    return "{" + ",\n".join(lines) + "}\n"


def documents():
    """{file: what is in it}, with lists where there were arrays."""
    files = {"splits.json": splits_file(), "transport.json": transport_file()}
    for name, case in model_cases().items():
        tensors = {key: value.tolist() for key, value in case["tensors"].items()}
        files[f"models/{name}.json"] = {"metadata": case["metadata"], "tensors": tensors}
    return files


def numbers_agree(found, expected, scale):
    try:
        found, expected = np.array(found, float), np.array(expected, float)
    except (TypeError, ValueError):
        return False
    return found.shape == expected.shape and bool((abs(found - expected) <= TOLERANCE * scale).all())


def largest(values):
    return max((abs(np.array(value)).max() for value in values), default=0.0)


def differences_of_tensors(found, expected):
    """The names of tensors that differ."""
    if found.keys() != expected.keys():
        return sorted(found.keys() ^ expected.keys())
    different = []
    for name, value in expected.items():
        group = name.rsplit("/", 1)[0] + "/" if name.startswith("grad/") else name
        scale = largest(other for key, other in expected.items() if key.startswith(group))
        if not numbers_agree(found[name], value, scale):
            different.append(name)
    return different


def differences(found, expected):
    """What differs between two documents, in words."""
    if "tensors" in expected:
        different = differences_of_tensors(found["tensors"], expected["tensors"])
        return different + (["metadata"] if found["metadata"] != expected["metadata"] else [])
    return [name for name in expected if found.get(name) != expected[name]]


def check():
    """Texts, one for each file that differs. Splits and distances are exact: they must be equal."""
    expected = documents()
    here = {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.json")}
    faults = [f"{name}: generate.py does not make it" for name in sorted(here - expected.keys())]
    for name, document in expected.items():
        if name not in here:
            faults.append(f"{name}: is missing")
            continue
        different = differences(json.loads((FOLDER / name).read_text()), document)
        faults += [f"{name}: {', '.join(different)}"] if different else []
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the files, write nothing")
    if parser.parse_args().check:
        faults = check()
        print("\n".join(faults) or "the reference values are those of generate.py")
        return 1 if faults else 0
    for name, document in documents().items():
        path = FOLDER / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text_of(document))
    return 0


if __name__ == "__main__":
    sys.exit(main())
