"""Who gets the core time that no essential work needs: a draw by weight.

In the best plan the bonus of queries in one constraint interval is in proportion to their essential times. A query can
only be drawn while it is alive and its essential part is done, which is for ``l - tau / m`` of its lifetime l, with
essential time tau on m cores. So it is drawn by ``tau / (l - tau / m)``, and over its lifetime it comes out even
(Theorem 4 of the paper, a statement of large numbers). A query that has nearly no time beside its essential part would
be drawn always: the denominator is at least one joblet.
"""

from __future__ import annotations

from punctual.schedule.online.draws import by_weight, uniform
from punctual.schedule.online.state import Alive, State


def drawn_for_bonus(state: State) -> Alive | None:
    """Whose joblet a free core gets next; None where nobody has time for a round before its deadline or a release."""
    begins, release = state.core_free_at, state.next_release
    weights = [one.weight if min(one.deadline, release) - begins >= one.one_round else 0.0 for one in state.alive]
    place = by_weight(weights, uniform(state.rules.seed, state.draws))
    return None if place is None else state.alive[place]
