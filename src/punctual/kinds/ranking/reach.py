"""How far down a ranking has to be read: numbers about work, before there are any rows.

A walk for k ends once fewer than k better rows exist with a probability of at most eps. By Chernoff's bound that is so
at the latest where the probabilities of the rows read add up to :func:`mass_read`.
"""

from __future__ import annotations

from math import log

import numpy as np

from punctual.kernel.synopses.ranked_rows import SPARED
from punctual.kernel.world.rank_walk import EPS, enough_mass

__all__ = ["SPARED", "mass_read"]


def mass_read(k: int, eps: float = EPS) -> float:
    """The sum of probabilities after which no row may be among the k best any more.

    >>> round(mass_read(1)), round(mass_read(100)), round(mass_read(100, 1e-3))
    (41, 219, 141)
    """
    return float(enough_mass(np.array([k]), log(eps))[0])
