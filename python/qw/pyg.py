"""A trained network as a model of PyTorch Geometric's layers, for those who go on from there."""

from __future__ import annotations

import json
import pathlib
import struct
from typing import Any

import torch
import torch.nn.functional as F
import torch_geometric.nn as pyg
from torch import Tensor, nn

from . import nn as qnn
from ._lib import fail

DTYPES = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64, "I32": torch.int32}


def read_safetensors(path: str | pathlib.Path) -> dict[str, Tensor]:
    """Tensors by name: eight bytes of length, a header in JSON, the numbers."""
    content = pathlib.Path(path).read_bytes()
    (size,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + size])
    found = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        numbers = torch.frombuffer(bytearray(content[begin:end]), dtype=DTYPES[entry["dtype"]]) if end > begin else None
        empty = torch.empty(entry["shape"], dtype=DTYPES[entry["dtype"]])
        found[name] = empty if numbers is None else numbers.reshape(entry["shape"])
    return found


class Network(nn.Module):
    """The network of a training: forward(x, edge_index) gives its logits, or its values in the units of the targets.

    x are features as the training was given them: they are scaled here as they were there.
    """

    mean: Tensor
    factor: Tensor
    target_mean: Tensor
    target_deviation: Tensor

    def __init__(self, model: str, options: dict[str, Any], inputs: int, outputs: int) -> None:
        super().__init__()
        self.model, self.options = model, options
        hidden, layers = options["hidden"], options["layers"]
        if model == "gat":
            hidden *= options["heads"]
        self.widths = [inputs, *[hidden] * (layers - 1), outputs]
        self.scale_rows = False
        self.register_buffer("mean", torch.zeros(inputs))
        self.register_buffer("factor", torch.ones(inputs))
        self.register_buffer("target_mean", torch.zeros(outputs))
        self.register_buffer("target_deviation", torch.ones(outputs))
        self.layers = layers
        for layer in range(1, layers + 1):
            self._add_layer(layer, self.widths[layer - 1], self.widths[layer])
        if model in ("appnp", "bernnet", "chebnetii"):
            made = {
                "appnp": lambda: pyg.APPNP(options["k"], options["alpha"]),
                "bernnet": lambda: qnn.BernConv(options["k"]),
                "chebnetii": lambda: qnn.ChebIIConv(options["k"]),
            }
            self.prop1 = made[model]()

    def _add_layer(self, layer: int, width: int, out: int) -> None:
        options, last = self.options, layer == self.layers
        if self.model == "gcn":
            made: nn.Module = pyg.GCNConv(width, out)
        elif self.model == "gat":
            heads = 1 if last else options["heads"]
            made = pyg.GATConv(width, out // heads, heads=heads, dropout=options["dropout"])
        elif self.model == "gin":
            hidden = options["hidden"]
            made = pyg.GINConv(nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, out)))
        elif self.model == "graphsage":
            made = pyg.SAGEConv(width, out)
        elif self.model in ("mlp", "appnp", "bernnet", "chebnetii"):
            made = nn.Linear(width, out)
        else:
            raise fail(f"the model {self.model} has no layers in PyTorch Geometric")
        self.add_module(f"lin{layer}" if isinstance(made, nn.Linear) else f"conv{layer}", made)
        if options["residual"] and width != out:
            self.add_module(f"skip{layer}", nn.Linear(width, out, bias=False))
        if options["norm"] != "none" and not last:
            self.add_module(f"norm{layer}", nn.BatchNorm1d(out) if options["norm"] == "batch" else nn.LayerNorm(out))

    def _apply_layer(self, layer: int, x: Tensor, edge_index: Tensor) -> Tensor:
        if hasattr(self, f"lin{layer}"):
            out = getattr(self, f"lin{layer}")(x)
        else:
            out = getattr(self, f"conv{layer}")(x, edge_index)
        if self.options["residual"]:
            out = out + (getattr(self, f"skip{layer}")(x) if hasattr(self, f"skip{layer}") else x)
        return out  # type: ignore[no-any-return]

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        if self.scale_rows:
            x = x / x.sum(dim=1, keepdim=True).clamp(min=1)
        x = (x - self.mean) * self.factor
        elu = self.model in ("gat", "gin", "graphsage")
        p = self.options["dropout"]
        if self.model != "gcn":
            x = F.dropout(x, p, self.training)
        for layer in range(1, self.layers + 1):
            x = self._apply_layer(layer, x, edge_index)
            if layer < self.layers:
                if hasattr(self, f"norm{layer}"):
                    x = getattr(self, f"norm{layer}")(x)
                x = F.dropout(F.elu(x) if elu else F.relu(x), p, self.training)
        if hasattr(self, "prop1"):
            x = self.prop1(F.dropout(x, self.options["dprate"], self.training), edge_index)
        return x * self.target_deviation + self.target_mean


def to_pyg(folder: str | pathlib.Path, run: int = 0) -> Network:
    """The network of a run folder, in evaluation mode."""
    here = pathlib.Path(folder)
    of_run = here / f"run-{run}"
    if not of_run.is_dir():
        raise fail(f"there is no run {run}")
    about = json.loads((of_run / "model.json").read_text())
    scaling = json.loads((here / "schema.json").read_text())["scaling"]
    summary = json.loads((of_run / "summary.json").read_text())
    made = Network(about["model"], about["options"], about["shape"]["inputs"], about["shape"]["outputs"])
    weights = read_safetensors(of_run / "model.safetensors")
    missing, unexpected = made.load_state_dict(weights, strict=False)
    own = ("mean", "factor", "target_mean", "target_deviation")
    missing = [
        name
        for name in missing
        if name not in own and not name.endswith("num_batches_tracked") and not name.endswith(".eps")
    ]
    unexpected = [name for name in unexpected if not name.startswith("predictor")]
    if missing or unexpected:
        raise fail(f"the weights do not fit: missing {missing}, not known {unexpected}")
    made.scale_rows = scaling["kind"] == "rows"
    if scaling["kind"] == "columns":
        made.mean = torch.tensor(scaling["mean"], dtype=torch.float32)
        made.factor = torch.tensor(scaling["factor"], dtype=torch.float32)
    if "target_mean" in summary:
        made.target_mean = torch.tensor(summary["target_mean"], dtype=torch.float32)
        made.target_deviation = torch.tensor(summary["target_deviation"], dtype=torch.float32)
    return made.eval()
