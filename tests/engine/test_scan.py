"""``SET window_merge = scan`` reaches the kernel: the paper's queries cost what they cost there, and answer alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from punctual.clock import ManualClock, iso
from punctual.engine.engine import Engine
from punctual.kernel.panes import panes
from punctual.kernel.panes.scan import Scan
from tests.inprocess.backend import InProcess

MINUTE_US = 60_000_000
START_US = 1_000 * 86_400_000_000
RANGES = (10, 5, 6, 15, 12, 20, 30)
"""Minutes, of Q1 to Q7."""
PROGRAM = """
CREATE STREAM s (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, a INT) FROM FEED;
CREATE QUERY every_minute AS SELECT max(a) AS top FROM s [RANGE 1 MINUTE] PERIOD 1 MINUTE;
""" + "\n".join(
    f"CREATE QUERY q{i} AS SELECT max(a) AS top FROM s [RANGE {length} MINUTES] PERIOD 30 MINUTES;"
    for i, length in enumerate(RANGES, 1)
)


def run(folder: Path, options: dict[str, str]) -> dict[str, list[Any]]:
    """The answers of an hour with a row in every minute, by query."""
    engine = Engine(str(folder), clock=ManualClock(2 * START_US), backend=InProcess, live=False, options=options)
    engine.sql(PROGRAM)
    engine.open()
    try:
        rows = [(iso(START_US + minute * MINUTE_US + 1), minute * 37 % 61) for minute in range(62)]
        for batch in (rows[:40], rows[40:]):
            engine.feed("s", batch)
            engine.tick()
        answers: dict[str, list[Any]] = {}
        for block in engine.records():
            fields = block.table.select(["at", "rows", "complete"]).to_pylist()
            answers.setdefault(block.query, []).extend(fields)
        return answers
    finally:
        engine.close()


@pytest.mark.parametrize("placement", ["driver", "cluster"])
def test_the_option_reaches_the_kernel(tmp_path: Path, placement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scans: list[Scan] = []

    def watched() -> Scan:
        scans.append(Scan())
        return scans[-1]

    monkeypatch.setattr(panes, "Scan", watched)
    expected = run(tmp_path / "auto", {"placement": placement})
    assert scans == []
    answers = run(tmp_path / "scan", {"placement": placement, "window_merge": "scan"})
    # At both half hours one walk over thirty panes; at every other minute a window of one pane.
    assert sum(scan.merges for scan in scans) == 2 * 29
    assert answers == expected
    assert {name: len(rows) for name, rows in answers.items()} == {
        "every_minute": 61, **{f"q{i}": 2 for i in range(1, 8)}
    }  # fmt: skip
