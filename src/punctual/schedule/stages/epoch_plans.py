"""Plans of epochs: how much core time each stage has, decided before the epoch begins (``SET anytime = epoch``).

Model
-----
Epochs are stretches of the clock that never goes back. Each is planned once, ``lead`` before it begins, with all stages
that are known by then: those of open instants, and those of instants that timetables and the last releases foresee. A
lifetime that reaches into another epoch is cut at the border, and its essential time is split by overlap. Core time is
given by :func:`punctual.schedule.epoch.allocate`.

A stage that is not in the plan came too late for it: its query was registered after the plan was made, nobody had
measured what its rounds cost, or it was released when nobody expected it. It waits for the next epoch: until then it
has only what the plan leaves. Its deadline does not wait, so if that comes first it is answered with what there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from punctual.clock import Micros
from punctual.schedule.epoch import AnytimeQuery, Epochs, allocate, piece_in
from punctual.schedule.stages.stage import Stage


class Granted(NamedTuple):
    """What a plan says of the part of a stage that is in its epoch: what is essential, and the core time it has."""

    essential: float
    core_time: float


@dataclass(frozen=True, slots=True)
class EpochPlans:
    """The plans of the epoch that runs, and of the next one once it is made.

    ``through`` is the last epoch that is planned, or for which it was too late when there was nobody to plan for.
    ``waited`` are the queries of which a stage had no part in the plan of epoch ``at``.
    """

    epochs: Epochs
    through: int
    plans: Mapping[int, Mapping[Stage, Granted]] = field(default_factory=dict)
    at: int = 0
    waited: frozenset[str] = frozenset()

    @staticmethod
    def since(epochs: Epochs, now: Micros) -> EpochPlans:
        """Before the first plan: the first epoch that is planned is one whose plan is due now or later."""
        return EpochPlans(epochs, epochs.first_after(now) - 1, at=epochs.number_at(now))

    def to_plan(self, now: Micros) -> int | None:
        """The epoch whose plan is due; None where none is. Who is behind plans for the epoch that runs."""
        if self.epochs.planned_at(self.through + 1) > now:
            return None
        return max(self.through + 1, self.epochs.number_at(now))

    def with_plan(self, number: int, stages: Iterable[tuple[Stage, AnytimeQuery]], cores: float) -> EpochPlans:
        """With the plan of an epoch, for these stages and their whole lifetimes."""
        every = ((stage, piece_in(query, number, self.epochs)) for stage, query in stages)
        pieces = {stage: piece for stage, piece in every if piece is not None}
        times = allocate(list(pieces.values()), cores)
        plan = {stage: Granted(piece.essential, time) for (stage, piece), time in zip(pieces.items(), times)}
        kept = {one: known for one, known in self.plans.items() if one >= number - 1}
        return replace(self, plans={**kept, number: plan}, through=number)

    def granted(self, stage: Stage) -> Granted | None:
        """What a stage has in the epoch that runs; None where it waits for the next one."""
        return self.plans.get(self.at, {}).get(stage)

    def by(self, now: Micros, running: Iterable[Stage]) -> EpochPlans:
        """At a time, with the stages that run then: who had no part in a plan is known until the epoch ends."""
        at = self.epochs.number_at(now)
        found = replace(self, at=at, waited=self.waited if at == self.at else frozenset())
        late = frozenset(stage.query for stage in running if found.granted(stage) is None)
        return found if late <= found.waited else replace(found, waited=found.waited | late)

    @property
    def ends(self) -> Micros:
        """When the epoch that runs is over."""
        return int(self.epochs.begins(self.at + 1))

    def wake_at(self, now: Micros) -> Micros:
        """When the next epoch begins, or is planned."""
        border = int(self.epochs.begins(self.epochs.number_at(now) + 1))
        plan = int(self.epochs.planned_at(self.through + 1))
        return min(border, plan) if plan > now else border
