from __future__ import annotations

import asyncio
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from stubs import model

from reprise_vllm import __version__, admission, endpoint

WORKERS = [
    {"rank": 0, "runner": "v1", "armed": {"tokens": True}, "moe": None, "counters": {"passes": 7}},
    {"rank": 1, "runner": "v1", "armed": {"tokens": True}, "moe": None, "counters": {"passes": 8}},
]


class Engine:
    """vLLM's engine client; ``collective_rpc`` asks all workers."""

    vllm_config = SimpleNamespace(
        model_config=model(), scheduler_config=SimpleNamespace(async_scheduling=True),
        aux_output_config=SimpleNamespace(enable_return_routed_experts=False), speculative_config=None,
    )

    async def collective_rpc(self, method: str) -> list[dict[str, Any]]:
        assert method == "reprise_status"
        return WORKERS


class App:
    """FastAPI as far as a plug-in uses it."""

    def __init__(self) -> None:
        self.state = SimpleNamespace()
        self.routes: dict[str, Any] = {}

    def add_api_route(self, path: str, handler: Any, methods: list[str]) -> None:
        self.routes[path] = (methods, handler)


@pytest.fixture(autouse=True)
def vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("vllm")
    module.__version__ = "0.32.0"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", module)


def test_the_route_answers_with_capabilities_and_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "counts", admission.Admissions(admitted=3, refused=1))
    plugin, app = endpoint.StatusEndpoint(), App()
    plugin.attach_router(app)
    asyncio.run(plugin.init_state(Engine(), app.state, None))
    methods, handler = app.routes[endpoint.PATH]
    assert methods == ["GET"]
    told = asyncio.run(handler())
    assert (told["version"], told["vllm"], told["runner"]) == (__version__, "0.32.0", "v1")
    assert (told["vocabulary"], told["max_model_len"], told["async_scheduling"]) == (100, 32, True)
    assert (told["native_token_replay"], told["returns_routes"], told["speculative"]) == (False, False, False)
    assert told["counters"] == {"passes": 7}, "those of rank 0"
    assert told["admission"] == {"admitted": 3, "refused": 1}
    assert told["workers"] == WORKERS
