from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import reprise_vllm
from reprise_vllm import hooks


@pytest.fixture
def hooked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What register() waits for."""
    waiting: dict[str, Any] = {}
    monkeypatch.setattr(hooks, "on_import", lambda name, hook: waiting.setdefault(name, []).append(hook))
    monkeypatch.setattr(reprise_vllm, "_registered", False)
    return waiting


def test_only_the_first_call_counts(hooked: dict[str, Any]) -> None:
    reprise_vllm.register()
    reprise_vllm.register()
    assert {name: len(waiting) for name, waiting in hooked.items()} == {
        "vllm.v1.engine.input_processor": 1,
        "vllm.v1.core.sched.scheduler": 1,
        "vllm.v1.worker.worker_base": 1,
        "vllm.v1.worker.gpu_model_runner": 1,
        "vllm.v1.worker.cpu_model_runner": 1,
        "vllm.v1.worker.gpu.model_runner": 1,
    }


@pytest.mark.parametrize("on", [True, False])
def test_the_scheduler_is_touched_only_for_a_pass_log(
    hooked: dict[str, Any], monkeypatch: pytest.MonkeyPatch, on: bool
) -> None:
    monkeypatch.setenv("REPRISE_PASS_LOG", "passes.jsonl" if on else "")
    reprise_vllm.register()

    class Scheduler:
        def schedule(self) -> None: ...

    native = Scheduler.schedule
    hooked["vllm.v1.core.sched.scheduler"][0](SimpleNamespace(Scheduler=Scheduler))
    assert (Scheduler.schedule is not native) == on
