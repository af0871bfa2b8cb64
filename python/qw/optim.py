"""The optimiser of a network and a flow."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from ._lib import fail, operators

if TYPE_CHECKING:
    from .loss import QWLoss


class QWOptimizer(torch.optim.Optimizer):
    """Steps the network as `network` does, and the flow of `loss` by its own rule. Made by QWLoss.optimizer.

    Without a network (None) it steps the flow alone.

    It is one of torch's optimisers: param_groups are those of the network and, last, the flow's, so that schedulers,
    GradScaler, gradient clipping and accumulation work as ever; state_dict has both.

    The flow's gradient has the slope of the cost in it, which a proximal step must not: how much of it there is tells
    the gradient of the loss's unit, which goes through accumulation and scaling as the flow's does.
    """

    def __init__(
        self, loss: QWLoss, network: torch.optim.Optimizer | None, flow_lr: float, weight_decay: float, rule: str
    ) -> None:
        if rule not in ("proximal", "subgradient"):
            raise fail(f"flow_rule must be proximal or subgradient, got '{rule}'")
        if not flow_lr >= 0:
            raise fail(f"flow_lr must not be negative, got {flow_lr}")
        if network is not None:
            self._check_groups(loss, network)
        self.loss, self.network = loss, network
        self.flow_group: dict[str, Any] = {
            "params": [loss.flow, loss._unit],
            "lr": flow_lr,
            "weight_decay": weight_decay,
            "flow_rule": rule,
        }
        super().__init__([{"params": [loss.flow]}], {})
        self._step = 0
        self._moments: tuple[torch.Tensor, torch.Tensor] | None = None
        self._join_groups()

    @staticmethod
    def _check_groups(loss: QWLoss, network: torch.optim.Optimizer) -> None:
        if any(parameter is loss.flow for group in network.param_groups for parameter in group["params"]):
            raise fail("the flow is among the network's parameters; give optimizer() those of the model only")

    def _join_groups(self) -> None:
        self.param_groups = [*([] if self.network is None else self.network.param_groups), self.flow_group]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Of the network."""
        if not hasattr(self, "_step"):  # torch's constructor registers the flow
            super().add_param_group(param_group)
            return
        if self.network is None:
            raise fail("this optimiser steps the flow alone; give the parameters to that of the network")
        self.network.add_param_group(param_group)
        try:
            self._check_groups(self.loss, self.network)
        except ValueError:
            del self.network.param_groups[-1]
            raise
        self._join_groups()

    def __getstate__(self) -> dict[str, Any]:
        own = ("loss", "network", "flow_group", "_step", "_moments")
        return {**super().__getstate__(), **{name: getattr(self, name) for name in own}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.flow_group["params"] = [self.loss.flow, self.loss._unit]  # a copy of the loss has a unit of its own
        self._join_groups()

    def zero_grad(self, set_to_none: bool = True) -> None:
        if self.network is not None:
            self.network.zero_grad(set_to_none=set_to_none)
        self.loss.flow.grad = None
        self.loss._unit.grad = None

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        value = None
        if closure is not None:
            with torch.enable_grad():
                value = closure()
        if self.network is not None:
            self.network.step()
        self._step_flow()
        return value

    @torch.no_grad()
    def _step_flow(self) -> None:
        flow, unit, group = self.loss.flow, self.loss._unit, self.flow_group
        if flow.grad is None:
            return
        if self._moments is None or self._moments[0].device != flow.device or self._moments[0].dtype != flow.dtype:
            self._moments = (torch.zeros_like(flow), torch.zeros_like(flow))
        self._step += 1
        share = unit.grad if unit.grad is not None else torch.zeros_like(unit)
        measures = torch.empty(3, dtype=torch.float64, device=flow.device)
        operators()._flow_step_(
            flow,
            *self._moments,
            self.loss.heads,
            self.loss.tails,
            None,
            flow.grad.contiguous(),
            share.reshape(1),
            self.loss.cost,
            group["flow_rule"],
            float(group["lr"]),
            float(group["weight_decay"]),
            self._step,
            self.loss.directed,
            measures,
        )

    def state_dict(self) -> dict[str, Any]:
        flow = {key: value for key, value in self.flow_group.items() if key != "params"}
        network = None if self.network is None else self.network.state_dict()
        return {"network": network, "flow": {**flow, "step": self._step, "moments": self._moments}}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        if not {"network", "flow"} <= state_dict.keys():
            raise fail("this state is of another optimiser: it has no network and flow, as a QWOptimizer saves them")
        if (self.network is None) != (state_dict["network"] is None):
            raise fail("this state has a network and the optimiser has none, or the other way round")
        flow = dict(state_dict["flow"])
        step, moments = flow.pop("step"), flow.pop("moments")
        if moments is not None and any(each.shape != self.loss.flow.shape for each in moments):
            shape = list(moments[0].shape)
            raise fail(f"this state is of a flow {shape}, the flow of this loss is {list(self.loss.flow.shape)}")
        if self.network is not None:
            self.network.load_state_dict(state_dict["network"])
        first, second = (None, None) if moments is None else (each.to(self.loss.flow).clone() for each in moments)
        self._step, self._moments = step, None if first is None or second is None else (first, second)
        self.flow_group.update(flow)
        self._join_groups()
