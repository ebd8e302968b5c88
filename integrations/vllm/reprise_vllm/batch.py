"""The rows of one pass: which positions of which request stand where in the flat batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Rows:
    """``stop - start`` rows that hold the positions from ``position`` on of one request."""

    request: str
    start: int
    stop: int
    position: int


@dataclass(frozen=True)
class Batch:
    """A pass as both runners describe it.

    ``starts[i]:starts[i+1]`` are the rows of ``requests[i]``, whose first row is the position
    ``computed[i]`` of prompt + output. ``rows`` counts all rows, padding included.
    """

    requests: Sequence[str]
    starts: npt.NDArray[np.integer]
    computed: npt.NDArray[np.integer]
    rows: int

    def __iter__(self) -> Iterator[Rows]:
        for i, request in enumerate(self.requests):
            yield Rows(request, int(self.starts[i]), int(self.starts[i + 1]), int(self.computed[i]))
