"""Forced experts: one wrap around each router's choice.

The wrap sits where a router has chosen and weighed, before vLLM's capture of returned routes and
before the map from logical to physical experts (EPLB), so both see the forced ids. Kernels that
route inside themselves never come by here and are refused at start.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from . import gate
from .table import ForcedRoutes, SeenRoutes
from .weights import WeightRule, rule_for


@dataclass
class BoundRouters:
    """The routers of a model that obey the tables."""

    layers: list[int]
    kind: str
    rule: WeightRule
    weight_error: float
    """Largest difference between the rule and the routers' own weights, at the self-check."""
    calls: int = field(default=0)
    """Router calls in the pass in flight (eager mode; a graph replays without coming by)."""


def find(model: Any) -> list[Any]:
    """The MoE layers of a model, in order; empty for a dense model."""
    from vllm.model_executor.layers.fused_moe.layer import MoERunner

    layers = [module for module in model.modules() if isinstance(module, MoERunner)]
    return sorted(layers, key=lambda layer: int(layer.layer_id))


def is_modular(layer: Any) -> bool:
    """Whether a layer's router runs outside its kernel."""
    from vllm.model_executor.layers.fused_moe.router.base_router import BaseRouter

    return isinstance(layer.router, BaseRouter) and not layer._quant_method.is_monolithic


def bind(
    layers: list[Any], hidden_size: int, dtype: Any, device: Any, forced: ForcedRoutes, seen: SeenRoutes | None, graphs: bool
) -> BoundRouters:
    """Wrap the routers of ``layers``. Raises UnsupportedServer, before anything is wrapped.

    With ``graphs`` the selection is always in the computation; else passes without forced rows
    skip it.
    """
    rules, error = [], 0.0
    for layer in layers:
        if not is_modular(layer):
            raise gate.UnsupportedServer(
                f"layer {layer.layer_id} routes inside its kernel ({type(layer._quant_method).__name__}); "
                "choose a modular MoE backend to force experts"
            )
        gate.require_parameters(layer.router._compute_routing, "hidden_states", "router_logits", "indices_type")
        rules.append(rule_for(layer.router))
        error = max(error, _self_check(layer.router, rules[-1], hidden_size, dtype, device))
    # Weights lie in 0..1; rounding is some units of the last place, another formula far more.
    if error > max(1e-5, 4 * torch.finfo(dtype).eps):
        raise gate.UnsupportedServer(f"the routers' own weights differ from the stated rule by {error:.3g}")
    bound = BoundRouters([int(x.layer_id) for x in layers], type(layers[0].router).__name__, rules[0], error)
    for layer, rule in zip(layers, rules):
        wrap(layer.router, int(layer.layer_id), rule, bound, forced, seen, graphs)
    return bound


def _self_check(router: Any, rule: WeightRule, hidden_size: int, dtype: Any, device: Any) -> float:
    """Route made-up rows natively; the largest difference to the rule's weights for the same ids."""
    rows, experts = 8, router.global_num_experts
    # Plain numbers that differ by row: the random state of the server stays as it is.
    steps = torch.arange(rows * experts, device=device).reshape(rows, experts) * 7 % (2 * experts + 1)
    logits = (steps.float() / experts - 1.0).to(dtype)
    hidden = torch.zeros(rows, hidden_size, dtype=dtype, device=device)
    weights, ids = router._compute_routing(hidden, logits, None)
    stated = rule(logits, ids.long()).to(torch.float32)
    return float((stated - weights.to(torch.float32)).abs().max()) / max(1.0, rule.scale)


def wrap(
    router: Any, layer: int, rule: WeightRule, bound: BoundRouters, forced: ForcedRoutes, seen: SeenRoutes | None, graphs: bool
) -> None:
    """Replace this router instance's choice where the table says so."""
    native = router._compute_routing

    def _compute_routing(
        hidden_states: Any, router_logits: Any, indices_type: Any, *, input_ids: Any = None
    ) -> tuple[Any, Any]:
        weights, ids = native(hidden_states, router_logits, indices_type, input_ids=input_ids)
        bound.calls += 1
        if graphs or forced.active:
            weights, ids = select(rule, router_logits, weights, ids, forced.buffer[: ids.shape[0], layer])
        if seen is not None and (graphs or seen.active):
            seen.buffer[: ids.shape[0], layer] = ids
        return weights, ids

    router._compute_routing = _compute_routing


def select(rule: WeightRule, logits: Any, weights: Any, ids: Any, forced: Any) -> tuple[Any, Any]:
    """Recorded experts where ``forced`` [rows, top_k] is not NATIVE, the router's own elsewhere."""
    use = forced[:, :1] >= 0
    chosen = torch.where(use, forced, ids.to(forced.dtype))
    # Padding rows may hold -1, which no gather takes; their weights are not used.
    stated = rule(logits, chosen.clamp(min=0).long()).to(weights.dtype)
    return torch.where(use, stated, weights).contiguous(), chosen.to(ids.dtype).contiguous()
