from __future__ import annotations

import numpy as np
import pytest
from stubs import routes

torch = pytest.importorskip("torch")

from reprise_vllm.batch import Batch  # noqa: E402
from reprise_vllm.routes import Layout  # noqa: E402
from reprise_vllm.table import NATIVE, ForcedRoutes, SeenRoutes  # noqa: E402

LAYOUT = Layout(layers=2, top_k=2, experts=4)


def batch(*rows: tuple[str, int, int], padded: int = 0) -> Batch:
    """(request, rows, first position) each."""
    starts = np.cumsum([0] + [n for _, n, _ in rows])
    return Batch([r for r, _, _ in rows], starts, np.array([p for _, _, p in rows]), int(starts[-1]) + padded)


def test_rows_get_the_routes_of_their_positions() -> None:
    table = routes(6).astype(np.int16)
    table[:, 0, 0] = [0, 0, 3, 2, 0, 0]
    table[:, 0, 1] = 1
    forced = ForcedRoutes(8, LAYOUT, "cpu")
    assert forced.fill(batch(("x", 2, 0), ("a", 2, 2)), {"a": table}) == 4
    assert forced.buffer[2:4, 0, 0].tolist() == [3, 2]
    assert forced.buffer[:2].unique().tolist() == [NATIVE]
    assert forced.active


def test_the_buffer_keeps_its_place() -> None:
    forced = ForcedRoutes(8, LAYOUT, "cpu")
    place = forced.buffer.data_ptr()
    for position in range(4):
        forced.fill(batch(("a", 1, position)), {"a": routes(4)})
    assert forced.buffer.data_ptr() == place
    assert tuple(forced.buffer.shape) == (8, 2, 2)


def test_nothing_of_the_last_pass_stays() -> None:
    forced = ForcedRoutes(8, LAYOUT, "cpu")
    forced.fill(batch(("a", 4, 0)), {"a": routes(4)})
    assert forced.fill(batch(("x", 2, 0)), {"a": routes(4)}) == 0
    assert forced.buffer.unique().tolist() == [NATIVE]
    assert not forced.active


def test_positions_past_the_table_are_native() -> None:
    forced = ForcedRoutes(8, LAYOUT, "cpu")
    assert forced.fill(batch(("a", 4, 2)), {"a": routes(4)}) == 4
    assert forced.buffer[2:].unique().tolist() == [NATIVE]


def test_holes_are_not_counted() -> None:
    table = routes(2).astype(np.int16)
    table[0, 1] = NATIVE
    forced = ForcedRoutes(8, LAYOUT, "cpu")
    assert forced.fill(batch(("a", 2, 0)), {"a": table}) == 3


def test_chunks_join_into_the_routes_of_a_call() -> None:
    seen = SeenRoutes(8, LAYOUT, "cpu")
    seen.begin("a", 6)
    for first, count in ((1, 2), (3, 2)):  # position 0 came from the prefix cache
        seen.buffer[: count] = first
        seen.collect(batch(("a", count, first), ("x", 1, 0)))
    table = seen.end("a")
    assert table is not None
    assert table[:, 0, 0].tolist() == [NATIVE, 1, 1, 3, 3]
    assert not seen.active and seen.end("a") is None
