"""Weights for forced experts: the formula a router uses, applied to the forced ids.

Ids come from the record, weights from the present model's own logits; terms that only steer the
selection (correction bias, group limits) do not enter. A router whose formula cannot be stated
exactly is refused. For ids that the router chose itself the result must equal its own weights,
which is checked at start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch

from .gate import UnsupportedServer


@dataclass(frozen=True)
class WeightRule:
    """weight(e) = scale * score(e) [/ sum over the chosen experts, if ``renormalize``]."""

    scoring: str
    """softmax over all logits, or sigmoid of each."""
    renormalize: bool
    scale: float = 1.0
    from_scores: bool = True
    """False: vLLM's plain softmax routers, which never build the scores of all experts; a softmax
    over the chosen logits is the same number with other rounding."""
    upcast: bool = True
    """Whether the router computes in float32; False: in the type of its logits."""

    def __call__(self, logits: Any, ids: Any) -> Any:
        """``logits`` [rows, experts] and ``ids`` int64 [rows, top_k] to weights [rows, top_k]."""
        logits = logits.float() if self.upcast else logits
        if not self.from_scores:
            return self._plain_softmax(logits, ids)
        scores = logits.softmax(-1) if self.scoring == "softmax" else logits.sigmoid()
        weights = scores.gather(1, ids)
        if self.renormalize:
            weights = weights / weights.sum(-1, keepdim=True)
        return weights * self.scale if self.scale != 1.0 else weights

    def _plain_softmax(self, logits: Any, ids: Any) -> Any:
        chosen = logits.gather(1, ids)
        if self.renormalize:
            return torch.softmax(chosen, dim=-1)
        return (chosen - torch.logsumexp(logits, dim=-1, keepdim=True)).exp()


def rule_for(router: Any) -> WeightRule:
    """The rule of one of vLLM's routers, told by its class. Raises UnsupportedServer."""
    kind = type(router).__name__
    rules = {
        "CPURouter": _cpu,
        "FusedTopKRouter": _plain,
        "FusedTopKBiasRouter": _biased,
        "GroupedTopKRouter": _grouped,
    }
    if kind not in rules:
        raise UnsupportedServer(f"the weights of {kind} cannot be stated for forced experts")
    if router.scoring_func not in ("softmax", "sigmoid"):
        raise UnsupportedServer(f"{kind} scores by {router.scoring_func}, supported are softmax and sigmoid")
    if getattr(router, "num_fused_shared_experts", 0):
        raise UnsupportedServer(f"{kind} appends shared experts to the routed ones")
    return rules[kind](router)


def _plain(router: Any) -> WeightRule:
    softmax = router.scoring_func == "softmax"
    return WeightRule(router.scoring_func, router.renormalize, from_scores=not softmax)


def _biased(router: Any) -> WeightRule:
    if router._hash_indices_table is not None or router.bias_vl is not None:
        raise UnsupportedServer("this router chooses experts by token id")
    return WeightRule(router.scoring_func, router.renormalize, router.routed_scaling_factor)


def _grouped(router: Any) -> WeightRule:
    groups, experts = router.num_expert_group, router.global_num_experts
    if experts <= groups or experts % groups:
        # vLLM then falls back to other formulas, without scoring function or scale.
        raise UnsupportedServer(f"{experts} experts do not divide into {groups} groups")
    return WeightRule(router.scoring_func, router.renormalize, router.routed_scaling_factor, upcast=False)


def _cpu(router: Any) -> WeightRule:
    if router.custom_routing_function is not None:
        raise UnsupportedServer("this model has a routing function of its own")
    if router._hash_indices_table is not None:
        raise UnsupportedServer("this router chooses experts by token id")
    if router.use_grouped_topk:
        return replace(_grouped(router), upcast=True)
    if router.scoring_func != "softmax":
        raise UnsupportedServer(f"CPURouter without groups scores by softmax only, not {router.scoring_func}")
    return replace(_plain(router), upcast=False)
