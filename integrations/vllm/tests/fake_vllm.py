"""vLLM's MoE modules, runner and worker as the plug-in sees them, small enough to read."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

LAYERS, TOP_K, EXPERTS, HIDDEN = 2, 2, 4, 8


class BaseRouter:
    """vLLM's template: choose, capture logical ids, map to physical ones."""

    def __init__(self) -> None:
        self.top_k, self.global_num_experts = TOP_K, EXPERTS
        self.scoring_func, self.renormalize = "softmax", True
        self.use_grouped_topk, self.custom_routing_function, self._hash_indices_table = False, None, None
        self.captured: Any = None

    def _compute_routing(
        self, hidden_states: Any, router_logits: Any, indices_type: Any, *, input_ids: Any = None
    ) -> tuple[Any, Any]:
        values, ids = router_logits.topk(self.top_k)
        return torch.softmax(values, -1), ids.to(torch.int32)

    def select(self, hidden: Any, logits: Any) -> tuple[Any, Any]:
        weights, ids = self._compute_routing(hidden, logits, None)
        self.captured = ids
        return weights, ids + 100  # the physical experts of a balanced placement


CPURouter = type("CPURouter", (BaseRouter,), {})


class MoERunner(torch.nn.Module):
    def __init__(self, layer_id: int, monolithic: bool = False) -> None:
        super().__init__()
        self.layer_id, self.router = layer_id, CPURouter()
        self._quant_method = SimpleNamespace(is_monolithic=monolithic)


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the MoE classes where the plug-in imports them from."""
    root = "vllm.model_executor.layers.fused_moe"
    for name, members in {
        f"{root}.layer": {"MoERunner": MoERunner},
        f"{root}.router.base_router": {"BaseRouter": BaseRouter},
    }.items():
        parts = name.split(".")
        for i in range(1, len(parts)):
            parent = ".".join(parts[:i])
            if parent not in sys.modules or parent.startswith("vllm"):
                monkeypatch.setitem(sys.modules, parent, ModuleType(parent))
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)


class Runner:
    """A V1 runner of one layer of arithmetic: every id it samples is 1, every logit row the same."""

    def __init__(self, experts: bool = True, **parallel: Any) -> None:
        self.layers = [MoERunner(1), MoERunner(0)] if experts else []
        self.device = torch.device("cpu")
        self.model_config = SimpleNamespace(
            enforce_eager=True, dtype=torch.float32, get_hidden_size=lambda: HIDDEN,
            get_total_num_hidden_layers=lambda: LAYERS, get_num_experts=lambda: EXPERTS if experts else 0,
            get_num_experts_per_tok=lambda: TOP_K,
        )
        self.vllm_config = SimpleNamespace(
            parallel_config=SimpleNamespace(
                **({"rank": 0, "data_parallel_size": 1, "use_sequence_parallel_moe": False, "enable_dbo": False} | parallel)
            ),
            compilation_config=SimpleNamespace(max_cudagraph_capture_size=None),
            scheduler_config=SimpleNamespace(max_num_batched_tokens=16, max_num_seqs=4),
        )
        self.input_batch = SimpleNamespace(
            req_ids=[], num_tokens_no_spec=np.zeros(4, int), num_prompt_tokens=np.zeros(4, int),
            num_computed_tokens_cpu=np.zeros(4, int),
        )
        self.query_start_loc = SimpleNamespace(np=np.zeros(5, int))
        self.sampler = SimpleNamespace(sample=self.native_sample)
        self.bypassed = False

    def get_model(self) -> Any:
        return torch.nn.ModuleList(self.layers)

    def load_model(self) -> None: ...

    def schedule(self, rows: dict[str, tuple[int, int, int]]) -> None:
        """rows: request -> (rows, first position, prompt length)."""
        batch = self.input_batch
        batch.req_ids = list(rows)
        for i, (count, first, prompt) in enumerate(rows.values()):
            self.query_start_loc.np[i + 1] = self.query_start_loc.np[i] + count
            batch.num_computed_tokens_cpu[i], batch.num_prompt_tokens[i] = first, prompt
            batch.num_tokens_no_spec[i] = max(first + count, prompt)

    def execute_model(self, scheduler_output: Any) -> None:
        if scheduler_output.total_num_scheduled_tokens:
            self._model_forward(torch.zeros(scheduler_output.total_num_scheduled_tokens), None)

    def _model_forward(self, input_ids: Any = None, positions: Any = None) -> None:
        logits = torch.arange(EXPERTS).float().expand(len(input_ids), EXPERTS)
        if not self.bypassed:
            for layer in self.layers:
                layer.router.select(torch.zeros(len(input_ids), HIDDEN), logits)

    def native_sample(self, logits: Any, sampling_metadata: Any) -> Any:
        return torch.ones(len(self.input_batch.req_ids), dtype=torch.int32), None

    def _sample(self, logits: Any, spec_decode_metadata: Any) -> Any:
        return self.sampler.sample(logits, None)[0]

    def sample_tokens(self, grammar_output: Any) -> Any:
        ids = self._sample(None, None)
        return SimpleNamespace(req_ids=self.input_batch.req_ids, sampled_token_ids=[[int(i)] for i in ids])


def scheduled(total: int, new: dict[str, dict[str, Any]] | None = None, finished: tuple[str, ...] = ()) -> Any:
    """A SchedulerOutput; ``new`` maps requests to their extra arguments."""
    return SimpleNamespace(
        total_num_scheduled_tokens=total,
        finished_req_ids=set(finished),
        scheduled_new_reqs=[
            SimpleNamespace(req_id=r, prompt_token_ids=[0] * 4, sampling_params=SimpleNamespace(extra_args=x, max_tokens=3))
            for r, x in (new or {}).items()
        ],
    )
