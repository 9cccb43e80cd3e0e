"""The stages of the queries that somebody asks, as the planners see them: lifetimes and essential core times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.anytime_workload import LIFETIMES_S, MOST_ANSWERS, ROUNDS, Asked, asked
from punctual.clock import SECOND
from punctual.schedule.epoch import AnytimeQuery, Epochs, delayed, piece_in, stages

MEAN_ANSWERS = (1 + MOST_ANSWERS) / 2
RELATIVE = {"q1": 1.0, "q2": 1.0, "q3": 1.0, "q4": 1.0, "q5": 1.0}
"""Costs of rounds over their mean, as ``anytime_planning`` measured them, rounded."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One answer of a query: when it can be drawn for, and the core time of one round (seconds)."""

    kind: str
    start: float
    deadline: float
    one_round: float

    def needing(self, one_round: float) -> AnytimeQuery:
        """As planned for, if a round is taken to cost so much."""
        return AnytimeQuery(self.start, self.deadline, ROUNDS * one_round)


def staged(queries: Sequence[Asked], one_round: Mapping[str, float]) -> list[Stage]:
    """All stages of some queries; ``one_round`` by kind."""
    found = []
    for one in queries:
        cost = one_round[one.kind]
        deadlines = [one.at_s + deadline for deadline in one.deadlines_s]
        for stage in stages(one.at_s, deadlines, [ROUNDS * cost] * len(deadlines)):
            found.append(Stage(one.kind, stage.start, stage.deadline, cost))
    return found


def rounds_for_load(load: float, rate: float, cores: int, relative: Mapping[str, float] = RELATIVE) -> dict[str, float]:
    """Costs of rounds in seconds, so that so many queries a second need such a part of the cores."""
    mean = sum(relative.values()) / len(relative)
    one_round = load * cores / (rate * MEAN_ANSWERS * ROUNDS)
    return {kind: one_round * cost / mean for kind, cost in relative.items()}


def in_epoch(seed: int, rate: float, epochs: Epochs, one_round: Mapping[str, float]) -> list[AnytimeQuery]:
    """What the plan of one epoch is made for, in microseconds as in the engine: stages that cross a border are cut."""
    before = LIFETIMES_S[1]
    found = []
    micros = Epochs(round(SECOND * epochs.length), round(SECOND * epochs.lead))
    for stage in staged(asked(seed, rate, before + epochs.length), one_round):
        times = (round(SECOND * time) for time in (stage.start, stage.deadline, ROUNDS * stage.one_round))
        piece = piece_in(delayed(AnytimeQuery(*times), round(-SECOND * before)), 0, micros)
        if piece is not None:
            found.append(piece)
    return found
