"""One bad file or query stops nobody else: the batch is committed without it, and everybody is told."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from punctual.cli.main import main
from punctual.engine.engine import Engine
from punctual.engine.status import read_dead, read_status
from punctual.runtime.backend import Question, Tick
from punctual.runtime.spark import SparkBackend
from tests.spark.command import lines

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

STREAMS = """
CREATE STREAM cars (t TIMESTAMP EVENT TIME, car STRING, kmh DOUBLE) FROM FILES 'cars' FORMAT JSON;
CREATE STREAM rain (t TIMESTAMP EVENT TIME, mm DOUBLE) FROM FILES 'rain' FORMAT PARQUET;
"""
GOOD = """
CREATE QUERY mean AS SELECT car, avg(kmh) AS mean, count(*) AS n
FROM cars [RANGE 10 SECONDS] GROUP BY car PERIOD 5 SECONDS;
CREATE QUERY total AS SELECT sum(mm) * 2 AS twice, count(*) AS n FROM rain [RANGE 20 SECONDS SLIDE 5 SECONDS];
CREATE QUERY fast AS SELECT count(*) + 1 AS n FROM cars [RANGE 10 SECONDS] WHERE kmh > 100 PERIOD 5 SECONDS;
"""


def second(number: float) -> str:
    return f"2026-03-01T00:{int(number // 60):02}:{number % 60:09.6f}Z"


def car_lines(number: int) -> str:
    """Four seconds of cars."""
    rows = ((second(4 * number + i / 10), "ABC"[i % 3], 90 + (7 * number + i) % 40) for i in range(40))
    return "".join(json.dumps({"t": t, "car": car, "kmh": kmh}) + "\n" for t, car, kmh in rows)


def write(folder: Path, name: str, data: str | bytes, age: int) -> Path:
    """A file, as old as its place in the order says."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    os.utime(path, (1_000_000 + age, 1_000_000 + age))
    return path


def rain_bytes(number: int) -> bytes:
    at = pa.array([1_772_323_200_000_000 + 1_000_000 * (4 * number + i) for i in range(4)], pa.timestamp("us", "UTC"))
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"t": at, "mm": [0.1 * (number + i) for i in range(4)]}), sink)
    return sink.getvalue().to_pybytes()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Both streams with six good files each."""
    for number in range(6):
        write(tmp_path, f"cars/{number}.json", car_lines(number), number)
        write(tmp_path, f"rain/{number}.parquet", rain_bytes(number), number)
    (tmp_path / "good.sql").write_text(STREAMS + GOOD)
    return tmp_path


class Run:
    """One run to the end of the input, with all that it said."""

    def __init__(
        self,
        folder: Path,
        name: str,
        program: str,
        backend: Callable[[], SparkBackend] = SparkBackend,
        options: dict[str, str] | None = None,
    ) -> None:
        self.said: list[str] = []
        self.state, self.out = folder / f"{name}-state", folder / f"{name}-out"
        chosen = {"max_files_per_tick": "3", **(options or {})}
        paths = {"state": str(self.state), "out": str(self.out), "base": str(folder)}
        with Engine(**paths, options=chosen, live=False, backend=backend, report=self.said.append) as engine:
            engine.sql(program)
            engine.run_once()
            self.stopped = engine.stopped()
        self.answers = lines(self.out)

    def of(self, *queries: str) -> dict[str, str]:
        return {query: self.answers[query] for query in queries}

    def reasons(self) -> dict[str, str]:
        return {Path(letter["origin"]).name: letter["reason"] for letter in read_dead(str(self.state), None)}


def test_bad_files(folder: Path) -> None:
    expected = Run(folder, "without", STREAMS + GOOD)
    assert all(len(text.splitlines()) >= 4 for text in expected.answers.values())
    packed = gzip.compress(car_lines(2).encode())
    write(folder, "cars/bad.json.gz", packed[: len(packed) // 2], 2)
    write(folder, "rain/cut.parquet", rain_bytes(3)[:-20], 3)
    write(folder, "rain/empty.parquet", b"", 4)
    write(folder, "rain/other.parquet", b"PAR1 is not all that it takes PAR1", 4)
    run = Run(folder, "with", STREAMS + GOOD)
    assert run.answers == expected.answers
    assert run.stopped == frozenset()
    assert set(run.reasons()) == {"bad.json.gz", "cut.parquet", "empty.parquet", "other.parquet"}
    assert all(reason.startswith("unreadable file") for reason in run.reasons().values())
    assert "it is a damaged gzip file" in run.reasons()["bad.json.gz"]
    for name in run.reasons():
        assert any(name in message for message in run.said), name
    status = read_status(str(run.state))
    assert [status["streams"][name]["dead_letters"] for name in ("cars", "rain")] == [1, 3]


def test_letters_made_of_rows_keep_nulls_and_microseconds(folder: Path) -> None:
    """They can be fed again as they are."""
    program = "CREATE STREAM s (t TIMESTAMP EVENT TIME, car STRING, at TIMESTAMP, n INT) FROM FILES 's' FORMAT {};"
    query = "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 10 SECONDS] PERIOD 5 SECONDS;"
    late = {"t": second(1.654321), "car": None, "at": second(2.000001), "n": None}
    after = {"t": second(30), "car": "A", "at": None, "n": 7}
    for file, row in enumerate((after, late)):
        write(folder, f"s/{file}.json", json.dumps(row) + "\n", file)
    run = Run(folder, "json", program.format("JSON") + query, options={"max_files_per_tick": "1"})
    (letter,) = read_dead(str(run.state), None)
    assert (letter["reason"], json.loads(letter["row"])) == ("late", late)
    write(folder, "s/2.json", letter["row"] + "\n", 2)
    run = Run(folder, "json", program.format("JSON") + query, options={"max_files_per_tick": "1"})
    first, again = read_dead(str(run.state), None)
    assert (first["row"], first["event_time"]) == (again["row"], again["event_time"])
    for file in range(3):
        (folder / f"s/{file}.json").unlink()
    at = pa.array([1_772_323_201_654_321], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"t": at, "car": pa.array([None], pa.string()), "n": ["x"]}), folder / "s" / "a.parquet")
    (letter,) = read_dead(str(Run(folder, "parquet", program.format("PARQUET") + query).state), None)
    assert json.loads(letter["row"]) == {"t": second(1.654321), "car": None, "n": "x"}
    (folder / "s" / "a.parquet").unlink()
    write(folder, "s/a.csv", "t,car,n\n2026-03-01T00:00:01.654321Z,,x\n", 0)
    (letter,) = read_dead(str(Run(folder, "csv", program.format("CSV") + query).state), None)
    assert json.loads(letter["row"]) == {"t": second(1.654321), "car": None, "n": "x"}


def test_a_batch_of_bad_files_only(folder: Path) -> None:
    expected = Run(folder, "without", STREAMS + GOOD, options={"max_files_per_tick": "1"})
    write(folder, "cars/bad.json.gz", gzip.compress(car_lines(2).encode())[:-30], 2)
    write(folder, "rain/bad.parquet", b"not Parquet at all", 2)
    run = Run(folder, "with", STREAMS + GOOD, options={"max_files_per_tick": "1"})
    assert run.answers == expected.answers
    assert set(run.reasons()) == {"bad.json.gz", "bad.parquet"}


@pytest.mark.skipif(os.getuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read(folder: Path) -> None:
    expected = Run(folder, "without", STREAMS + GOOD)
    write(folder, "cars/secret.json", car_lines(2), 2).chmod(0)
    run = Run(folder, "with", STREAMS + GOOD)
    assert run.answers == expected.answers
    assert set(run.reasons()) == {"secret.json"}


def meddling(*deeds: Callable[[], Any]) -> Callable[[], SparkBackend]:
    """Spark, but somebody does things to the files just before the first, the second ... job runs."""
    waiting = list(deeds)

    class Meddling(SparkBackend):
        def tick(self, tick: Tick) -> pa.Table:
            if waiting:
                waiting.pop(0)()
            return super().tick(tick)

    return Meddling


def test_files_that_change_or_vanish_after_they_were_planned(folder: Path) -> None:
    for name in ("cars/grown.json", "cars/gone.json"):
        write(folder, name, car_lines(0), 0)
    gone, grown = folder / "cars/gone.json", folder / "cars/grown.json"
    run = Run(folder, "with", STREAMS + GOOD, meddling(gone.unlink, lambda: grown.write_text(car_lines(1))))
    grown.unlink()
    assert run.answers == Run(folder, "without", STREAMS + GOOD, options={"max_files_per_tick": "4"}).answers
    assert {name: reason.split()[0] for name, reason in run.reasons().items()} == {
        "gone.json": "vanished",
        "grown.json": "changed",
    }


def test_a_job_that_fails_once_is_tried_again(folder: Path) -> None:
    def fail() -> None:
        raise RuntimeError("a worker was killed")

    run = Run(folder, "with", STREAMS + GOOD, meddling(fail))
    assert run.answers == Run(folder, "without", STREAMS + GOOD).answers
    assert run.stopped == frozenset()


BAD = {
    "argument": (
        "SELECT car, sum(CASE WHEN kmh > 120 THEN raise_error(concat('too fast: ', kmh)) ELSE kmh END) AS s\n"
        "FROM cars [RANGE 10 SECONDS] GROUP BY car PERIOD 5 SECONDS",
        "sum(CASE WHEN kmh > 120 THEN raise_error(concat('too fast: ', kmh)) ELSE kmh END)",
        "too fast",
    ),
    "grouping": (
        "SELECT count(*) AS n FROM cars [RANGE 10 SECONDS]\n"
        "GROUP BY element_at(split(car, ','), int(kmh) % 2) PERIOD 5 SECONDS",
        "element_at(split(car, ','), int(kmh) % 2)",
        "[INVALID_INDEX_OF_ZERO]",
    ),
    "condition": (
        "SELECT count(*) AS n FROM cars [RANGE 10 SECONDS]\n"
        "WHERE assert_true(kmh < 110, 'slow down') IS NULL PERIOD 5 SECONDS",
        None,
        "slow down",
    ),
    "filtered": (
        "SELECT count(*) AS n, max(kmh) FILTER (WHERE car RLIKE repeat('(', int(kmh - 89))) AS m\n"
        "FROM cars [RANGE 10 SECONDS] PERIOD 5 SECONDS",
        "max(kmh) FILTER (WHERE car RLIKE repeat('(', int(kmh - 89)))",
        "[",
    ),
    "shown": (
        "SELECT car, CASE WHEN count(*) > 30 THEN raise_error('too many') ELSE count(*) END AS n\n"
        "FROM cars [RANGE 10 SECONDS] GROUP BY car PERIOD 5 SECONDS",
        "CASE WHEN count(*) > 30 THEN raise_error('too many') ELSE count(*) END",
        "too many",
    ),
    "kept": (
        "SELECT count(*) AS n FROM cars [RANGE 10 SECONDS]\n"
        "HAVING element_at(array(1), int(count(*)) % 1) = 1 PERIOD 5 SECONDS",
        "element_at(array(1), int(count(*)) % 1) = 1",
        "[INVALID_INDEX_OF_ZERO]",
    ),
    "sorted": (
        "SELECT car, count(*) AS n FROM cars [RANGE 10 SECONDS] GROUP BY car\n"
        "ORDER BY element_at(array(1), int(count(*)) % 1) DESC PERIOD 5 SECONDS",
        "element_at(array(1), int(count(*)) % 1)",
        "[INVALID_INDEX_OF_ZERO]",
    ),
}


def bad_queries(*names: str) -> str:
    return "".join(f"CREATE QUERY {name} AS\n{BAD[name][0]};\n" for name in names)


@pytest.mark.parametrize("merge", ["auto", "rows"])
def test_bad_queries(merge: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What fails over rows fails when they are read, or, answered from rows, when their windows are."""
    expected = Run(folder, "without", STREAMS + GOOD)
    before, after = bad_queries("argument", "shown", "grouping"), bad_queries("condition", "filtered", "kept", "sorted")
    run = Run(folder, "with", STREAMS + before + GOOD + after, options={"window_merge": merge})
    assert run.of("mean", "total", "fast") == expected.answers
    assert run.stopped == frozenset(BAD)
    queries = read_status(str(run.state))["queries"]
    for name, (_text, place, why) in BAD.items():
        reason = queries[name]["reason"]
        assert queries[name]["status"] == "stopped"
        assert f'error[run.query-failed]: query "{name}" was stopped: ' in reason
        assert why in reason.splitlines()[0], reason
        assert reason in run.said
        if place is not None:
            text = reason.splitlines()
            number = next(n for n, line in enumerate(text) if set(line) == set(" |^"))
            assert text[number - 1][text[number].index("^") : text[number].rindex("^") + 1] == place
        else:
            assert "its WHERE fails" in reason
    assert {q for q in queries if queries[q]["status"] == "running"} == {"mean", "total", "fast"}
    assert main(["status", "--state", str(run.state)]) == 0
    shown = capsys.readouterr().out
    assert all(queries[name]["reason"] in shown for name in BAD)


def test_answers_before_the_failure_stand(folder: Path) -> None:
    """A query that fails in the second batch has answered the instants of the first."""
    text = """
    CREATE QUERY late AS SELECT max(CASE WHEN t > '2026-03-01 00:00:14' THEN raise_error('x') ELSE kmh END) AS m
    FROM cars [RANGE 10 SECONDS] PERIOD 5 SECONDS;"""
    run = Run(folder, "with", STREAMS + GOOD + text)
    assert run.stopped == {"late"}
    found = [json.loads(line)["at"] for line in run.answers["late"].splitlines()]
    assert found == [second(s).replace(".000000", "") for s in (0, 5, 10)]
    assert run.of("mean", "total", "fast") == Run(folder, "without", STREAMS + GOOD).answers


def test_a_stopped_query_stays_stopped_until_it_is_mended(folder: Path) -> None:
    program = STREAMS + GOOD + "CREATE QUERY bad AS SELECT {} AS n FROM cars [RANGE 10 SECONDS] PERIOD 5 SECONDS;"
    broken = program.format("sum(raise_error('never'))")
    assert Run(folder, "one", broken).stopped == {"bad"}
    write(folder, "cars/6.json", car_lines(6), 6)
    again = Run(folder, "one", broken)
    assert (again.stopped, again.answers["bad"]) == (frozenset({"bad"}), "")
    write(folder, "cars/7.json", car_lines(7), 7)
    mended = Run(folder, "one", program.format("count(*)"))
    assert mended.stopped == frozenset()
    found = [json.loads(line) for line in mended.answers["bad"].splitlines()]
    assert [a["at"] for a in found] == ["2026-03-01T00:00:30Z"]
    assert not found[0]["complete"]
    whole = Run(folder, "whole", STREAMS + GOOD)
    assert mended.of("mean", "fast") == whole.of("mean", "fast")


def test_exit_code_and_terminal_of_a_run_with_a_bad_query(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "program.sql").write_text(STREAMS + GOOD + bad_queries("shown"))
    assert main(["run", str(folder / "program.sql"), "--once", "--out", str(folder / "out")]) == 1
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "^^^^" in printed.err
    assert "stopped: shown" in printed.err
    assert "Traceback" not in printed.err


def test_an_evaluation_that_fails_once_stops_nobody(folder: Path) -> None:
    """Only a query that fails alone is stopped."""
    calls: list[int] = []

    class Forgetful(SparkBackend):
        def evaluate(self, questions: Sequence[Question]) -> list[list[pa.Array]]:
            calls.append(len(questions))
            if len(calls) == 1:
                raise RuntimeError("not now")
            return super().evaluate(questions)

    run = Run(folder, "with", STREAMS + GOOD, Forgetful)
    assert run.stopped == frozenset()
    assert run.answers == Run(folder, "without", STREAMS + GOOD).answers
    assert calls[0] == 2
    assert max(calls[1:4]) == 1


def test_spark_is_still_there(spark: SparkSession) -> None:
    assert spark.range(3).count() == 3
