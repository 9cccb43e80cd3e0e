"""Functions of Python over worlds, from SQL to answers, against plain Python over every world by itself."""

from __future__ import annotations

import functools
import json
import math
import operator
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import punctual
from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.errors import BindError, ProgramErrors
from punctual.runtime.backend import Backend
from tests.engine.test_worlds import SPEED, SPEED_SQL, START, TAGS, TAGS_SQL, by_key, in_window, speeds, tags
from tests.inprocess.backend import InProcess
from tests.oracles import possible_worlds as oracle

ROUNDS = 60
PERIOD = f"PERIOD 10 SECONDS ROUNDS {ROUNDS};"
Functions = Mapping[str, tuple[Callable[..., Any], str]]


def spread(x: Any, n: Any) -> Any:
    """How far the products are apart."""
    return (x * n).max(axis=0) - (x * n).min(axis=0)


def middle(x: Any, present: Any) -> Any:
    """The median of the rows that are there."""
    return np.nanmedian(np.where(present, x, np.nan), axis=0)


def leader(k: Any, x: Any, tail: Any) -> Any:
    """Who has the largest value."""
    return [f"{k[row, world]}{tail}" for world, row in enumerate(x.argmax(axis=0))]


def steep(x: Any, limit: Any) -> Any:
    return x.max(axis=0) > limit


def rows_seen(x: Any) -> Any:
    return np.full(x.shape[1], x.shape[0])


def worlds_seen(x: Any) -> Any:
    return np.full(x.shape[1], x.shape[1])


FUNCTIONS: Functions = {
    "spread": (spread, "DOUBLE"),
    "middle": (middle, "double"),
    "leader": (leader, "STRING"),
    "steep": (steep, "BOOLEAN"),
    "rows_seen": (rows_seen, "BIGINT"),
    "worlds_seen": (worlds_seen, "BIGINT"),
}


class Ran:
    """Answers by query, which queries were stopped, and what was said."""

    def __init__(self, answers: dict[str, list[dict[str, Any]]], stopped: frozenset[str], said: list[str]) -> None:
        self.answers, self.stopped, self.said = answers, stopped, said

    def why(self, query: str) -> str:
        (found,) = (text for text in self.said if f'query "{query}" was stopped' in text)
        return found


def run(
    folder: Path,
    program: str,
    rows: Sequence[oracle.Row],
    functions: Functions = FUNCTIONS,
    options: dict[str, str] | None = None,
    backend: Callable[[], Backend] = lambda: InProcess(2),
) -> Ran:
    (folder / "in").mkdir(parents=True)
    lines = [json.dumps({**row, "t": iso(row["t"])}) + "\n" for row in rows]
    (folder / "in" / "a.json").write_text("".join(lines))
    said: list[str] = []
    engine = Engine(
        out=str(folder / "out"), base=str(folder), live=False, clock=ManualClock(START + 3600 * SECOND),
        options=options or {}, backend=backend, report=said.append,
    )  # fmt: skip
    with engine:
        for name, (function, returns) in functions.items():
            engine.world_function(name, function, returns)
        engine.sql(program)
        engine.run_once()
        stopped = engine.stopped()
    found = {
        path.stem: [json.loads(line) for line in path.read_text().splitlines()]
        for path in (folder / "out").glob("*.jsonl")
    }
    return Ran(found, stopped, said)


def values_in_worlds(
    every: Sequence[Sequence[oracle.Row]],
    where: Callable[[oracle.Row], bool],
    key: Callable[[oracle.Row], Any],
    plain: Callable[[list[oracle.Row]], Any],
) -> dict[Any, list[Any]]:
    """By group, what it is in each world in which it has rows."""
    found: dict[Any, list[Any]] = {}
    for world in every:
        groups: dict[Any, list[oracle.Row]] = {}
        for row in world:
            if where(row):
                groups.setdefault(key(row), []).append(row)
        for group, rows in groups.items():
            found.setdefault(group, []).append(plain(rows))
    return found


def _spread(rows: list[oracle.Row]) -> float | None:
    products = [row["x"] * row["n"] for row in rows if row["n"] is not None]
    return max(products) - min(products) if products else None


def _middle(rows: list[oracle.Row]) -> float:
    ordered = sorted(row["x"] for row in rows)
    half = len(ordered) // 2
    return float(ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2)


def _few(rows: list[oracle.Row]) -> int | None:
    return sum(row["x"] > 70 for row in rows) or None


CASES: list[tuple[str, Any, Any, Any]] = [
    ("SELECT k, spread(x, n) AS y FROM {} GROUP BY k", lambda row: True, lambda row: row["k"], _spread),
    ("SELECT k, EXPECTED(spread(x, n)) AS y FROM {} WHERE x > 40 AND n > 2 GROUP BY k",
     lambda row: row["x"] > 40 and row["n"] is not None and row["n"] > 2, lambda row: row["k"], _spread),
    ("SELECT k, middle(x) AS y FROM {} WHERE x BETWEEN 20 AND 80 GROUP BY k",
     lambda row: 20 <= row["x"] <= 80, lambda row: row["k"], _middle),
    ("SELECT k, rows_seen(x) FILTER (WHERE x > 70) AS y FROM {} GROUP BY k", lambda row: True, lambda row: row["k"],
     _few),
    ("SELECT k, rows_seen(x + n) AS y FROM {} GROUP BY k", lambda row: True, lambda row: row["k"],
     lambda rows: sum(row["n"] is not None for row in rows) or None),
    ("SELECT floor(x / 40) AS k, spread(x - 1, 2) AS y FROM {} GROUP BY floor(x / 40)",
     lambda row: True, lambda row: math.floor(row["x"] / 40),
     lambda rows: 2 * (max(row["x"] for row in rows) - min(row["x"] for row in rows))),
    ("SELECT k, EXPECTED(2 * middle(x) - avg(x)) AS y FROM {} GROUP BY k", lambda row: True, lambda row: row["k"],
     lambda rows: 2 * _middle(rows) - math.fsum(row["x"] for row in rows) / len(rows)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "where", "key", "plain"), CASES)
def test_expectations_are_those_of_every_world(tmp_path: Path, text: str, where: Any, key: Any, plain: Any) -> None:
    rows = speeds()
    program = f"{SPEED_SQL} CREATE QUERY q AS {text.format('speed [RANGE 10 SECONDS]')} {PERIOD}"
    answers = run(tmp_path, program, rows, options={"seed": "5"}).answers["q"]
    assert len(answers) == 2
    for answer in answers:
        every = oracle.worlds(SPEED, in_window(rows, answer), ROUNDS, seed=5)
        expected = values_in_worlds(every, where, key, plain)
        mine = by_key(answer, "k")
        assert (answer["basis"], answer["rounds"], answer["reached"]) == ("worlds", ROUNDS, True)
        assert set(mine) == {(group,) for group in expected}
        for (group,), row in mine.items():
            known = [value for value in expected[group] if value is not None]
            assert row["probability"] == len(expected[group]) / ROUNDS
            assert row["y"] == (pytest.approx(math.fsum(known) / len(known), rel=1e-9) if known else None)


def _fast_and_named(row: oracle.Row) -> bool:
    return row["k"] is not None and row["x"] > 30


def test_all_that_is_said_of_worlds_is_said_of_functions(tmp_path: Path) -> None:
    rows = speeds()
    program = SPEED_SQL + (
        "CREATE QUERY q AS SELECT n, HISTOGRAM(leader(k, x, '!'), 2) AS h, PROBABILITY(steep(x, 80)) AS s,"
        " PROBABILITY(leader(k, x, '!') >= 'k1!') AS later, INTERVAL(spread(x, n), 80%) AS i, count(*) AS c,"
        " HISTOGRAM(max(k), 1) AS last FROM speed [RANGE 10 SECONDS] WHERE k IS NOT NULL AND x > 30 GROUP BY n"
        f" HAVING PROBABILITY(steep(x, 60)) > 0.3 {PERIOD}"
    )
    answers = run(tmp_path, program, rows).answers["q"]
    seen = 0
    for answer in answers:
        every = oracle.worlds(SPEED, in_window(rows, answer), ROUNDS, seed=0)

        def of(plain: Any, every: Any = every) -> dict[Any, list[Any]]:
            return values_in_worlds(every, _fast_and_named, operator.itemgetter("n"), plain)

        largest = of(lambda some: max(map(operator.itemgetter("x"), some)))
        leaders = of(lambda some: max(some, key=operator.itemgetter("x"))["k"] + "!")
        spreads, lasts = of(_spread), of(lambda some: max(map(operator.itemgetter("k"), some)))
        wanted = {n for n, values in largest.items() if sum(v > 60 for v in values) / len(values) > 0.3}
        mine = by_key(answer, "n")
        assert {n for (n,) in mine} == wanted
        for (n,), row in mine.items():
            seen += 1
            worlds = len(largest[n])
            ranked = sorted((-leaders[n].count(one), one) for one in set(leaders[n]))[:2]
            assert row["h"] == [{"value": one, "probability": -count / worlds} for count, one in ranked]
            assert row["s"] == sum(value > 80 for value in largest[n]) / worlds
            assert row["later"] == sum(one >= "k1!" for one in leaders[n]) / worlds
            likeliest = max(set(lasts[n]), key=lambda one: (lasts[n].count(one), [-ord(c) for c in one]))
            assert row["last"] == [{"value": likeliest, "probability": lasts[n].count(likeliest) / worlds}]
            known = sorted(value for value in spreads[n] if value is not None)
            if known:
                out = max(1, math.floor(0.1 * (len(known) + 1)))
                assert row["i"]["low"] == pytest.approx(known[out - 1], rel=1e-9)
                assert row["i"]["high"] == pytest.approx(known[-out], rel=1e-9)
    assert seen > 8


def test_rows_that_do_not_exist_are_not_given(tmp_path: Path) -> None:
    rows = tags()
    program = TAGS_SQL + (
        "CREATE QUERY q AS SELECT k, EXPECTED(rows_seen(x)) AS n, rows_seen(x) AS stored, EXPECTED(middle(x)) AS m"
        f" FROM tags [RANGE 10 SECONDS] WHERE x < 90 GROUP BY k {PERIOD}"
    )
    for answer in run(tmp_path, program, rows, options={"seed": "9"}).answers["q"]:
        window = in_window(rows, answer)
        every = oracle.worlds(TAGS, window, ROUNDS, seed=9)
        counts, medians = (
            values_in_worlds(every, lambda row: row["x"] < 90, lambda row: row["k"], plain) for plain in (len, _middle)
        )
        assert {key for (key,) in by_key(answer, "k")} == set(counts)
        for (key,), row in by_key(answer, "k").items():
            assert row["n"] == pytest.approx(sum(counts[key]) / len(counts[key]), rel=1e-12)
            assert row["m"] == pytest.approx(math.fsum(medians[key]) / len(medians[key]), rel=1e-12)
            assert row["stored"] == sum(one["k"] == key and one["x"] < 90 for one in window)
            assert row["probability"] == len(counts[key]) / ROUNDS


def test_the_same_bytes_however_calls_are_dealt_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    over = "FROM speed [RANGE 10 SECONDS]"
    program = SPEED_SQL + (
        f"CREATE QUERY q AS SELECT k, spread(x, n) AS y, HISTOGRAM(leader(k, x, ''), 3) AS h {over} WHERE x > 30"
        f" GROUP BY k {PERIOD}"
        f"CREATE QUERY sure AS SELECT k, EXPECTED(middle(x)) AS m {over} GROUP BY k PERIOD 10 SECONDS"
        " CONFIDENCE 95% WITHIN 0.5;"
        f"CREATE QUERY seen AS SELECT worlds_seen(x) AS w {over} PERIOD 10 SECONDS"
        " ANSWERS WITHIN 1 SECOND, 2 SECONDS ROUNDS 20;"
    )
    one = run(tmp_path / "one", program, speeds(), backend=lambda: InProcess(1))
    monkeypatch.setattr("punctual.kinds.worlds.called_groups.MOST_BYTES", 2_000)
    other = run(tmp_path / "other", program, speeds(), backend=lambda: InProcess(5, seed=3))
    assert one.answers == other.answers
    assert all(answer["reached"] and answer["rounds"] > 100 for answer in one.answers["sure"])
    # A function is always called with the same worlds, so it cannot see how many were asked for.
    assert [(answer["rounds"], answer["rows"][0]["w"]) for answer in one.answers["seen"]] == [(20, 25), (40, 25)] * 2


def test_windows_without_rows_and_without_draws(tmp_path: Path) -> None:
    rows = [row for row in speeds(300) if not 9.5 < (row["t"] - START) / SECOND < 21]
    over = "FROM speed [RANGE 10 SECONDS]"
    program = SPEED_SQL.replace("NORMAL(x, sd)", "EMPIRICAL BY k") + (
        f"CREATE QUERY one AS SELECT middle(x) AS m, worlds_seen(x) AS w {over} {PERIOD}"
        f"CREATE QUERY groups AS SELECT k, middle(x) AS m, spread(n, 1) AS s {over} GROUP BY k {PERIOD}"
    )
    answers = run(tmp_path, program, rows).answers
    first, empty = answers["one"][0], answers["one"][1]
    assert first["rows"][0]["m"] == pytest.approx(_middle(in_window(rows, first)))
    assert (first["rows"][0]["w"], first["rounds"]) == (1, 0)  # where nothing differs between worlds there is one
    assert empty["rows"] == [{"m": None, "w": None, "probability": 1.0}]
    assert answers["groups"][1]["rows"] == []
    for (key,), row in by_key(answers["groups"][0], "k").items():
        own = [one["n"] for one in in_window(rows, first) if one["k"] == key and one["n"] is not None]
        assert row["s"] == max(own) - min(own)


RELEASED = threading.Event()


def breaks(x: Any) -> Any:
    raise LookupError("no such road")


def breaks_further_down(x: Any) -> Any:
    return json.loads("nothing" * x.shape[1])


def leaves(x: Any) -> Any:
    sys.exit(3)


def changes_its_arguments(x: Any) -> Any:
    x += 1
    return x.sum(axis=0)


def never_ends(x: Any) -> Any:
    RELEASED.wait(600)
    return x.sum(axis=0)


BESIDE = (
    "CREATE QUERY beside AS SELECT k, avg(x) AS m, middle(x) AS y FROM speed [RANGE 10 SECONDS] WHERE x > 10"
    f" GROUP BY k {PERIOD}"
    "CREATE QUERY counted AS SELECT count(*) AS n FROM speed [RANGE 10 SECONDS] PERIOD 10 SECONDS;"
)


@pytest.mark.parametrize(("function", "returns", "fact"), [
    (breaks, "DOUBLE", "LookupError: no such road (test_world_functions.py, line {}, in breaks)"),
    (breaks_further_down, "DOUBLE", "JSONDecodeError: Expecting value: line 1 column 1 (char 0)"
                                    " (test_world_functions.py, line {}, in breaks_further_down)"),
    (leaves, "DOUBLE", "SystemExit: 3 (test_world_functions.py, line {}, in leaves)"),
    (changes_its_arguments, "DOUBLE", "ValueError: output array is read-only"),
    (lambda x: x, "DOUBLE", "it returned a float64 array of shape 1x25, where one DOUBLE for each of 25 worlds"),
    (lambda x: x[0], "STRING", "it returned a float64 array of 25 values, where one STRING for each of 25 worlds"),
    (never_ends, "DOUBLE", "odd was still at work after 200ms (SET max_function_time)"),
])  # fmt: skip
def test_a_function_that_fails_stops_its_query_and_no_other(
    tmp_path: Path, function: Callable[..., Any], returns: str, fact: str
) -> None:
    program = SPEED_SQL + (
        f"CREATE QUERY q AS SELECT k, HISTOGRAM(odd(x), 2) AS y FROM speed [RANGE 10 SECONDS] GROUP BY k {PERIOD}"
    )
    limit = "200 ms" if function is never_ends else "1 minute"
    ran = run(
        tmp_path / "odd", program + BESIDE, speeds(), {**FUNCTIONS, "odd": (function, returns)},
        {"max_function_time": limit},
    )  # fmt: skip
    RELEASED.set()
    RELEASED.clear()
    assert ran.stopped == {"q"}
    line = function.__code__.co_firstlineno + 1
    why = ran.why("q")
    assert fact.format(line) in why
    assert "odd(x)" in why
    assert "^^^^^^" in why
    assert "all other queries go on" in why
    assert "q" not in ran.answers or ran.answers["q"] == []
    alone = run(tmp_path / "alone", SPEED_SQL + BESIDE, speeds())
    assert {name: ran.answers[name] for name in ("beside", "counted")} == alone.answers
    assert all(len(some) == 2 for some in alone.answers.values())


def test_others_go_on_after_a_function_has_failed(tmp_path: Path) -> None:
    def until_there_are_many(x: Any) -> Any:
        if x.shape[0] > 60:
            raise KeyError("too many")
        return x.sum(axis=0)

    program = SPEED_SQL.replace("FILES 'in' FORMAT JSON", "FEED") + BESIDE + (
        f"CREATE QUERY q AS SELECT odd(x) AS y FROM speed [RANGE 10 SECONDS] {PERIOD}"
    )
    rows = [{**row, "t": iso(row["t"])} for row in speeds(420)]
    parts = [rows[40:101], rows[101:201], rows[201:301], rows[301:401]]
    said: list[str] = []
    clock = ManualClock(START + 3600 * SECOND)
    with Engine(clock=clock, live=False, backend=lambda: InProcess(2), report=said.append) as engine:
        for name, (function, returns) in {**FUNCTIONS, "odd": (until_there_are_many, "DOUBLE")}.items():
            engine.world_function(name, function, returns)
        engine.sql(program)
        engine.open()
        stopped = []
        for part in parts:
            engine.feed("speed", part)
            engine.tick()
            stopped.append(set(engine.stopped()))
        assert stopped == [set(), {"q"}, {"q"}, {"q"}]
        assert [len(engine.answers(name)["at"].unique()) for name in ("q", "beside", "counted")] == [1, 4, 4]
    (why,) = said
    assert "KeyError: 'too many'" in why


# -- names and texts -------------------------------------------------------------------------------


def engine_with(functions: Functions = FUNCTIONS) -> Engine:
    engine = Engine(live=False, backend=lambda: InProcess(1))
    for name, (function, returns) in functions.items():
        engine.world_function(name, function, returns)
    return engine


@pytest.mark.parametrize(("name", "function", "returns", "code"), [
    ("two words", spread, "DOUBLE", "bind.bad-function"),
    ("3x", spread, "DOUBLE", "bind.bad-function"),
    ("select", spread, "DOUBLE", "bind.bad-function"),
    ("case", spread, "DOUBLE", "bind.bad-function"),
    ("größe", spread, "DOUBLE", "bind.bad-function"),
    (None, spread, "DOUBLE", "bind.bad-function"),
    ("Sum", spread, "DOUBLE", "bind.duplicate-name"),
    ("expected", spread, "DOUBLE", "bind.duplicate-name"),
    ("greatest", spread, "DOUBLE", "bind.duplicate-name"),
    ("levenshtein", spread, "DOUBLE", "bind.duplicate-name"),
    ("SPREAD", middle, "DOUBLE", "bind.duplicate-name"),
    ("mine", 3, "DOUBLE", "bind.bad-function"),
    ("mine", spread, "DECIMAL", "bind.bad-type"),
    ("mine", spread, None, "bind.bad-type"),
    ("mine", lambda: 3, "DOUBLE", "bind.bad-function"),
    ("mine", lambda x, *, scale: 3, "DOUBLE", "bind.bad-function"),
    ("mine", functools.partial(spread, threading.Lock()), "DOUBLE", "bind.bad-function"),
])  # fmt: skip
def test_what_cannot_be_registered(name: Any, function: Any, returns: Any, code: str) -> None:
    engine = engine_with()
    with pytest.raises(BindError) as refused:
        engine.world_function(name, function, returns)
    assert refused.value.code == code
    assert list(engine.catalog.functions) == list(FUNCTIONS)


@pytest.mark.parametrize(("select", "code", "place"), [
    ("SELECT k, arival(x) AS y FROM speed [RANGE 1 MINUTE] GROUP BY k", "bind.not-in-worlds", "arival(x)"),
    ("SELECT k, EXPECTED(arival(x)) AS y FROM speed [RANGE 1 MINUTE] GROUP BY k", "bind.not-in-worlds", "arival(x)"),
    ("SELECT k, spread(x) AS y FROM speed [RANGE 1 MINUTE] GROUP BY k", "bind.bad-argument", "spread(x)"),
    ("SELECT k, spread(x, n, 1) AS y FROM speed [RANGE 1 MINUTE] GROUP BY k", "bind.bad-argument", "spread(x, n, 1)"),
    ("SELECT k, spread(1, 2), avg(x) AS y FROM speed [RANGE 1 MINUTE] GROUP BY k", "bind.bad-argument", "spread(1, 2)"),
    ("SELECT k, middle(DISTINCT x) AS y FROM speed [RANGE 1 MINUTE] GROUP BY k", "plan.not-yet", "middle(DISTINCT x)"),
    ("SELECT k, middle(sum(x)) AS y FROM speed [RANGE 1 MINUTE] GROUP BY k", "bind.nested-aggregate", "sum(x)"),
    ("SELECT k, sum(middle(x)) AS y FROM speed [RANGE 1 MINUTE] GROUP BY k", "bind.nested-aggregate", "middle(x)"),
    ("SELECT k, avg(x) AS y FROM speed [RANGE 1 MINUTE] WHERE middle(x) > 3 GROUP BY k", "bind.aggregate-in-where",
     "middle(x)"),
    ("SELECT middle(x), avg(x) AS y FROM speed [RANGE 1 MINUTE] GROUP BY middle(x)", "bind.aggregate-in-group-by",
     "middle(x)"),
    ("SELECT middle(n) AS y FROM certain [RANGE 1 MINUTE]", "bind.nothing-uncertain", "middle(n)"),
])  # fmt: skip
def test_what_cannot_be_asked_of_functions(select: str, code: str, place: str) -> None:
    text = f"{SPEED_SQL} CREATE STREAM certain (t TIMESTAMP EVENT TIME, n INT) FROM FEED;"
    text += f"CREATE QUERY q AS {select} PERIOD 1 MINUTE;"
    with pytest.raises(ProgramErrors) as refused:
        engine_with().sql(text)
    found = [(one.code, text[one.span.start : one.span.end]) for one in refused.value.errors if one.span is not None]
    assert (code, place) in found


def test_an_unknown_function_says_what_is_missing() -> None:
    with pytest.raises(ProgramErrors) as refused:
        engine_with().sql(
            f"{SPEED_SQL} CREATE QUERY q AS SELECT arrival(x) AS y FROM speed [RANGE 1 MINUTE] PERIOD 1 MINUTE;"
        )
    assert 'registered first: engine.world_function("arrival", ...)' in str(refused.value)


@pytest.mark.parametrize(("select", "fact"), [
    ("SELECT EXPECTED(leader(k, x, '')) AS y FROM speed [RANGE 1 MINUTE]", "an expectation is of numbers"),
    ("SELECT k, leader(k, x, '') AS y FROM speed [RANGE 1 MINUTE] GROUP BY k", "an expectation is of numbers"),
    ("SELECT k, PROBABILITY(middle(x)) AS y FROM speed [RANGE 1 MINUTE] GROUP BY k", "PROBABILITY is of a condition"),
    ("SELECT k, middle(x) FILTER (WHERE n) AS y FROM speed [RANGE 1 MINUTE] GROUP BY k", "FILTER needs a condition"),
])  # fmt: skip
def test_types_that_do_not_fit(tmp_path: Path, select: str, fact: str) -> None:
    with pytest.raises(ProgramErrors) as refused:
        run(tmp_path, f"{SPEED_SQL} CREATE QUERY q AS {select} PERIOD 1 MINUTE;", speeds(10))
    assert fact in [error.fact for error in refused.value.errors]


def test_explain_says_who_calls_what() -> None:
    engine = engine_with()
    text = (
        f"{SPEED_SQL} CREATE QUERY q AS SELECT k, spread(x, n) AS y, count(*) AS c, HISTOGRAM(leader(k, x, ''), 2) AS h"
        " FROM speed [RANGE 1 MINUTE] GROUP BY k PERIOD 1 MINUTE; EXPLAIN q;"
    )
    found = engine.explain(text)
    assert "in 100 worlds, by kernels over rows that are read as they are, and spread and leader in tasks" in found
    assert "call   spread of Python, 2 arguments, DOUBLE" in found
    assert "call   leader of Python, 3 arguments, STRING" in found


def test_a_resumed_run_needs_the_function_again_and_goes_on(tmp_path: Path) -> None:
    program = (
        "CREATE STREAM speed (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k STRING KEY, x DOUBLE ~ NORMAL(x, sd),"
        " sd DOUBLE, n INT) FROM FEED;"
        f"CREATE QUERY q AS SELECT k, spread(x, n) AS y FROM speed [RANGE 10 SECONDS] GROUP BY k {PERIOD}"
    )
    rows = [{**row, "t": iso(row["t"])} for row in speeds()]

    def fed(state: Path, parts: Sequence[Sequence[oracle.Row]]) -> list[Any]:
        for part in parts:
            clock = ManualClock(START + 3600 * SECOND)
            with Engine(str(state), clock=clock, live=False, backend=lambda: InProcess(1)) as engine:
                if part is not parts[0]:
                    with pytest.raises(ProgramErrors, match="world_function"):
                        engine.sql(program)
                engine.world_function("spread", spread, "DOUBLE")
                engine.sql(program)
                engine.open()
                engine.feed("speed", part)
                engine.tick()
                if part is parts[-1]:
                    engine.end()
                    blocks = (block.table.select(["at", "rows", "error"]) for block in engine.records())
                    return [row for block in blocks for row in block.to_pylist()]
        raise AssertionError

    found = fed(tmp_path / "cut", [rows[:150], rows[150:]])
    assert len(found) == 2
    assert found == fed(tmp_path / "whole", [rows])


def test_a_function_may_come_while_the_engine_is_open(tmp_path: Path) -> None:
    clock = ManualClock(START + 3600 * SECOND)
    with punctual.connect(clock=clock, live=False, backend=lambda: InProcess(1)) as engine:
        engine.sql(
            "CREATE STREAM s (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, x DOUBLE ~ UNIFORM(lo, hi), lo DOUBLE,"
            " hi DOUBLE) FROM FEED;"
        )
        engine.open()
        engine.world_function("rows_seen", rows_seen, "BIGINT")
        engine.sql("CREATE QUERY q AS SELECT rows_seen(x) AS n FROM s [RANGE 10 SECONDS] PERIOD 10 SECONDS;")
        engine.feed("s", [{"t": iso(START + n * SECOND), "lo": 0.0, "hi": 1.0} for n in range(1, 12)])
        engine.tick()
        engine.end()
        assert engine.answers("q")["n"].tolist() == [10.0]
