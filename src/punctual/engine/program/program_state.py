"""What the engine remembers of a program between runs, as the store keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from punctual.clock import Micros
from punctual.engine.program.row_history import RetainedColumns
from punctual.engine.program.unit_history import UnitVersions
from punctual.plan.shared import Unit
from punctual.schedule.due import BEGINNING


@dataclass(frozen=True, slots=True)
class QueryState:
    """A standing query in the state.

    ``key`` says what it means; it answers instants after ``after``; its windows are covered from ``covered_from`` on;
    ``stopped`` says why it no longer runs; ``from_rows`` whether it is answered from rows though cells could answer it;
    ``asked`` is the instant of a query that is asked once, where that was decided.
    """

    key: str
    after: Micros = BEGINNING
    covered_from: Micros = BEGINNING
    stopped: str | None = None
    from_rows: bool = False
    asked: Micros | None = None


@dataclass(frozen=True, slots=True)
class ProgramState:
    """The program's snapshot.

    ``queries`` are its queries, ``units`` every unit under whose name the store may hold cells, ``versions`` the names
    that each standing unit has had since it began, ``retained`` what is retained of the rows of streams.
    """

    number: int = 0
    queries: Mapping[str, QueryState] = field(default_factory=dict)
    units: Mapping[str, Unit] = field(default_factory=dict)
    versions: Mapping[str, UnitVersions] = field(default_factory=dict)
    retained: Mapping[str, RetainedColumns] = field(default_factory=dict)

    def stop(self, name: str, reason: str) -> ProgramState:
        """The same with one query stopped."""
        queries = {**self.queries, name: replace(self.queries[name], stopped=reason)}
        return replace(self, number=self.number + 1, queries=queries)

    def ask(self, instants: Mapping[str, Micros]) -> ProgramState:
        """The same with queries that are asked once, at these instants."""
        asked = {name: replace(self.queries[name], asked=at) for name, at in instants.items()}
        return replace(self, number=self.number + 1, queries={**self.queries, **asked})
