"""Columns and aliases that are called like ours: a program with them answers as its twin with plain names does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.engine.status import read_dead
from punctual.errors import ProgramErrors
from punctual.runtime.backend import Backend
from tests.inprocess.backend import InProcess

START = 1_700_000_000 * SECOND
NAMES = [
    "_reason", "_raw", "_origin", "_t", "_why", "_row", "_n", "_s", "k0", "a0", "at", "<row>", "<rule>", "c0", "x0",
    "p0", "r0", "i0", "o0", "s0", "h", "value", "parsed", "_metadata", "__metadata", "_punctual_raw", "_slice_0",
    "l.name", "l.", "lanes.id", "a b", "time", "why", "reason", "int64#0", "_c0", "tie0", "w", "quote`d", "'", "köln",
]  # fmt: skip


def program(names: list[str], *, source: str = "FROM FEED", alias: str = "_t") -> str:
    """One stream with a column of every name; queries that read each of them in every place that a column may have."""
    written = [f"`{name.replace('`', '``')}`" for name in names]
    time, first, second, third = written[-1], *written[:3]
    columns = ", ".join(f"{name} INT" for name in written[:-1])
    sums = ", ".join(f"sum({name} + 1) AS {name}" for name in written[:-1])
    table = ", ".join(f"{name} INT" for name in written[:-1])
    shared = f"{alias}.{second}"
    return f"""
    CREATE STREAM s ({columns}, {time} TIMESTAMP EVENT TIME, d INT AS ({first} * 2 + {third})) {source};
    CREATE STREAM u ({columns}, {time} TIMESTAMP EVENT TIME, p DOUBLE PROBABILITY AS (0.5)) {source};
    CREATE TABLE lanes ({table}) FROM FILES 'lanes.csv' FORMAT CSV;
    CREATE QUERY q AS SELECT {sums}, max(d) FILTER (WHERE {second} > 1) AS d FROM s [RANGE 10 SECONDS] PERIOD 1 SECOND;
    CREATE QUERY g AS SELECT {third} AS g, count(*) AS n FROM s [RANGE 10 SECONDS]
        WHERE {second} + {first} > 0 GROUP BY {third} HAVING count(*) > 0 ORDER BY n, {third} PERIOD 1 SECOND;
    CREATE QUERY e AS SELECT {shared} AS e, sum(s.{first}) AS t FROM s [RANGE 10 SECONDS] AS s
        LEFT JOIN lanes AS {alias} ON s.{first} = {alias}.{first} GROUP BY {shared} PERIOD 1 SECOND;
    CREATE QUERY b AS SELECT sum({first}) AS t, count({third}) AS n
        FROM s [RANGE 10 SECONDS] UNION ALL u [RANGE 10 SECONDS] PERIOD 1 SECOND;
    CREATE QUERY k AS SELECT TOP 2 {first}, {second} FROM u [RANGE 10 SECONDS] ORDER BY {third} DESC PERIOD 1 SECOND;
    """


def rows_of(names: list[str]) -> list[dict[str, Any]]:
    """Of the last row the first column is no number."""
    rows: list[dict[str, Any]] = []
    for number in range(6):
        row: dict[str, Any] = {name: (number * place + place) % 5 for place, name in enumerate(names[:-1])}
        rows.append({**row, names[-1]: iso(START + number * SECOND)})
    return [*rows, {**rows[0], names[0]: "many"}]


def csv_of(names: list[str]) -> str:
    header = ",".join('"' + name.replace('"', '""') + '"' for name in names[:-1])
    lines = [",".join(str((number * place + place) % 5) for place in range(len(names) - 1)) for number in range(1, 4)]
    return "\n".join([header, *lines]) + "\n"


def answers_of(engine: Engine) -> dict[str, list[tuple[Any, ...]]]:
    found = {}
    for query in "qgebk":
        frame = engine.answers(query)
        assert len(frame) > 3, query
        found[query] = [tuple(map(str, row)) for row in frame.itertuples(index=False)]
    return found


def twin(names: list[str]) -> list[str]:
    return [f"col{number}" for number in range(len(names))]


def played(
    folder: Path, names: list[str], alias: str, backend: Callable[[], Backend] | None = InProcess
) -> tuple[dict[str, list[tuple[Any, ...]]], list[str]]:
    folder.mkdir()
    (folder / "lanes.csv").write_text(csv_of(names))
    said: list[str] = []
    with Engine(
        str(folder / "state"), base=str(folder), clock=ManualClock(START), backend=backend, live=False,
        report=said.append,
    ) as engine:  # fmt: skip
        engine.sql(program(names, alias=alias))
        engine.open()
        for stream in "su":
            engine.feed(stream, rows_of(names))
        engine.tick()
        engine.end()
        assert said == []
        found = answers_of(engine)
    return found, [letter["reason"] for letter in read_dead(str(folder / "state"), None)]


def test_names_like_ours_change_nothing(tmp_path: Path) -> None:
    plain, reasons = played(tmp_path / "plain", twin(NAMES), "lane")
    for turn in range(3):  # others are the event time and the columns of the joined table
        turned = [*NAMES[turn * 7 :], *NAMES[: turn * 7]]
        odd, told = played(tmp_path / f"odd{turn}", turned, turned[1])
        assert odd == plain
        assert told == [reason.replace("col0", turned[0]) for reason in reasons]


@pytest.mark.parametrize(
    "text",
    [
        "CREATE STREAM s (`t\x1f` TIMESTAMP EVENT TIME) FROM FEED",
        "CREATE STREAM `s\x07` (t TIMESTAMP EVENT TIME) FROM FEED",
        "CREATE QUERY q AS SELECT count(*) AS `\x1ftime` FROM s [RANGE 1 SECOND] PERIOD 1 SECOND",
        "CREATE QUERY q AS SELECT max(`\x1ftime`) AS m FROM s [RANGE 1 SECOND] PERIOD 1 SECOND",
        "CREATE QUERY q AS SELECT max(aggregate(a, 0, (`\x1fx`, y) -> y)) FROM s [RANGE 1 SECOND] PERIOD 1 SECOND",
    ],
)
def test_no_name_of_a_program_has_control_characters(text: str) -> None:
    with pytest.raises(ProgramErrors) as refused:
        Engine(backend=InProcess).sql(text)
    assert [error.code for error in refused.value.errors] == ["parse.bad-name"]
    assert "^" in str(refused.value)
