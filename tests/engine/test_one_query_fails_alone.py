"""Answers of one query that cannot be written stop that query, with the reason, and no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.ports import answers
from tests.inprocess.backend import InProcess

START = 1_700_000_000 * SECOND
PROGRAM = """
CREATE STREAM s (t TIMESTAMP EVENT TIME, x INT) FROM FEED;
CREATE QUERY good AS SELECT count(*) AS n FROM s [RANGE 5 SECONDS] PERIOD 1 SECOND;
CREATE QUERY odd AS SELECT sum(x) AS total FROM s [RANGE 5 SECONDS] PERIOD 1 SECOND;
"""


def test_what_cannot_be_written_stops_its_query_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = answers._encoded

    def refuses(blocks: Any) -> bytes:
        if any(block.query == "odd" for block in blocks):
            raise pa.ArrowNotImplementedError("a type\nof tomorrow")
        return real(blocks)

    monkeypatch.setattr(answers, "_encoded", refuses)
    said: list[str] = []
    clock = ManualClock(START)
    with Engine(str(tmp_path), clock=clock, backend=InProcess, live=False, report=said.append) as engine:
        engine.sql(PROGRAM)
        engine.open()
        for second in (0, 2, 4):
            engine.feed("s", [(iso(START + second * SECOND), 1)])
            engine.tick()
        engine.end()
        assert engine.answers("good")["n"].tolist() == [1, 1, 2, 2, 3]
        assert engine.stopped() == {"odd"}
        (why,) = said
        assert 'query "odd" was stopped: a type' in why
        assert "all other queries go on" in why
    monkeypatch.undo()
    with Engine(str(tmp_path), clock=clock, backend=InProcess, live=False) as engine:  # and its state goes on
        engine.sql(PROGRAM)
        engine.open()
        engine.feed("s", [(iso(START + 6 * SECOND), 1)])
        engine.tick()
        assert len(engine.answers("good")) == 6
        assert engine.stopped() == {"odd"}
