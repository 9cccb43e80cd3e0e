"""A case on the reference."""

from __future__ import annotations

from tests.cqt.case import Case
from tests.cqt.cells import duration
from tests.cqt.play import DATA, DAY_US, NOW_US, Advance, End, Feed, Play, Restart, Statement, Target, Tick
from tests.reference.recompute import FOREVER, Answer, Planned, Reference


class ReferenceTarget:
    """The reference as what runs a case."""

    def __init__(self, reference: Reference) -> None:
        self.reference = reference

    def answers(self, query: str) -> list[Answer]:
        return self.reference.answers(query)

    def dead(self, stream: str) -> dict[str, int]:
        return self.reference.dead(stream)

    def explain(self, kind: str) -> str:
        raise NotImplementedError("the reference has no plan")


def covered(case: Case) -> dict[str, int]:
    """The header ``# covered: query 20s, other 5s``: how much of the past is kept for a query that is added later."""
    stated = case.headers.get("covered", "")
    pairs = (entry.split() for entry in stated.split(",") if entry.strip())
    return {name: duration(length) for name, length in pairs}


def planned(case: Case) -> dict[str, list[Planned]]:
    """The header ``# instants: a 2s 4s 5s of 5s, b 3s of 3s until 30s then 5s of 5s``: when queries of a plan answer.

    A query that is not in it answers at the multiples of its bound.
    """
    found: dict[str, list[Planned]] = {}
    for entry in case.headers.get("instants", "").split(","):
        name, _, stretches = entry.strip().partition(" ")
        for stretch in stretches.split(" then ") if name else ():
            offsets, _, rest = stretch.partition(" of ")
            cycle, _, until = rest.partition(" until ")
            last = duration(until.strip()) if until else FOREVER
            found.setdefault(name, []).append(
                Planned(last, tuple(duration(one) for one in offsets.split()), duration(cycle.strip()))
            )
    return found


def play_reference(play: Play) -> None:
    """Run the case on the reference. Statements that must be refused are not its business."""
    reference = Reference(DATA, NOW_US, DAY_US, covered(play.case), planned(play.case), play.case.row_queries)
    target: Target = ReferenceTarget(reference)
    try:
        for request in play.run(target):
            match request:
                case Statement(text, errors):
                    if not errors:
                        reference.statement(text)
                case Feed(stream, rows):
                    reference.feed(stream, rows)
                case Tick():
                    reference.tick()
                case Advance(through):
                    reference.advance(through)
                case End():
                    reference.end()
                case Restart():
                    pass
    finally:
        reference.close()
