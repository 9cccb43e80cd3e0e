"""Which instants a committed batch releases: complete in every stream that a query reads, and not released before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from punctual.clock import Micros
from punctual.schedule.cohorts import Cohort
from punctual.schedule.contract import Reach, joint_reach
from punctual.schedule.due import BEGINNING, Due, parts
from punctual.schedule.events import StopQuery

MAX_INSTANTS_PER_RELEASE = 10_000_000
"""A query that would have to answer more instants at once is stopped: nobody waits for so many answers."""
MAX_INSTANTS_PER_STEP = 10_000
"""A live stream that was silent for long catches up by so many instants, then rows are looked for again."""


def due_instants(
    cohorts: Iterable[Cohort], reaches: Mapping[str, Reach], released: Mapping[str, Micros]
) -> list[tuple[Cohort, Due]]:
    """What is due of every cohort that has any; those with one timetable have the same object.

    ``released`` says through when everything of a stream was released before.
    """
    found: list[tuple[Cohort, Due]] = []
    same: dict[tuple[int, tuple[str, ...], Micros], Due] = {}
    known: dict[tuple[str, ...], tuple[Micros, Reach]] = {}
    for cohort in cohorts:
        contract = cohort.one
        if contract.streams not in known:
            before = min(released.get(name, BEGINNING) for name in contract.streams)
            known[contract.streams] = before, joint_reach(reaches, contract.streams)
        before, reach = known[contract.streams]
        after = max(contract.after, before)
        if reach.through <= after:
            continue
        which = (id(contract.table), contract.streams, after)
        if which not in same:
            same[which] = contract.table.due(reach.least, after, reach.through)
        found.append((cohort, same[which]))
    some = {id(due) for due in same.values() if due.most}
    return [(cohort, due) for cohort, due in found if id(due) in some]


def stop_runaways(dues: Iterable[tuple[Cohort, Due]]) -> list[StopQuery]:
    """Stop the queries that would have too much to answer at once."""
    found: list[tuple[int, StopQuery]] = []
    for cohort, due in dues:
        count = due.most
        if count > MAX_INSTANTS_PER_RELEASE:
            fact = f"{count:,} instants are due at once, and a query may have {MAX_INSTANTS_PER_RELEASE:,}"
            hint = "a longer PERIOD or SLIDE has fewer; rows far in the past can be left out: SET earliest"
            found += [(place, StopQuery(query, fact, hint)) for place, query in zip(cohort.places, cohort.queries)]
    return [stop for _place, stop in sorted(found, key=lambda one: one[0])]


def one_step(dues: list[tuple[Cohort, Due]], through: Mapping[str, Micros]) -> dict[str, Micros]:
    """How far silent streams are completed before others have their turn; nowhere where that releases no instant.

    Old rows in a live stream may release millions.
    """
    if sum(due.most * len(cohort) for cohort, due in dues) <= MAX_INSTANTS_PER_STEP:
        return dict(through) if dues else {}
    several = [due for cohort, due in dues for _query in cohort.queries]
    _start, stop = next(parts(several, MAX_INSTANTS_PER_STEP))
    return {name: min(at, stop) for name, at in through.items()}
