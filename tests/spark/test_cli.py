"""The command line: every command and exit code, what goes to which stream, and a hostile environment.

Commands run in this process and share its JVM; one real process proves that nothing of Spark reaches the terminal
whatever the environment says.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from punctual.cli.main import main
from tests.spark.command import finish, lines, start

PROGRAM = """-- a program
CREATE STREAM s (t TIMESTAMP EVENT TIME, k STRING, x DOUBLE) FROM FILES 'rows' FORMAT JSON;
CREATE QUERY sums AS SELECT k, sum(x) AS total FROM s [RANGE 10 SECONDS] GROUP BY k PERIOD 5 SECONDS;
CREATE QUERY rate AS SELECT count(*) / 10 AS each FROM s [RANGE 10 SECONDS] WHERE x > 1 PERIOD 5 SECONDS;
"""
spark_is_needed = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def rows(first: int, last: int) -> str:
    return "".join(
        json.dumps({"t": f"2026-03-01T00:00:{i:02}Z", "k": "ab"[i % 2], "x": i / 2}) + "\n" for i in range(first, last)
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "1.json").write_text(rows(0, 20) + "no row\n")
    (tmp_path / "program.sql").write_text(PROGRAM)
    return tmp_path


class Result:
    def __init__(self, capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> None:
        capfd.readouterr()
        try:
            self.code = main([str(a) for a in arguments])
        except SystemExit as end:  # argparse
            self.code = int(end.code or 0)
        printed = capfd.readouterr()
        self.out, self.err = printed.out, printed.err


WRONG_USAGE = {
    "nothing": [],
    "no such command": ["dance"],
    "no program": ["run"],
    "no state": ["status"],
    "unknown flag": ["run", "program.sql", "--twice"],
    "negative speed": ["run", "program.sql", "--speed", "-1"],
    "a speed that is no number": ["run", "program.sql", "--speed", "nan"],
    "two ways to show the web": ["run", "program.sql", "--web", "80", "--no-web"],
    "an option without a value": ["run", "program.sql", "--set", "tick"],
    "an unknown option": ["explain", "program.sql", "--set", "tock=1"],
    "a bad value": ["explain", "program.sql", "--set", "tick=soon"],
}


@pytest.mark.parametrize("arguments", WRONG_USAGE.values(), ids=WRONG_USAGE.keys())
def test_wrong_usage(
    folder: Path, arguments: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    result = Result(capfd, *arguments)
    assert result.code == 2
    assert result.out == ""
    assert result.err
    assert "Traceback" not in result.err


def test_program_errors_are_all_shown_with_their_places(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    wrong = PROGRAM.replace("sum(x)", "sum(y)").replace("AS each FROM s", "AS each FROM z")
    (folder / "wrong.sql").write_text(wrong)
    for command in ("explain", "run"):
        result = Result(capfd, command, folder / "wrong.sql")
        assert (result.code, result.out) == (1, "")
        assert result.err.count("error[") == 2
        for code, place in (("bind.unknown-column", "y"), ("bind.unknown-stream", "z")):
            text = result.err[result.err.index(code) :].splitlines()
            assert text[1][text[2].index("^") : text[2].rindex("^") + 1] == place


def test_a_missing_program(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    result = Result(capfd, "run", folder / "nowhere.sql", "--once")
    assert (result.code, result.out) == (1, "")
    assert "error[parse.no-program]" in result.err
    (folder / "binary.sql").write_bytes(b"\xff\xfe\x00")
    assert Result(capfd, "check", folder / "binary.sql").code == 1


def test_explain(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    sharing = Result(capfd, "explain", folder / "program.sql")
    assert (sharing.code, sharing.err) == (0, "")
    assert sharing.out == Result(capfd, "explain", folder / "program.sql", "--sharing").out
    assert "sums" in sharing.out
    schedule = Result(capfd, "explain", folder / "program.sql", "--schedule")
    assert (schedule.code, schedule.err) == (0, "")
    assert schedule.out != sharing.out
    as_json = Result(capfd, "explain", folder / "program.sql", "--json")
    assert json.loads(as_json.out)


def test_looking_into_no_state(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for command in ("status", "dead"):
        result = Result(capfd, command, "--state", folder / "nowhere")
        assert (result.code, result.out) == (1, "")
        assert "error[state.missing]" in result.err
    assert not (folder / "nowhere").exists()


BAD_FOLDERS = {
    "a state that is a file": ("--state", "program.sql", "state.foreign"),
    "a state below a file": ("--state", "program.sql/below", "state.unusable"),
    "a state that cannot be made": ("--state", "/proc/nothing", "state.unusable"),
    "a state in an object store": ("--state", "s3://bucket/state", "state.not-a-folder"),
    "an output that is a file": ("--out", "program.sql", "sink.unusable"),
    "an output that cannot be made": ("--out", "/proc/nothing", "sink.unusable"),
    "an output in an object store": ("--out", "s3://bucket/out", "sink.not-a-folder"),
}


@pytest.mark.parametrize(("flag", "path", "code"), BAD_FOLDERS.values(), ids=BAD_FOLDERS.keys())
def test_folders_that_cannot_be_used(
    folder: Path, flag: str, path: str, code: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said before a JVM starts, and nothing is made."""
    monkeypatch.chdir(folder)
    result = Result(capfd, "run", "program.sql", "--once", flag, path)
    assert (result.code, result.out) == (1, "")
    assert f"error[{code}]" in result.err
    assert "hint:" in result.err
    assert "Traceback" not in result.err
    assert sorted(p.name for p in folder.iterdir()) == ["program.sql", "rows"]
    assert (folder / "program.sql").read_text() == PROGRAM


class TestOnSpark:
    pytestmark = spark_is_needed

    def test_once_prints_json_lines(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        result = Result(capfd, "run", folder / "program.sql", "--once")
        assert result.code == 0
        found = [json.loads(line) for line in result.out.splitlines()]
        assert [(a["query"], a["at"][-3:]) for a in found if a["query"] == "sums"] == [
            ("sums", second) for second in ("00Z", "05Z", "10Z", "15Z")
        ]
        fifteen = next(a for a in found if a["query"] == "sums" and a["at"].endswith("15Z"))
        assert fifteen["rows"] == [{"k": "a", "total": 25.0}, {"k": "b", "total": 27.5}]
        assert result.err == "20 rows in 2 batches, 8 answers\n"
        # Without --state nothing is kept: running twice answers twice.
        assert Result(capfd, "run", folder / "program.sql", "--once").out == result.out

    def test_state_and_out_are_resumed_not_repeated(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        arguments = ("run", folder / "program.sql", "--once", "--state", folder / "state", "--out", folder / "out")
        first = Result(capfd, *arguments)
        assert (first.code, first.out) == (0, "")
        before = lines(folder / "out")
        again = Result(capfd, *arguments)
        assert (again.code, again.out) == (0, "")
        assert lines(folder / "out") == before
        (folder / "rows" / "2.json").write_text(rows(20, 31))
        assert Result(capfd, *arguments).code == 0
        after = lines(folder / "out")
        assert all(after[query].startswith(before[query]) for query in before)
        assert [json.loads(line)["at"][-3:] for line in after["sums"].splitlines()] == [
            f"{second:02}Z" for second in range(0, 31, 5)
        ]

        status = Result(capfd, "status", "--state", folder / "state")
        assert (status.code, status.err) == (0, "")
        assert "sums" in status.out
        assert "running" in status.out
        told = json.loads(Result(capfd, "status", "--state", folder / "state", "--json").out)
        assert told["streams"]["s"]["accepted"] == 31
        assert told["streams"]["s"]["dead_letters"] == 1
        dead = Result(capfd, "dead", "--state", folder / "state")
        (letter,) = [json.loads(line) for line in dead.out.splitlines()]
        assert (letter["stream"], letter["row"]) == ("s", "no row")
        assert letter["origin"] == str(folder / "rows" / "1.json")
        assert Result(capfd, "dead", "--state", folder / "state", "--stream", "S").out == dead.out
        other = Result(capfd, "dead", "--state", folder / "state", "--stream", "other")
        assert (other.code, other.out) == (2, "")
        assert 'no stream "other"' in other.err

    def test_out_of_somebody_else_is_left_alone(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        (folder / "out").mkdir()
        (folder / "out" / "sums.jsonl").write_text("mine\n")
        result = Result(
            capfd, "run", folder / "program.sql", "--once", "--state", folder / "state", "--out", folder / "out"
        )
        assert (result.code, result.out) == (1, "")
        assert (folder / "out" / "sums.jsonl").read_text() == "mine\n"

    def test_no_rows_at_all(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        (folder / "rows" / "1.json").unlink()
        result = Result(capfd, "run", folder / "program.sql", "--once", "--out", folder / "out")
        assert (result.code, result.out) == (0, "")
        assert lines(folder / "out") == {"sums": "", "rate": ""}

    def test_a_missing_folder_fails_the_run(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        (folder / "rows" / "1.json").unlink()
        (folder / "rows").rmdir()
        result = Result(capfd, "run", folder / "program.sql", "--once")
        assert (result.code, result.out) == (1, "")
        assert "error[feed.missing-path]" in result.err

    def test_check(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        result = Result(capfd, "check", folder / "program.sql")
        assert (result.code, result.err) == (0, "")
        assert "2 queries" in result.out
        (folder / "wrong.sql").write_text(PROGRAM.replace("sum(x)", "sum(nosuch(x))"))
        wrong = Result(capfd, "check", folder / "wrong.sql")
        assert (wrong.code, wrong.out) == (1, "")
        assert "error[bind.unknown-function]" in wrong.err
        assert "^" in wrong.err

    def test_errors_that_only_spark_can_say_are_shown_with_all_others(
        self, folder: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        wrong = """
            CREATE QUERY a AS SELECT sum(y) FROM s [RANGE 10 SECONDS] PERIOD 5 SECONDS;
            CREATE QUERY b AS SELECT DISTINCT z FROM s [RANGE 10 SECONDS] PERIOD 5 SECONDS;
            CREATE QUERY c AS SELECT DISTINCT nosuch(x) FROM s [RANGE 10 SECONDS] PERIOD 5 SECONDS;
            CREATE QUERY d AS SELECT count(*) FROM s [RANGE 10 SECONDS];
        """
        (folder / "wrong.sql").write_text(PROGRAM + wrong)
        for command in ("check", "run"):
            result = Result(capfd, command, folder / "wrong.sql")
            assert (result.code, result.out) == (1, "")
            facts = re.findall(r"error\[(.*?)\]", result.err)
            assert facts == ["bind.unknown-column", "bind.unknown-column", "bind.unknown-function", "bind.no-cadence"]

    def test_set_wins_over_the_program(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        for number in range(2, 5):
            (folder / "rows" / f"{number}.json").write_text(rows(20 + number, 21 + number))
        (folder / "program.sql").write_text("SET max_files_per_tick = 3;" + PROGRAM)
        chosen = ("--set", "max_files_per_tick=1", "--out", folder / "out")
        result = Result(capfd, "run", folder / "program.sql", "--once", *chosen)
        assert result.code == 0
        assert "in 5 batches" in result.err

    def test_a_replay_at_a_speed_is_judged(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        text = PROGRAM.replace("PERIOD 5 SECONDS", "PERIOD 5 SECONDS DEADLINE 1 HOUR")
        (folder / "program.sql").write_text(text)
        result = Result(capfd, "run", folder / "program.sql", "--speed", "1000")
        found = [json.loads(line) for line in result.out.splitlines()]
        assert len(found) == 8
        assert all(a["on_time"] is True and a["released"] <= a["answered"] <= a["deadline"] for a in found)


@pytest.mark.spark
def test_a_hostile_environment(folder: Path) -> None:
    """A real process, from another folder, with an environment that would break Spark, Java and Python."""
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    environment = {
        "SPARK_HOME": "/nowhere",
        "SPARK_CONF_DIR": "/nowhere",
        "PYSPARK_SUBMIT_ARGS": "--master spark://nowhere:7077 --bad-flag",
        "PYSPARK_PYTHON": "/bin/false",
        "PYSPARK_DRIVER_PYTHON": "jupyter",
        "SPARK_LOCAL_DIRS": "/nowhere",
        "JAVA_TOOL_OPTIONS": "-Dfoo=bar",
        "_JAVA_OPTIONS": "-Xmx16m",
        "TZ": "Asia/Kolkata",
        "LC_ALL": "C",
    }
    program = os.path.relpath(folder / "program.sql", elsewhere)
    code, out, err = finish(start("run", program, "--once", folder=elsewhere, environment=environment))
    assert code == 0, err
    assert err == "20 rows in 2 batches, 8 answers\n"
    found = [json.loads(line) for line in out.splitlines()]
    assert {a["query"] for a in found} == {"sums", "rate"}
    assert [a["rows"] for a in found if a["at"] == "2026-03-01T00:00:15Z" and a["query"] == "sums"] == [
        [{"k": "a", "total": 25.0}, {"k": "b", "total": 27.5}]
    ]
    assert list((elsewhere / "tmp").glob("punctual*")) == [], "something was left behind"
