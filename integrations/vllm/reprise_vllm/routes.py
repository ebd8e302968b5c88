"""Route tables on disk: the experts of every position of a call.

A table is a ``.npy`` file of shape [positions, layers, top_k] with integer ids: row i is position i
of prompt + output, layers are all hidden layers of the model in order (what vLLM's own returned
routes look like). A call of P prompt and N output tokens computes P + N - 1 positions. A row of a
layer is either all -1 (native) or ids of distinct experts; layers without experts hold zeros.

Tables are named in requests, never sent: the folder is the server's.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.integer]

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")


@dataclass(frozen=True)
class Layout:
    """The routing shape of a model."""

    layers: int
    top_k: int
    experts: int


class RouteFiles:
    """The tables of one folder, by name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, name: str) -> Path:
        """Raises ValueError for a name that could leave the folder."""
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a name of letters, digits, '_', '-' and '.'")
        return self._folder / f"{name}.npy"

    def exists(self, name: str) -> bool:
        return self.path(name).exists()

    def open(self, name: str) -> Table:
        """The table, mapped. Raises ValueError or OSError if there is none that can be read."""
        table = np.load(self.path(name), mmap_mode="r", allow_pickle=False)
        if not isinstance(table, np.ndarray):
            table.close()
            raise ValueError(f"{name}.npy is an archive, not one array")
        return table

    def save(self, name: str, table: Table) -> None:
        """Write under a temporary name and rename: a reader sees all of it or nothing."""
        path = self.path(name)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        with temporary.open("wb") as file:
            np.save(file, table, allow_pickle=False)
        os.replace(temporary, path)


def check(table: Table, layout: Layout, positions: int) -> str | None:
    """Why ``table`` cannot be forced on a call that computes ``positions``; None if it can."""
    if table.dtype.kind not in "iu":
        return f"holds {table.dtype}, expected integers"
    if table.ndim != 3:
        return f"has {table.ndim} dimensions, expected [positions, layers, top_k]"
    if table.shape[0] != positions:
        return f"covers {table.shape[0]} positions, this call computes {positions}"
    if table.shape[1:] != (layout.layers, layout.top_k):
        return (
            f"has {table.shape[1]} layers of top {table.shape[2]}, "
            f"the model has {layout.layers} of top {layout.top_k}"
        )
    return _check_ids(np.asarray(table, dtype=np.int32), layout.experts)


def _check_ids(ids: npt.NDArray[np.int32], experts: int) -> str | None:
    if bool((ids < -1).any()) or bool((ids >= experts).any()):
        return f"holds ids outside -1..{experts - 1}"
    hole = ids < 0
    if bool((hole.any(-1) & ~hole.all(-1)).any()):
        return "has rows that are native in part: -1 must fill a whole row of a layer"
    ordered = np.sort(ids, axis=-1)
    repeated = (ordered[..., 1:] == ordered[..., :-1]).any(-1)
    # -1 repeats in holes, 0 in layers without experts.
    filler = hole.all(-1) | (ids == 0).all(-1)
    if bool((repeated & ~filler).any()):
        return "names an expert twice in one row"
    return None
