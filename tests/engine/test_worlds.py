"""Queries over possible worlds, from SQL to answers, against DuckDB over every world by itself."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pyarrow as pa
import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.errors import ProgramErrors
from punctual.kinds.program import compile_program
from punctual.kinds.worlds.rounds import panes
from punctual.runtime.backend import Backend
from tests.inprocess.backend import InProcess
from tests.oracles import possible_worlds as oracle

START = 1_700_000_000 * SECOND
SPEED = oracle.Stream(
    "speed",
    {"t": pa.int64(), "k": pa.string(), "x": pa.float64(), "sd": pa.float64(), "n": pa.int32()},
    {"x": oracle.normal("x", "sd")},
)
SPEED_SQL = """
CREATE STREAM speed (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k STRING KEY, x DOUBLE ~ NORMAL(x, sd), sd DOUBLE,
                     n INT) FROM FILES 'in' FORMAT JSON;
"""
TYPES = {"k": pa.string(), "x": pa.float64(), "n": pa.int32()}
WINDOW_S, ROUNDS = 10, 64


def speeds(count: int = 240) -> list[oracle.Row]:
    draw = random.Random(7)
    rows = []
    for number in range(count):
        at = START + number * 100_000 + 1
        row = {"t": at, "k": f"k{draw.randrange(3)}", "x": round(draw.gauss(50, 20), 2), "n": draw.randrange(9)}
        row["sd"] = draw.choice([0.0, 2.0, 30.0])
        rows.append({name: row[name] for name in SPEED.columns})
    rows[5] = dict(rows[4])  # the same row twice: two rows, which draw apart
    rows[7]["k"] = None
    rows[9]["n"] = None
    return rows


def answers(
    folder: Path,
    program: str,
    rows: Sequence[oracle.Row],
    options: dict[str, str] | None = None,
    backend: Callable[[], Backend] = lambda: InProcess(2),
) -> dict[str, list[dict[str, Any]]]:
    (folder / "in").mkdir(parents=True)
    lines = [json.dumps({**row, "t": iso(row["t"])}) + "\n" for row in rows]
    (folder / "in" / "a.json").write_text("".join(lines))
    engine = Engine(
        out=str(folder / "out"), base=str(folder), live=False, clock=ManualClock(START + 3600 * SECOND),
        options=options or {}, backend=backend,
    )  # fmt: skip
    with engine:
        engine.sql(program)
        engine.run_once()
    return {
        path.stem: [json.loads(line) for line in path.read_text().splitlines()]
        for path in (folder / "out").glob("*.jsonl")
    }


def in_window(rows: Sequence[oracle.Row], answer: dict[str, Any], range_s: int = WINDOW_S) -> list[oracle.Row]:
    at = START + round((_seconds(answer["at"]) - _seconds(iso(START))) * SECOND)
    return [row for row in rows if at - range_s * SECOND < row["t"] <= at]


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def by_key(answer: dict[str, Any], *keys: str) -> dict[tuple[Any, ...], dict[str, Any]]:
    return {tuple(row[key] for key in keys): row for row in answer["rows"]}


CASES = [
    ("SELECT k, avg(x) AS y FROM {} WHERE x > 40 AND n > 2 GROUP BY k", ["k"]),
    ("SELECT k, sum(x * n) AS y FROM {} GROUP BY k", ["k"]),
    ("SELECT k, max(x) AS y FROM {} WHERE n IS NULL OR n < 6 GROUP BY k HAVING avg(x) > 50", ["k"]),
    ("SELECT k, min(CASE WHEN x > 60 THEN 60 WHEN x < 0 THEN NULL ELSE x END) AS y FROM {} GROUP BY k", ["k"]),
    ("SELECT sum(x) / count(*) AS y FROM {} WHERE x BETWEEN 20 AND 80", []),
    ("SELECT k, n, count(*) FILTER (WHERE x > 55) AS y FROM {} GROUP BY k, n", ["k", "n"]),
    ("SELECT floor(x / 40) AS f, k, count(*) AS y FROM {} WHERE n <> 3 GROUP BY k, floor(x / 40)", ["k", "f"]),
    ("SELECT x > 50 AS f, sum(n) AS y FROM {} GROUP BY x > 50 HAVING count(*) > 3", ["f"]),
    ("SELECT k, n % 2 AS m, sum(abs(x - 50)) AS y FROM {} WHERE x <> 50 GROUP BY k, n % 2", ["k", "m"]),
]


@pytest.mark.parametrize(("text", "keys"), CASES)
def test_expectations_and_probabilities_are_those_of_every_world(tmp_path: Path, text: str, keys: list[str]) -> None:
    rows = speeds()
    over = text.format("speed [RANGE 10 SECONDS]")
    program = f"{SPEED_SQL} CREATE QUERY q AS {over} PERIOD 10 SECONDS ROUNDS {ROUNDS};"
    found = answers(tmp_path, program, rows, {"seed": "5", "closed_forms": "off"})["q"]
    assert len(found) == 2
    for answer in found:
        every = oracle.worlds(SPEED, in_window(rows, answer), ROUNDS, seed=5)
        results = oracle.over_worlds(text.format("world"), every, TYPES)
        means, there = oracle.expectation(results, keys, "y"), oracle.presence(results, keys)
        assert (answer["basis"], answer["rounds"], answer["reached"]) == ("worlds", ROUNDS, True)
        mine = by_key(answer, *keys)
        assert mine.keys() == there.keys()
        for key, row in mine.items():
            assert row["probability"] == there[key]
            assert row["y"] == pytest.approx(means[key], rel=1e-9) if key in means else row["y"] is None


MIXED = """
    CREATE QUERY q AS SELECT k, max(x) AS y, sum(n) AS n, PROBABILITY(max(x) > 90) AS p, INTERVAL(min(x), 50%) AS i
        FROM speed [RANGE 10 SECONDS] GROUP BY k PERIOD 10 SECONDS ROUNDS {rounds};
    CREATE QUERY fewer AS SELECT n, count(*) AS c, EXPECTED(sum(x)) AS e, HISTOGRAM(avg(x), 3) AS h
        FROM speed [RANGE 10 SECONDS] WHERE x > 40 GROUP BY n PERIOD 10 SECONDS ROUNDS {rounds};
    CREATE QUERY drawn AS SELECT floor(x / 40) AS f, count(*) AS c
        FROM speed [RANGE 10 SECONDS] GROUP BY floor(x / 40) PERIOD 10 SECONDS ROUNDS {rounds};
"""


@pytest.mark.parametrize("block", [1, 300])
def test_it_does_not_show_how_many_rounds_were_drawn_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    """Of windows with very many rows rounds are drawn one by one."""
    program = SPEED_SQL + MIXED.format(rounds=7)
    usual = answers(tmp_path / "usual", program, speeds(), {"closed_forms": "off"})
    monkeypatch.setattr(panes, "BLOCK_NUMBERS", block)
    monkeypatch.setattr(panes, "MOST_BLOCK_NUMBERS", block)
    assert answers(tmp_path / "other", program, speeds(), {"closed_forms": "off"}) == usual


def test_one_round_says_nothing_of_others(tmp_path: Path) -> None:
    program = SPEED_SQL + MIXED.format(rounds=1)
    found = answers(tmp_path, program, speeds(), {"closed_forms": "off"})
    lonely = [0.20654931437723745, 1.0]  # Wilson's interval of one success in one trial
    for answer in found["q"]:
        assert answer["error"]["y"] == {"confidence": None}
        held = [row["p"] for row in answer["rows"]]
        assert answer["error"]["p"]["low"] == pytest.approx([lonely[0] if p else 0.0 for p in held])
        assert answer["error"]["p"]["high"] == pytest.approx([1.0 if p else 1.0 - lonely[0] for p in held])
        assert answer["error"].keys() == {"y", "p"}, "groups have rows in all worlds, and n is certain"
    for answer in found["fewer"]:
        assert answer["error"].keys() == {"c", "e", "probability"}
    for answer in found["drawn"]:
        assert answer["error"].keys() == {"c", "probability"}


@pytest.mark.parametrize("closed_forms", ["on", "off"])
def test_what_is_not_finite_is_not_left_out_of_a_sum(tmp_path: Path, closed_forms: str) -> None:
    """As in Spark: a sum with NaN is NaN, which is greater than any number; NULL is no value, and left out."""
    said = "EXPECTED({0}) AS e, PROBABILITY({0} > -9e4) AS p, PROBABILITY(NOT {0} > -9e4) AS q, INTERVAL({0}, 50%) AS i"
    over = "FROM speed [RANGE 10 SECONDS] GROUP BY n PERIOD 10 SECONDS"
    program = SPEED_SQL + "".join(
        f"CREATE QUERY {name} AS SELECT n, {said.format(value)} {over};"
        for name, value in {
            "root": "sum(x + sqrt(n - 4))", "power": "avg(x * 2 - exp(n * 100))", "product": "sum(x * sqrt(n - 4))",
        }.items()
    )  # fmt: skip
    found = answers(tmp_path, program, speeds(), {"closed_forms": closed_forms})
    assert {answer["basis"] for answer in found["root"]} == {"exact" if closed_forms == "on" else "worlds"}
    for name in found:
        for answer in found[name]:
            for row in answer["rows"]:
                both, n = (row["i"], row["e"]), row["n"]
                if n is None:
                    assert (row["e"], row["p"], row["q"], row["i"]) == (None, 0.0, 0.0, None)
                elif name != "power" and n < 4:
                    assert (row["p"], row["q"], *both) == (1.0, 0.0, {"low": "NaN", "high": "NaN"}, "NaN")
                elif name == "power" and n == 8:
                    ends = {"low": "-Infinity", "high": "-Infinity"}
                    assert (row["p"], row["q"], *both) == (0.0, 1.0, ends, "-Infinity")
                else:
                    assert isinstance(row["e"], float)


@pytest.mark.parametrize("closed_forms", ["on", "off"])
def test_whole_numbers_that_no_double_has(tmp_path: Path, closed_forms: str) -> None:
    """Identifiers, and sums of times in microseconds, have more than 53 bits."""
    declared = (
        "CREATE STREAM trades (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k STRING KEY, id BIGINT, price DOUBLE"
        " ~ NORMAL(price, sd), sd DOUBLE, maker BIGINT ~ EMPIRICAL BY k) FROM FILES 'in' FORMAT JSON;"
    )
    text = "SELECT {}, sum(id) AS s, min(id) AS least, max(id) AS most, {} FROM trades [RANGE 10 SECONDS] {}"
    program = declared + "".join(
        f"CREATE QUERY {name} AS {text.format(*parts)} PERIOD 10 SECONDS ROUNDS 9;"
        for name, parts in {
            "plain": ("k", "sum(price) AS p", "GROUP BY k"),
            "sold": ("k", "PROBABILITY(max(maker) = 9007199254741001) AS p", "GROUP BY k"),
        }.items()
    )
    rows: list[oracle.Row] = [
        {"t": START + n * 100_000 + 1, "k": f"k{n % 2}", "id": 2**53 + 1 + 2 * n, "price": 5000.0, "sd": 1.0,
         "maker": None if n % 3 == 0 else 9007199254741001}
        for n in range(150)
    ]  # fmt: skip
    found = answers(tmp_path, program, rows, {"closed_forms": closed_forms})
    for (answer,) in found.values():
        for row in answer["rows"]:
            own = [one["id"] for one in in_window(rows, answer) if one["k"] == row["k"]]
            assert (row["s"], row["least"], row["most"]) == (sum(own), min(own), max(own))
    assert [row["p"] for row in found["sold"][0]["rows"]] == [1.0, 1.0]


def test_rows_are_told_apart_by_what_is_certain(tmp_path: Path) -> None:
    rows = speeds()
    program = SPEED_SQL + (
        "CREATE QUERY q AS SELECT k, n, x - 1 AS y FROM speed [RANGE 10 SECONDS] WHERE x < 45"
        f" HAVING PROBABILITY >= 0.4 PERIOD 10 SECONDS ROUNDS {ROUNDS};"
    )
    found = answers(tmp_path, program, rows)["q"]
    for answer in found:
        every = oracle.worlds(SPEED, in_window(rows, answer), ROUNDS, seed=0)
        text = "SELECT k, n, avg(x - 1) AS y FROM world WHERE x < 45 GROUP BY k, n"
        results = oracle.over_worlds(text, every, TYPES)
        there = {key: share for key, share in oracle.presence(results, ["k", "n"]).items() if share >= 0.4}
        means = oracle.expectation(results, ["k", "n"], "y")
        assert {key: row["probability"] for key, row in by_key(answer, "k", "n").items()} == there
        for key, row in by_key(answer, "k", "n").items():
            assert row["y"] == pytest.approx(means[key], rel=1e-9)


def test_intervals_and_histograms_are_of_the_worlds(tmp_path: Path) -> None:
    rows = speeds()
    program = SPEED_SQL + (
        "CREATE QUERY q AS SELECT k, INTERVAL(sum(x), 90%) AS i, HISTOGRAM(sum(x), 4) AS h,"
        " PROBABILITY(sum(x) > 1500) AS p, PROBABILITY(NOT sum(x) > 1500) AS not_p, EXPECTED(sum(x)) AS e"
        f" FROM speed [RANGE 10 SECONDS] WHERE x > 10 GROUP BY k PERIOD 10 SECONDS ROUNDS {ROUNDS};"
    )
    for answer in answers(tmp_path, program, rows)["q"]:
        every = oracle.worlds(SPEED, in_window(rows, answer), ROUNDS, seed=0)
        text = "SELECT k, sum(x) AS y FROM world WHERE x > 10 GROUP BY k"
        results = oracle.over_worlds(text, every, TYPES)
        for key, row in by_key(answer, "k").items():
            values = sorted(one["y"] for world in results for one in world if (one["k"],) == key)
            outside = math.floor(0.05 * (len(values) + 1))
            assert row["i"]["low"] == pytest.approx(values[max(outside, 1) - 1], rel=1e-9)
            assert row["i"]["high"] == pytest.approx(values[-max(outside, 1)], rel=1e-9)
            assert row["p"] == sum(value > 1500 for value in values) / len(values)
            assert row["p"] + row["not_p"] == pytest.approx(1.0)
            assert sum(one["probability"] for one in row["h"]) == pytest.approx(1.0)
            edges = [one["low"] for one in row["h"]] + [row["h"][-1]["high"]]
            assert edges[0] == pytest.approx(values[0], rel=1e-9)
            assert edges[-1] == pytest.approx(values[-1], rel=1e-9)
            first = sum(value < edges[1] for value in values) / len(values)
            assert row["h"][0]["probability"] == pytest.approx(first, abs=1.5 / len(values))


def test_closed_forms_are_what_worlds_come_to(tmp_path: Path) -> None:
    rows = speeds()
    program = SPEED_SQL + (
        "CREATE QUERY q AS SELECT k, EXPECTED(sum(2 * x + n)) AS e, PROBABILITY(sum(x) >= 1600) AS p,"
        " INTERVAL(avg(x), 95%) AS i, count(*) AS c, sum(n) AS s FROM speed [RANGE 10 SECONDS] WHERE n >= 0 GROUP BY k"
        " PERIOD 10 SECONDS ROUNDS 4000;"
    )
    exact = answers(tmp_path / "exact", program, rows)["q"]
    drawn = answers(tmp_path / "drawn", program, rows, {"closed_forms": "off"})["q"]
    for one, other in zip(exact, drawn, strict=True):
        assert (one["basis"], one["error"], one["rounds"]) == ("exact", None, 0)
        assert (other["basis"], other["rounds"]) == ("worlds", 4000)
        window = [row for row in in_window(rows, one) if row["n"] is not None]
        for key, row in by_key(one, "k").items():
            mine = [one for one in window if (one["k"],) == key]
            mean, sd = sum(one["x"] for one in mine), math.sqrt(sum(one["sd"] ** 2 for one in mine))
            assert (row["c"], row["s"], row["probability"]) == (len(mine), sum(one["n"] for one in mine), 1.0)
            assert row["e"] == pytest.approx(2 * mean + row["s"], rel=1e-12)
            assert row["p"] == pytest.approx(1 - NormalDist(mean, sd).cdf(1600), abs=1e-12)
            reach = NormalDist().inv_cdf(0.975) * sd / len(mine)
            assert row["i"]["low"] == pytest.approx(mean / len(mine) - reach, rel=1e-9)
            near = by_key(other, "k")[key]
            assert near["e"] == pytest.approx(row["e"], abs=5 * 2 * sd / math.sqrt(4000))
            assert near["p"] == pytest.approx(row["p"], abs=5 * 0.5 / math.sqrt(4000))
            assert near["i"]["high"] == pytest.approx(row["i"]["high"], abs=0.3 * reach)
            assert (near["c"], near["s"]) == (row["c"], row["s"])


TAGS = oracle.Stream(
    "tags",
    {"t": pa.int64(), "k": pa.string(), "x": pa.int64(), "p": pa.float64(), "r": pa.string()},
    probability="p",
    rule="r",
)
TAGS_SQL = """
CREATE STREAM tags (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k STRING KEY, x BIGINT, p DOUBLE PROBABILITY,
                    r STRING RULE) FROM FILES 'in' FORMAT JSON;
"""


def tags(count: int = 170) -> list[oracle.Row]:
    draw = random.Random(3)
    rows = []
    for number in range(count):
        label = f"r{number // 4}" if draw.random() < 0.5 else None
        p = draw.choice([0.1, 0.2, 0.25]) if label else draw.choice([0.05, 0.5, 0.9, 1.0])
        row = {"t": START + number * 125_000 + 1, "k": f"k{draw.randrange(4)}", "x": draw.randrange(100)}
        rows.append({**row, "p": p, "r": label})
    return rows


def test_rows_exist_in_some_worlds(tmp_path: Path) -> None:
    rows = tags()
    program = TAGS_SQL + (
        "CREATE QUERY q AS SELECT k, EXPECTED(sum(x)) AS e, PROBABILITY(count(*) >= 3) AS p, count(*) AS stored"
        f" FROM tags [RANGE 10 SECONDS] WHERE x < 90 GROUP BY k PERIOD 10 SECONDS ROUNDS {ROUNDS};"
    )
    drawn = answers(tmp_path / "drawn", program, rows, {"closed_forms": "off", "seed": "9"})["q"]
    exact = answers(tmp_path / "exact", program, rows)["q"]
    types = {"k": pa.string(), "x": pa.int64()}
    for one, known in zip(drawn, exact, strict=True):
        window = in_window(rows, one)
        every = oracle.worlds(TAGS, window, ROUNDS, seed=9)
        text = "SELECT k, sum(x) AS e, (count(*) >= 3)::INT AS p FROM world WHERE x < 90 GROUP BY k"
        results = oracle.over_worlds(text, every, types)
        there = oracle.presence(results, ["k"])
        assert {key: row["probability"] for key, row in by_key(one, "k").items()} == there
        for name in ("e", "p"):
            means = oracle.expectation(results, ["k"], name)
            assert {key: row[name] for key, row in by_key(one, "k").items()} == pytest.approx(means, rel=1e-12)
        assert (known["basis"], known["error"]) == ("exact", None)
        for key, row in by_key(known, "k").items():
            mine = [other for other in window if (other["k"],) == key and other["x"] < 90]
            assert row["stored"] == by_key(one, "k").get(key, row)["stored"] == len(mine)
            law = _law(mine)
            some = 1.0 - law.get(0, 0.0)
            assert row["probability"] == pytest.approx(some, rel=1e-12)
            assert row["e"] == pytest.approx(sum(other["x"] * other["p"] for other in mine) / some, rel=1e-12)
            assert row["p"] == pytest.approx(sum(share for n, share in law.items() if n >= 3) / some, rel=1e-9)


def _law(rows: Sequence[oracle.Row]) -> dict[int, float]:
    """How likely each number of rows is, by all subsets of independent events."""
    events = [row["p"] for row in rows if row["r"] is None]
    for label in {row["r"] for row in rows if row["r"] is not None}:
        events.append(math.fsum(row["p"] for row in rows if row["r"] == label))
    law = {0: 1.0}
    for p in events:
        more: dict[int, float] = {}
        for count, share in law.items():
            more[count] = more.get(count, 0.0) + share * (1 - p)
            more[count + 1] = more.get(count + 1, 0.0) + share * p
        law = more
    return law


def test_confidence_asks_for_rounds_by_the_data(tmp_path: Path) -> None:
    rows = speeds()
    program = SPEED_SQL + (
        "CREATE QUERY q AS SELECT avg(x) AS m FROM speed [RANGE 10 SECONDS] WHERE x > 0 PERIOD 10 SECONDS"
        " CONFIDENCE 95% WITHIN 0.2;"
        "CREATE QUERY never AS SELECT avg(x) AS m FROM speed [RANGE 10 SECONDS] WHERE x > 0 PERIOD 10 SECONDS"
        " CONFIDENCE 95% WITHIN 0.0001;"
    )
    found = answers(tmp_path, program, rows)
    for answer in found["q"]:
        half = (answer["error"]["m"]["high"][0] - answer["error"]["m"]["low"][0]) / 2
        assert answer["reached"] is True
        assert answer["rounds"] > 100
        assert half <= 0.2
    assert {answer["reached"] for answer in found["never"]} == {False}


def test_other_seeds_are_other_worlds_and_the_same_seed_the_same_bytes(tmp_path: Path) -> None:
    program = SPEED_SQL + (
        f"CREATE QUERY q AS SELECT k, max(x) AS m FROM speed [RANGE 10 SECONDS] GROUP BY k PERIOD 10 SECONDS"
        f" ROUNDS {ROUNDS};"
    )
    one, again, other = (
        answers(tmp_path / name, program, speeds(), {"seed": seed})["q"]
        for name, seed in (("one", "1"), ("again", "1"), ("other", "2"))
    )
    assert one == again
    assert [answer["rows"] for answer in one] != [answer["rows"] for answer in other]


def test_later_answers_of_an_instant_rest_on_more_rounds(tmp_path: Path) -> None:
    query = "SELECT k, max(x) AS m, PROBABILITY(avg(x) > 50) AS p FROM speed [RANGE 10 SECONDS] GROUP BY k"
    program = SPEED_SQL + (
        f"CREATE QUERY q AS {query} PERIOD 10 SECONDS ANSWERS WITHIN 1 SECOND, 3 SECONDS, 5 SECONDS ROUNDS 20;"
        f"CREATE QUERY two AS {query} PERIOD 10 SECONDS ROUNDS 40;"
        f"CREATE QUERY three AS {query} PERIOD 10 SECONDS ROUNDS 60;"
        f"CREATE QUERY once AS {query} ANSWERS WITHIN 1 SECOND, 2 SECONDS ROUNDS 20;"
    )
    found = answers(tmp_path, program, speeds())
    assert [(one["at"][-9:], one["number"], one["rounds"]) for one in found["q"]] == [
        (at, number, 20 * (number + 1)) for at in ("22:13:30Z", "22:13:40Z") for number in range(3)
    ]
    for place, other in ((1, "two"), (2, "three")):
        said = [(one["rows"], one["error"]) for one in found["q"][place::3]]
        assert said == [(one["rows"], one["error"]) for one in found[other]]
    assert [(one["number"], one["rounds"]) for one in found["once"]] == [(0, 20), (1, 40)]
    assert len({one["at"] for one in found["once"]}) == 1


@pytest.mark.parametrize(("clauses", "code", "place"), [
    ("PERIOD 10 SECONDS ROUNDS 0", "parse.syntax", "0"),
    ("PERIOD 10 SECONDS ROUNDS 100000001", "bind.bad-rounds", "ROUNDS 100000001"),
    ("PERIOD 10 SECONDS ROUNDS 5 CONFIDENCE 95% WITHIN 1", "bind.two-efforts", "CONFIDENCE 95% WITHIN 1"),
    ("HAVING PROBABILITY >= 2 PERIOD 10 SECONDS", "bind.bad-probability", "PROBABILITY >= 2"),
])  # fmt: skip
def test_what_is_asked_for_must_mean_something(clauses: str, code: str, place: str) -> None:
    text = f"{SPEED_SQL} CREATE QUERY q AS SELECT k, avg(x) AS m FROM speed [RANGE 1 MINUTE] GROUP BY k {clauses};"
    with pytest.raises(ProgramErrors) as refused:
        compile_program(text, base=".")
    (error,) = refused.value.errors
    assert error.code == code
    assert error.span is not None
    assert text[error.span.start : error.span.end] == place


@pytest.mark.parametrize(("select", "code"), [
    ("SELECT EXPECTED(sum(n)) AS e FROM certain [RANGE 1 MINUTE]", "bind.nothing-uncertain"),
    ("SELECT n FROM certain [RANGE 1 MINUTE] GROUP BY n HAVING PROBABILITY > 0.5", "bind.nothing-uncertain"),
    ("SELECT k, INTERVAL(sum(x), 100%) AS i FROM speed [RANGE 1 MINUTE] GROUP BY k", "bind.bad-share"),
    ("SELECT k, HISTOGRAM(sum(x), 0) AS h FROM speed [RANGE 1 MINUTE] GROUP BY k", "bind.bad-argument"),
    ("SELECT k, EXPECTED(sum(x), 3) AS e FROM speed [RANGE 1 MINUTE] GROUP BY k", "bind.bad-argument"),
    ("SELECT k, EXPECTED(EXPECTED(sum(x))) AS e FROM speed [RANGE 1 MINUTE] GROUP BY k", "bind.nested-aggregate"),
    ("SELECT k, EXPECTED(PROBABILITY(x > 1)) AS e FROM speed [RANGE 1 MINUTE]", "bind.nested-aggregate"),
    ("SELECT k, INTERVAL(sum(x)) AS i FROM speed [RANGE 1 MINUTE] GROUP BY k", "bind.bad-argument"),
    ("SELECT n, avg(x) AS m FROM speed [RANGE 1 MINUTE] GROUP BY k", "bind.not-grouped"),
    ("SELECT k, avg(xx) AS s FROM speed [RANGE 1 MINUTE] WHERE x > 1 GROUP BY k", "bind.unknown-column"),
    ("SELECT TOP 2 k FROM speed [RANGE 1 MINUTE] ORDER BY x DESC", "bind.uncertain-score"),
])  # fmt: skip
def test_what_cannot_be_asked(select: str, code: str) -> None:
    certain = "CREATE STREAM certain (t TIMESTAMP EVENT TIME, n INT) FROM FEED;"
    with pytest.raises(ProgramErrors) as refused:
        compile_program(f"{SPEED_SQL} {certain} CREATE QUERY q AS {select} PERIOD 1 MINUTE;", base=".")
    assert code in [error.code for error in refused.value.errors]
    assert all(error.span is not None for error in refused.value.errors)


def test_who_reads_nothing_uncertain_is_told_what_is() -> None:
    with pytest.raises(ProgramErrors) as refused:
        compile_program(
            f"{SPEED_SQL} CREATE QUERY q AS SELECT EXPECTED(sum(n)) AS e FROM speed [RANGE 1 MINUTE] PERIOD 1 MINUTE;",
            base=".",
        )
    (error,) = refused.value.errors
    assert (error.fact, error.hint) == (
        "nothing in this query is uncertain: it does not read x", "ask for something of x",
    )  # fmt: skip


@pytest.mark.parametrize(("select", "fact"), [
    ("SELECT k, PROBABILITY(sum(x)) AS p FROM speed [RANGE 1 MINUTE] GROUP BY k", "PROBABILITY is of a condition"),
    ("SELECT k, sum(x) + 'a' AS p FROM speed [RANGE 1 MINUTE] GROUP BY k", "+ does not take STRING"),
    ("SELECT k, avg(x) AS m FROM speed [RANGE 1 MINUTE] WHERE x GROUP BY k", "WHERE needs a condition"),
])  # fmt: skip
def test_types_that_do_not_fit(tmp_path: Path, select: str, fact: str) -> None:
    with pytest.raises(ProgramErrors) as refused:
        answers(tmp_path, f"{SPEED_SQL} CREATE QUERY q AS {select} PERIOD 1 MINUTE;", speeds(10))
    assert fact in [error.fact for error in refused.value.errors]


@pytest.mark.parametrize("closed_forms", ["on", "off"])
def test_windows_without_rows(tmp_path: Path, closed_forms: str) -> None:
    rows = [row for row in speeds(400) if not 9.5 < (row["t"] - START) / SECOND < 31]
    over = "FROM speed [RANGE 10 SECONDS]"
    program = SPEED_SQL + (
        f"CREATE QUERY groups AS SELECT k, avg(x) AS m {over} WHERE x > 0 GROUP BY k PERIOD 10 SECONDS;"
        f"CREATE QUERY drawn AS SELECT floor(x) AS f, count(*) AS n {over} GROUP BY floor(x) PERIOD 10 SECONDS;"
        "CREATE QUERY one AS SELECT count(*) AS n, avg(x) AS m, PROBABILITY(sum(x) > 3) AS p,"
        f" INTERVAL(sum(x), 50%) AS i, HISTOGRAM(max(x), 3) AS h {over} WHERE x > 0"
        " PERIOD 10 SECONDS CONFIDENCE 90% WITHIN 1%;"
        f"CREATE QUERY plain AS SELECT sum(x) AS s, EXPECTED(avg(x)) AS e {over} PERIOD 10 SECONDS;"
    )
    found = answers(tmp_path, program, rows, {"closed_forms": closed_forms})
    for number in (1, 2):
        assert found["groups"][number]["rows"] == found["drawn"][number]["rows"] == []
        nothing = {"n": 0.0, "m": None, "p": 0.0, "i": None, "h": [], "probability": 1.0}
        assert found["one"][number]["rows"] == [nothing]
        assert found["plain"][number]["rows"] == [{"s": None, "e": None, "probability": 1.0}]
    assert all(found[query][0]["rows"] for query in found)


def test_what_is_made_of_certain_values_has_no_error(tmp_path: Path) -> None:
    """Neither has a column of keys or of sums that are the same in all worlds, whatever is drawn beside it."""
    program = SPEED_SQL + f"""
        CREATE QUERY q AS
        SELECT n + 1 AS next, sum(n) * 2 AS twice, count(*) AS c, max(x) AS x, EXPECTED(max(x)) / count(*) AS part
        FROM speed [RANGE {WINDOW_S} SECONDS] WHERE n IS NOT NULL GROUP BY n PERIOD {WINDOW_S} SECONDS ROUNDS {ROUNDS};
    """
    for answer in answers(tmp_path, program, speeds())["q"]:
        assert set(answer["error"]) == {"x", "part"}
        assert answer["error"]["part"] == {"confidence": None}
        assert all(row["twice"] == 2 * (row["next"] - 1) * row["c"] for row in answer["rows"])


def test_a_star_stands_for_all_columns(tmp_path: Path) -> None:
    """Those that are certain tell result rows apart, so two rows with the same values are one result row."""
    over = f"FROM speed [RANGE {WINDOW_S} SECONDS] AS s WHERE x > 40 HAVING PROBABILITY > 0.1"
    until = f"PERIOD {WINDOW_S} SECONDS ROUNDS {ROUNDS};"
    program = SPEED_SQL + f"""
        CREATE QUERY named AS SELECT t, k, x, sd, n, PROBABILITY(x > 60) AS p {over} ORDER BY x DESC, t LIMIT 9 {until}
        CREATE QUERY star AS SELECT *, PROBABILITY(x > 60) AS p {over} ORDER BY x DESC, t LIMIT 9 {until}
        CREATE QUERY of_item AS SELECT s.*, PROBABILITY(x > 60) AS p {over} ORDER BY x DESC, t LIMIT 9 {until}
        CREATE QUERY unread AS SELECT * FROM speed [RANGE {WINDOW_S} SECONDS] {until}
    """
    found = answers(tmp_path, program, speeds())
    assert sum(len(answer["rows"]) for answer in found["named"]) == 18
    for answer, star, of_item in zip(found["named"], found["star"], found["of_item"], strict=True):
        assert (star["rows"], star["error"]) == (answer["rows"], answer["error"])
        assert (of_item["rows"], of_item["error"]) == (answer["rows"], answer["error"])
    assert [*found["unread"][0]["rows"][0]] == ["t", "k", "x", "sd", "n", "probability"]


@pytest.mark.parametrize(("select", "code", "place"), [
    ("SELECT * FROM speed [RANGE 1 MINUTE] GROUP BY k", "bind.not-grouped", "*"),
    ("SELECT y.* FROM speed [RANGE 1 MINUTE] WHERE x > 1", "bind.unknown-stream", "y"),
    ("SELECT *, x FROM speed [RANGE 1 MINUTE]", "bind.duplicate-name", "x"),
    ("SELECT *, EXPECTED(stddev(x)) AS e FROM speed [RANGE 1 MINUTE]", "plan.not-yet", "*"),
])  # fmt: skip
def test_what_is_wrong_with_a_star(select: str, code: str, place: str) -> None:
    text = f"{SPEED_SQL} CREATE QUERY q AS {select} PERIOD 1 MINUTE;"
    with pytest.raises(ProgramErrors) as refused:
        compile_program(text, base=".")
    first = refused.value.errors[0]
    assert first.span is not None
    assert (first.code, text[first.span.start : first.span.end]) == (code, place), first.render()


def test_errors_do_not_depend_on_who_is_answered_together(tmp_path: Path) -> None:
    """In the first window no y is missing, in the second some are: answered in one batch, and in one each."""
    rows = [
        {**row, "y": None if row["t"] > START + 11 * SECOND and row["n"] == 3 else row["n"] or 0} for row in speeds()
    ]
    declared = SPEED_SQL.replace("n INT)", "n INT, y INT ~ EMPIRICAL BY k)")
    program = declared + f"""
        CREATE QUERY q AS SELECT max(x) AS x, avg(y) AS y, INTERVAL(min(x), 99%) AS i FROM speed
        [RANGE {WINDOW_S} SECONDS] PERIOD {WINDOW_S} SECONDS ROUNDS {ROUNDS};
    """
    together = answers(tmp_path / "together", program, rows)["q"]
    apart = []
    for number, until in enumerate((11, 30)):
        some = [row for row in rows if row["t"] <= START + until * SECOND]
        apart += answers(tmp_path / str(number), program, some)["q"][len(apart) :]
    assert [answer["error"] for answer in together] == [answer["error"] for answer in apart]
    assert {"y" in answer["error"] for answer in together} == {True, False}
