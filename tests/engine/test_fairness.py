"""One meaning of fairness: how alike the qualities are that were delivered, wherever it is said."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from punctual.engine.status import read_status
from tests.engine.test_finish_in_time import TOTAL, answers, opened, play

PATIENT = TOTAL.replace("QUERY total", "QUERY patient").replace("1 SECOND", "9 SECONDS")


def test_a_late_answer_counts_as_nothing_in_status_and_ledger(tmp_path: Path) -> None:
    """Both were planned at one quality; one of them came too late, which nobody could know."""
    engine, backend = opened(tmp_path, TOTAL + PATIENT, qos="best-effort")
    with engine:
        play(engine, backend, range(3), size=50)
        assert engine.status()["fairness"] == 1.0
        backend.pause = 1_500_000
        play(engine, backend, [3], size=50)
        play(engine, backend, [4], size=50)  # the batch after it tells
        status, ledger = engine.status(), engine.ledger()
        late = {name: answers(engine, name)[-2]["on_time"] for name in ("total", "patient")}
    assert late == {"total": False, "patient": True}
    told = ledger[ledger["record"] == "tick"]["fairness"].iloc[-1]
    assert told == pytest.approx(0.5)
    assert status["fairness"] == told
    assert read_status(str(tmp_path))["fairness"] == told


def test_where_nobody_was_answered_nothing_is_said(tmp_path: Path) -> None:
    engine, backend = opened(tmp_path, TOTAL)
    with engine:
        play(engine, backend, [0], size=50)
        status, ledger = engine.status(), engine.ledger()
    assert pd.isna(ledger[ledger["record"] == "tick"]["fairness"].iloc[-1])
    assert status["fairness"] is None
