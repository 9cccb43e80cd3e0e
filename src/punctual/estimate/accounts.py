"""What things cost, by account: of each a model that learns from what they did cost.

An account is whatever is measured as one: reading the batches of some streams, answering from a unit's panes, one row
query. Nothing is predicted of an account before its first measurement.
"""

from __future__ import annotations

from collections.abc import Mapping

from punctual.estimate.linear_cost import LinearCost, Prediction


class Accounts:
    """Models by name. An account is predicted and learned by one thread."""

    def __init__(self, costs: Mapping[str, LinearCost] | None = None) -> None:
        self.costs: dict[str, LinearCost] = dict(costs or {})

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
        self.costs[name] = self.costs.get(name, guess).after(counts, used_us)
