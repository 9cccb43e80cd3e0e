"""Best effort: nothing gives way, and what is late is late."""

from __future__ import annotations

from punctual.schedule.qos.verdict import Verdict


def best_effort() -> Verdict:
    """Everybody uses everything."""
    return Verdict()
