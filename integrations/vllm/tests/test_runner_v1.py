"""Passes through a V1 runner, from the scheduler's output to what leaves it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import fake_vllm  # noqa: E402
from fake_vllm import scheduled  # noqa: E402
from stubs import routes  # noqa: E402

from reprise_vllm import attach, gate, passlog, status  # noqa: E402
from reprise_vllm.runner_v1 import RunnerV1  # noqa: E402


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    fake_vllm.install(monkeypatch)
    monkeypatch.setenv("REPRISE_ROUTES_DIR", str(tmp_path))
    monkeypatch.setenv("REPRISE_RECORD_ROUTES", "1")
    monkeypatch.setenv("REPRISE_PASS_LOG", str(tmp_path / "passes.jsonl"))
    return tmp_path


def loaded(**kwargs: Any) -> Any:
    class Runner(fake_vllm.Runner):
        pass

    attach.after_load(Runner, RunnerV1)
    runner: Any = Runner(**kwargs)
    runner.load_model()
    return runner


def counters(runner: Any) -> dict[str, int]:
    return {k: v for k, v in runner.reprise.worker.counters.as_dict().items() if v}


def run(runner: Any, output: Any, rows: dict[str, tuple[int, int, int]]) -> list[list[int]]:
    runner.schedule(rows)
    runner.execute_model(output)
    ids: list[list[int]] = runner.sample_tokens(None).sampled_token_ids
    return ids


def test_a_call_is_forced_to_its_end_and_forgotten(folder: Path) -> None:
    runner = loaded()
    a = {"a": {"reprise_tokens": [7, 8]}}
    assert run(runner, scheduled(5, {**a, "b": {}}), {"a": (4, 0, 4), "b": (1, 0, 1)}) == [[7], [1]]
    assert run(runner, scheduled(2), {"b": (1, 1, 1), "a": (1, 4, 4)}) == [[1], [8]]
    runner.execute_model(scheduled(0, finished=("a",)))
    assert run(runner, scheduled(1), {"a": (1, 4, 4)}) == [[1]]
    assert counters(runner) == {"calls_forced": 1, "tokens_forced": 2, "tokens_verified": 2, "passes": 3}


def test_routes_are_forced_recorded_and_kept(folder: Path) -> None:
    runner = loaded()
    table = routes(6)
    np.save(folder / "t.npy", table)
    call = {"reprise_tokens": [7, 8, 9], "reprise_routes": "t", "reprise_record": "kept"}
    run(runner, scheduled(4, {"a": call}), {"a": (4, 0, 4)})
    for first in (4, 5):
        run(runner, scheduled(1), {"a": (1, first, 4)})
    runner.execute_model(scheduled(0, finished=("a",)))
    assert np.array_equal(np.load(folder / "kept.npy"), table)
    assert counters(runner) == {
        "calls_forced": 1, "tokens_forced": 3, "tokens_verified": 3,
        "calls_routed": 1, "experts_forced": 12, "calls_recorded": 1, "passes": 3,
    }


def test_a_bypassed_router_is_noticed(folder: Path) -> None:
    runner = loaded()
    np.save(folder / "t.npy", routes(6))
    runner.bypassed = True
    run(runner, scheduled(4, {"a": {"reprise_tokens": [7, 8, 9], "reprise_routes": "t"}}), {"a": (4, 0, 4)})
    assert counters(runner)["experts_unrouted"] == 8


def test_a_table_that_vanished_is_counted_and_the_engine_lives(folder: Path) -> None:
    runner = loaded()
    assert run(runner, scheduled(4, {"a": {"reprise_tokens": [7], "reprise_routes": "gone"}}), {"a": (4, 0, 4)}) == [[7]]
    assert counters(runner)["calls_lost"] == 1


def test_the_pass_log_holds_facts_and_times(folder: Path) -> None:
    runner = loaded()
    output = scheduled(4, {"a": {}})
    setattr(output, passlog._FACTS, {"step": 0, "tokens": 4})
    run(runner, output, {"a": (4, 0, 4)})
    runner.execute_model(scheduled(0))
    (line,) = (folder / "passes.jsonl").read_text().splitlines()
    facts = json.loads(line)
    assert (facts["step"], facts["tokens"]) == (0, 4)
    assert facts["t_start_ns"] <= facts["t_end_ns"] and facts["force_ns"] >= 0


def test_an_asynchronous_pass_is_over_where_it_is_awaited(folder: Path) -> None:
    runner = loaded()
    final = SimpleNamespace(req_ids=["a"], sampled_token_ids=[[7]])
    later = SimpleNamespace(get_output=lambda: final)
    inner = runner.reprise._native_tokens
    runner.reprise._native_tokens = lambda grammar: (inner(grammar), later)[1]
    runner.schedule({"a": (4, 0, 4)})
    runner.execute_model(scheduled(4, {"a": {"reprise_tokens": [7]}}))
    out = runner.sample_tokens(None)
    assert counters(runner) == {"calls_forced": 1, "passes": 1}
    assert out.get_output() is final
    assert counters(runner) == {"calls_forced": 1, "tokens_forced": 1, "tokens_verified": 1, "passes": 1}


@pytest.mark.parametrize("parallel", [{"data_parallel_size": 2}, {"use_sequence_parallel_moe": True}, {"enable_dbo": True}])
def test_regrouped_rows_are_refused_at_start(folder: Path, parallel: dict[str, Any]) -> None:
    with pytest.raises(gate.UnsupportedServer, match="regrouped"):
        loaded(**parallel)


def test_a_dense_model_arms_tokens_only(folder: Path) -> None:
    assert loaded(experts=False).reprise.worker.armed() == "tokens; pass log"


def test_a_runner_of_another_shape_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake_vllm.Runner, "_sample", lambda self, values: None)
    with pytest.raises(gate.UnsupportedServer, match="no parameter logits, spec_decode_metadata"):
        loaded()


def test_the_status_says_what_is_armed_and_done(folder: Path) -> None:
    runner = loaded()
    told = status.of_worker(SimpleNamespace(model_runner=runner))
    assert told["armed"] == {"tokens": True, "experts": True, "record_routes": True, "pass_log": True}
    assert told["moe"] == {
        "layers": 2, "hidden_layers": 2, "top_k": 2, "experts": 4, "modular": True, "router": "CPURouter",
    }
    assert told["counters"]["passes"] == 0
    assert status.of_worker(SimpleNamespace(model_runner=object())) == {"armed": None}
