"""Contracts that are found not to hold while a program runs: reported once, and in ``punctual status`` meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from punctual.cli.main import main
from punctual.clock import SECOND
from punctual.engine.contract_warnings import IN_A_ROW, ContractWarnings
from punctual.engine.status import read_status
from tests.engine.test_levels import STREAM, opened, query, second

PROGRAM = STREAM + query("exact", "") + query("worth", "QUALITY LINEAR")


def test_a_hopeless_contract_is_said_once_and_in_the_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    engine, clock = opened(tmp_path, PROGRAM, report=said.append)
    with engine:
        for number in range(12):
            # 4 s of 6,000 rows are 1.2 s of two cores, and the deadline is 0.9 s.
            second(engine, clock, number, 6_000)
        hopeless = [text for text in said if 'query "exact" needs' in text]
        assert len(hopeless) == 1
        assert "and its deadline is 0.9 s; " in hopeless[0]
        assert hopeless[0].endswith(" would hold")
        (found,) = [text for text in read_status(str(tmp_path))["warnings"] if '"exact"' in text]
        assert 'query "exact" needs' in found
        assert any('query "exact" needs' in text for text in engine.status()["warnings"])
        assert not any('"worth"' in text for text in read_status(str(tmp_path))["warnings"])
        assert main(["status", "--state", str(tmp_path)]) == 0
        assert f"warning: {found}" in capsys.readouterr().out
        clock.at += 20 * SECOND
        for number in range(40, 52):
            second(engine, clock, number, 100)
        assert read_status(str(tmp_path))["warnings"] == []
        for number in range(52, 62):
            second(engine, clock, number, 6_000)
        assert read_status(str(tmp_path))["warnings"]
        assert [text for text in said if 'query "exact" needs' in text] == hopeless
    # It stands in the state, also when nobody runs it.
    assert read_status(str(tmp_path))["warnings"]


def test_a_damaged_file_is_no_reason_to_fail(tmp_path: Path) -> None:
    engine, clock = opened(tmp_path, PROGRAM)
    with engine:
        for number in range(10):
            second(engine, clock, number, 6_000)
    (tmp_path / "warnings.json").write_text("{")
    assert read_status(str(tmp_path))["warnings"] == []
    engine, _clock = opened(tmp_path, PROGRAM)
    engine.close()


class Kept:
    """A file that counts how often it is written."""

    def __init__(self) -> None:
        self.written: list[object] = []

    def save(self, body: object) -> None:
        self.written.append(body)

    def read(self, _kind: object) -> None:
        return None


def test_what_is_found_by_chance_is_not_said() -> None:
    said: list[str] = []
    kept = Kept()
    warnings = ContractWarnings(kept, said.append)  # type: ignore[arg-type]
    for _ in range(IN_A_ROW - 1):
        warnings.found({"q": "needs 2 s"})
    warnings.found({})
    for number in range(IN_A_ROW):
        assert said == []
        warnings.found({"q": f"needs {number} s"})
    assert said == [f"needs {IN_A_ROW - 1} s"]
    assert len(kept.written) == 1
    for number in range(100):
        warnings.found({"q": f"needs {number} s", **({"other": "needs more"} if number % 2 else {})})
    assert len(said) == len(kept.written) == 1
    warnings.found({})
    assert len(kept.written) == 2
