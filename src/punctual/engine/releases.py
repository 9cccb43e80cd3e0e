"""Which instants are released: complete in every stream that a query reads, and not answered yet."""

from __future__ import annotations

from collections.abc import Mapping

from punctual.clock import Micros
from punctual.engine.progress import Progress, joint
from punctual.engine.standing import Standing
from punctual.engine.state import ProgramState
from punctual.plan.shared import Reader
from punctual.schedule.due import BEGINNING, Due


def due(
    standing: Standing, program: ProgramState, progress: Mapping[str, Progress], answered: Mapping[str, Micros]
) -> list[tuple[Reader, Due]]:
    """What is due of every query; queries that run together have the same object.

    ``answered`` says through when everything of a stream was answered.
    """
    found: list[tuple[Reader, Due]] = []
    same: dict[tuple[int, tuple[str, ...], Micros], Due] = {}
    for reader in standing.plan.readers:
        names = tuple(name.lower() for name in reader.query.streams)
        before = min(answered.get(name, BEGINNING) for name in names)
        after = max(program.queries[reader.query.name].after, before)
        stream = joint(progress, names)
        if stream.through <= after:
            continue
        table = standing.timing.tables[reader.query.name]
        which = (id(table), names, after)
        if which not in same:
            same[which] = table.due(stream.least, after, stream.through)
        found.append((reader, same[which]))
    some = {id(one) for one in same.values() if one.most}
    return [(reader, one) for reader, one in found if id(one) in some]
