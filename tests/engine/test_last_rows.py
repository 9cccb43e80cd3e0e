"""Windows by rows over many batches: what is kept stays flat, and answers are those of all rows that ever came."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine import engine as engine_module
from punctual.engine.engine import Engine
from punctual.engine.held import retained_rows
from tests.inprocess.backend import InProcess

START = 1_700_000_000 * SECOND
STREAM = "CREATE STREAM s (t TIMESTAMP EVENT TIME WATERMARK 8 SECONDS, k STRING, x INT) FROM FEED;"
LAST = "CREATE QUERY last AS SELECT k, x FROM s [ROWS 7] PERIOD 6 SECONDS;"
KEYED = "CREATE QUERY keyed AS SELECT k, x FROM s [PARTITION BY k ROWS 2] PERIOD 6 SECONDS;"
RECENT = "CREATE QUERY recent AS SELECT k, x FROM s [RANGE 9 SECONDS] PERIOD 6 SECONDS;"
ONE = "CREATE QUERY one AS SELECT k, x FROM s [ROWS 1] PERIOD 6 SECONDS;"
BATCHES, ROWS, BATCH_SECONDS = 90, 24, 6
Row = tuple[int, str | None, int]


@pytest.fixture(autouse=True)
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bases are made often, and nothing is synced: this is about what is kept."""
    monkeypatch.setattr(engine_module, "BATCHES_PER_BASE", 6)
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    monkeypatch.setattr(os, "fdatasync", lambda handle: None)


def batches(seed: int) -> list[list[Row]]:
    """Rows out of order by up to the watermark; one key comes once, at the start, and another now and then."""
    rng = random.Random(seed)
    found: list[list[Row]] = [[(START, "once", 1), (START + 1, "rare", 2), (START + 1, None, 3)]]
    for number in range(1, BATCHES):
        begin = START + number * BATCH_SECONDS * SECOND
        times = [begin + rng.randint(-1, BATCH_SECONDS - 1) * SECOND for _row in range(ROWS)]
        keys = ["rare" if number % 40 == 0 and not row else rng.choice(("a", "b", None)) for row in range(ROWS)]
        found.append([(time, key, rng.randint(0, 9)) for time, key in zip(times, keys)])
    return found


def played(state: Path, program: str, fed: list[list[Row]], query: str) -> tuple[dict[int, list[Any]], list[int]]:
    """All answers of a query, and how many rows were held after each batch."""
    held: list[int] = []
    with Engine(str(state), clock=ManualClock(START), backend=InProcess, live=False) as engine:
        engine.sql(STREAM + program)
        engine.open()
        for rows in fed:
            engine.feed("s", [(iso(time), key, x) for time, key, x in rows])
            engine.tick()
            files = engine._opened().core.held.holders.rows._held["s"]
            held.append(sum(one.section.rows for one in files))
        engine.end()
        assert engine.answers(query)["from"].isna().all() == (query != "recent")
        answers: dict[int, list[Any]] = {}
        for block in engine.records():
            for answer in block.table.to_pylist() if block.query == query else ():
                answers[answer["at"]] = [tuple(row.values()) for row in answer["rows"]]
                assert answer["complete"]
                assert (answer["from"] is None) == (query != "recent")
    return answers, held


def last(rows: list[Row], most: int, key: Callable[[Row], Any]) -> list[Row]:
    """The last rows of each key, by time and then by their columns."""
    by_key: dict[Any, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row[0], row[1] is not None, row[1] or "", row[2])):
        by_key.setdefault(key(row), []).append(row)
    return [row for several in by_key.values() for row in several[-most:]]


@pytest.mark.parametrize(("program", "query"), [
    (LAST, "last"), (KEYED, "keyed"), (ONE + KEYED + RECENT + LAST, "keyed"), (KEYED + RECENT, "recent"),
], ids=["last", "keyed", "several", "recent"])
@pytest.mark.parametrize("small_bytes", [retained_rows.SMALL_BYTES, 1], ids=["small files", "large files"])
def test_what_is_kept_is_flat_and_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, query: str, small_bytes: int
) -> None:
    """Also where every file counts as a large one."""
    monkeypatch.setattr(retained_rows, "SMALL_BYTES", small_bytes)
    fed = batches(len(program))
    answers, held = played(tmp_path / "state", program, fed, query)
    rows = [row for several in fed for row in several]
    assert len(answers) == BATCHES
    for at, answer in answers.items():
        before = [row for row in rows if row[0] <= at]
        if query == "recent":
            expected = [row for row in before if row[0] > at - 9 * SECOND]
        else:
            expected = last(before, 7, lambda row: None) if query == "last" else last(before, 2, lambda row: row[1])
        assert sorted(answer, key=str) == sorted((row[1:] for row in expected), key=str), iso(at)
    assert max(held) < 10 * ROWS, "a base keeps what windows need, and batches since are kept whole"
    assert len(rows) > 80 * ROWS


NEWER = """
CREATE QUERY keyed AS SELECT k, sum(x) AS s FROM s [PARTITION BY k ROWS 1] GROUP BY k PERIOD 6 SECONDS;
CREATE QUERY more AS SELECT k, x FROM s [PARTITION BY k ROWS 3] PERIOD 6 SECONDS;
CREATE QUERY other AS SELECT k, x FROM s [PARTITION BY x ROWS 1] PERIOD 6 SECONDS;
CREATE QUERY slower AS SELECT a.k, a.x FROM s [PARTITION BY k ROWS 1] AS a, slow [ROWS 1] AS b PERIOD 6 SECONDS;
"""


def test_a_query_that_is_written_anew_finds_the_last_rows_kept(tmp_path: Path) -> None:
    """It is complete where another window by the same keys kept as much since the first row, and nowhere else."""
    slow = """CREATE STREAM slow (t TIMESTAMP EVENT TIME, y INT) FROM FEED;
        CREATE QUERY slows AS SELECT count(*) AS n FROM slow [ROWS 1] PERIOD 6 SECONDS;"""
    fed = batches(3)[:20]

    def run(program: str, batches: list[list[Row]], queries: tuple[str, ...]) -> dict[str, list[tuple[bool, Any]]]:
        with Engine(str(tmp_path / "state"), clock=ManualClock(START), backend=InProcess, live=False) as engine:
            engine.sql(STREAM + slow + program)
            engine.open()
            for rows in batches:
                engine.feed("s", [(iso(time), key, x) for time, key, x in rows])
                engine.feed("slow", [(iso(rows[0][0] - 40 * SECOND), 1)])
                engine.tick()
            found: dict[str, list[tuple[bool, Any]]] = {name: [] for name in queries}
            for block in engine.records():
                if block.query in found:
                    found[block.query] += [(one["complete"], one["rows"]) for one in block.table.to_pylist()]
            return found

    run(KEYED, fed[:12], ("keyed",))
    answers = run(NEWER, fed[12:], ("keyed", "more", "other", "slower"))
    fresh = [(complete, rows) for complete, rows in answers["keyed"] if not rows or "s" in rows[0]]
    assert len(fresh) > 5
    assert {complete for complete, _rows in fresh} == {True}
    assert all("once" in [row["k"] for row in rows] for _complete, rows in fresh)
    for name in ("more", "other", "slower"):
        assert {complete for complete, _rows in answers[name]} == {False}, name
