"""``SET window_merge = rows``: aggregates are answered from retained rows, with the bytes that panes give."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from punctual.clock import ManualClock
from punctual.config import parse_options
from punctual.engine.engine import Engine
from punctual.explain.look import look_at, plan_look
from punctual.kinds.program import compile_program
from punctual.store.manifest import Manifest
from punctual.store.products import Cells, RetainedRows
from punctual.store.store import Store
from tests.engine.merge_programs import feed, opened, played, program, queries, written
from tests.inprocess.backend import InProcess

ROWS, PANES = {"window_merge": "rows"}, {"window_merge": "auto"}
SOME = ("sums_7", "whole_20", "having_20", "joined", "united", "ends_3")


def test_answers_have_the_bytes_that_panes_give(tmp_path: Path) -> None:
    panes = played(tmp_path / "panes", InProcess, {}, program())
    from_rows = played(tmp_path / "rows", partial(InProcess, partitions=3, seed=4), ROWS, program(), batch=2)
    assert set(panes) == set(queries())
    assert all(len(lines.splitlines()) > 5 for lines in panes.values())
    assert from_rows == panes


def products(monkeypatch: pytest.MonkeyPatch) -> set[type]:
    """The types of what batches and bases keep from now on."""
    kept: set[type] = set()
    commit = Store.commit

    def watched(store: Store, *args: Any) -> Manifest:
        manifest = commit(store, *args)
        kept.update(type(section.product) for section in manifest.sections)
        return manifest

    monkeypatch.setattr(Store, "commit", watched)
    return kept


@pytest.mark.parametrize(("options", "kept"), [(ROWS, RetainedRows), (PANES, Cells)], ids=["rows", "panes"])
def test_what_is_kept(
    options: dict[str, str], kept: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = products(monkeypatch)
    played(tmp_path / "run", InProcess, options, program(SOME))
    assert {Cells, RetainedRows} & found == {kept}


def lines(answers: dict[str, bytes], query: str) -> dict[str, Any]:
    """The answers of a query by their instants."""
    return {one["at"]: one for one in map(json.loads, answers[query].splitlines())}


@pytest.mark.parametrize(("first", "then"), [(PANES, ROWS), (ROWS, PANES)], ids=["to rows", "to panes"])
def test_the_option_of_a_state_may_change(first: dict[str, str], then: dict[str, str], tmp_path: Path) -> None:
    """Answers that are complete are those of a run without a change; others say that they are not."""
    straight = played(tmp_path / "straight", InProcess, {}, program(SOME))
    folder = tmp_path / "changed"
    with opened(folder, InProcess, first, program(SOME)) as engine:
        for second in range(0, 16, 4):
            feed(engine, second, 4)
    for start in range(16, 40, 4):
        with opened(folder, InProcess, then, program(SOME)) as engine:
            feed(engine, start, 4)
            if start == 36:
                engine.end()
    _compare(straight, written(folder))


def _compare(straight: dict[str, bytes], changed: dict[str, bytes]) -> None:
    assert set(changed) == set(SOME)
    for query in SOME:
        expected, found = lines(straight, query), lines(changed, query)
        assert list(found) == list(expected), "the same instants"
        assert not all(one["complete"] for one in found.values()), "rows before the change were kept another way"
        assert list(found.values())[-1]["complete"], "once the windows are past the change"
        for at, one in found.items():
            if one["complete"]:
                assert one == expected[at]


def test_the_option_may_change_while_the_program_runs(tmp_path: Path) -> None:
    straight = played(tmp_path / "straight", InProcess, {}, program(SOME))
    folder = tmp_path / "changed"
    with opened(folder, InProcess, {}, program(SOME)) as engine:
        for first in range(0, 40, 2):
            if first == 8:
                engine.sql("SET window_merge = rows")
            feed(engine, first, 2)
        engine.end()
    _compare(straight, written(folder))


STREAM = "CREATE STREAM s (t TIMESTAMP EVENT TIME, x DOUBLE, y INT, p DOUBLE PROBABILITY) FROM FEED;"
NOW_US = 1_800_000_000_000_000


class Story:
    """Five seconds of rows a batch, one a second."""

    def __init__(self, *options: str) -> None:
        self.engine = Engine(live=False, clock=ManualClock(NOW_US), backend=InProcess)
        self.engine.sql(STREAM + "".join(f"SET {option};" for option in options))
        self.engine.open()
        self.batch = 0

    def feed(self, batches: int) -> None:
        for _ in range(batches):
            seconds = [5 * self.batch + i + 1 for i in range(5)]
            rows = [{"t": f"2026-03-01T00:00:{s:02}Z", "x": float(s), "y": s, "p": 0.5} for s in seconds]
            self.engine.feed("s", rows)
            self.engine.tick()
            self.batch += 1
        self.engine.end()

    def answers(self, query: str) -> dict[int, tuple[Any, bool]]:
        frame = self.engine.answers(query)
        column = frame.columns[2]
        return {at.second: (value, bool(c)) for at, value, c in zip(frame["at"], frame[column], frame["complete"])}


@pytest.fixture
def story() -> Iterator[Story]:
    story = Story("window_merge = rows")
    yield story
    story.engine.close()


def test_another_query_with_other_columns_takes_no_row_away(story: Story) -> None:
    """Both could share panes; of rows each reads only its own columns."""
    story.engine.sql("CREATE QUERY q AS SELECT sum(x) AS s FROM s [RANGE 10 SECONDS] PERIOD 5 SECONDS;")
    story.feed(2)
    story.engine.sql("CREATE QUERY later AS SELECT sum(y) AS s FROM s [RANGE 10 SECONDS] PERIOD 5 SECONDS;")
    story.feed(2)
    assert story.answers("q") == {5: (15.0, True), 10: (55.0, True), 15: (105.0, True), 20: (155.0, True)}
    assert story.answers("later") == {15: (65, False), 20: (155, True)}


def test_a_query_that_shares_panes_with_a_ranking_is_covered_anew(story: Story) -> None:
    """The ranking's panes go on, and have nothing of what others kept in them before and after."""
    story.engine.sql("SET window_merge = auto")
    story.engine.sql("CREATE QUERY q AS SELECT sum(x) AS s FROM s [RANGE 10 SECONDS] PERIOD 5 SECONDS;")
    ranking = "SELECT TOP 1 BY U_TOPK y FROM s [RANGE 10 SECONDS] ORDER BY x PERIOD 5 SECONDS"
    story.engine.sql(f"CREATE QUERY top AS {ranking};")
    story.feed(2)
    story.engine.sql("SET window_merge = rows")
    story.feed(2)
    story.engine.sql("SET window_merge = auto")
    story.feed(2)
    found = story.answers("q")
    assert {at: complete for at, (_value, complete) in found.items()} == {
        5: True, 10: True, 15: False, 20: True, 25: False, 30: True
    }  # fmt: skip
    assert (found[20][0], found[30][0]) == (155.0, 255.0)
    assert all(complete for _value, complete in story.answers("top").values())


def test_the_plan_says_what_is_retained_for_whom() -> None:
    text = STREAM + (
        "CREATE QUERY q AS SELECT x > 1 AS big, sum(x) AS s FROM s [RANGE 10 SECONDS] WHERE y > 2 GROUP BY x > 1"
        " PERIOD 5 SECONDS;"
    )
    catalog = compile_program(text, base=".").catalog
    said = plan_look(catalog, parse_options(ROWS)).sharing()
    assert "PaneAggregate" not in said
    block = said[said.index("u2  Retain u1") : said.index("who rides")]
    assert [" ".join(line.split()) for line in block.strip().splitlines()] == [
        "u2 Retain u1 rows of 10s, read by 1",
        "keep t for q",
        "keep x for q",
        "keep y for q",
        "u3 RowAggregate u2 → q period 5s, 1 window",
        "window s range 10s t, x, y",
        "key x > 1",
        "where y > 2",
        "a0 sum of sum(x)",
    ]


def test_a_query_is_explained_as_it_is_answered() -> None:
    query = "CREATE QUERY q AS SELECT sum(x) AS s FROM s [RANGE 10 SECONDS] PERIOD 5 SECONDS;"
    for merge, word in (("rows", "RowAggregate"), ("auto", "PaneAggregate")):
        text = f"SET window_merge = {merge};{STREAM}{query}EXPLAIN q;"
        (said,) = look_at(text, ".", {}, types=False).explanations()
        assert word in said
