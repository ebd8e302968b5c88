"""What was done to the calls of this process, counted; the client reads it around a run."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass
class Counters:
    """Counts since the server started; they only grow."""

    calls_forced: int = 0
    """Calls with forced tokens that reached the runner."""

    tokens_forced: int = 0
    """Sampled ids that were replaced by recorded ones (rows of unfinished prefills left out)."""

    tokens_verified: int = 0
    """Ids that left the runner and equal the recorded ones."""

    tokens_wrong: int = 0
    """Ids that left the runner and differ; anything but 0 is a bug here."""

    calls_routed: int = 0
    """Calls with forced routes that reached the runner."""

    experts_forced: int = 0
    """(position, layer) choices that were replaced by recorded ones."""

    experts_unrouted: int = 0
    """(position, layer) choices of passes in which some router did not run (counted when eager)."""

    calls_lost: int = 0
    """Calls whose route table could not be read after admission; they ran natively."""

    calls_recorded: int = 0
    """Calls whose routes were kept."""

    passes: int = 0
    """Engine passes of this worker."""

    def as_dict(self) -> dict[str, int]:
        return asdict(self)
