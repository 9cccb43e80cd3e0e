"""A check starts no JVM for what is plain; a run begins to start one at once, and fails when it opens."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from punctual.cli.main import main
from punctual.engine.engine import Engine
from punctual.errors import EnvironmentFault
from punctual.explain.look import look_at
from punctual.runtime import session
from punctual.runtime.spark import SparkBackend

STREAM = "CREATE STREAM s (t TIMESTAMP EVENT TIME, k STRING, x DOUBLE) FROM FILES 'rows' FORMAT JSON;\n"
PLAIN = STREAM + "CREATE QUERY q AS SELECT k, avg(x) / 2 AS mean FROM s [RANGE 1 MINUTE] GROUP BY k PERIOD 1 MINUTE;"
ODD = STREAM + "CREATE QUERY q AS SELECT max(sqrt(x)) AS root FROM s [RANGE 1 MINUTE] PERIOD 1 MINUTE;"


class Started:
    """In place of a session: who started it, and what went wrong."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.threads: list[threading.Thread] = []
        monkeypatch.setattr(session, "start", self._start)

    def _start(self, *_arguments: Any) -> Any:
        self.threads.append(threading.current_thread())
        raise EnvironmentFault("java.missing", "no Java 17 or 21 was found")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    return Started(monkeypatch)


def test_a_check_of_a_plain_program_starts_none(
    started: Started, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "program.sql").write_text(PLAIN)
    assert main(["check", str(tmp_path / "program.sql")]) == 0
    assert "1 queries over 1 streams" in capsys.readouterr().out
    assert started.threads == []


def test_errors_of_types_that_are_plain_need_none(
    started: Started, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PLAIN.replace("GROUP BY k", "WHERE x + 1 GROUP BY k")
    (tmp_path / "program.sql").write_text(text)
    assert main(["check", str(tmp_path / "program.sql")]) == 1
    assert "a condition is BOOLEAN, and this is DOUBLE" in capsys.readouterr().err
    assert started.threads == []


def test_a_check_of_what_only_spark_knows_starts_one(started: Started, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault, match=r"java\.missing"):
        look_at(ODD, str(tmp_path), {}, types=True)
    assert len(started.threads) == 1


def test_a_run_begins_at_once_and_fails_when_it_opens(started: Started, tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    for text in (PLAIN, ODD):
        with Engine(base=str(tmp_path)) as engine:
            engine.sql(text)
            with pytest.raises(EnvironmentFault, match=r"java\.missing"):
                engine.open()
    assert len(started.threads) == 2
    assert threading.current_thread() not in started.threads


def test_what_never_started_is_closed_at_once(started: Started) -> None:
    SparkBackend(at_once=False).close()
    assert started.threads == []
    SparkBackend().close()  # what went wrong is nobody's business any more
    assert len(started.threads) == 1


def test_closing_waits_for_a_start_that_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, said = threading.Event(), []

    class Session:
        pass

    def start(*_arguments: Any) -> Any:
        go_on.wait(60)
        return Session()

    monkeypatch.setattr(session, "start", start)
    monkeypatch.setattr(session, "is_own", lambda _spark: True)
    monkeypatch.setattr(session, "stop", lambda spark: said.append(type(spark)))
    backend = SparkBackend()
    closing = threading.Thread(target=backend.close)
    closing.start()
    assert said == []
    go_on.set()
    closing.join()
    assert said == [Session]
