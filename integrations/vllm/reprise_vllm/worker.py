"""What both runners share: the calls in flight in one worker, and the bookkeeping of a pass.

A runner module says where in its runner a pass begins, where its rows are known, where it is
sampled; everything that happens then is here. Knows nothing of either runner's insides.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from . import admission, passlog, routers, settings
from .batch import Batch
from .call import parse
from .counters import Counters
from .gate import UnsupportedServer
from .routes import RouteFiles, Table
from .table import ForcedRoutes, SeenRoutes
from .tokens import ForcedTokens, Writes

log = logging.getLogger("vllm.reprise")


class Worker:
    """The state of the plug-in in one worker process, made after its model is loaded."""

    def __init__(self, runner: Any, kind: str) -> None:
        """``kind`` is "v1" or "v2". Raises UnsupportedServer if something asked for cannot be armed."""
        config = runner.vllm_config
        mine = settings.current()
        self.kind = kind
        self.rank = int(config.parallel_config.rank)
        self.layout = admission.layout_of(runner.model_config)
        self.graphs = not runner.model_config.enforce_eager
        self.counters = Counters()
        self.tokens = ForcedTokens(self.counters)
        self.files = RouteFiles(mine.routes_dir) if mine.routes_dir else None
        self.moe_layers = routers.find(runner.get_model()) if self.layout.experts else []
        self.forced: ForcedRoutes | None = None
        self.seen: SeenRoutes | None = None
        self.bound: routers.BoundRouters | None = None
        if self.files is not None and self.moe_layers:
            self._bind(runner, mine.record_routes)
        self.pass_log = passlog.PassLog(mine.pass_log) if mine.pass_log and self.rank == 0 else None
        self._tables: dict[str, Table] = {}
        self._records: dict[str, str] = {}
        self._own_ns = 0
        log.info("reprise: armed on rank %d, %s runner: %s", self.rank, kind, self.armed())

    def _bind(self, runner: Any, record: bool) -> None:
        config = runner.vllm_config
        parallel = config.parallel_config
        if parallel.data_parallel_size > 1 or parallel.use_sequence_parallel_moe or parallel.enable_dbo:
            raise UnsupportedServer(
                "experts cannot be forced with data parallelism, sequence-parallel MoE or dual batch overlap: "
                "token rows are regrouped before they are routed; start without REPRISE_ROUTES_DIR"
            )
        graph_rows = getattr(config.compilation_config, "max_cudagraph_capture_size", None) or 0
        rows = max(config.scheduler_config.max_num_batched_tokens, config.scheduler_config.max_num_seqs, graph_rows)
        self.forced = ForcedRoutes(rows, self.layout, runner.device)
        self.seen = SeenRoutes(rows, self.layout, runner.device) if record else None
        self.bound = routers.bind(
            self.moe_layers,
            runner.model_config.get_hidden_size(),
            runner.model_config.dtype,
            runner.device,
            self.forced,
            self.seen,
            self.graphs,
        )

    def armed(self) -> str:
        """What is armed, for the log at start."""
        parts = ["tokens"] if self.kind == "v1" else ["tokens by vLLM itself (trace_decode_token_ids)"]
        if self.bound is not None:
            parts.append(
                f"experts of {len(self.bound.layers)} layers, top {self.layout.top_k} of {self.layout.experts} "
                f"({self.bound.kind}, {self.bound.rule.scoring}, weights checked to {self.bound.weight_error:.1g})"
            )
        if self.seen is not None:
            parts.append("route recording")
        if self.pass_log is not None:
            parts.append("pass log")
        return "; ".join(parts)

    def begin(self, scheduled: Any) -> None:
        """Entering the runner with a scheduler's output: calls end, calls begin, the clock starts."""
        began = time.perf_counter_ns()
        for request in scheduled.finished_req_ids:
            self._finish(request)
        for new in scheduled.scheduled_new_reqs:
            self._admit(new)
        self._own_ns = time.perf_counter_ns() - began
        if self.bound is not None:
            self.bound.calls = 0
        facts = passlog.facts_of(scheduled)
        if facts is not None:
            facts["t_start_ns"] = time.monotonic_ns()
        if scheduled.total_num_scheduled_tokens:
            self.counters.passes += 1
        elif self.pass_log is not None:
            self.pass_log.flush()

    def _admit(self, new: Any) -> None:
        sampling = new.sampling_params
        call = parse(sampling.extra_args) if sampling is not None else None
        if call is None:
            return
        if call.tokens is not None and self.kind == "v1":
            self.tokens.add(new.req_id, call.tokens)
        if call.routes is not None and self.files is not None and self.forced is not None:
            self._open_table(new.req_id, call.routes)
        if call.record is not None and self.seen is not None:
            self._records[new.req_id] = call.record
            self.seen.begin(new.req_id, len(new.prompt_token_ids) + sampling.max_tokens - 1)

    def _open_table(self, request: str, name: str) -> None:
        assert self.files is not None
        if request in self._tables:  # preempted and announced again
            return
        try:
            self._tables[request] = self.files.open(name)
            self.counters.calls_routed += 1
        except (OSError, ValueError) as error:
            # Admission saw the table; ending the engine for one call would end all others.
            self.counters.calls_lost += 1
            log.error("reprise: route table %r of %s vanished, the call runs natively: %s", name, request, error)

    def _finish(self, request: str) -> None:
        self.tokens.drop(request)
        self._tables.pop(request, None)
        name = self._records.pop(request, None)
        if name is None or self.seen is None:
            return
        table = self.seen.end(request)
        if table is not None and self.files is not None:
            self.counters.calls_recorded += 1
            if self.rank == 0:
                self.files.save(name, table)

    def rows_known(self, batch: Batch) -> None:
        """Before the forward pass: put the routes of these rows in place."""
        if self.forced is None or not (self._tables or self.forced.active):
            return
        began = time.perf_counter_ns()
        self.counters.experts_forced += self.forced.fill(batch, self._tables)
        self._own_ns += time.perf_counter_ns() - began

    def computed(self, batch: Batch) -> None:
        """After the forward pass: keep recorded routes, and notice routers that were bypassed."""
        if self.bound is None or self.forced is None:
            return
        if self.forced.active and not self.graphs and self.bound.calls < len(self.bound.layers):
            self.counters.experts_unrouted += batch.rows * (len(self.bound.layers) - self.bound.calls)
        if self.seen is not None:
            began = time.perf_counter_ns()
            self.seen.collect(batch)
            self._own_ns += time.perf_counter_ns() - began

    def plan_tokens(self, requests: Any, total: Any, prompt: Any) -> Writes | None:
        """Before sampling: choose this step's recorded ids."""
        began = time.perf_counter_ns()
        writes = self.tokens.plan(requests, total, prompt)
        self._own_ns += time.perf_counter_ns() - began
        return writes

    def write_tokens(self, sampled: Any) -> None:
        """After native sampling, before logprobs."""
        began = time.perf_counter_ns()
        self.tokens.write(sampled)
        self._own_ns += time.perf_counter_ns() - began

    def end(self, scheduled: Any, output: Any, writes: Writes | None) -> None:
        """A pass is over: check what leaves, stop the clock.

        An asynchronous output is over where it is awaited, not here (spec/vllm-cpu-live.md 8); its
        ``get_output`` is wrapped.
        """
        own = self._own_ns
        if hasattr(output, "get_output"):
            native: Callable[[], Any] = output.get_output

            def get_output() -> Any:
                result = native()
                self._ended(scheduled, result, writes, own)
                return result

            output.get_output = get_output
        else:
            self._ended(scheduled, output, writes, own)

    def _ended(self, scheduled: Any, result: Any, writes: Writes | None, own_ns: int) -> None:
        facts = passlog.facts_of(scheduled)
        if facts is not None and self.pass_log is not None and "t_start_ns" in facts:
            self.pass_log.write({**facts, "t_end_ns": time.monotonic_ns(), "force_ns": own_ns})
        sampled = getattr(result, "sampled_token_ids", None)
        if sampled is not None:
            self.tokens.verify(writes, result.req_ids, sampled)
