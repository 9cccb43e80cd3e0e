"""Rounds that panes keep do not show: the same bytes however many are kept, and fewer draws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.kinds.program import compile_program
from punctual.kinds.worlds import laws
from punctual.kinds.worlds.rounds import panes
from tests.engine.test_worlds import START, answers
from tests.inprocess.backend import InProcess
from tests.oracles.possible_worlds import Row

COLUMNS = """t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k STRING KEY, x DOUBLE ~ NORMAL(x, sd), sd DOUBLE,
    y DOUBLE ~ UNIFORM(low, high), low DOUBLE, high DOUBLE, n INT, v INT ~ EMPIRICAL BY k"""
STREAM = f"CREATE STREAM s ({COLUMNS}) FROM FILES 'in' FORMAT JSON;"
UNSURE = f"CREATE STREAM s ({COLUMNS}, p DOUBLE PROBABILITY) FROM FILES 'in' FORMAT JSON;"
QUERIES = {
    "average": "SELECT k, avg(x) AS a, INTERVAL(avg(x), 90%) AS i FROM s {} GROUP BY k {}",
    "shares": "SELECT k, PROBABILITY(avg(x) > 55) AS p1, avg(x) AS a FROM s {} GROUP BY k {}",
    "ends": "SELECT k, min(x) AS a, max(x * y) AS b, sum(n) AS c, count(n) AS d FROM s {} WHERE x > 40 GROUP BY k {}",
    "kinds": "SELECT n, sum(x + n) AS a, avg(CASE WHEN y < 3 THEN NULL ELSE y END) AS b FROM s {} GROUP BY n {}",
    "all_rows": "SELECT sum(x) AS a, count(*) FILTER (WHERE y > x / 9) AS b, max(n) AS c FROM s {} {}",
    "certain": "SELECT k, sum(y) AS a FROM s {} WHERE n > 3 AND y > 1 GROUP BY k HAVING count(*) > 2 {}",
}
WINDOWS = [
    ("12 SECONDS", "3 SECONDS"),
    ("12 SECONDS", "5 SECONDS"),
    ("5 SECONDS", "1 SECOND"),
    ("4 SECONDS", "4 SECONDS"),
]


def made_rows(count: int = 400) -> list[Row]:
    """Groups come and go, some values are NULL, and a few rows are there twice."""
    random = np.random.default_rng(5)
    rows: list[Row] = []
    for number in range(count):
        row: dict[str, Any] = {"t": START + number * 100_000 + 1, "k": f"k{number // 90 + random.integers(3)}"}
        row |= {"x": round(random.normal(50, 20), 1), "sd": float(random.choice([0.0, 2.0, 30.0]))}
        row |= {"low": float(random.integers(5)), "n": None if random.random() < 0.2 else int(random.integers(9))}
        row |= {"high": row["low"] + 4.0, "v": None if random.random() < 0.3 else int(random.integers(5))}
        rows.append({**row, "p": float(random.choice([0.4, 1.0]))})
    rows[5], rows[7]["k"] = dict(rows[4]), None
    return rows


@pytest.fixture(autouse=True)
def few_rows_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LEAST_DRAWS", "PANE_DRAWS", "ROWS_PER_CELL"):
        monkeypatch.setattr(panes, name, 0)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many numbers were drawn, call after call."""
    found: list[int] = []
    draw = laws.draw_numbers

    def counted(drawn_from: Any, identity: Any, law: Any, rounds: range) -> Any:
        found.append(identity.size * len(rounds))
        return draw(drawn_from, identity, law, rounds)

    monkeypatch.setattr(laws, "draw_numbers", counted)
    return found


def written(
    folder: Path, queries: dict[str, str], kept: int, stream: str = STREAM, rows: list[Row] | None = None
) -> dict[str, str]:
    program = stream + "".join(f"CREATE QUERY {name} AS {query};" for name, query in queries.items())
    options = {"closed_forms": "off", "seed": "2", "rounds_kept": str(kept)}
    answers(folder, program, made_rows() if rows is None else rows, options)
    return {name: (folder / "out" / f"{name}.jsonl").read_text() for name in queries}


@pytest.mark.parametrize("stream", [STREAM, UNSURE])
@pytest.mark.parametrize(("range_text", "period"), WINDOWS)
def test_the_same_bytes_however_many_rounds_are_kept(
    tmp_path: Path, stream: str, range_text: str, period: str, drawn: list[int]
) -> None:
    each = f"PERIOD {period} ROUNDS 70"
    queries = {name: query.format(f"[RANGE {range_text}]", each) for name, query in QUERIES.items()}
    plain = written(tmp_path / "0", queries, 0, stream)
    assert all(len(text.splitlines()) > 5 for text in plain.values())
    most = sum(drawn)
    for kept in (7, 64, 200):
        drawn.clear()
        assert written(tmp_path / str(kept), queries, kept, stream) == plain
        if range_text == period:
            assert sum(drawn) == most, "no row is in two windows"
        else:
            assert sum(drawn) < most


def test_rows_are_drawn_once_where_all_rounds_are_kept(tmp_path: Path, drawn: list[int]) -> None:
    query = {"q": QUERIES["average"].format("[RANGE 10 SECONDS]", "PERIOD 1 SECOND ROUNDS 50")}
    rows = made_rows()
    kept = written(tmp_path / "kept", query, 64, rows=rows)
    windows = len(kept["q"].splitlines())
    last = START + windows * SECOND
    once = sum(row["t"] <= last for row in rows)
    assert sum(drawn) == 50 * once
    drawn.clear()
    assert written(tmp_path / "again", query, 0, rows=rows) == kept
    assert sum(drawn) > 7 * 50 * once


def test_rounds_beyond_those_that_are_kept_are_drawn_from_rows(tmp_path: Path, drawn: list[int]) -> None:
    query = {"q": QUERIES["average"].format("[RANGE 10 SECONDS]", "PERIOD 1 SECOND ROUNDS 50")}
    every = written(tmp_path / "0", query, 0)
    without = sum(drawn)
    drawn.clear()
    assert written(tmp_path / "20", query, 20) == every
    once = sum(row["t"] <= START + len(every["q"].splitlines()) * SECOND for row in made_rows())
    assert sum(drawn) == without * 30 // 50 + 20 * once


def test_queries_of_one_window_share_and_keep(tmp_path: Path, drawn: list[int]) -> None:
    """The second query has nothing to draw beyond what the first one has drawn."""
    each = "[RANGE 10 SECONDS]", "PERIOD 1 SECOND ROUNDS 50"
    queries = {name: QUERIES[name].format(*each) for name in ("average", "shares")}
    both = written(tmp_path / "both", queries, 64)
    together = sum(drawn)
    for name, query in queries.items():
        drawn.clear()
        assert written(tmp_path / name, {name: query}, 64)[name] == both[name]
        assert sum(drawn) == together


@pytest.mark.parametrize(("query", "keeps"), [
    (QUERIES["average"].format("[RANGE 10 SECONDS]", "PERIOD 5 SECONDS"), True),
    (QUERIES["average"].format("[RANGE 10 SECONDS]", "PERIOD 5 SECONDS CONFIDENCE 95% WITHIN 1"), True),
    (QUERIES["average"].format("[RANGE 10 SECONDS]", "PERIOD 6 SECONDS"), False),
    (QUERIES["average"].format("[RANGE 10 SECONDS]", "PERIOD 5 SECONDS ANSWERS WITHIN 1 SECOND, 2 SECONDS"), False),
    ("SELECT k, sum(v) AS a FROM s [RANGE 10 SECONDS] WHERE x > 3 GROUP BY k PERIOD 5 SECONDS", False),
    ("SELECT floor(x) AS f, sum(y) AS a FROM s [RANGE 10 SECONDS] GROUP BY floor(x) PERIOD 5 SECONDS", False),
    ("SELECT a.k, sum(a.x) AS s FROM s [RANGE 9 SECONDS] AS a JOIN s [RANGE 9 SECONDS] AS b ON a.k = b.k"
     " WHERE a.x > 3 GROUP BY a.k PERIOD 3 SECONDS", False),
    ("SELECT k, stddev(x) AS a FROM s [RANGE 10 SECONDS] GROUP BY k PERIOD 5 SECONDS", False),
    ("SELECT k, count(*) AS a FROM s [RANGE 10 SECONDS] GROUP BY k PERIOD 5 SECONDS", False),
])  # fmt: skip
def test_which_queries_keep_rounds(query: str, keeps: bool) -> None:
    program = compile_program(f"{STREAM} CREATE QUERY q AS {query};", base=".")
    assert panes.may_keep(program.catalog.queries["q"]) is keeps


def test_rows_of_rules_are_not_kept() -> None:
    stream = "CREATE STREAM r (t TIMESTAMP EVENT TIME, k STRING{}, n INT, p DOUBLE PROBABILITY) FROM FEED;"
    query = "CREATE QUERY q AS SELECT EXPECTED(max(n)) AS m FROM r [RANGE 9 SECONDS] PERIOD 3 SECONDS;"
    for rule, keeps in (("", True), (" RULE", False)):
        text = stream.format(rule) + query
        assert panes.may_keep(compile_program(text, base=".").catalog.queries["q"]) is keeps


def test_confidence_and_rows_that_may_not_exist(tmp_path: Path) -> None:
    """Rounds by the data: the first look is at kept rounds, further ones are drawn."""
    queries = {
        "sure": "SELECT k, avg(x) AS a FROM s [RANGE 8 SECONDS] WHERE x > 20 GROUP BY k"
                " PERIOD 2 SECONDS CONFIDENCE 95% WITHIN 2",
        "rows": "SELECT k, EXPECTED(max(n)) AS m, EXPECTED(sum(n)) AS s, count(*) AS c FROM s [RANGE 8 SECONDS]"
                " GROUP BY k PERIOD 2 SECONDS",
    }  # fmt: skip
    found = [written(tmp_path / str(kept), queries, kept, UNSURE) for kept in (0, 7, 64)]
    assert found[0] == found[1] == found[2]
    rounds = {json.loads(line)["rounds"] for line in found[0]["sure"].splitlines()}
    assert len(rounds) > 1
    assert max(rounds) > 64


def fed(folder: Path, kept: int, *, restart: bool, late: bool = False) -> str:
    """Rows come in parts, perhaps to two engines after each other, perhaps some of them late but in time."""
    rows = sorted(made_rows(), key=lambda row: row["t"] + (2 * SECOND if late and row["t"] % 3 == 1 else 0))
    stream = STREAM.replace("FILES 'in' FORMAT JSON", "FEED").replace("0 SECONDS", "3 SECONDS")
    query = QUERIES["ends"].format("[RANGE 9 SECONDS]", "PERIOD 2 SECONDS ROUNDS 40")
    given = [{**{name: value for name, value in row.items() if name != "p"}, "t": iso(row["t"])} for row in rows]
    parts = [given[first : first + 70] for first in range(0, len(given), 70)]

    def opened() -> Engine:
        engine = Engine(
            state=str(folder / "state"), out=str(folder / "out"), live=False, clock=ManualClock(START + 3600 * SECOND),
            options={"seed": "2", "rounds_kept": str(kept)}, backend=lambda: InProcess(2),
        )  # fmt: skip
        engine.sql(f"{stream} CREATE QUERY q AS {query};")
        engine.open()
        return engine

    now = opened()
    for number, part in enumerate(parts):
        if restart and number == 3:
            now.close()
            now = opened()
        now.feed("s", part)
        now.tick()
    now.end()
    now.close()
    return (folder / "out" / "q.jsonl").read_text()


def test_a_restart_and_rows_out_of_order_do_not_show(tmp_path: Path, drawn: list[int]) -> None:
    plain = fed(tmp_path / "plain", 0, restart=False)
    without = sum(drawn)
    drawn.clear()
    assert fed(tmp_path / "kept", 64, restart=False) == plain
    undisturbed = sum(drawn)
    drawn.clear()
    assert fed(tmp_path / "restarted", 64, restart=True) == plain
    assert undisturbed < sum(drawn) < without, "what was kept is drawn again, once"
    assert fed(tmp_path / "late", 64, restart=True, late=True) == fed(tmp_path / "late0", 0, restart=False, late=True)


def test_a_pane_whose_rows_are_others_is_drawn_again(tmp_path: Path) -> None:
    """Another file with one value changed, and the same query: nothing of it is taken from the first."""
    query = {"q": QUERIES["average"].format("[RANGE 10 SECONDS]", "PERIOD 1 SECOND ROUNDS 20")}
    rows = made_rows()
    rows[100]["x"] += 1.0
    assert written(tmp_path / "one", query, 64) != written(tmp_path / "other", query, 64, rows=rows)
