"""Windows one after the other whose panes keep rounds, against windows that draw all of their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from punctual.clock import SECOND
from punctual.kernel.draw.kept.kept_folds import KeptFolds
from punctual.kinds.program import compile_program
from punctual.kinds.world_run import WorldRun
from punctual.kinds.worlds.rounds import panes
from punctual.kinds.worlds.rounds.window_drawing import WindowDrawing
from punctual.plan.query import Query
from punctual.plan.worlds import Worlds

STREAM = """CREATE STREAM s (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k STRING, n INT, x INT ~ DISCRETE(xs, ws),
                 xs ARRAY<INT>, ws ARRAY<DOUBLE>, word STRING ~ DISCRETE(words, ws), words ARRAY<STRING>) FROM FEED;"""
TOTALS = "SELECT k, sum(x) AS a, max(x * n) AS b, PROBABILITY(count(x) > 5) AS c FROM s [RANGE 10 SECONDS]"
Columns = dict[str, pa.Array]


@pytest.fixture(autouse=True)
def few_rows_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LEAST_DRAWS", "PANE_DRAWS", "ROWS_PER_CELL"):
        monkeypatch.setattr(panes, name, 0)


def query_of(text: str, rest: str = "GROUP BY k PERIOD 2 SECONDS ROUNDS 40") -> Query:
    return compile_program(f"{STREAM} CREATE QUERY q AS {text} {rest};", base=".").catalog.queries["q"]


def made(count: int = 300) -> Columns:
    random = np.random.default_rng(1)
    lists: list[list[Any]] = [
        [None if random.random() < 0.1 else int(random.integers(9)) for _place in range(random.integers(1, 5))]
        for _row in range(count)
    ]
    return {
        "t": pa.array(np.sort(random.integers(1, 30 * SECOND, count)), pa.timestamp("us", tz="UTC")),
        "k": pa.array([f"k{random.integers(3)}" for _row in range(count)]),
        "n": pa.array(
            [None if random.random() < 0.1 else int(random.integers(1, 5)) for _row in range(count)], pa.int32()
        ),
        "xs": pa.array(lists, pa.list_(pa.int32())),
        "ws": pa.array([[1.0 + place for place in range(len(values))] for values in lists]),
        "words": pa.array([[f"w{value}" for value in values] for values in lists]),
        "identity": pa.array(random.integers(0, 2**63, count)),
    }


def drawing(query: Query, columns: Columns, at: int, kept: KeptFolds | None, seed: int = 3) -> WindowDrawing:
    body = query.body
    assert isinstance(body, Worlds)
    assert body.statement.plain is not None
    times = columns["t"].cast(pa.int64()).to_numpy()
    inside = np.flatnonzero((times > at - body.range_us) & (times <= at))
    rows = pa.array(np.random.default_rng(at).permutation(inside))
    values = [columns.get(name, columns["identity"]).take(rows) for name in body.statement.plain]
    run = WorldRun(seed, closed_forms=False, kept=kept)
    return WindowDrawing(body, values, at, run, query.name, panes.keeping(query, body, at, kept))


def said(window: WindowDrawing, rounds: int) -> list[Any]:
    window.until(rounds)
    assert window.rounds == rounds
    found = window.said(rounds).all()
    return [one.values.to_pylist() for one in (*found.outputs, found.probability)]


def test_lists_and_missing_values() -> None:
    query, columns, kept = query_of(TOTALS), made(), KeptFolds(64)
    for step in range(5, 15):
        at = step * 2 * SECOND
        assert said(drawing(query, columns, at, kept), 40) == said(drawing(query, columns, at, None), 40)
    assert kept.found > 100


@pytest.mark.parametrize("column", ["xs", "ws", "n", "k", "identity"])
def test_rows_that_became_others_are_drawn_again(column: str) -> None:
    """Whatever a row has in it, another value of it is another pane; and so is a row that is not there any more."""
    query, columns, kept, at = query_of(TOTALS), made(), KeptFolds(64), 20 * SECOND
    other = {"xs": [[70, 71]], "ws": [[9.0, 1.0]], "n": [90], "k": ["k9"], "identity": [5]}
    lists = {name: pa.array([[1, 2]] * 3, columns[name].type) for name in ("xs", "ws")}
    columns = {name: replaced(one, 150, lists[name]) if name in lists else one for name, one in columns.items()}
    before: list[Any] = []
    for changed in range(4):
        now = said(drawing(query, columns, at, None), 40)
        assert said(drawing(query, columns, at, kept), 40) == now != before
        before = now
        if changed < 3:
            columns[column] = replaced(columns[column], 150 + changed, pa.array(other[column], columns[column].type))
    columns = {name: replaced(one, 140, one.slice(0, 0), 1) for name, one in columns.items()}
    assert said(drawing(query, columns, at, kept), 40) == said(drawing(query, columns, at, None), 40) != before


def replaced(column: pa.Array, place: int, values: pa.Array, size: int | None = None) -> pa.Array:
    """A column with other values at a place, instead of as many, or of so many."""
    end = place + (len(values) if size is None else size)
    return pa.concat_arrays([column.slice(0, place), values, column.slice(end)])


def test_another_seed_has_other_worlds() -> None:
    query, columns, kept = query_of(TOTALS), made(), KeptFolds(64)
    one, other = (said(drawing(query, columns, 20 * SECOND, kept, seed), 40) for seed in (3, 4))
    assert one != other
    assert other == said(drawing(query, columns, 20 * SECOND, None, 4), 40)


def test_fewer_rounds_than_are_kept_and_then_more() -> None:
    """An answer that has to be quick has few rounds; those of the next window go on from there."""
    query, columns, kept = query_of(TOTALS), made(), KeptFolds(64)
    for step, rounds in ((5, 1), (6, 7), (7, 40), (8, 3), (9, 40), (10, 25), (11, 90)):
        at = step * 2 * SECOND
        assert said(drawing(query, columns, at, kept), rounds) == said(drawing(query, columns, at, None), rounds)


def test_a_block_of_rounds_is_small_also_when_many_panes_are_new(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panes, "BLOCK_NUMBERS", 700)
    query, columns, kept = query_of(TOTALS), made(), KeptFolds(64)
    for step in (5, 6, 7, 12):
        at = step * 2 * SECOND
        assert said(drawing(query, columns, at, kept), 40) == said(drawing(query, columns, at, None), 40)


def test_strings_are_not_kept() -> None:
    """Their numbers are those of one window."""
    query = query_of("SELECT k, HISTOGRAM(max(word), 3) AS h, sum(x) AS a FROM s [RANGE 10 SECONDS]")
    columns, kept = made(), KeptFolds(64)
    for step in (5, 6):
        window = drawing(query, columns, step * 2 * SECOND, kept)
        assert window.kept == 0
        assert said(window, 40) == said(drawing(query, columns, step * 2 * SECOND, None), 40)


def test_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Panes are used where enough draws are spared, and a group of a pane has some rows."""
    query, columns, at = query_of(TOTALS), made(), 20 * SECOND
    times = columns["t"].cast(pa.int64()).to_numpy()
    rows = int(((times > at - 10 * SECOND) & (times <= at)).sum())
    spared = rows * 40 * 8 // 10
    for draws, kept in ((spared, 40), (spared + 1, 0)):
        monkeypatch.setattr(panes, "LEAST_DRAWS", draws)
        assert drawing(query, columns, at, KeptFolds(64)).kept == kept
    for draws, kept in ((spared // 5, 40), (spared // 5 + 1, 0)):  # five periods
        monkeypatch.setattr(panes, "LEAST_DRAWS", 0)
        monkeypatch.setattr(panes, "PANE_DRAWS", draws)
        assert drawing(query, columns, at, KeptFolds(64)).kept == kept
    monkeypatch.setattr(panes, "PANE_DRAWS", 0)
    for per_cell, kept in ((rows / 15, 40), (rows / 14, 0)):  # five panes of three groups
        monkeypatch.setattr(panes, "ROWS_PER_CELL", per_cell)
        assert drawing(query, columns, at, KeptFolds(64)).kept == kept
    monkeypatch.setattr(panes, "ROWS_PER_CELL", 0)
    assert drawing(query, columns, at, KeptFolds(7)).kept == 7


def test_another_query_of_the_same_name_keeps_its_own() -> None:
    columns, kept, at = made(), KeptFolds(64), 20 * SECOND
    for text in (
        TOTALS,
        f"{TOTALS} WHERE x > 2",
        f"{TOTALS} WHERE x > 3",
        TOTALS.replace("sum(x)", "sum(x + 1)"),
        TOTALS.replace("sum(x)", "avg(x + 1.0)"),
        TOTALS.replace("sum(x)", "sum(x) FILTER (WHERE x > 4)"),
        TOTALS.replace("sum(x)", "sum(x) FILTER (WHERE x > 5)"),
        TOTALS.replace("max", "min"),
    ):
        query = query_of(text)
        assert said(drawing(query, columns, at, kept), 40) == said(drawing(query, columns, at, None), 40)


def test_many_groups_that_are_seldom_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells are found by sorting where most of those that might be are not there."""
    monkeypatch.setattr(panes, "SPARSE", 0)
    query, columns, kept = query_of(TOTALS), made(), KeptFolds(64)
    for step in (5, 6, 7):
        at = step * 2 * SECOND
        assert said(drawing(query, columns, at, kept), 40) == said(drawing(query, columns, at, None), 40)
    assert kept.found > 10
