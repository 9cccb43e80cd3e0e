"""How many rounds CONFIDENCE asks for, by how much results vary between the worlds that were drawn."""

from __future__ import annotations

import numpy as np

from punctual.kinds.worlds.summaries import Summaries
from punctual.plan.worlds import Effort

MOST_ROUNDS = 1_000_000
"""A half-width that needs more is out of reach."""


def needed_rounds(effort: Effort, said: Summaries, rounds: int) -> int:
    """How many rounds the widest interval asks for, if results vary as much as they did so far."""
    assert effort.confidence is not None
    widths, values = said.half_widths(effort.confidence)
    known = np.isfinite(widths) & np.isfinite(values)
    if not known.any():
        return rounds
    within = np.zeros(widths.size) if effort.absolute is None else np.full(widths.size, effort.absolute)
    if effort.relative is not None:
        within = np.maximum(within, effort.relative * np.abs(values))
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.where(widths[known] > 0, (widths[known] / within[known]) ** 2, 0.0)
    most = float(times.max())
    return MOST_ROUNDS + 1 if not np.isfinite(most) else int(min(np.ceil(most * rounds), MOST_ROUNDS + 1))
