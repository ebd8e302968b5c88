"""Each rule against vLLM's own formulas, written out here as vLLM states them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from reprise_vllm.gate import UnsupportedServer  # noqa: E402
from reprise_vllm.routers import BoundRouters, _self_check, select, wrap  # noqa: E402
from reprise_vllm.routes import Layout  # noqa: E402
from reprise_vllm.table import ForcedRoutes, SeenRoutes  # noqa: E402
from reprise_vllm.weights import WeightRule, rule_for  # noqa: E402

ROWS, EXPERTS, TOP_K = 64, 16, 4


def router(kind: str, **fields: Any) -> Any:
    defaults = dict(
        scoring_func="softmax", renormalize=True, top_k=TOP_K, global_num_experts=EXPERTS, routed_scaling_factor=1.0,
        e_score_correction_bias=None, _hash_indices_table=None, bias_vl=None, num_fused_shared_experts=0,
        use_grouped_topk=False, custom_routing_function=None, num_expert_group=4, topk_group=2,
    )
    made = type(kind, (), {})()
    vars(made).update(defaults | fields)
    made._compute_routing = lambda hidden, logits, dtype, input_ids=None: natively(made, logits)
    return made


def natively(r: Any, logits: Any) -> tuple[Any, Any]:
    """Scores, a biased choice (in groups or not), unbiased weights."""
    scores = logits.softmax(-1) if r.scoring_func == "softmax" else logits.sigmoid()
    choice = scores if r.e_score_correction_bias is None else scores + r.e_score_correction_bias
    if r.use_grouped_topk or type(r).__name__ == "GroupedTopKRouter":
        groups = choice.view(len(logits), r.num_expert_group, -1).max(-1).values.topk(r.topk_group).indices
        mask = torch.zeros(len(logits), r.num_expert_group).scatter_(1, groups, 1).bool()
        choice = choice.masked_fill(~mask.repeat_interleave(EXPERTS // r.num_expert_group, 1), float("-inf"))
    ids = choice.topk(r.top_k).indices
    weights = scores.gather(1, ids)
    if r.renormalize:
        weights = weights / weights.sum(-1, keepdim=True)
    return weights * r.routed_scaling_factor, ids.to(torch.int32)


BIAS = torch.linspace(-1, 1, EXPERTS)
SUPPORTED = [
    router("CPURouter"),
    router("CPURouter", renormalize=False),
    router("CPURouter", use_grouped_topk=True, scoring_func="sigmoid", e_score_correction_bias=BIAS, routed_scaling_factor=2.5),
    router("FusedTopKRouter"),
    router("FusedTopKRouter", renormalize=False),
    router("FusedTopKRouter", scoring_func="sigmoid"),
    router("FusedTopKBiasRouter", scoring_func="sigmoid", e_score_correction_bias=BIAS, routed_scaling_factor=2.5),
    router("GroupedTopKRouter", renormalize=False, routed_scaling_factor=16.0),
    router("GroupedTopKRouter", scoring_func="sigmoid", e_score_correction_bias=BIAS),
]


@pytest.mark.parametrize("r", SUPPORTED, ids=lambda r: f"{type(r).__name__}-{r.scoring_func}-{r.renormalize}")
def test_the_rule_gives_the_routers_own_weights(r: Any) -> None:
    assert _self_check(r, rule_for(r), 8, torch.float32, "cpu") < 1e-6


@pytest.mark.parametrize(
    "r",
    [
        router("ZeroExpertRouter"),
        router("CustomRoutingRouter"),
        router("RoutingSimulatorRouter"),
        router("FusedTopKBiasRouter", scoring_func="sqrtsoftplus"),
        router("FusedTopKBiasRouter", _hash_indices_table=object()),
        router("FusedTopKBiasRouter", bias_vl=object()),
        router("FusedTopKBiasRouter", num_fused_shared_experts=1),
        router("GroupedTopKRouter", num_expert_group=3),
        router("GroupedTopKRouter", num_expert_group=16),
        router("CPURouter", custom_routing_function=len),
        router("CPURouter", scoring_func="sigmoid"),
    ],
    ids=lambda r: type(r).__name__,
)
def test_rules_that_cannot_be_stated_are_refused(r: Any) -> None:
    with pytest.raises(UnsupportedServer):
        rule_for(r)


def test_a_wrong_rule_fails_the_self_check() -> None:
    r = router("GroupedTopKRouter", routed_scaling_factor=2.5, scoring_func="sigmoid")
    assert _self_check(r, WeightRule("sigmoid", True), 8, torch.float32, "cpu") > 0.1


def logits() -> Any:
    return torch.randn(ROWS, EXPERTS, generator=torch.Generator().manual_seed(1))


def test_forcing_what_was_chosen_changes_no_bit() -> None:
    values = logits()
    chosen, ids = values.topk(TOP_K)
    weights, ids = torch.softmax(chosen, -1), ids.to(torch.int32)
    rule = WeightRule("softmax", True, from_scores=False, upcast=False)
    forced_weights, forced_ids = select(rule, values, weights, ids, ids)
    assert torch.equal(forced_weights, weights) and torch.equal(forced_ids, ids)


def test_native_rows_stay_and_padding_is_harmless() -> None:
    values = logits()
    weights, ids = natively(router("CPURouter"), values)
    ids[-1] = -1
    forced = torch.full((ROWS, TOP_K), -1, dtype=torch.int32)
    forced[3] = torch.tensor([7, 5, 1, 0])
    new_weights, new_ids = select(WeightRule("softmax", True), values, weights, ids, forced)
    others = torch.arange(ROWS) != 3
    assert torch.equal(new_weights[others], weights[others]) and torch.equal(new_ids[others], ids[others])
    assert new_ids[3].tolist() == [7, 5, 1, 0]
    assert float(new_weights[3].sum()) == pytest.approx(1.0)


@pytest.mark.parametrize("graphs", [False, True])
def test_a_wrapped_router_obeys_and_is_seen(graphs: bool) -> None:
    layout = Layout(layers=2, top_k=TOP_K, experts=EXPERTS)
    forced, seen = ForcedRoutes(ROWS, layout, "cpu"), SeenRoutes(ROWS, layout, "cpu")
    r = router("CPURouter")
    bound = BoundRouters([1], "CPURouter", rule_for(r), 0.0)
    wrap(r, 1, bound.rule, bound, forced, seen, graphs)
    forced.buffer[2, 1] = torch.tensor([3, 2, 1, 0])
    forced.active = True
    seen.begin("a", ROWS)
    hidden = SimpleNamespace()
    weights, ids = r._compute_routing(hidden, logits(), None)
    assert ids[2].tolist() == [3, 2, 1, 0]
    assert torch.equal(seen.buffer[:, 1], ids) and bool((seen.buffer[:, 0] == -1).all())
    assert bound.calls == 1
