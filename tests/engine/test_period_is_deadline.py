"""A query with QUALITY and without DEADLINE: its period is its deadline, for its answers as for the scheduler."""

from __future__ import annotations

from pathlib import Path

import pytest

from punctual.clock import SECOND
from tests.engine.test_levels import STREAM, answers, opened, query, second

PROGRAM = (
    STREAM
    + query("worth", "QUALITY LINEAR", "PERIOD 1 SECOND")
    + query("plain", "", "PERIOD 1 SECOND")
    + query("named", "QUALITY LINEAR", "PERIOD 1 SECOND DEADLINE 3 SECONDS")
    + query("bounded", "QUALITY LINEAR", "FREQUENCY 2 SECONDS")
)
ALLOWED = {"worth": SECOND, "named": 3 * SECOND, "bounded": 2 * SECOND}


@pytest.mark.parametrize("qos", ["best-effort", "dynamic-sampling"])
def test_answers_say_whether_they_came_within_the_period(qos: str, tmp_path: Path) -> None:
    engine, clock = opened(tmp_path, PROGRAM, qos)
    with engine:
        for number in range(16):
            second(engine, clock, number, 4_000 if number > 3 else 100)
        found = [(name, answer) for by in answers(engine).values() for name, answer in by.items()]
        ledger = engine.ledger()
        status = engine.status()["queries"]
    late = dict.fromkeys((*ALLOWED, "plain"), 0)
    for name, answer in found:
        if name == "plain":
            assert (answer["deadline"], answer["on_time"], answer["quality"]) == (None, None, 1.0)
            continue
        assert answer["deadline"] == answer["released"] + ALLOWED[name]
        assert answer["on_time"] == (answer["answered"] <= answer["deadline"])
        late[name] += not answer["on_time"]
        assert (answer["quality"] == 0.0) == (not answer["on_time"])
    if qos == "best-effort":
        assert late["worth"] > 3
    for name, count in late.items():
        assert status[name]["core_time"]["misses"] == count
        slack = ledger[(ledger["record"] == "firing") & (ledger["query"] == name)]["slack_seconds"]
        assert slack.isna().all() if name == "plain" else slack.notna().all()
