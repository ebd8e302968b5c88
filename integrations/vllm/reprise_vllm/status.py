"""What a worker can do and has done, as plain data; asked over vLLM's collective RPC."""

from __future__ import annotations

from typing import Any

from . import routers


def of_worker(vllm_worker: Any) -> dict[str, Any]:
    """Capabilities and counters of one worker. Installed as ``WorkerBase.reprise_status``."""
    attached = getattr(vllm_worker.model_runner, "reprise", None)
    if attached is None:
        return {"armed": None}
    worker = attached.worker
    layers = worker.moe_layers
    return {
        "rank": worker.rank,
        "runner": worker.kind,
        "runner_class": type(vllm_worker.model_runner).__name__,
        "graphs": worker.graphs,
        "armed": {
            "tokens": worker.kind == "v1",
            "experts": worker.bound is not None,
            "record_routes": worker.seen is not None,
            "pass_log": worker.pass_log is not None,
        },
        "moe": {
            "layers": len(layers),
            "hidden_layers": worker.layout.layers,
            "top_k": worker.layout.top_k,
            "experts": worker.layout.experts,
            "modular": all(routers.is_modular(layer) for layer in layers),
            "router": type(layers[0].router).__name__,
        }
        if layers
        else None,
        "counters": worker.counters.as_dict(),
    }
