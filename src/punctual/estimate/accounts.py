"""What things cost, by account: of each a model that learns from what they did cost.

An account is whatever is measured as one: reading the batches of some streams, answering from a unit's panes, one row
query. Nothing is predicted of an account before its first measurement. Streams come together in ever other ways, and
units come and go with their queries, so only the accounts that were used last are kept.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from punctual.estimate.linear_cost import LinearCost, Prediction

MOST = 256
"""So many are kept: a kilobyte each in the state."""


class Accounts:
    """Models by name, the one that was used last at the end. An account is predicted and learned by one thread."""

    def __init__(self, costs: Mapping[str, LinearCost] | None = None) -> None:
        self.costs: dict[str, LinearCost] = dict([*(costs or {}).items()][-MOST:])
        self._mutex = threading.Lock()

    def predict(self, name: str, counts: Mapping[str, float]) -> Prediction | None:
        """What so much will cost.

        >>> accounts = Accounts()
        >>> accounts.predict("reading", {"rows": 10}) is None
        True
        >>> accounts.learn("reading", {"rows": 10}, 500.0, LinearCost.guessed(100, rows=1))
        >>> accounts.predict("reading", {"rows": 10}).high_us > 0
        True
        """
        known = self.costs.get(name)
        return None if known is None or not known.seen else known.predict(counts)

    def learn(self, name: str, counts: Mapping[str, float], used_us: float, guess: LinearCost) -> None:
        """So much did cost this."""
        with self._mutex:
            known = self.costs.pop(name, guess)
            self.costs[name] = known.after(counts, used_us)
            while len(self.costs) > MOST:
                del self.costs[next(iter(self.costs))]
