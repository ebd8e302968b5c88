"""``GET /reprise/v1/status``: what this server can force, and what it has forced so far.

A client reads it before a run to choose its way, and after it to hold the counters against its
own. vLLM serves it only if ``reprise_status`` is named in ``VLLM_PLUGINS``.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from . import __version__, admission

PATH = "/reprise/v1/status"


class StatusEndpoint:
    """vLLM's endpoint plug-in protocol."""

    name = "reprise_status"
    required_tasks = ("generate",)

    def attach_router(self, app: Any) -> None:
        async def status() -> dict[str, Any]:
            return await report(app.state.reprise_engine)

        app.add_api_route(PATH, status, methods=["GET"])

    async def init_state(self, engine_client: Any, state: Any, args: Any) -> None:
        state.reprise_engine = engine_client


async def report(engine: Any) -> dict[str, Any]:
    """The whole answer. ``counters`` are those of the first rank: every rank forces the same ids.

    ``admission`` counts the calls of this API process.
    """
    workers = await engine.collective_rpc("reprise_status")
    config = engine.vllm_config
    first = workers[0]
    return {
        "package": "reprise-vllm",
        "version": __version__,
        "vllm": _vllm_version(),
        "runner": first.get("runner"),
        "armed": first.get("armed"),
        "moe": first.get("moe"),
        "async_scheduling": bool(config.scheduler_config.async_scheduling),
        "native_token_replay": bool(getattr(config.model_config, "enable_trace_replay", False)),
        "returns_routes": bool(config.aux_output_config.enable_return_routed_experts),
        "speculative": config.speculative_config is not None,
        "max_model_len": config.model_config.max_model_len,
        "vocabulary": config.model_config.get_vocab_size(),
        "counters": first.get("counters"),
        "admission": asdict(admission.counts),
        "workers": workers,
    }


def _vllm_version() -> str:
    import vllm

    return str(vllm.__version__)
