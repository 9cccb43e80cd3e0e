"""The firings of a pass as job groups: which of its queries are answered as one.

What is asked follows from the program, so it is worked out once for each cohort and setting, and not for every pass.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from punctual.engine.program.programs import Programs
from punctual.estimate.window_work import Work
from punctual.kinds.asked import AskedTogether, asked, form
from punctual.kinds.job_group import JobGroup
from punctual.plan.shared import Reader, RowReader
from punctual.schedule.cohorts import Cohort
from punctual.schedule.firings import FiringGroup

MAX_KNOWN = 4_096
Forms = list[tuple[list[int], AskedTogether]]
"""Members of a cohort that are answered as one, and what they ask."""


class PassJobs:
    """Makes jobs of firings, for the program that runs."""

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        self._readers: Mapping[str, Reader | RowReader] = {}
        self._known: dict[tuple[int, float | None], tuple[Cohort, Forms]] = {}
        """By the identity of the cohort, which is kept with it."""

    def of(self, firings: Sequence[FiringGroup]) -> list[JobGroup]:
        """The jobs of a pass. Each query's firings are in one of them, unless their settings or numbers differ."""
        if self._readers is not self._programs.readers or len(self._known) >= MAX_KNOWN:
            self._readers = self._programs.readers
            self._known.clear()
        found = []
        for group in joined(firings):
            for members, together in self._forms(group.cohort, group.setting):
                late = None if group.late is None else group.late[members]
                found.append(
                    JobGroup(
                        together, group.due, group.number, group.released, late, setting=group.setting,
                        level=group.level, budget_us=group.budget_us,
                    )
                )  # fmt: skip
        return found

    def _forms(self, cohort: Cohort, setting: float | None) -> Forms:
        known = self._known.get((id(cohort), setting))
        if known is None:
            known = self._known[id(cohort), setting] = cohort, self._made(cohort, setting)
        return known[1]

    def _made(self, cohort: Cohort, setting: float | None) -> Forms:
        types, state = self._programs.running.types, self._programs.state.queries
        works = self._programs.running.timing.works
        each = [asked(self._readers[query], types[query], setting) for query in cohort.queries]
        by_form: dict[Hashable, list[int]] = {}
        for number, one in enumerate(each):
            by_form.setdefault(form(one), []).append(number)
        found = []
        for members in by_form.values():
            queries = [cohort.queries[n] for n in members]
            together = AskedTogether(
                tuple(each[n] for n in members),
                np.array([cohort.places[n] for n in members], np.int64),
                np.array([state[query].after for query in queries], np.int64),
                np.array([state[query].covered_from for query in queries], np.int64),
                np.array([_work(works[query], len(queries)) for query in queries], np.float64),
            )
            found.append((members, together))
        return found


def _work(work: Work, queries: int) -> float:
    """What an answer costs where so many queries share one execution; nothing costs nothing."""
    return float(work.own + work.shared / queries) or 1.0


def joined(firings: Sequence[FiringGroup]) -> list[FiringGroup]:
    """Groups of one cohort as one, unless their settings or numbers differ.

    An answer may depend on the one before. So where a query is in several cohorts, those of a program before and of
    one after, the queries of these are by themselves, each query's firings as one.
    """
    found: dict[Hashable, list[FiringGroup]] = {}
    for group in firings:
        found.setdefault((id(group.cohort), group.number, group.setting, group.level), []).append(group)
    several = list(found.values())
    owners: dict[tuple[str, int, float | None], int] = {}
    owned = [
        owners.setdefault((query, groups[0].number, groups[0].setting), place) == place
        for place, groups in enumerate(several)
        for query in groups[0].cohort.queries
    ]
    if not all(owned):
        single: dict[Hashable, list[FiringGroup]] = {}
        for group in firings:
            for number, query in enumerate(group.cohort.queries):
                single.setdefault((query, group.number, group.setting), []).append(group.of([number]))
        several = list(single.values())
    return [groups[0] if len(groups) == 1 else FiringGroup.joined(groups) for groups in several]
