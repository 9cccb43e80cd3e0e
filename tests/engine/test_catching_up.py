"""A live stream of old rows that falls silent: its instants are all answered, and nobody else waits for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.engine.loop import BatchReport
from punctual.schedule import releases
from tests.inprocess.backend import InProcess

START = 1_700_000_000 * SECOND
GAP, GO = 3_000, 100
FED = 5
"""New rows come while this batch is committed."""
PROGRAM = """
CREATE STREAM old (t TIMESTAMP EVENT TIME, x INT) FROM FEED;
CREATE STREAM fresh (t TIMESTAMP EVENT TIME, x INT) FROM FEED;
CREATE QUERY of_old AS SELECT count(*) AS n FROM old [RANGE 5 SECONDS] PERIOD 1 SECOND;
CREATE QUERY of_fresh AS SELECT sum(x) AS total FROM fresh [RANGE 5 SECONDS] PERIOD 1 SECOND;
"""


def test_others_have_their_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "MAX_INSTANTS_PER_STEP", GO)
    clock = ManualClock(START + GAP * SECOND)
    engine = Engine(str(tmp_path), clock=clock, backend=InProcess, options={"idle": "1 second", "tick": "50 ms"})
    engine.sql(PROGRAM)
    with engine:
        engine.open()
        engine.feed("old", [(iso(START), 1)])
        read: list[int] = []
        rounds = 0

        def settled(one: BatchReport) -> None:
            nonlocal rounds
            rounds += 1
            assert rounds < 500, "it never comes to an end"
            if one.rows:
                read.append(rounds)
            if rounds == FED:
                engine.feed("fresh", [(iso(clock.now() + after * SECOND), 7) for after in (1, 3)])
            if len(engine.answers("of_old")) >= GAP and len(engine.answers("of_fresh")):
                engine.request_stop()

        engine.run(settled)
        at = engine.answers("of_old")["at"]
        # Batches have an order, whatever threads do: there are rows in the first one, and in the one after they came.
        assert read == [1, FED + 1], "the new rows were read while the old ones were caught up with"
        assert GAP // GO > 2 * FED, "there was something to catch up with"
        assert engine.answers("of_fresh")["total"].iloc[0] == 7
        assert (at.diff().dropna().dt.total_seconds() == 1).all()
        assert engine.answers("of_old")["n"].iloc[:6].tolist() == [1, 1, 1, 1, 1, 0]
