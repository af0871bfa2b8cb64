#!/usr/bin/env python3
"""Compares the formulas of this folder with reference values that others made.

Usage: compare.py FOLDER [TOLERANCE]. Computes from the inputs of FOLDER/models/*.safetensors logits,
losses and gradients, from those of FOLDER/transport.json distances, and prints the largest
deviations. They are relative to the largest logit, the loss, the largest gradient of a loss and the
distance. A gradient is compared by the slopes in three directions of every parameter. Ends with 1
above TOLERANCE, with 77 where the folder, numpy or scipy is missing.
"""

import json
import struct
import sys
from pathlib import Path

try:
    import numpy as np

    from cases import LOSSES, Draw, Given, outcome, slopes
    from transport import solve
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

TYPES = {"F64": np.float64, "I64": np.int64}


def read_safetensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], TYPES[entry["dtype"]]).reshape(entry["shape"])
    return metadata, tensors


def deviations(path):
    """{what: largest deviation} of logits, losses and gradients."""
    metadata, tensors = read_safetensors(path)
    given = Given(metadata["model"], tensors["x"], tensors["edge_index"], False, tensors["y"],
                  tensors["train_index"], metadata["edge_weight_predictor"] == "True",
                  int(metadata["K"]), float(metadata["alpha"]), float(metadata["lambda"]))
    p = {name[6:]: value for name, value in tensors.items() if name.startswith("param/")}
    found = outcome(given, p)
    result = {"logits": 0.0, "losses": 0.0, "gradients": 0.0}
    for name in ("logits", "pred/transductive"):
        result["logits"] = max(result["logits"], error(found[name], tensors[name], tensors[name]))
    for loss in LOSSES:
        value = tensors["loss/" + loss]
        result["losses"] = max(result["losses"], error(found["loss/" + loss], value, value))
    result["gradients"] = deviation_of_gradients(given, p, tensors)
    return result


def deviation_of_gradients(given, p, tensors):
    largest = {loss: max(abs(value).max() for name, value in tensors.items()
                         if name.startswith(f"grad/{loss}/")) for loss in LOSSES}
    draw = Draw(1)
    worst = 0.0
    for name in p:
        for direction in (draw.array(p[name].shape) for _ in range(3)):
            for loss, slope in slopes(given, p, name, direction).items():
                expected = (tensors[f"grad/{loss}/{name}"] * direction).sum()
                scale = largest[loss] * np.linalg.norm(direction)
                worst = max(worst, abs(slope - expected) / scale)
    return worst


def deviation_of_distances(cases):
    worst = 0.0
    for case in cases:
        flow, _ = solve(case)
        if (flow is not None) != case["feasible"]:
            return float("inf")
        if flow is not None and case["distance"] > 0:
            distance = np.array(case["weights"]) @ abs(flow)
            worst = max(worst, abs(distance - case["distance"]) / case["distance"])
    return worst


def error(found, expected, scale):
    return float(abs(found - expected).max() / abs(scale).max())


def main():
    folder = Path(sys.argv[1])
    tolerance = float(sys.argv[2]) if len(sys.argv) > 2 else 1e-12
    files = sorted((folder / "models").glob("*.safetensors"))
    if not files:
        print(f"skipped: {folder / 'models'} is not here")
        return 77
    agreed = True
    cases = json.loads((folder / "transport.json").read_text())["cases"]
    every = {path.stem: deviations(path) for path in files}
    every["transport"] = {"distances": deviation_of_distances(cases)}
    for name, found in every.items():
        print(f"{name:24}", *(f"{what} {value:.1e}" for what, value in found.items()))
        agreed = agreed and all(value <= tolerance for value in found.values())
    return 0 if agreed else 1


if __name__ == "__main__":
    sys.exit(main())
