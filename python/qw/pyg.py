"""A trained network as a model of PyTorch Geometric's layers, for those who go on from there."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import torch
import torch.nn.functional as F
import torch_geometric.nn as pyg
from torch import Tensor, nn

from . import nn as qnn
from ._lib import fail
from .run_folder import safetensors_header, trained_on

TAKE_WEIGHTS = ("gcn", "appnp", "bernnet", "chebnetii")  # models whose layers in PyTorch Geometric have edge_weight

DTYPES = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64, "I32": torch.int32}


def read_safetensors(path: str | pathlib.Path) -> dict[str, Tensor]:
    """Tensors by name."""
    content, header = pathlib.Path(path).read_bytes(), safetensors_header(path)
    start = 8 + int.from_bytes(content[:8], "little")
    found = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (start + offset for offset in entry["data_offsets"])
        numbers = torch.frombuffer(bytearray(content[begin:end]), dtype=DTYPES[entry["dtype"]]) if end > begin else None
        empty = torch.empty(entry["shape"], dtype=DTYPES[entry["dtype"]])
        found[name] = empty if numbers is None else numbers.reshape(entry["shape"])
    return found


class Network(nn.Module):
    """The network of a training: forward(x, edge_index) gives its logits, or its values in the units of the targets.

    x are features as the training was given them: they are scaled here as they were there. edge_weight [E]: of the
    edges in edge_index; a network that was trained on weighted edges needs them.
    """

    mean: Tensor
    factor: Tensor
    target_mean: Tensor
    target_deviation: Tensor

    def __init__(self, model: str, options: dict[str, Any], inputs: int, outputs: int) -> None:
        super().__init__()
        self.model, self.options, self.weighted = model, options, False
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

    def _apply_layer(self, layer: int, x: Tensor, edge_index: Tensor, more: tuple[Tensor, ...]) -> Tensor:
        if hasattr(self, f"lin{layer}"):
            out = getattr(self, f"lin{layer}")(x)
        else:
            out = getattr(self, f"conv{layer}")(x, edge_index, *more)
        if self.options["residual"]:
            out = out + (getattr(self, f"skip{layer}")(x) if hasattr(self, f"skip{layer}") else x)
        return out  # type: ignore[no-any-return]

    def _weights(self, edge_weight: Tensor | None) -> tuple[Tensor, ...]:
        if edge_weight is None:
            if self.weighted:
                raise fail("this network was trained on weighted edges; give it edge_weight")
            return ()
        if self.model not in TAKE_WEIGHTS and self.model != "mlp":
            raise fail(f"the layers of {self.model} in PyTorch Geometric take no edge_weight")
        return (edge_weight,)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        more = self._weights(edge_weight)
        if self.scale_rows:
            x = x / x.sum(dim=1, keepdim=True).clamp(min=1)
        x = (x - self.mean) * self.factor
        elu = self.model in ("gat", "gin", "graphsage")
        p = self.options["dropout"]
        if self.model != "gcn":
            x = F.dropout(x, p, self.training)
        for layer in range(1, self.layers + 1):
            x = self._apply_layer(layer, x, edge_index, more)
            if layer < self.layers:
                if hasattr(self, f"norm{layer}"):
                    x = getattr(self, f"norm{layer}")(x)
                x = F.dropout(F.elu(x) if elu else F.relu(x), p, self.training)
        if hasattr(self, "prop1"):
            x = self.prop1(F.dropout(x, self.options["dprate"], self.training), edge_index, *more)
        return x * self.target_deviation + self.target_mean


def _check(of_run: pathlib.Path, run: int, model: str, weighted: bool) -> None:
    """That PyTorch Geometric's layers can say the same as this network."""
    flow = of_run / "flow.safetensors"
    if flow.exists() and any(name.startswith("edge_predictor.") for name in safetensors_header(flow)):
        raise fail(
            f"run {run} reads weights of edges off the flow, which the network alone has not; train it without to have "
            "it in PyTorch Geometric, or predict with the estimator"
        )
    if weighted and model not in TAKE_WEIGHTS and model != "mlp":
        raise fail(
            f"{model} was trained on weighted edges, which its layers in PyTorch Geometric do not take; models that "
            f"do: {', '.join(TAKE_WEIGHTS)}"
        )


def to_pyg(folder: str | pathlib.Path, run: int = 0) -> Network:
    """The network of a run folder, in evaluation mode."""
    here = pathlib.Path(folder)
    of_run = here / f"run-{run}"
    if not of_run.is_dir():
        raise fail(f"there is no run {run}")
    if not (of_run / "model.safetensors").exists():
        raise fail(f"run {run} has no network")
    about = json.loads((of_run / "model.json").read_text())
    scaling = json.loads((here / "schema.json").read_text())["scaling"]
    summary = json.loads((of_run / "summary.json").read_text())
    weighted = "weights" in trained_on(str(folder))
    _check(of_run, run, about["model"], weighted)
    made = Network(about["model"], about["options"], about["shape"]["inputs"], about["shape"]["outputs"])
    made.weighted = weighted and about["model"] != "mlp"
    _load_weights(made, of_run)
    made.scale_rows = scaling["kind"] == "rows"
    if scaling["kind"] == "columns":
        made.mean = torch.tensor(scaling["mean"], dtype=torch.float32)
        made.factor = torch.tensor(scaling["factor"], dtype=torch.float32)
    if "target_mean" in summary:
        made.target_mean = torch.tensor(summary["target_mean"], dtype=torch.float32)
        made.target_deviation = torch.tensor(summary["target_deviation"], dtype=torch.float32)
    return made.eval()


def _load_weights(network: Network, of_run: pathlib.Path) -> None:
    missing, unexpected = network.load_state_dict(read_safetensors(of_run / "model.safetensors"), strict=False)
    own = ("mean", "factor", "target_mean", "target_deviation")
    missing = [
        name
        for name in missing
        if name not in own and not name.endswith("num_batches_tracked") and not name.endswith(".eps")
    ]
    if missing or unexpected:
        raise fail(f"the weights do not fit: missing {missing}, not known {unexpected}")
