"""Forced tokens on the V1 runner.

The sampler works natively; afterwards, before logprobs are gathered, the ids of forced rows are
overwritten. So next-step inputs, history and logprobs all see the recorded id, and the logprob
is the model's own for it. Rows are found by request and output position, never by batch order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .counters import Counters


@dataclass(frozen=True)
class Writes:
    """What is written in one sampling step: ``ids[i]`` into row ``rows[i]``."""

    rows: list[int]
    ids: list[int]
    requests: list[str]


class ForcedTokens:
    """The recorded ids of the calls in the runner, by vLLM's request id."""

    def __init__(self, counters: Counters) -> None:
        self._ids: dict[str, list[int]] = {}
        self._counters = counters
        self._writes: Writes | None = None

    def add(self, request: str, ids: list[int]) -> None:
        if request not in self._ids:  # a resumed request may be announced again
            self._counters.calls_forced += 1
        self._ids[request] = ids

    def drop(self, request: str) -> None:
        self._ids.pop(request, None)

    def plan(self, requests: Sequence[str], total: Sequence[int], prompt: Sequence[int]) -> Writes | None:
        """Choose the ids of the next sampling step.

        ``total`` and ``prompt`` are each row's token count with outputs and its prompt length; their
        difference is the output position, also after preemption and with placeholders of
        asynchronous scheduling (spec/vllm-cpu-live.md 5).
        """
        self._writes = None
        if not self._ids:
            return None
        writes = Writes([], [], [])
        for row, request in enumerate(requests):
            ids = self._ids.get(request)
            if ids is None:
                continue
            position = int(total[row]) - int(prompt[row])
            if 0 <= position < len(ids):
                writes.rows.append(row)
                writes.ids.append(ids[position])
                writes.requests.append(request)
        if writes.rows:
            self._writes = writes
        return self._writes

    def write(self, sampled: Any) -> None:
        """Overwrite the planned rows of a tensor of sampled ids, of shape [rows]."""
        if self._writes is None:
            return
        rows = torch.tensor(self._writes.rows, device=sampled.device)
        sampled[rows] = torch.tensor(self._writes.ids, dtype=sampled.dtype, device=sampled.device)

    def verify(self, writes: Writes | None, requests: Sequence[str], sampled: Sequence[Sequence[int]]) -> None:
        """Compare what leaves the runner with what was planned; unfinished prefills leave nothing."""
        if writes is None:
            return
        left = dict(zip(requests, sampled))
        for request, want in zip(writes.requests, writes.ids):
            got = left.get(request)
            if not got:
                continue
            self._counters.tokens_forced += 1
            if len(got) == 1 and got[0] == want:
                self._counters.tokens_verified += 1
            else:
                self._counters.tokens_wrong += 1
