"""The Quasi-Wasserstein loss on any model."""

from __future__ import annotations

import copy
import hashlib
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ._lib import error_of, fail, operators
from .graph import Graph, as_graph
from .ops import Incidence, incidence_of
from .optim import QWOptimizer
from .propagation import KEPT

DIVERGENCES = ("softmax", "bernoulli", "least_squares")


def _is_compiling() -> bool:
    compiler = getattr(torch, "compiler", None)
    return compiler is not None and compiler.is_compiling()


def _is_transforming() -> bool:
    """Whether a transform of torch.func is at work, through which operators in C++ cannot be seen."""
    peek = getattr(getattr(torch._C, "_functorch", None), "peek_interpreter_stack", None)
    return peek is not None and peek() is not None


class QWLoss(nn.Module):
    """sum over edges of cost * |flow| + lam * mean over labelled nodes of D(out + S flow, labels).

    Label mass moves along the edges while the network is trained; the prediction of a node is the network's output plus
    what transport carries to it (predict).

    edge_index: [2, E] as PyTorch Geometric has it, or what qw.Graph takes. Undirected unless `directed`: an edge that
        stands in both directions is one.
    num_nodes: of the graph; as many as the edges name, unless given.
    num_classes: columns of the network's output.
    lam: weight of the divergence.
    divergence: softmax (one class per node: cross-entropy), bernoulli (several 0/1 labels) or least_squares (values).
    edge_cost: [E], for each given edge; 1 without.
    reduction: mean or sum of the divergences.
    class_weight: [num_classes].

    The flow is a Parameter [edges, num_classes] that begins at zero; `optimizer` takes proximal steps on it. It moves
    and is saved with the module. Half-precision outputs, as autocast makes them, are compared in the flow's type.
    """

    heads: Tensor
    tails: Tensor
    offsets: Tensor
    arcs: Tensor
    cost: Tensor | None
    class_weight: Tensor | None
    edge_of_given: Tensor

    def __init__(
        self,
        edge_index: Any,
        num_nodes: int | None = None,
        num_classes: int = 0,
        lam: float = 10.0,
        *,
        divergence: str = "softmax",
        edge_cost: Any = None,
        directed: bool | None = None,
        reduction: str = "mean",
        class_weight: Any = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        operators()
        if num_classes < 1:
            raise fail(f"num_classes must be at least 1, got {num_classes}")
        if divergence not in DIVERGENCES:
            raise fail(f"divergence must be softmax, bernoulli or least_squares, got '{divergence}'")
        if reduction not in ("mean", "sum"):
            raise fail(f"reduction must be mean or sum, got '{reduction}'")
        if not 0 <= lam < float("inf"):
            raise fail(f"lam must be finite and not negative, got {lam}")
        if isinstance(edge_index, Graph):
            if edge_cost is not None:
                raise fail("edge_cost belongs to the edges of a list; this Graph has costs of its own")
            graph = as_graph(edge_index, num_nodes, directed=directed)
        else:
            whole = directed if directed is not None or not isinstance(edge_index, Tensor) else False
            graph = Graph(edge_index, num_nodes, costs=edge_cost, directed=whole)
        if device is None and isinstance(edge_index, Tensor):
            device = edge_index.device
        dtype = dtype or torch.get_default_dtype()
        if dtype not in (torch.float32, torch.float64):
            raise fail(f"dtype must be float32 or float64, got {dtype}")
        self.num_nodes, self.num_classes, self.lam = graph.num_nodes, int(num_classes), float(lam)
        self.divergence, self.reduction, self.directed = divergence, reduction, graph.directed
        ends = [torch.from_numpy(ends.astype(np.int32)).to(device) for ends in (graph.heads, graph.tails)]
        for name, index in incidence_of(ends[0], ends[1], graph.num_nodes)._asdict().items():
            self.register_buffer(name, index, persistent=False)
        cost = None if graph.costs is None else torch.from_numpy(graph.costs).to(device, dtype)
        self.register_buffer("cost", cost, persistent=False)
        weight = None if class_weight is None else torch.as_tensor(class_weight, device=device, dtype=dtype).detach()
        if weight is not None and (weight.shape != (self.num_classes,) or not bool((weight >= 0).all())):
            raise fail(f"class_weight must be {self.num_classes} numbers that are not negative")
        self.register_buffer("class_weight", weight, persistent=False)
        self.register_buffer("edge_of_given", torch.from_numpy(graph.edge_of_given).to(device), persistent=False)
        self.flow = nn.Parameter(torch.zeros(graph.num_edges, self.num_classes, device=device, dtype=dtype))
        self._graph_hash = hashlib.sha256(graph.heads.tobytes() + b"|" + graph.tails.tobytes()).hexdigest()
        self._new_unit()
        self._least_cost = float(graph.costs.min()) if graph.costs is not None and graph.num_edges else 1.0
        self._said_zero = False

    # Its gradient is what comes into the loss: see QWOptimizer. No parameter, so that nobody trains it.
    def _new_unit(self) -> None:
        self._unit = torch.ones((), device=self.flow.device, dtype=self.flow.dtype, requires_grad=True)

    def _apply(self, fn: Any, *arguments: Any, **options: Any) -> QWLoss:
        super()._apply(fn, *arguments, **options)
        if self._unit.device != self.flow.device or self._unit.dtype != self.flow.dtype:
            moved = self._unit.detach().to(self.flow)
            if torch._has_compatible_shallow_copy_type(self._unit, moved):
                self._unit.data = moved  # the same object, as parameters are: an optimiser has it
                self._unit.grad = None if self._unit.grad is None else self._unit.grad.to(moved)
            else:
                self._new_unit()
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> QWLoss:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        nn.Module.__init__(made)
        state = {key: value for key, value in self.__dict__.items() if key != "_unit"}
        made.__dict__.update(copy.deepcopy(state, memo))
        made._new_unit()
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_unit"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        operators()
        self._new_unit()

    def get_extra_state(self) -> dict[str, str]:
        return {"graph": self._graph_hash}

    def set_extra_state(self, state: Any) -> None:
        if not isinstance(state, dict) or state.get("graph") != self._graph_hash:
            raise fail("this flow belongs to another graph: its edges are not those of this loss")

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *arguments: Any) -> None:
        extra = f"{prefix}_extra_state"
        if extra in state_dict:
            self.set_extra_state(state_dict[extra])  # before the flow is overwritten
        super()._load_from_state_dict(state_dict, prefix, *arguments)

    @property
    def graph(self) -> Incidence:
        """Heads, tails and arcs of the edges that carry flow."""
        return Incidence(self.heads, self.tails, self.offsets, self.arcs)

    def extra_repr(self) -> str:
        return (
            f"{self.num_nodes} nodes, {self.flow.shape[0]} {'directed ' if self.directed else ''}edges, "
            f"{self.num_classes} classes, lam={self.lam:g}, divergence={self.divergence}, reduction={self.reduction}"
        )

    def _output(self, out: Tensor) -> Tensor:
        if out.dim() == 1 and self.num_classes == 1:
            out = out.unsqueeze(1)
        if out.dim() != 2 or out.shape[0] != self.num_nodes or out.shape[1] != self.num_classes:
            raise fail(
                f"out must be [{self.num_nodes}, {self.num_classes}], a row for each node, got {list(out.shape)}"
            )
        if out.dtype in (torch.float16, torch.bfloat16):
            return out.to(self.flow.dtype)
        if out.dtype != self.flow.dtype:
            raise fail(f"out is {out.dtype}, the flow {self.flow.dtype}; give the loss dtype={out.dtype}")
        return out

    def _labels(self, y: Tensor) -> Tensor:
        if self.divergence == "softmax" and not y.is_floating_point():
            return y.squeeze(1) if y.dim() == 2 and y.shape[1] == 1 and self.num_classes != 1 else y
        values = y.to(self.flow.dtype)
        if self.divergence == "bernoulli" and not y.is_floating_point():
            values = values.masked_fill(values < 0, float("nan"))
        return values

    def _check_labels(self, y: Tensor) -> None:
        """Once for labels that stay as they are: on a GPU that is waited for."""
        if self.divergence != "bernoulli" or y.is_meta:
            return
        kept = KEPT.of(y)
        if "bernoulli" not in kept:
            values = self._labels(y)
            wrong = values[(values < 0) | (values > 1)]
            kept["bernoulli"] = float(wrong[0]) if wrong.numel() else None
        if kept["bernoulli"] is not None:
            raise fail(
                f"y has {kept['bernoulli']:g}: bernoulli takes labels from 0 to 1, and NaN, or negative integers, "
                "where a label is unknown"
            )

    def forward(self, out: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        """The loss of the network's output [N, C] and labels: [N] classes, or [N, C] of 0/1 labels or values.

        mask: [N] of bool, or the numbers of the training nodes. Without one all nodes whose label is known count.
        Unknown are negative integers, except as values (least_squares), and NaN.
        """
        if _is_compiling():
            return self._value(out, y, mask)
        if _is_transforming():
            return self._composed(self._output(out), y, mask)
        try:
            self._check_labels(y)
            value = self._value(out, y, mask)
        except RuntimeError as error:
            known = error_of(error)
            if known is error:
                raise
            raise known from None
        self._say_when_zero(y, mask)
        return value

    def _value(self, out: Tensor, y: Tensor, mask: Tensor | None) -> Tensor:
        value: Tensor = torch.ops.qw.qw_loss(
            self._output(out),
            self.flow,
            [self.heads, self.tails, self.offsets, self.arcs],
            self._labels(y),
            mask,
            self.cost,
            self.class_weight,
            self.divergence,
            self.lam,
            self.reduction,
            self._unit,
        )
        return value

    def predict(self, out: Tensor) -> Tensor:
        """The scores of all nodes: what the network says plus what transport carries there, g + S F."""
        out = self._output(out)
        if not _is_compiling() and _is_transforming():
            return out + self._moved()
        moved: Tensor = torch.ops.qw.incidence(self.flow, [self.heads, self.tails, self.offsets, self.arcs])
        return out + moved

    def _moved(self) -> Tensor:
        moved = torch.zeros(self.num_nodes, self.num_classes, device=self.flow.device, dtype=self.flow.dtype)
        return moved.index_add(0, self.heads, self.flow).index_add(0, self.tails, -self.flow)

    def _composed(self, out: Tensor, y: Tensor, mask: Tensor | None) -> Tensor:
        """The same from torch's own operators, which the transforms of torch.func go through."""
        y = self._labels(y)
        by_class = not y.is_floating_point()
        if not by_class:
            y = y.reshape(self.num_nodes, self.num_classes)
        if mask is None:
            mask = y >= 0 if by_class else y.isnan().logical_not().any(1)
        scores, y = (out + self._moved())[mask], y[mask]
        weight = torch.ones(self.num_classes, dtype=out.dtype, device=out.device)
        weight = weight if self.class_weight is None else self.class_weight
        if by_class:
            terms = torch.nn.functional.cross_entropy(scores, y, weight, reduction="none")
            known = torch.tensor(float(y.shape[0]))
        else:
            there = y.isnan().logical_not()
            y = torch.where(there, y, torch.zeros_like(y))
            if self.divergence == "softmax":
                terms = torch.special.xlogy(y, y) - y * scores.log_softmax(1)
            elif self.divergence == "bernoulli":
                terms = torch.nn.functional.binary_cross_entropy_with_logits(scores, y, reduction="none")
                terms = terms + torch.special.xlogy(y, y) + torch.special.xlogy(1 - y, 1 - y)
            else:
                terms = (scores - y).square()
            terms = torch.where(there, terms * weight, torch.zeros_like(terms))
            known = there.sum() / (self.num_classes if self.divergence == "softmax" else 1)
        cost = self.flow.abs() if self.cost is None else self.cost.unsqueeze(1) * self.flow.abs()
        scale = known.clamp(min=1) if self.reduction == "mean" else 1.0
        return cost.sum() + self.lam * terms.sum() / scale

    def optimizer(
        self,
        params: Iterable[Any] = (),
        lr: float = 0.01,
        *,
        optimizer: Any = torch.optim.Adam,
        flow_lr: float | None = None,
        flow_weight_decay: float = 0.0,
        flow_rule: str = "proximal",
        **options: Any,
    ) -> QWOptimizer:
        """One optimiser for both: torch's for the network's parameters, steps of its own for the flow.

        params: the network's; without any the flow alone is stepped, beside an optimiser of your own.
        optimizer: a class of torch.optim, or one like them, made with params, lr and options.
        flow_lr: learning rate of the flow; lr, unless given.
        flow_rule: proximal (entries become exactly zero) or subgradient (Adam, as published).
        """
        params = list(params)
        if options and not params:
            raise fail(f"{', '.join(options)}: options of the network's optimiser, which has no parameters here")
        network = optimizer(params, lr=lr, **options) if params else None
        return QWOptimizer(self, network, lr if flow_lr is None else flow_lr, flow_weight_decay, flow_rule)

    def _terms(self, y: Tensor, mask: Tensor | None) -> int:
        """By how many the mean divides."""
        y = self._labels(y)
        if not y.is_floating_point():
            chosen = y >= 0 if mask is None else mask
            return int(chosen.sum()) if chosen.dtype == torch.bool else chosen.numel()
        known = y.reshape(self.num_nodes, -1).isnan().logical_not()
        count = int((known if mask is None else known[mask if mask.dtype == torch.bool else mask.long()]).sum())
        return count // self.num_classes if self.divergence == "softmax" else count

    def _say_when_zero(self, y: Tensor, mask: Tensor | None) -> None:
        if self._said_zero or self.reduction != "mean" or self.divergence == "least_squares":
            return
        self._said_zero = True
        terms = self._terms(y, mask)
        heaviest = 1.0 if self.class_weight is None else float(self.class_weight.max())
        # Entries of the gradient are between -heaviest and heaviest, so over an edge they differ by at most twice that.
        enough = self._least_cost * terms / 2 / heaviest if heaviest else 0.0
        if self.lam < enough:
            what = "known labels" if self.divergence == "bernoulli" else "labelled nodes"
            warnings.warn(
                f"the optimal flow is zero: with reduction='mean', lam = {self.lam:g} and {terms} {what} no "
                f"gradient reaches the cost of an edge; transport needs lam above {enough:g}, or reduction='sum'",
                stacklevel=3,
            )


class EdgeWeights(nn.Module):
    """Weights of the edges read off the flow, for any layer that takes edge_weight.

    A perceptron of two layers maps the flow of an edge, [num_classes], to a number in (0, 1); both directions of an
    undirected edge have the same, an edge that the loss does not know (a self-loop) has 1. Gradients reach the flow.
    """

    def __init__(self, loss: QWLoss, hidden: int = 64) -> None:
        super().__init__()
        flow = loss.flow
        self._loss = [loss]  # not a child: its flow has one owner
        self.lin1 = nn.Linear(loss.num_classes, hidden, device=flow.device, dtype=flow.dtype)
        self.lin2 = nn.Linear(hidden, 1, device=flow.device, dtype=flow.dtype)

    def forward(self) -> Tensor:
        """[E], for each edge that was given to the loss, in that order."""
        loss = self._loss[0]
        weights = torch.sigmoid(self.lin2(torch.relu(self.lin1(loss.flow)))).squeeze(1)
        known = loss.edge_of_given
        return torch.cat([weights, weights.new_ones(1)])[torch.where(known < 0, weights.shape[0], known)]
