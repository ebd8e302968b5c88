"""The pass log: one JSON line for each engine pass, the input of ``reprise fit``.

What a pass holds is known to the scheduler, when it ran to the worker; with most executors they
are different processes. So the facts ride on the scheduler's output and the first worker adds
the times and writes. All times are ns of one monotonic clock (that of this machine).
"""

from __future__ import annotations

import functools
import json
import time
from pathlib import Path
from typing import Any

from . import gate

_FACTS = "_reprise_pass"
_FLUSH_NS = 200_000_000


def install(scheduler_class: Any) -> None:
    """Attach the facts of each pass to what ``Scheduler.schedule`` returns."""
    gate.require_parameters(scheduler_class.schedule, "self")
    native = scheduler_class.schedule
    step = 0

    @functools.wraps(native)
    def schedule(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal step
        began = time.monotonic_ns()
        output = native(self, *args, **kwargs)
        if output.total_num_scheduled_tokens:
            setattr(output, _FACTS, describe(self, output, step, began))
            step += 1
        return output

    scheduler_class.schedule = schedule


def describe(scheduler: Any, output: Any, step: int, began_ns: int) -> dict[str, Any]:
    """The facts of a pass just scheduled: who prefills how much after what, and the decodes.

    A chunk is prefill if the tokens before it are fewer than the prompt or if it has more than one
    token (DESIGN.md 6). ``decode_ctx_sum`` counts the token computed in this pass.
    """
    prefill: list[tuple[int, int]] = []
    decodes = context = 0
    for name, new in output.num_scheduled_tokens.items():
        request = scheduler.requests[name]
        # schedule() has already counted this pass's tokens as computed.
        before = request.num_computed_tokens - new
        if before < request.num_prompt_tokens or new > 1:
            prefill.append((new, before))
        else:
            decodes += 1
            context += before + new
    running, waiting = scheduler.get_request_counts()
    return {
        "step": step,
        "t_sched_ns": began_ns,
        "t_sched_end_ns": time.monotonic_ns(),
        "prefill": prefill,
        "decode_reqs": decodes,
        "decode_ctx_sum": context,
        "tokens": output.total_num_scheduled_tokens,
        "running": running,
        "waiting": waiting,
        "preempted": len(output.preempted_req_ids or ()),
        "kv_usage": round(scheduler.kv_cache_manager.usage, 6),
    }


def facts_of(output: Any) -> dict[str, Any] | None:
    """The facts that a scheduler's output carries, if any."""
    facts: dict[str, Any] | None = getattr(output, _FACTS, None)
    return facts


class PassLog:
    """Appends lines to a file; what is older than 0.2 s or precedes an idle engine is on disk."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")
        self._flushed_ns = 0

    def write(self, facts: dict[str, Any]) -> None:
        self._file.write(json.dumps(facts, separators=(",", ":")) + "\n")
        if facts["t_end_ns"] - self._flushed_ns > _FLUSH_NS:
            self.flush()

    def flush(self) -> None:
        self._file.flush()
        self._flushed_ns = time.monotonic_ns()
