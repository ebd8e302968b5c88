"""Passes through Model Runner V2: tokens are the server's, experts and the pass log ours."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import fake_vllm  # noqa: E402
from fake_vllm import scheduled  # noqa: E402
from stubs import routes  # noqa: E402

from reprise_vllm import attach, gate  # noqa: E402
from reprise_vllm.runner_v2 import RunnerV2  # noqa: E402


class Runner(fake_vllm.Runner):
    """The same arithmetic behind V2's methods: rows are known from what prepare_inputs returns."""

    padding = 2

    def execute_model(self, scheduler_output: Any, intermediate_tensors: Any = None, dummy_run: bool = False) -> None:
        if scheduler_output.total_num_scheduled_tokens:
            inputs = self.prepare_inputs(scheduler_output)
            self._model_forward(torch.zeros(inputs.num_tokens_after_padding), None)

    def prepare_inputs(self, scheduler_output: Any) -> Any:
        batch = self.input_batch
        return SimpleNamespace(
            req_ids=batch.req_ids, query_start_loc_np=self.query_start_loc.np,
            num_computed_tokens_np=batch.num_computed_tokens_cpu,
            num_tokens_after_padding=scheduler_output.total_num_scheduled_tokens + self.padding,
        )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    fake_vllm.install(monkeypatch)
    monkeypatch.setenv("REPRISE_ROUTES_DIR", str(tmp_path))
    monkeypatch.setenv("REPRISE_RECORD_ROUTES", "1")
    return tmp_path


def loaded(kind: type = Runner) -> Any:
    made: type = type("Loaded", (kind,), {})
    attach.after_load(made, RunnerV2)
    runner = made()
    runner.load_model()
    return runner


def run(runner: Any, output: Any, rows: dict[str, tuple[int, int, int]]) -> list[list[int]]:
    runner.schedule(rows)
    runner.execute_model(output)
    ids: list[list[int]] = runner.sample_tokens(None).sampled_token_ids
    return ids


def counters(runner: Any) -> dict[str, int]:
    return {k: v for k, v in runner.reprise.worker.counters.as_dict().items() if v}


def test_routes_are_forced_recorded_and_kept_while_sampling_stays_native(folder: Path) -> None:
    runner = loaded()
    table = routes(6)
    np.save(folder / "t.npy", table)
    first = scheduled(5, {"a": {"reprise_routes": "t", "reprise_record": "kept"}, "b": {}})
    assert run(runner, first, {"b": (1, 0, 1), "a": (4, 0, 4)}) == [[1], [1]]
    for position in (4, 5):
        run(runner, scheduled(1), {"a": (1, position, 4)})
    runner.execute_model(scheduled(0, finished=("a",)))
    assert np.array_equal(np.load(folder / "kept.npy"), table)
    assert counters(runner) == {"calls_routed": 1, "experts_forced": 12, "calls_recorded": 1, "passes": 3}


def test_a_call_that_comes_back_after_preemption_keeps_its_table_and_its_record(folder: Path) -> None:
    runner = loaded()
    table = routes(6)
    np.save(folder / "t.npy", table)
    call = {"a": {"reprise_routes": "t", "reprise_record": "kept"}}
    run(runner, scheduled(4, call), {"a": (4, 0, 4)})
    # V2 announces a resumed request as a new one, and computes it again from the start.
    run(runner, scheduled(5, call), {"a": (5, 0, 4)})
    run(runner, scheduled(1), {"a": (1, 5, 4)})
    runner.execute_model(scheduled(0, finished=("a",)))
    assert np.array_equal(np.load(folder / "kept.npy"), table)
    assert counters(runner)["calls_routed"] == 1


@pytest.mark.parametrize("how", [((None, True), {}), ((), {"dummy_run": True})], ids=["positional", "by name"])
def test_dummy_runs_are_no_passes(folder: Path, how: tuple[tuple[Any, ...], dict[str, Any]]) -> None:
    runner = loaded()
    runner.execute_model(scheduled(3), *how[0], **how[1])
    assert counters(runner) == {}


def test_a_runner_of_another_shape_is_refused(folder: Path) -> None:
    class Renamed(Runner):
        def prepare_inputs(self, output: Any) -> Any:  # type: ignore[override]
            return None

    with pytest.raises(gate.UnsupportedServer, match="no parameter scheduler_output"):
        loaded(Renamed)
