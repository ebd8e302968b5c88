"""The routes of the pass in flight, at one fixed place in device memory.

CUDA graphs bake in the tensors they saw, so the table is allocated once and only overwritten
(spec/live.md A.14). Written for graphs and tested by shape; not yet run on a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from .batch import Batch
from .routes import Layout, Table

NATIVE = -1


class ForcedRoutes:
    """A buffer int32 [rows, layers, top_k] on the device; NATIVE where the router decides."""

    def __init__(self, rows: int, layout: Layout, device: Any) -> None:
        shape = (rows, layout.layers, layout.top_k)
        self.buffer = torch.full(shape, NATIVE, dtype=torch.int32, device=device)
        # On a CPU the buffer is its own host side.
        self._host = self.buffer if self.buffer.device.type == "cpu" else torch.full(shape, NATIVE, dtype=torch.int32)
        self._written = 0
        self.active = False
        """Whether any row of this pass is forced."""

    def fill(self, batch: Batch, tables: Mapping[str, Table]) -> int:
        """Overwrite the buffer with the rows of a pass; returns the number of forced positions x layers.

        Positions past the end of a table and padding rows are native. The copy is synchronous: the
        host side is reused by the next pass.
        """
        self._host[: self._written] = NATIVE
        forced, end = 0, 0
        view = self._host.numpy()
        for rows in batch:
            table = tables.get(rows.request)
            if table is None:
                continue
            part = table[rows.position : rows.position + rows.stop - rows.start]
            if not len(part):
                continue
            view[rows.start : rows.start + len(part)] = part
            forced += int(np.count_nonzero(view[rows.start : rows.start + len(part), :, 0] >= 0))
            end = max(end, rows.start + len(part))
        extent = max(end, self._written)
        if self._host is not self.buffer and extent:
            self.buffer[:extent].copy_(self._host[:extent])
        self._written, self.active = end, forced > 0
        return forced


class SeenRoutes:
    """The logical ids that routers chose in this pass, and what was seen of each call so far."""

    def __init__(self, rows: int, layout: Layout, device: Any) -> None:
        self._layout = layout
        self.buffer = torch.full((rows, layout.layers, layout.top_k), NATIVE, dtype=torch.int32, device=device)
        self._calls: dict[str, Table] = {}

    @property
    def active(self) -> bool:
        """Whether any call is being recorded."""
        return bool(self._calls)

    def begin(self, request: str, positions: int) -> None:
        """Record a call that computes at most ``positions``; those it never computes stay NATIVE."""
        self._calls.setdefault(
            request, np.full((positions, self._layout.layers, self._layout.top_k), NATIVE, np.int16)
        )

    def collect(self, batch: Batch) -> None:
        """After the forward pass: keep the rows of recorded calls."""
        if not self._calls:
            return
        seen = self.buffer[: batch.rows].cpu().numpy()
        for rows in batch:
            table = self._calls.get(rows.request)
            if table is not None:
                table[rows.position : rows.position + rows.stop - rows.start] = seen[rows.start : rows.stop]

    def end(self, request: str) -> Table | None:
        """The routes of a finished call, up to the last position computed; None if it was not recorded."""
        table = self._calls.pop(request, None)
        if table is None:
            return None
        computed = np.flatnonzero((table >= 0).any(axis=(1, 2)))
        return table[: int(computed[-1]) + 1 if len(computed) else 0]
