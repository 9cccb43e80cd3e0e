"""Enrichment by static tables on Spark, against a join in plain Python."""

from __future__ import annotations

import csv
import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from punctual.engine.batch.progress import BatchRecord
from punctual.engine.engine import Engine
from punctual.errors import ProgramErrors
from punctual.ports.storage import PosixFiles
from punctual.store.store import Store
from tests.spark.counting import counting

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

STREAM = "CREATE STREAM s (t TIMESTAMP EVENT TIME, id INT, site STRING, x DOUBLE) FROM FEED;\n"
TABLES = """
CREATE TABLE names (id INT, name STRING, weight DOUBLE) FROM FILES 'names.csv' FORMAT CSV;
CREATE TABLE owners (id INT, owner STRING) FROM FILES 'owners.csv' FORMAT CSV;
CREATE TABLE sites (site STRING, city STRING) FROM FILES 'sites.csv' FORMAT CSV;
"""
NAMES = [(1, "one", 1.0), (2, "two", 2.5), (3, None, 3.0), (None, "nobody", 9.0), (7, "seven", None)]
OWNERS = [(1, "ann"), (1, "bob"), (2, "ann"), (None, "nil"), (3, None)]
SITES = [("north", "Oslo"), ("south", "Rome"), (None, "Nowhere")]
WINDOW = "[RANGE 20 SECONDS] AS s"
Row = dict[str, Any]


def write_csv(path: Path, header: str, rows: list[tuple[Any, ...]]) -> None:
    """Whole, by a rename, with a time of its own."""
    scratch = path.with_name("." + path.name)
    with scratch.open("w", newline="") as file:
        csv.writer(file).writerows([header.split(","), *rows])
    os.replace(scratch, path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_csv(tmp_path / "names.csv", "id,name,weight", NAMES)
    write_csv(tmp_path / "owners.csv", "id,owner", OWNERS)
    write_csv(tmp_path / "sites.csv", "site,city", SITES)
    return tmp_path


def stream_rows(batch: int = 0) -> list[Row]:
    """Ten seconds, the last of them complete; every id, some unknown, some NULL."""
    ids = [1, 2, 3, 4, None, 7, 2, 1]
    sites = ["north", "south", None, "west"]
    return [
        {
            "t": f"2026-03-01T00:00:{10 * batch + (i + 1) / 4:09.6f}Z",
            "id": ids[i % len(ids)],
            "site": sites[i % 4],
            "x": (i * 7) % 13 + batch,
        }
        for i in range(40)
    ]


def join(rows: list[Row], table: list[tuple[Any, ...]], columns: list[str], on: str, how: str) -> list[Row]:
    """What SQL means by it: NULL finds nothing; a left join keeps who found nothing."""
    found = []
    for row in rows:
        matches = [dict(zip(columns, t)) for t in table if row[on] is not None and t[0] == row[on]]
        if not matches and how == "left":
            matches = [dict.fromkeys(columns)]
        found += [row | {f"{on}.{c}": m[c] for c in columns} for m in matches]
    return found


def grouped(rows: list[Row], key: str) -> dict[Any, tuple[int, float]]:
    groups: dict[Any, list[float]] = defaultdict(list)
    for row in rows:
        groups[row[key]].append(row["x"])
    return {k: (len(v), float(sum(v))) for k, v in groups.items()}


def last_answer(engine: Engine, query: str) -> dict[Any, tuple[int, float]]:
    """Group key to (n, total) of the newest answer; its window holds every row so far."""
    frame = engine.answers(query)
    last = frame[frame["at"] == frame["at"].max()]
    keys = [None if k != k else k for k in last["k"].tolist()]
    return {k: (n, total) for k, n, total in zip(keys, last["n"], last["total"])}


def run(folder: Path, queries: str, rows: list[Row]) -> dict[str, dict[Any, tuple[int, float]]]:
    with Engine(base=str(folder), live=False) as engine:
        engine.sql(STREAM + TABLES + queries)
        engine.open()
        engine.feed("s", rows)
        engine.tick()
        engine.end()
        return {query: last_answer(engine, query) for query in engine.catalog.queries}


def query(name: str, key: str, source: str, where: str = "") -> str:
    condition = f"WHERE {where}" if where else ""
    return (
        f"CREATE QUERY {name} AS SELECT {key} AS k, count(*) AS n, sum(x) AS total FROM {source} {condition} "
        f"GROUP BY {key} PERIOD 10 SECONDS;\n"
    )


def test_joins(folder: Path) -> None:
    rows = stream_rows()
    named, owned = ["id", "name", "weight"], ["id", "owner"]
    inner, left = join(rows, NAMES, named, "id", "inner"), join(rows, NAMES, named, "id", "left")
    both = [r for r in join(left, SITES, ["site", "city"], "site", "inner") if (r["id.weight"] or 0) > 1]
    by_name = "LEFT JOIN names AS n ON s.id = n.id"
    cases: dict[str, tuple[tuple[str, ...], dict[Any, tuple[int, float]]]] = {
        "unique_inner": (("n.name", f"s {WINDOW}, names AS n", "s.id = n.id"), grouped(inner, "id.name")),
        "unique_left": (("n.name", f"s {WINDOW} {by_name}"), grouped(left, "id.name")),
        "several_inner": (
            ("o.owner", f"s {WINDOW} JOIN owners AS o ON s.id = o.id"),
            grouped(join(rows, OWNERS, owned, "id", "inner"), "id.owner"),
        ),
        "several_left": (
            ("o.owner", f"s {WINDOW} LEFT JOIN owners AS o ON s.id = o.id"),
            grouped(join(rows, OWNERS, owned, "id", "left"), "id.owner"),
        ),
        "predicate": (
            ("s.site", f"s {WINDOW}, names AS n", "s.id = n.id AND n.weight > 1 AND s.x > 3"),
            grouped([r for r in inner if (r["id.weight"] or 0) > 1 and r["x"] > 3], "site"),
        ),
        "two_tables": (
            ("c.city", f"s {WINDOW} {by_name} JOIN sites AS c ON s.site = c.site", "n.weight > 1"),
            grouped(both, "site.city"),
        ),
        "no_table": (("s.site", f"s {WINDOW}"), grouped(rows, "site")),
    }
    found = run(folder, "".join(query(name, *words) for name, (words, _expected) in cases.items()), rows)
    for name, (_words, expected) in cases.items():
        assert found[name] == expected, name


def test_who_joins_nothing_shares_the_read(folder: Path, spark: SparkSession) -> None:
    """Queries over the bare stream and over a table with unique keys are one branch: one scan of the slice."""
    plain = query("plain", "s.site", f"s {WINDOW}")
    joined = query("joined", "n.name", f"s {WINDOW}, names AS n", "s.id = n.id")
    repeated = query("repeated", "o.owner", f"s {WINDOW}, owners AS o", "s.id = o.id")
    scans: dict[str, int] = {}
    for name, program in {"plain": plain, "both": plain + joined, "three": plain + joined + repeated}.items():
        with Engine(base=str(folder), live=False) as engine:
            engine.sql(STREAM + TABLES + program)
            engine.open()
            scans[name] = len(engine._opened().core.programs.running.branches["s"])
            engine.feed("s", stream_rows())
            with counting(spark) as count:
                engine.tick()
            assert count.jobs == 1
    assert scans == {"plain": 1, "both": 1, "three": 2}


def changed_while_running(folder: Path, change: Callable[[], None], said: list[str]) -> tuple[Any, Any, list[str]]:
    """Answers of names' groups after a first batch and after a second, and the hashes that the manifests hold."""
    state = folder / "state"
    with Engine(str(state), base=str(folder), live=False, report=said.append) as engine:
        engine.sql(STREAM + TABLES + query("q", "n.name", f"s {WINDOW} LEFT JOIN names AS n ON s.id = n.id"))
        engine.open()
        engine.feed("s", stream_rows(0))
        engine.tick()
        engine.end()
        first = last_answer(engine, "q")
        change()
        engine.feed("s", stream_rows(1))
        engine.tick()
        engine.end()
        second = last_answer(engine, "q")
    manifests = Store.open(str(state), PosixFiles(), readonly=True).manifests()
    return first, second, [r.tables["names"] for r in (m.read(BatchRecord) for m in manifests) if r.slices]


def test_a_table_that_changes_counts_from_the_next_batch_on(folder: Path) -> None:
    said: list[str] = []
    new = [(1, "uno", 1.0), (2, "duo", 1.0), (2, "due", 1.0)]
    first, second, hashes = changed_while_running(
        folder, lambda: write_csv(folder / "names.csv", "id,name,weight", new), said
    )
    columns = ["id", "name", "weight"]
    before, after = (join(stream_rows(b), t, columns, "id", "left") for b, t in ((0, NAMES), (1, new)))
    assert first == grouped(before, "id.name")
    assert second == grouped(before + after, "id.name")
    assert len(hashes) == 2
    assert hashes[0] != hashes[1]
    assert said == []


def test_a_table_that_cannot_be_read_any_more_stays_as_it_was(folder: Path) -> None:
    said: list[str] = []
    _first, second, hashes = changed_while_running(folder, (folder / "names.csv").unlink, said)
    rows = join(stream_rows(0) + stream_rows(1), NAMES, ["id", "name", "weight"], "id", "left")
    assert second == grouped(rows, "id.name")
    assert hashes[0] == hashes[1]
    assert len(said) == 1
    assert 'table "names" changed and cannot be read' in said[0]


def test_a_program_does_not_start_without_its_table(folder: Path) -> None:
    (folder / "sites.csv").unlink()
    with Engine(base=str(folder), live=False) as engine:
        engine.sql(STREAM + TABLES + query("q", "c.city", f"s {WINDOW}, sites AS c", "s.site = c.site"))
        with pytest.raises(ProgramErrors, match="missing-path"):
            engine.open()


def test_a_table_that_is_added_in_vain_leaves_nothing_behind(folder: Path) -> None:
    with Engine(base=str(folder), live=False) as engine:
        engine.sql(STREAM + query("q", "s.site", f"s {WINDOW}"))
        engine.open()
        with pytest.raises(ProgramErrors, match="missing-path"):
            engine.sql("CREATE TABLE lost (id INT) FROM FILES 'nowhere.csv' FORMAT CSV")
        assert "lost" not in engine.catalog.tables
        engine.feed("s", stream_rows())
        assert engine.tick() is not None
