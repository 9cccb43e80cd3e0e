"""Cadence plans through the command line on Spark: a program over files, by several methods, against recomputation."""

from __future__ import annotations

import json
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from punctual.cli.main import main
from punctual.share.cadence import Group, plan

pytestmark = pytest.mark.spark
QUERIES = {"a": (10, 2), "b": (15, 3), "c": (30, 5)}
"""Range and slide in seconds; with one pane per second their scans cost 9, 14 and 29 merges."""
PROGRAM = """
CREATE STREAM s (t TIMESTAMP EVENT TIME, a INT) FROM FILES 'rows' FORMAT JSON;
SET window_merge = scan;
SET max_files_per_tick = 1;
CREATE QUERY p AS SELECT max(a) AS top FROM s [RANGE 7 SECONDS] PERIOD 10 SECONDS WHERE a > 3;
""" + "".join(
    f"CREATE QUERY {name} AS SELECT max(a) AS top FROM s [RANGE {length} SECONDS SLIDE {slide} SECONDS];\n"
    for name, (length, slide) in QUERIES.items()
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows").mkdir()
    rows = [(second, second * 37 % 101) for second in range(120)]
    for number in range(3):
        lines = [
            json.dumps({"t": f"2024-05-01T00:{second // 60:02}:{second % 60:02}Z", "a": a})
            for second, a in rows[40 * number : 40 * number + 40]
        ]
        (tmp_path / "rows" / f"{number}.json").write_text("\n".join(lines))
    (tmp_path / "program.sql").write_text(PROGRAM)
    return tmp_path


def answers(folder: Path, out: Path, *options: str) -> dict[str, list[dict[str, Any]]]:
    assert main(["run", str(folder / "program.sql"), "--once", "--out", str(out), *options]) == 0
    return {
        path.stem: [json.loads(line) for line in path.read_text().splitlines()] for path in sorted(out.glob("*.jsonl"))
    }


def second(at: str) -> int:
    then = datetime.fromisoformat(at.replace("Z", "+00:00"))
    return 60 * then.minute + then.second


def check(found: dict[str, list[dict[str, Any]]]) -> None:
    for name, (length, slide) in QUERIES.items():
        seconds = [second(row["at"]) for row in found[name]]
        assert all(0 < b - a <= slide for a, b in pairwise(seconds))
        assert seconds[0] < slide
        assert 119 - seconds[-1] < slide
        for at, row in zip(seconds, found[name]):
            inside = [t * 37 % 101 for t in range(120) if at - length < t <= at]
            assert row["rows"] == [{"top": max(inside)}]
            assert row["complete"]
    assert [second(row["at"]) for row in found["p"]] == list(range(0, 120, 10))


@pytest.mark.parametrize("options", [(), ("--set", "placement=cluster")], ids=["driver", "cluster"])
def test_the_exact_plan_on_spark(folder: Path, options: tuple[str, ...]) -> None:
    found = answers(folder, folder / "out", *options)
    check(found)
    cadence = plan([Group(2, 9), Group(3, 14), Group(5, 29)], "exact")
    assert cadence.cycle is not None
    for place, name in enumerate(QUERIES):
        expected = {time % cadence.cycle for time, group in cadence.executions if group >= place}
        assert {second(row["at"]) % cadence.cycle for row in found[name]} == expected
    ran = {row["execution"] for name in QUERIES for row in found[name]}
    assert len(ran) == len({row["at"] for name in QUERIES for row in found[name]})


def test_answers_of_one_instant_do_not_depend_on_the_method(folder: Path) -> None:
    exact = answers(folder, folder / "exact", "--set", "cadence=exact")
    own = answers(folder, folder / "own", "--set", "cadence=none", "--set", "window_merge=auto")
    check(own)
    for name in QUERIES:
        before = {row["at"]: row["rows"] for row in own[name]}
        assert all(row["rows"] == before.get(row["at"], row["rows"]) for row in exact[name])
    assert {row["execution"].rsplit("#")[0] for row in own["a"]} == {"s/2s/a"}
