"""Reprise inside vLLM: the server side of an exact replay.

A request may carry recorded output ids (``reprise_tokens``), the name of recorded expert
routes (``reprise_routes``), or a name under which its own routes are kept (``reprise_record``).
The engine computes as always; only the choice of the token and of the experts is replaced.
Requests without these keys pass through untouched.

``register`` is vLLM's general plug-in entry point. It runs in the API process, the engine core
and every worker, so it imports nothing of vLLM: it only names what is to be wrapped once vLLM
imports it.
"""

from __future__ import annotations

from typing import Any

from . import hooks

__version__ = "0.1.0"

_registered = False


def register() -> None:
    """Arrange all hooks. Called several times in some processes; only the first call counts."""
    global _registered
    if _registered:
        return
    _registered = True
    hooks.on_import("vllm.v1.engine.input_processor", _admission)
    hooks.on_import("vllm.v1.core.sched.scheduler", _scheduler)
    hooks.on_import("vllm.v1.worker.worker_base", _worker)
    hooks.on_import("vllm.v1.worker.gpu_model_runner", _runner_v1)
    hooks.on_import("vllm.v1.worker.cpu_model_runner", _runner_cpu)
    hooks.on_import("vllm.v1.worker.gpu.model_runner", _runner_v2)


def _admission(module: Any) -> None:
    from . import admission

    admission.install(module.InputProcessor, module.VLLMValidationError)


def _scheduler(module: Any) -> None:
    from . import passlog, settings

    if settings.current().pass_log is not None:
        passlog.install(module.Scheduler)


def _worker(module: Any) -> None:
    from . import status

    module.WorkerBase.reprise_status = status.of_worker


def _runner_v1(module: Any) -> None:
    from . import attach, runner_v1

    attach.after_load(module.GPUModelRunner, runner_v1.RunnerV1)


def _runner_cpu(module: Any) -> None:
    from . import attach, runner_v1

    # The CPU runner has a load_model of its own, which does not call the one it inherits.
    if "load_model" in vars(module.CPUModelRunner):
        attach.after_load(module.CPUModelRunner, runner_v1.RunnerV1)


def _runner_v2(module: Any) -> None:
    from . import attach, runner_v2

    attach.after_load(module.GPUModelRunner, runner_v2.RunnerV2)
