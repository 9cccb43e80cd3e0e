"""Exact queries that come to a stream which was shed until then: they get whole batches, and say what they lack."""

from __future__ import annotations

from pathlib import Path

import pytest

from punctual.clock import SECOND
from punctual.engine import engine as engine_module
from punctual.engine.batch.progress import BatchRecord
from punctual.errors import PunctualError
from tests.engine.test_shed import PLAIN, START, Dies, answers, fated, opened, store, write

WHOLE = "CREATE QUERY exact AS SELECT count(*) AS n FROM Trips [RANGE 2 SECONDS] PERIOD 2 SECONDS;"
ROWS = "CREATE QUERY exact AS SELECT DISTINCT cab FROM Trips [RANGE 2 SECONDS] PERIOD 2 SECONDS;"
LAST = "CREATE QUERY exact AS SELECT count(DISTINCT t) AS n FROM Trips [ROWS 3] PERIOD 2 SECONDS;"
STRICT = """
CREATE QUERY strict AS SELECT sum(fare) AS n FROM Trips [RANGE 2 SECONDS] PERIOD 2 SECONDS
QUALITY (100% => 1, 60% => 0.5);
"""


def dies_in_the_second_batch(folder: Path) -> None:
    """A state whose second batch is planned to be shed, and is not read yet."""
    for batch in range(3):
        write(folder, batch)
    engine = opened(folder, PLAIN, "30%", Dies(1))
    engine.tick(limit=1)
    with pytest.raises(PunctualError):
        engine.tick(limit=1)
    engine.close()


def test_a_plan_sheds_nothing_for_a_query_that_is_exact(tmp_path: Path) -> None:
    dies_in_the_second_batch(tmp_path)
    engine = opened(tmp_path, PLAIN + WHOLE, "30%")
    while engine.tick(limit=1) is not None:
        pass
    engine.end()
    found = {(a["at"] - START) // SECOND: a for query, a in answers(engine) if query == "exact"}
    engine.close()
    records = [manifest.read(BatchRecord) for manifest in store(tmp_path).manifests()]
    assert [record.shares for record in records[:3]] == [{"trips": 3_000}, {}, {}]
    # A row each hundredth of a second but every fiftieth.
    said = {at: (a["rows"], a["basis"], a["complete"]) for at, a in found.items()}
    assert said[8] == ([{"n": 196}], "exact", True)
    assert said[10] == ([{"n": 196}], "exact", True)


def test_a_plan_sheds_no_more_than_a_new_query_accepts(tmp_path: Path) -> None:
    dies_in_the_second_batch(tmp_path)
    engine = opened(tmp_path, PLAIN + STRICT, None)
    while engine.tick(limit=1) is not None:
        pass
    engine.close()
    records = [manifest.read(BatchRecord) for manifest in store(tmp_path).manifests()]
    assert [record.shares for record in records[:3]] == [{"trips": 3_000}, {"trips": 6_000}, {}]


def completeness(folder: Path, added: str, *, restarts: bool = False) -> dict[int, bool]:
    """What ``complete`` says at each second, of a query that comes after rows at second 5 were shed.

    Before them nothing was read but a row at second 0, so they may be anywhere after it; the next row that is read is
    at second 8.5, so they are before 9.5.
    """
    (folder / "in").mkdir()

    def put(number: int, line: str, times: int) -> None:
        (folder / "in" / f"{number}.json").write_text((line + "\n") * times)

    engine = opened(folder, PLAIN, "30%")
    put(0, fated(0, kept=True), 1)
    put(1, fated(5, kept=False), 50)
    while engine.tick(limit=1) is not None:
        pass
    engine.sql(added)
    found: dict[int, bool] = {}

    def note() -> None:
        found.update({(a["at"] - START) // SECOND: a["complete"] for query, a in answers(engine) if query == "exact"})

    for number, second in enumerate((8, 14, 15, 20, 22), start=2):
        put(number, fated(second, kept=True), 1)
        engine.tick()
        if restarts:
            note()
            engine.close()
            engine = opened(folder, PLAIN + added, "30%")
    engine.end()
    note()
    engine.close()
    return found


@pytest.mark.parametrize("base", [64, 1], ids=["batch by batch", "compacted"])
@pytest.mark.parametrize("restarts", [False, True], ids=["in one run", "resumed"])
@pytest.mark.parametrize("added", [WHOLE, ROWS], ids=["from panes", "from rows"])
def test_windows_that_shed_rows_may_be_missing_from_are_not_complete(
    added: str, restarts: bool, base: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "BATCHES_PER_BASE", base)
    found = completeness(tmp_path, added, restarts=restarts)
    assert found == {at: at >= 12 for at in range(2, 24, 2)}


@pytest.mark.parametrize("beside", ["", WHOLE.replace("exact", "beside")], ids=["alone", "beside panes"])
def test_the_last_rows_are_known_where_enough_came_after_those_that_were_shed(beside: str, tmp_path: Path) -> None:
    """Rows at 14.5, 15.5 and 20.5; the one at 8.5 does not count, as shed ones may be after it."""
    found = completeness(tmp_path, LAST + beside)
    assert {at: complete for at, complete in found.items() if at >= 8} == {at: at >= 22 for at in range(8, 24, 2)}
