from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from reprise_vllm.counters import Counters  # noqa: E402
from reprise_vllm.tokens import ForcedTokens  # noqa: E402


def forced(**calls: list[int]) -> tuple[ForcedTokens, Counters]:
    counters = Counters()
    tokens = ForcedTokens(counters)
    for request, ids in calls.items():
        tokens.add(request, ids)
    return tokens, counters


def test_rows_are_found_by_request_and_output_position() -> None:
    tokens, _ = forced(a=[10, 11, 12], b=[20])
    writes = tokens.plan(["x", "b", "a"], [9, 4, 7], [5, 4, 5])
    assert writes is not None
    assert (writes.rows, writes.ids) == ([1, 2], [20, 12])
    sampled = torch.tensor([1, 2, 3], dtype=torch.int32)
    tokens.write(sampled)
    assert sampled.tolist() == [1, 20, 12]


def test_batch_order_does_not_matter() -> None:
    tokens, _ = forced(a=[10, 11], b=[20, 21])
    one, other = tokens.plan(["a", "b"], [6, 8], [5, 8]), tokens.plan(["b", "a"], [8, 6], [8, 5])
    assert one is not None and other is not None
    assert dict(zip(one.requests, one.ids)) == dict(zip(other.requests, other.ids)) == {"a": 11, "b": 20}


def test_past_the_recorded_end_nothing_is_written() -> None:
    tokens, _ = forced(a=[10])
    assert tokens.plan(["a"], [6], [5]) is None
    sampled = torch.tensor([1])
    tokens.write(sampled)
    assert sampled.tolist() == [1]


def test_dropped_calls_are_native() -> None:
    tokens, _ = forced(a=[10])
    tokens.drop("a")
    assert tokens.plan(["a"], [5], [5]) is None


def test_what_leaves_the_runner_is_verified() -> None:
    tokens, counters = forced(a=[10], b=[20], c=[30])
    writes = tokens.plan(["a", "b", "c"], [5, 5, 5], [5, 5, 5])
    tokens.verify(writes, ["a", "b", "c"], [[10], [21], []])  # c: an unfinished prefill
    assert (counters.tokens_forced, counters.tokens_verified, counters.tokens_wrong) == (2, 1, 1)


def test_a_resumed_call_counts_once() -> None:
    tokens, counters = forced(a=[10])
    tokens.add("a", [10])
    assert counters.calls_forced == 1
