"""What the engine remembers of a program between runs, as the store keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from punctual.clock import Micros
from punctual.engine.carry import Forms, unit_from_json, unit_to_json
from punctual.plan.shared import Unit
from punctual.schedule.due import BEGINNING


@dataclass(frozen=True, slots=True)
class QueryState:
    """A standing query in the state.

    ``key`` says what it means; it answers instants after ``after``; its windows are covered from ``covered_from`` on;
    ``stopped`` says why it no longer runs.
    """

    key: str
    after: Micros = BEGINNING
    covered_from: Micros = BEGINNING
    stopped: str | None = None


@dataclass(frozen=True, slots=True)
class ProgramState:
    """The program's snapshot.

    ``queries`` are its queries, ``units`` every unit under whose name the store may hold cells, ``forms`` the names
    that each standing unit has had since it began.
    """

    number: int = 0
    queries: Mapping[str, QueryState] = field(default_factory=dict)
    units: Mapping[str, Unit] = field(default_factory=dict)
    forms: Mapping[str, Forms] = field(default_factory=dict)

    def stop(self, name: str, reason: str) -> ProgramState:
        """The same with one query stopped."""
        queries = {**self.queries, name: replace(self.queries[name], stopped=reason)}
        return replace(self, number=self.number + 1, queries=queries)

    def to_json(self) -> dict[str, Any]:
        return {
            "queries": {
                name: {"key": q.key, "after": q.after, "covered_from": q.covered_from, "stopped": q.stopped}
                for name, q in self.queries.items()
            },
            "units": {key: unit_to_json(unit) for key, unit in self.units.items()},
            "forms": {place: [list(form) for form in forms] for place, forms in self.forms.items()},
        }

    @staticmethod
    def from_json(number: int, body: Mapping[str, Any]) -> ProgramState:
        return ProgramState(
            number,
            {name: QueryState(**q) for name, q in body["queries"].items()},
            {key: unit_from_json(unit) for key, unit in body["units"].items()},
            {place: tuple((key, since) for key, since in forms) for place, forms in body["forms"].items()},
        )
