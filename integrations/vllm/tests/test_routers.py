from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import fake_vllm  # noqa: E402

from reprise_vllm import gate, routers  # noqa: E402
from reprise_vllm.routes import Layout  # noqa: E402
from reprise_vllm.table import ForcedRoutes  # noqa: E402

LAYOUT = Layout(fake_vllm.LAYERS, fake_vllm.TOP_K, fake_vllm.EXPERTS)


@pytest.fixture(autouse=True)
def vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_vllm.install(monkeypatch)


def bind(layers: list[fake_vllm.MoERunner]) -> tuple[routers.BoundRouters, ForcedRoutes]:
    forced = ForcedRoutes(4, LAYOUT, "cpu")
    return routers.bind(layers, fake_vllm.HIDDEN, torch.float32, "cpu", forced, None, False), forced


def test_layers_are_found_in_order() -> None:
    model = torch.nn.ModuleList([fake_vllm.MoERunner(2), fake_vllm.MoERunner(0)])
    assert [layer.layer_id for layer in routers.find(model)] == [0, 2]


def test_forced_ids_are_captured_and_then_mapped_to_physical_experts() -> None:
    layer = fake_vllm.MoERunner(1)
    _, forced = bind([layer])
    forced.buffer[0, 1] = torch.tensor([0, 2])
    forced.active = True
    _, physical = layer.router.select(torch.zeros(1, fake_vllm.HIDDEN), torch.arange(4.0).expand(1, 4))
    assert layer.router.captured.tolist() == [[0, 2]]
    assert physical.tolist() == [[100, 102]]


def test_kernels_that_route_inside_are_refused_before_anything_is_wrapped() -> None:
    good, bad = fake_vllm.MoERunner(0), fake_vllm.MoERunner(1, monolithic=True)
    native = good.router._compute_routing
    with pytest.raises(gate.UnsupportedServer, match="layer 1 routes inside its kernel"):
        bind([good, bad])
    assert good.router._compute_routing == native


def test_a_router_that_weighs_otherwise_is_refused() -> None:
    layer = fake_vllm.MoERunner(0)
    native = layer.router._compute_routing
    layer.router._compute_routing = lambda hidden_states, router_logits, indices_type, input_ids=None: (
        native(hidden_states, router_logits, indices_type)[0] * 2,
        native(hidden_states, router_logits, indices_type)[1],
    )
    with pytest.raises(gate.UnsupportedServer, match="differ from the stated rule by"):
        bind([layer])
