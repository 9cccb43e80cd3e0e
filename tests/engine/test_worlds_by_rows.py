"""Queries over worlds that kernels cannot answer, in every round by the data plane, against every world by itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from punctual.clock import SECOND
from punctual.engine.engine import Engine
from punctual.errors import ProgramErrors
from punctual.kinds.program import compile_program
from punctual.kinds.worlds import kind
from punctual.plan.worlds import Worlds
from punctual.runtime.backend import Backend
from punctual.sql.bind_from import BoundFrom
from punctual.sql.body_binder import BoundBody
from punctual.sql.problems import Problems
from punctual.sql.syntax.select import SelectSyntax
from tests.engine.test_missing_values import DECLARED, WEATHER, rows_of
from tests.engine.test_worlds import (
    ROUNDS,
    SPEED,
    SPEED_SQL,
    START,
    TAGS,
    TAGS_SQL,
    TYPES,
    answers,
    by_key,
    in_window,
    speeds,
    tags,
)
from tests.inprocess.backend import InProcess
from tests.oracles import possible_worlds as oracle

PERIOD = f"PERIOD 10 SECONDS ROUNDS {ROUNDS};"
CASES = [
    ("SELECT k, stddev(x) AS y FROM {} GROUP BY k", ["k"]),
    ("SELECT k, count(DISTINCT floor(x / 10)) AS y FROM {} GROUP BY k", ["k"]),
    ("SELECT k, avg(log2(x * x + 1)) AS y FROM {} WHERE length(k) = 2 GROUP BY k", ["k"]),
    ("SELECT count(*) AS y FROM (SELECT k FROM {} WHERE x > 98) AS q", []),
    ("SELECT f, count(*) AS y FROM (SELECT k, floor(avg(x) / 5) AS f FROM {} GROUP BY k) AS q GROUP BY f", ["f"]),
    ("SELECT k, n, rank() OVER (PARTITION BY k ORDER BY x) AS y FROM {} WHERE x > 30", ["k", "n"]),
    (
        "SELECT k, avg(x) AS y FROM (SELECT k, x, row_number() OVER (PARTITION BY k ORDER BY x DESC) AS r FROM {})"
        " AS q WHERE r <= 3 GROUP BY k",
        ["k"],
    ),
    ("SELECT avg(x) AS y FROM (SELECT x FROM {} ORDER BY x DESC LIMIT 7) AS q", []),
    ("SELECT a.k, count(*) AS y FROM {} AS a JOIN {} AS b ON floor(a.x / 9) = floor(b.x / 9) GROUP BY a.k", ["k"]),
    (
        "SELECT a.k, a.n, count(b.n) AS y FROM {} AS a LEFT JOIN {} AS b ON a.n = b.n AND a.x < b.x - 60"
        " GROUP BY a.k, a.n",
        ["k", "n"],
    ),
    (
        "SELECT a.k, sum(a.x) AS y FROM {} AS a LEFT ANTI JOIN {} AS b ON a.n = b.n AND left(a.k, 1) = 'k'"
        " AND a.x < b.x - 60 GROUP BY a.k",
        ["k"],
    ),
    ("WITH q AS (SELECT k, max(x) AS top FROM {} GROUP BY k) SELECT sum(top) AS y FROM q WHERE top > 95", []),
    ("SELECT k, x AS y FROM {} WHERE x > 90 UNION ALL SELECT k, n AS y FROM {} WHERE x < 0", ["k"]),
    ("SELECT k, avg(x) AS y FROM {} WHERE x > (SELECT avg(x) + 20 FROM {}) GROUP BY k", ["k"]),
    ("SELECT k, sum(x) AS y FROM {} WHERE n IN (SELECT n FROM {} WHERE x > 96) GROUP BY k", ["k"]),
]
ROW_CASES = [
    ("SELECT DISTINCT k, floor(x / 40) AS f FROM {}", ["k", "f"]),
    ("SELECT k FROM {} WHERE x > 95 EXCEPT SELECT k FROM {} WHERE x < -5", ["k"]),
    ("SELECT k FROM {} WHERE x > 95 INTERSECT SELECT k FROM {} WHERE x < -5", ["k"]),
    ("SELECT n FROM {} WHERE x > 95 UNION SELECT n + 1 AS n FROM {} WHERE x < -5", ["n"]),
]
"""Queries that have nothing but keys."""


def in_process() -> Backend:
    return InProcess(2)


def means(results: Sequence[Sequence[oracle.Row]], keys: Sequence[str], column: str) -> dict[tuple[Any, ...], float]:
    """The mean over worlds of what a result row is there: the mean of its rows."""
    found: dict[tuple[Any, ...], list[float]] = {}
    for world in results:
        for key, value in oracle.expectation([world], keys, column).items():
            found.setdefault(key, []).append(value)
    return {key: math.fsum(some) / len(some) for key, some in found.items()}


def check(folder: Path, text: str, keys: list[str], backend: Callable[[], Backend] = in_process) -> None:
    """Answers of a query over speeds are those of DuckDB over every world."""
    rows = speeds()
    windows = ["speed [RANGE 10 SECONDS]"] * text.count("{}")
    program = f"{SPEED_SQL} CREATE QUERY q AS {text.format(*windows)} {PERIOD}"
    found = answers(folder, program, rows, {"seed": "5"}, backend)["q"]
    assert len(found) == 2
    for answer in found:
        every = oracle.worlds(SPEED, in_window(rows, answer), ROUNDS, seed=5)
        asked = text.format(*["world"] * len(windows)).replace("LEFT ANTI", "ANTI")  # as DuckDB calls it
        results = oracle.over_worlds(asked, every, TYPES)
        there = oracle.presence(results, keys)
        assert (answer["basis"], answer["rounds"], answer["reached"]) == ("worlds", ROUNDS, True)
        mine = by_key(answer, *keys)
        assert len(mine) == len(answer["rows"])
        assert {key: row["probability"] for key, row in mine.items()} == there
        if "y" in answer["rows"][0]:
            said = {key: row["y"] for key, row in mine.items() if row["y"] is not None}
            assert said == pytest.approx(means(results, keys, "y"), rel=1e-9)
            assert said


@pytest.mark.parametrize(("text", "keys"), [*CASES, *ROW_CASES])
def test_answers_are_those_of_every_world(tmp_path: Path, text: str, keys: list[str]) -> None:
    check(tmp_path, text, keys)


SUMMARIES = (
    "SELECT k, INTERVAL(median(x), 90%) AS i, PROBABILITY(stddev(x) > 25) AS p, EXPECTED(median(x)) AS e,"
    " EXPECTED(median(x)) - EXPECTED(stddev(x)) AS d, HISTOGRAM(upper(max(CASE WHEN x > 97 THEN 'high' END)), 1) AS h,"
    " count(*) AS c FROM speed [RANGE 10 SECONDS] GROUP BY 1 HAVING PROBABILITY >= 0.9 AND EXPECTED(median(x)) > 10"
    " AND max(x) > 20 ORDER BY e DESC LIMIT 2 "
)


def check_summaries(folder: Path, backend: Callable[[], Backend] = in_process) -> None:
    rows = speeds()
    for answer in answers(folder, f"{SPEED_SQL} CREATE QUERY q AS {SUMMARIES} {PERIOD}", rows, {}, backend)["q"]:
        every = oracle.worlds(SPEED, in_window(rows, answer), ROUNDS, seed=0)
        text = (
            "SELECT k, median(x) AS m, stddev(x) AS s, max(CASE WHEN x > 97 THEN 'HIGH' END) AS h FROM world GROUP BY k"
            " HAVING max(x) > 20"
        )
        results = oracle.over_worlds(text, every, TYPES)
        there, centre = oracle.presence(results, ["k"]), means(results, ["k"], "m")
        kept = [key for key in there if there[key] >= 0.9 and centre[key] > 10]
        assert [(row["k"],) for row in answer["rows"]] == sorted(kept, key=lambda key: -centre[key])[:2]
        assert len(answer["rows"]) == 2
        for key, row in by_key(answer, "k").items():
            own = [one for world in results for one in world if (one["k"],) == key]
            ordered = sorted(one["m"] for one in own)
            outside = max(1, math.floor(0.05 * (len(ordered) + 1)))
            assert row["i"]["low"] == pytest.approx(ordered[outside - 1], rel=1e-9)
            assert row["i"]["high"] == pytest.approx(ordered[-outside], rel=1e-9)
            assert row["p"] == sum(one["s"] is not None and one["s"] > 25 for one in own) / len(own)
            assert row["e"] == pytest.approx(centre[key], rel=1e-9)
            spread = means(results, ["k"], "s").get(key)
            assert row["d"] == (None if spread is None else pytest.approx(centre[key] - spread, rel=1e-9))
            high = sum(one["h"] is not None for one in own)
            assert row["h"] == ([{"value": "HIGH", "probability": 1.0}] if high else [])
            assert row["c"] == sum((one["k"],) == key for one in in_window(rows, answer))
            assert isinstance(row["c"], int)


def test_summaries_are_of_the_worlds(tmp_path: Path) -> None:
    check_summaries(tmp_path)


UNCERTAIN_ROWS = (
    "SELECT k, EXPECTED(count(DISTINCT x)) AS e, PROBABILITY(stddev(x) > 20) AS p FROM tags [RANGE 1 SECOND]"
    " GROUP BY k "
)


def check_uncertain_rows(folder: Path, backend: Callable[[], Backend] = in_process) -> None:
    rows = tags()
    for answer in answers(folder, f"{TAGS_SQL} CREATE QUERY q AS {UNCERTAIN_ROWS} {PERIOD}", rows, {}, backend)["q"]:
        every = oracle.worlds(TAGS, in_window(rows, answer, 1), ROUNDS, seed=0)
        text = "SELECT k, count(DISTINCT x) AS n, stddev(x) AS s FROM world GROUP BY k"
        results = oracle.over_worlds(text, every, {"k": pa.string(), "x": pa.int64()})
        there, counts = oracle.presence(results, ["k"]), means(results, ["k"], "n")
        mine = by_key(answer, "k")
        assert {key: row["probability"] for key, row in mine.items()} == there
        assert any(share < 1 for share in there.values())
        assert {key: row["e"] for key, row in mine.items()} == pytest.approx(counts, rel=1e-12)
        for key, row in mine.items():
            spreads = [one["s"] for world in results for one in world if (one["k"],) == key]
            assert row["p"] == sum(one is not None and one > 20 for one in spreads) / len(spreads)


def test_rows_that_do_not_exist_are_in_no_world(tmp_path: Path) -> None:
    check_uncertain_rows(tmp_path)


def check_missing_values(folder: Path, backend: Callable[[], Backend] = in_process) -> None:
    """What is missing is found in the window of a task as it is on the driver."""
    over = "FROM weather [RANGE 4 SECONDS] GROUP BY k"
    program = DECLARED.format(missing=" IF load > 80 AND (k <> 'k1' OR lat < 5)") + (
        f"CREATE QUERY kernel AS SELECT k, avg(load) AS l, avg(temp) AS t, max(rain) AS r {over} {PERIOD}"
        f" CREATE QUERY spark AS SELECT k, avg(load) AS l, avg(temp) AS t, max(rain) AS r, stddev(temp) AS s"
        f" {over} {PERIOD}"
    )
    found = answers(folder, program, rows_of(), {"closed_forms": "off"}, backend)
    assert len(found["kernel"]) == len(found["spark"]) > 2
    assert any(answer.get("marked") for answer in found["kernel"])
    for kernel, spark in zip(found["kernel"], found["spark"], strict=True):
        assert kernel.get("marked") == spark.get("marked")
        mine, other = by_key(kernel, "k"), by_key(spark, "k")
        assert mine.keys() == other.keys()
        for key, row in mine.items():
            numbers = {name: value for name, value in row.items() if isinstance(value, float)}
            assert {name: other[key][name] for name in numbers} == pytest.approx(numbers, rel=1e-9)
            assert {name for name in row if other[key][name] is None} == {name for name in row if row[name] is None}


def test_missing_values_are_found_alike(tmp_path: Path) -> None:
    assert {"load", "temp", "rain"} <= set(WEATHER.laws)
    check_missing_values(tmp_path)


def test_what_only_spark_can_judge_is_not_there_yet_where_spark_answers() -> None:
    program = DECLARED.format(missing=" IF k LIKE 'k%'") + "CREATE QUERY q AS SELECT stddev(load) AS s FROM weather "
    with pytest.raises(ProgramErrors) as refused:
        compile_program(program + "[RANGE 4 SECONDS] PERIOD 4 SECONDS;", base=".")
    (error,) = refused.value.errors
    assert error.code == "plan.not-yet"
    assert error.fact.startswith("IF k like 'k%', where Spark answers")


def test_nothing_is_read_where_there_are_no_rows(tmp_path: Path) -> None:
    rows = [row for row in speeds(400) if not 9.5 < (row["t"] - START) / SECOND < 31]
    program = SPEED_SQL + (
        f"CREATE QUERY every AS SELECT stddev(x) AS s, count(DISTINCT x) AS c FROM speed [RANGE 10 SECONDS] {PERIOD}"
        f"CREATE QUERY by_key AS SELECT k, stddev(x) AS s FROM speed [RANGE 10 SECONDS] GROUP BY k {PERIOD}"
    )
    found = answers(tmp_path, program, rows)
    empty = [answer for answer in found["every"] if not in_window(rows, answer)]
    assert empty
    for answer in empty:
        assert answer["rows"] == [{"s": None, "c": 0.0, "probability": 1.0}]
    for answer in found["by_key"]:
        assert bool(answer["rows"]) == bool(in_window(rows, answer))


def test_an_instant_may_have_several_answers(tmp_path: Path) -> None:
    over = "SELECT k, stddev(x) AS s FROM speed [RANGE 10 SECONDS] GROUP BY k PERIOD 10 SECONDS"
    program = SPEED_SQL + (
        f"CREATE QUERY q AS {over} ROUNDS 20 ANSWERS WITHIN 1 SECOND, 3 SECONDS;"
        f"CREATE QUERY two AS {over} ROUNDS 40;"
    )
    found = answers(tmp_path, program, speeds())
    assert [(one["number"], one["rounds"]) for one in found["q"]] == [(0, 20), (1, 40)] * 2
    said = [(one["rows"], one["error"]) for one in found["q"][1::2]]
    assert said == [(one["rows"], one["error"]) for one in found["two"]]


def by_spark(select: SelectSyntax, bound: BoundFrom, problems: Problems) -> BoundBody | None:
    """Binds nothing: whatever it is, kernels do not know it."""
    problems.needs_rows("a query for comparison", select.span)
    return None


CONFIDENT = (
    ("SELECT k, EXPECTED(avg(x)) AS y FROM speed [RANGE 10 SECONDS] WHERE x > 0 GROUP BY k", "WITHIN 0.3"),
    ("SELECT EXPECTED(sum(x)) AS y FROM speed [RANGE 10 SECONDS] WHERE x > 0", "WITHIN 0.1%"),
    ("SELECT PROBABILITY(max(x) > 140) AS y FROM speed [RANGE 10 SECONDS]", "WITHIN 0.02"),
)


def check_confidence(folder: Path, patch: pytest.MonkeyPatch, backend: Callable[[], Backend] = in_process) -> None:
    """CONFIDENCE has as many rounds as by kernels, says what ROUNDS of that number say, and is as near as it should."""

    def program(efforts: Sequence[str]) -> str:
        queries = [f"CREATE QUERY q{n} AS {CONFIDENT[n][0]} PERIOD 10 SECONDS {one};" for n, one in enumerate(efforts)]
        return SPEED_SQL + "".join(queries)

    asked, options = program([f"CONFIDENCE 95% {within}" for _text, within in CONFIDENT]), {"closed_forms": "off"}
    kernel = answers(folder / "kernel", asked, speeds(), options)
    patch.setattr(kind, "bind_worlds", by_spark)
    found = answers(folder / "rows", asked, speeds(), options, backend)
    rounds = {name: [one["rounds"] for one in several] for name, several in kernel.items()}
    assert rounds == {name: [one["rounds"] for one in several] for name, several in found.items()}
    assert all(one["reached"] and one["rounds"] > 100 for several in found.values() for one in several)
    assert {one["rounds"] for one in found["q1"]} != {one["rounds"] for one in found["q2"]}
    for place in range(2):  # one instant after the other: each has asked for rounds of its own
        again = program([f"ROUNDS {rounds[f'q{n}'][place]}" for n in range(len(CONFIDENT))])
        whole = answers(folder / f"again {place}", again, speeds(), options, backend)
        for name, several in found.items():
            one, other = several[place], whole[name][place]
            assert (one["rows"], one["error"]) == (other["rows"], other["error"])
    for name, within in (("q0", 0.3), ("q2", 0.02)):
        for answer in found[name]:
            error = answer["error"]["y"]
            assert all((high - low) / 2 <= within for low, high in zip(error["low"], error["high"]))


def test_confidence_asks_for_as_many_rounds_as_kernels_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_confidence(tmp_path, monkeypatch)


def test_confidence_in_jobs_of_a_few_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In whatever ranges rounds are asked for, the answer has the same bytes."""
    text = "SELECT k, EXPECTED(stddev(x)) AS y, INTERVAL(median(x), 90%) AS i FROM speed [RANGE 10 SECONDS] GROUP BY k"
    program = f"{SPEED_SQL} CREATE QUERY q AS {text} PERIOD 10 SECONDS CONFIDENCE 95% WITHIN 0.1;"
    one = answers(tmp_path / "one", program, speeds())["q"]
    assert all(answer["rounds"] > 400 for answer in one)
    monkeypatch.setattr("punctual.engine.answers.row_rounds.ROWS_AT_ONCE", 20_000)
    assert answers(tmp_path / "other", program, speeds())["q"] == one


def test_confidence_is_bound_by_rows_and_by_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "SELECT k, EXPECTED(stddev(x)) AS y FROM speed [RANGE 10 SECONDS] GROUP BY k PERIOD 10 SECONDS"
    program = f"{SPEED_SQL} CREATE QUERY q AS {text} CONFIDENCE 95% WITHIN 0.001;"
    found = answers(tmp_path / "rows", program, speeds(), {"max_answer_rows": "2000"})["q"]
    assert [(one["rounds"], one["reached"]) for one in found] == [
        (2_000 // len(one["rows"]), False) for one in found
    ]
    assert all(one["quality"] < 1 for one in found)
    floats = "SELECT floor(x * 10) AS f, EXPECTED(stddev(n)) AS y FROM speed [RANGE 10 SECONDS] GROUP BY floor(x * 10)"
    program = f"{SPEED_SQL} CREATE QUERY q AS {floats} PERIOD 10 SECONDS CONFIDENCE 95% WITHIN 0.0001;"
    monkeypatch.setattr("punctual.kinds.worlds.by_rows.row_drawing.MOST_NUMBERS", 500_000)
    for one in answers(tmp_path / "numbers", program, speeds())["q"]:
        assert not one["reached"]
        assert 250_000 < one["rounds"] * len(one["rows"]) < 1_000_000, "more groups come with every round"


def test_confidence_beside_a_query_that_fails_in_later_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It alone is stopped, and it is said why."""
    over = "FROM speed [RANGE 10 SECONDS] PERIOD 10 SECONDS"
    program = SPEED_SQL + (
        f"CREATE QUERY bad AS SELECT EXPECTED(stddev(x)) AS y {over} CONFIDENCE 95% WITHIN 0.1;"
        f"CREATE QUERY good AS SELECT EXPECTED(median(x)) AS y {over} CONFIDENCE 95% WITHIN 1;"
        f"CREATE QUERY plain AS SELECT stddev(x) AS y {over};"
    )

    class Fails(InProcess):
        def rows(self, work: Any, tables: Any, until: Any = None) -> Any:
            rounds = [window.rounds for one in work if one.query == "bad" for window in one.windows]
            if any(one is not None and one.first for one in rounds):
                raise ValueError("no luck in later rounds")
            return super().rows(work, tables, until)

    found = answers(tmp_path, program, speeds(), {}, Fails)
    assert not found.get("bad")
    assert len(found["good"]) == len(found["plain"]) == 2
    assert all(one["reached"] for one in found["good"])


def test_what_is_said_of_the_way(tmp_path: Path) -> None:
    text = "SELECT k, stddev(x) AS s FROM speed [RANGE 10 SECONDS] GROUP BY k PERIOD 10 SECONDS"
    engine = Engine(base=str(tmp_path), backend=in_process)
    said = engine.explain(f"{SPEED_SQL} CREATE QUERY q AS {text}; EXPLAIN q;")
    assert "in 100 worlds, by Spark: the round is one more key" in said
    assert "speed.x  NORMAL(x, sd)" in said
    assert "s = EXPECTED" in said


@pytest.mark.parametrize(("select", "code", "place"), [
    ("SELECT k, EXPECTED(stddev(x), 2) AS e FROM {} GROUP BY k", "bind.bad-argument", "EXPECTED(stddev(x), 2)"),
    ("SELECT k, EXPECTED(EXPECTED(stddev(x))) AS e FROM {} GROUP BY k", "bind.nested-aggregate", "EXPECTED(stddev(x))"),
    ("SELECT k, INTERVAL(stddev(x), 120%) AS e FROM {} GROUP BY k", "bind.bad-share", "120%"),
    ("SELECT k, stddev(x) AS e FROM {} GROUP BY 3", "bind.bad-ordinal", "3"),
    ("SELECT k, stddev(x) AS e FROM {} GROUP BY k ORDER BY 3", "bind.bad-ordinal", "3"),
    ("SELECT k, stddev(x) AS k FROM {} GROUP BY k", "bind.duplicate-name", "k"),
    ("SELECT k, stddev(x) AS e FROM {} GROUP BY k HAVING PROBABILITY >= 3", "bind.bad-probability", "PROBABILITY >= 3"),
    ("SELECT k, EXPECTED(stddev(n)) AS e FROM {} GROUP BY k", "bind.nothing-uncertain", "SELECT"),
])  # fmt: skip
def test_what_cannot_be_asked(select: str, code: str, place: str) -> None:
    over = select.format("speed [RANGE 1 MINUTE]")
    text = f"{SPEED_SQL} CREATE QUERY q AS {over} PERIOD 1 MINUTE;"
    with pytest.raises(ProgramErrors) as refused:
        compile_program(text, base=".")
    (error,) = refused.value.errors
    assert error.span is not None
    assert (error.code, text[error.span.start : error.span.end]) == (code, place)


def test_a_value_that_is_no_number_has_no_expectation(tmp_path: Path) -> None:
    select = "SELECT k, upper(CASE WHEN x > 3 THEN 'a' END) AS u FROM speed [RANGE 1 MINUTE]"
    with pytest.raises(ProgramErrors) as refused:
        answers(tmp_path, f"{SPEED_SQL} CREATE QUERY q AS {select} PERIOD 1 MINUTE;", speeds(10))
    assert "an expectation is of numbers" in [error.fact for error in refused.value.errors]


@pytest.mark.parametrize(("select", "same"), [
    ("SELECT k, stddev(x) AS s, count(*) AS c FROM {} GROUP BY k", True),
    ("SELECT k, stddev(x) AS s, count(*) AS c FROM {} WHERE x > 3 GROUP BY k", False),
    ("SELECT k, stddev(x) AS s, count(*) AS c FROM {} GROUP BY k HAVING max(x) > 3", True),
    ("SELECT k, stddev(y) AS s, count(*) AS c FROM (SELECT k, x AS y FROM {}) AS q GROUP BY k", True),
    ("SELECT k, stddev(y) AS s, count(*) AS c FROM (SELECT k, x AS y FROM {}) AS q WHERE y > 3 GROUP BY k", False),
    ("SELECT k, stddev(y) AS s, count(*) AS c FROM (SELECT DISTINCT k, x AS y FROM {}) AS q GROUP BY k", False),
    ("SELECT k, stddev(y) AS s, count(*) AS c FROM (SELECT k, x AS y FROM {} LIMIT 3) AS q GROUP BY k", False),
    ("SELECT k, stddev(x) AS s, count(*) AS c FROM {} WHERE n > (SELECT avg(x) FROM {}) GROUP BY k", False),
])
def test_what_is_the_same_in_all_worlds(select: str, same: bool) -> None:
    over = select.format(*["speed [RANGE 1 MINUTE]"] * select.count("{}"))
    program = compile_program(f"{SPEED_SQL} CREATE QUERY q AS {over} PERIOD 1 MINUTE;", base=".")
    body = program.catalog.queries["q"].body
    assert isinstance(body, Worlds)
    assert [one.summary for one in body.summaries] == ["EXPECTED", "SAME" if same else "EXPECTED"]
