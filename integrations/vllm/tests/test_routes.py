from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from stubs import routes

from reprise_vllm.routes import Layout, RouteFiles, check

LAYOUT = Layout(layers=2, top_k=2, experts=4)


def test_a_saved_table_reads_back(tmp_path: Path) -> None:
    files, table = RouteFiles(tmp_path), routes(3)
    files.save("a", table)
    assert np.array_equal(files.open("a"), table)
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", np.array([object()]), allow_pickle=True)
    with pytest.raises(ValueError, match="Python objects"):
        RouteFiles(tmp_path).open("p")


def test_archives_are_not_tables(tmp_path: Path) -> None:
    np.savez(tmp_path / "z.npz", a=routes(1))
    (tmp_path / "z.npz").rename(tmp_path / "z.npy")
    with pytest.raises(ValueError, match="archive"):
        RouteFiles(tmp_path).open("z")


def changed(position: int, layer: int, ids: list[int]) -> np.ndarray:
    table = routes(3).astype(np.int16)
    table[position, layer] = ids
    return table


@pytest.mark.parametrize(
    "table", [routes(3), changed(1, 0, [-1, -1]), changed(2, 1, [0, 0]), changed(0, 0, [3, 1])],
    ids=["plain", "hole", "layer without experts", "any order"],
)
def test_tables_that_can_be_forced(table: np.ndarray) -> None:
    assert check(table, LAYOUT, 3) is None


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (routes(4), "covers 4 positions, this call computes 3"),
        (routes(3, layers=3), "3 layers of top 2, the model has 2 of top 2"),
        (routes(3, top_k=1), "2 layers of top 1"),
        (routes(3).astype(np.float32), "float32, expected integers"),
        (routes(3)[0], "2 dimensions"),
        (changed(0, 0, [4, 1]), r"outside -1\.\.3"),
        (changed(0, 0, [-2, 1]), r"outside -1\.\.3"),
        (changed(0, 0, [-1, 1]), "native in part"),
        (changed(0, 0, [3, 3]), "twice"),
    ],
)
def test_tables_that_cannot_be_forced(table: np.ndarray, reason: str) -> None:
    import re

    wrong = check(table, LAYOUT, 3)
    assert wrong is not None and re.search(reason, wrong)
