"""The scheduler's levels in the engine: queries that would be late use less of their input, all at one quality.

The clock is simulated: jobs take as long as the rows that they were asked for. About what a row costs is known, as it
is after a while.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from punctual.clock import SECOND, ManualClock, Micros, iso
from punctual.engine.answers.delivery import Delivery
from punctual.engine.engine import Engine
from punctual.engine.held.retained_rows import RetainedFiles
from punctual.engine.journal import Journal
from punctual.errors import PlanError
from punctual.estimate.linear_cost import LinearCost
from punctual.estimate.operator_costs import FIRST_GUESS
from punctual.estimate.quality_curve import CONCAVE, CONVEX, LINEAR
from punctual.estimate.row_costs import RowCosts
from punctual.runtime.backend import Draws, RowAnswers, RowWork
from tests.inprocess.backend import InProcess

START = 1_700_000_000 * SECOND
ROW_US = 100.0
QUERY_US = 50_021
"""What the data plane of tests is said to use for a query."""
LATENCY_US = 50_000
KNOWN = LinearCost.guessed(
    1.0,
    **dict(zip(FIRST_GUESS.names[1:], FIRST_GUESS.coefficients[1:]))
    | {"job": 1.0, "slot": 0.9 * QUERY_US, "plan": 1.0, "read": 1.2 * ROW_US, "answer": 1e-3},
)
CURVES = {"convex": CONVEX, "linear": LINEAR, "concave": CONCAVE}
STREAM = "CREATE STREAM s (t TIMESTAMP EVENT TIME WATERMARK 0 SECONDS, k INT, a INT) FROM FEED;\n"


def query(name: str, quality: str, rest: str = "PERIOD 1 SECOND DEADLINE 900 MILLISECONDS") -> str:
    return f"CREATE QUERY {name} AS SELECT sum(a) AS total, count(*) AS n FROM s [RANGE 4 SECONDS] {rest} {quality};\n"


PROGRAM = STREAM + "".join(query(name, f"QUALITY {name.upper()}") for name in CURVES) + query("exact", "")


class Timed(InProcess):
    """Every row of a window takes as long, on two cores."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self.clock = clock
        self.cores = 2

    def monotonic(self) -> Micros:
        return self.clock.monotonic()

    def rows(
        self, work: Sequence[RowWork], tables: Mapping[str, pa.Table], until: Micros | None = None
    ) -> RowAnswers:
        self.clock.sleep(LATENCY_US)
        return super().rows(work, tables, until)

    def answered(self, work: RowWork, draws: Draws) -> None:
        read = sum(
            draws[number].kept if number in draws else RetainedFiles.rows_of(window)
            for number, window in enumerate(work.windows)
        )
        self.core_time.add(ROW_US * read)
        self.clock.sleep(int((QUERY_US + ROW_US * read) / self.cores))


def opened(
    folder: Path, program: str = PROGRAM, qos: str = "dynamic-sampling", report: Callable[[str], None] | None = None
) -> tuple[Engine, ManualClock]:
    clock = ManualClock(START)
    engine = Engine(
        str(folder), clock=clock, backend=lambda: Timed(clock), options={"window_merge": "rows", "qos": qos},
        report=report,
    )  # fmt: skip
    engine.sql(program)
    engine.open()
    model = engine._opened().core.costs.rows
    if not model.costs.operators.seen:
        model.costs = RowCosts(replace(KNOWN, seen=1))
    return engine, clock


def second(engine: Engine, clock: ManualClock, number: int, rows: int) -> None:
    """A second of life: its rows arrive as it ends."""
    clock.at = max(clock.at, START + (number + 1) * SECOND)
    at = [START + number * SECOND + row * SECOND // rows for row in range(rows)]
    engine.feed("s", [(iso(t), row % 7, row % 100) for row, t in enumerate(at)])
    engine.tick()


def answers(engine: Engine) -> dict[int, dict[str, dict[str, Any]]]:
    """By instant in seconds and query."""
    found: dict[int, dict[str, dict[str, Any]]] = {}
    for block in engine.records():
        for row in block.table.to_pylist():
            found.setdefault((row["at"] - START) // SECOND, {})[block.query] = row
    return found


def test_all_are_on_time_at_one_quality_and_it_returns(tmp_path: Path) -> None:
    engine, clock = opened(tmp_path)
    with engine:
        for number in range(50):
            # 4 s of 1,600 rows for four queries are 1.28 s of two cores; of 400 rows a quarter of that.
            second(engine, clock, number, 1_600 if number < 35 else 400)
        found = answers(engine)
        ledger = engine.ledger()
        status = engine.status()
    shed = 0
    for at, row in found.items():
        assert row["exact"]["kept"] == 1.0
        assert row["exact"]["quality"] == float(row["exact"]["on_time"])
        if not 15 <= at <= 34:
            continue
        assert all(one["on_time"] for one in row.values()), at
        used = {name: CURVES[name].quality(row[name]["kept"]) for name in CURVES}
        assert max(used.values()) - min(used.values()) <= 0.02
        assert row["convex"]["kept"] < row["linear"]["kept"] < row["concave"]["kept"] < 1.0
        shed += 1
    assert shed == 20
    assert all(row[name]["kept"] == 1.0 for at, row in found.items() if at >= 45 for name in CURVES)
    levels = ledger[(ledger["query"] == "linear") & ledger["level"].notna()]
    kept = dict(zip(levels["at"], levels["kept"]))
    assert len(kept) >= 20
    assert (levels["kept"] <= levels["level"] + 1e-3).all(), "of a linear curve"
    first, last = (pd.Timestamp(START // SECOND + at, unit="s", tz="UTC") for at in (15, 34))
    settled = levels[levels["at"].between(first, last)]
    assert np.allclose(settled["level"], settled["kept"], atol=1e-3), "scans have nothing to mend"
    assert status["level"] == 1.0
    assert status["warnings"] == []


def test_best_effort_misses_what_the_levels_meet(tmp_path: Path) -> None:
    engine, clock = opened(tmp_path, qos="best-effort")
    with engine:
        for number in range(20):
            second(engine, clock, number, 1_600)
        found = answers(engine)
    assert all(row[name]["kept"] == 1.0 for row in found.values() for name in row)
    assert sum(not one["on_time"] for at, row in found.items() if at > 10 for one in row.values()) > 10


def test_a_crash_between_decision_and_answer_keeps_the_shares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class DeathError(Exception):
        pass

    def dies(*_arguments: Any) -> int:
        raise DeathError

    engine, clock = opened(tmp_path)
    with engine:
        for number in range(12):
            second(engine, clock, number, 1_600)
        known = len(answers(engine))
        with monkeypatch.context() as patch:
            patch.setattr(Delivery, "deliver", dies)
            with pytest.raises(DeathError):
                second(engine, clock, 12, 1_600)
        levels = Journal(engine._opened().core.store.journal).decided.levels
    newest = max(one.batch for one in levels)
    decided = {one.query: one for one in levels if one.batch == newest}
    assert decided.keys() == CURVES.keys()
    # Who goes on with it would never use less than everything: what was decided stands.
    engine, _clock = opened(tmp_path, qos="best-effort")
    with engine:
        found = answers(engine)
    assert len(found) == known + 1
    last = found[max(found)]
    for name, decision in decided.items():
        assert last[name]["kept"] == pytest.approx(decision.setting, abs=1e-4)
    assert last["exact"]["kept"] == 1.0


def test_a_contract_that_cannot_hold_is_refused_with_one_that_would(tmp_path: Path) -> None:
    engine, clock = opened(tmp_path)
    with engine:
        for number in range(12):
            second(engine, clock, number, 1_600)
        engine.sql("DROP QUERY exact")
        with pytest.raises(Exception) as refused:  # noqa: PT011
            engine.sql(query("exact", "", "PERIOD 1 SECOND DEADLINE 250 MILLISECONDS"))
        error = refused.value.errors[0]  # type: ignore[attr-defined]
        assert isinstance(error, PlanError)
        assert error.code == "plan.hopeless"
        assert error.hint is not None
        asked = error.hint.removesuffix(" would hold")
        engine.sql(query("exact", "", f"PERIOD 1 SECOND {asked}"))
        # With QUALITY the same deadline may hold: it could use a hundredth of its input.
        engine.sql("DROP QUERY exact")
        engine.sql(query("exact", "QUALITY LINEAR", "PERIOD 1 SECOND DEADLINE 250 MILLISECONDS"))


def test_short_deadlines_are_warned_of(tmp_path: Path) -> None:
    said: list[str] = []
    engine = Engine(str(tmp_path), clock=ManualClock(START), backend=InProcess, report=said.append)
    engine.sql("SET tick = 100 MILLISECONDS;" + STREAM + query("long", ""))
    engine.sql(query("short", "", "PERIOD 1 SECOND DEADLINE 150 MILLISECONDS"))
    with engine:
        engine.open()
    (warning,) = said
    assert 'query "short"' in warning
    assert "200 MILLISECONDS" in warning


def test_deadlines_that_are_no_longer_than_a_tick_are_warned_of(tmp_path: Path) -> None:
    """Rows may wait for a whole tick until they are read, and that is part of the time until the deadline."""
    said: list[str] = []
    engine = Engine(str(tmp_path), clock=ManualClock(START), backend=InProcess, report=said.append)
    engine.sql("SET tick = 600 MILLISECONDS;" + STREAM)
    engine.sql(query("short", "", "PERIOD 1 SECOND DEADLINE 500 MILLISECONDS"))
    engine.sql(query("long", "", "PERIOD 1 SECOND DEADLINE 700 MILLISECONDS"))
    with engine:
        engine.open()
    (warning,) = said
    assert 'query "short": a DEADLINE of 500 MILLISECONDS is no longer than a tick' in warning
    assert warning.endswith("SET tick = 125 MILLISECONDS, or less")
