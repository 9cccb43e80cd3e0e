"""``punctual ledger`` and what ``status`` says of core time, over states that were made without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from punctual.cli.inspect import FIRING, TICK
from punctual.cli.main import main
from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.status import read_status
from tests.engine.test_ledger import START, answered, opened, rows


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty batches in two runs; the second begins an hour later."""
    folder = tmp_path_factory.mktemp("ledger")
    clock = ManualClock(START + 20 * SECOND)
    for first in (0, 10):
        engine, _backend = opened(folder, clock, live=True)
        with engine:
            for second in range(first, first + 10):
                engine.feed("s", rows(second))
                clock.sleep(2 * SECOND)
                engine.tick()
        clock.sleep(3_600 * SECOND)
    return folder


def printed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> list[dict[str, Any]]:
    assert main(["ledger", *map(str, arguments)]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_line_per_record_with_its_keys_in_order(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = printed(capsys, "--state", state)
    assert {tuple(one) for one in records} == {TICK, FIRING}
    assert [one["batch"] for one in records if one["record"] == "tick"] == list(range(20))
    engine, _backend = opened(state, ManualClock(START))
    with engine:
        every = [(query, iso(at), number) for query, at, number in answered(engine)]
    found = [(one["query"], one["at"], one["number"]) for one in records if one["record"] == "firing"]
    assert sorted(found) == sorted(every)
    total = next(one for one in records if one.get("query") == "total")
    assert (total["slack_seconds"], total["on_time"], total["kept"], total["quality"]) == (-1.0, False, 1.0, 0.0)
    assert [one["recorded"] for one in records] == sorted(one["recorded"] for one in records)


def test_some_of_the_records(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = printed(capsys, "--state", state)
    pairs = [one for one in records if one.get("query") == "pairs"]
    assert printed(capsys, "--state", state, "--query", "Pairs") == pairs
    half = iso(START + 1_800 * SECOND)
    late = [one for one in records if one["recorded"] >= half]
    assert 0 < len(late) < len(records)
    assert printed(capsys, "--state", state, "--since", half) == late
    assert printed(capsys, "--state", state, "--since", "2200-01-01") == []


def test_what_is_refused(state: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger", "--state", str(tmp_path / "none")]) == 1
    assert "error[state.missing]" in capsys.readouterr().err
    engine, _backend = opened(tmp_path / "new", ManualClock(START))
    with engine:
        assert main(["ledger", "--state", str(tmp_path / "new")]) == 1
    told = capsys.readouterr().err
    assert "error[state.no-ledger]" in told
    assert "hint: " in told
    assert main(["ledger", "--state", str(state), "--query", "nobody"]) == 2
    told = capsys.readouterr().err
    assert "error[config.unknown-query]" in told
    assert "mean, total, most, pairs" in told
    with pytest.raises(SystemExit) as ended:
        main(["ledger", "--state", str(state), "--since", "yesterday"])
    assert ended.value.code == 2
    assert "a time is such as" in capsys.readouterr().err


def test_status_says_what_queries_use(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = read_status(str(state))
    assert found["lag_seconds"] == 2.0
    assert found["load"] > 0
    core_time = {name: query["core_time"] for name, query in found["queries"].items()}
    assert core_time["total"]["misses"] == core_time["total"]["answers"] > 5
    assert core_time["mean"]["misses"] == 0
    assert core_time["pairs"]["used_ms"] > 50, "a row query pays for its job"
    assert core_time["mean"]["used_ms"] < 5
    assert all(one["predicted_ms"] > 0 for one in core_time.values())
    assert main(["status", "--state", str(state)]) == 0
    assert "predicted" in capsys.readouterr().out
