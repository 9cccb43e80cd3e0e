"""A live program: rows that come later are answered, silence too, and every answer says when it was due."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from punctual.engine.engine import Engine
from punctual.errors import RunError
from punctual.runtime.spark import SparkBackend

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

PATIENCE_S = 180
PROGRAM = """
CREATE STREAM hand (t TIMESTAMP EVENT TIME, k STRING, x DOUBLE) FROM FEED;
CREATE STREAM files (t TIMESTAMP EVENT TIME, k STRING, x DOUBLE) FROM FILES 'watched' FORMAT JSON;
CREATE QUERY fed AS SELECT k, sum(x) AS total FROM hand [RANGE 10 SECONDS] GROUP BY k PERIOD 1 SECOND DEADLINE 1 HOUR;
CREATE QUERY watched AS SELECT count(*) AS n, sum(x) * 2 AS twice FROM files [RANGE 20 SECONDS] PERIOD 1 SECOND;
"""


def wait_for(happened: Callable[[], Any]) -> Any:
    give_up = time.monotonic() + PATIENCE_S
    while not (found := happened()):
        assert time.monotonic() < give_up, "nothing happened"
        time.sleep(0.05)
    return found


def row(at: datetime, k: str, x: float) -> dict[str, Any]:
    return {"t": at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "k": k, "x": x}


def drop(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    """A file appears whole."""
    (folder / f".{name}").write_text("".join(json.dumps(r) + "\n" for r in rows))
    os.replace(folder / f".{name}", folder / name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "watched").mkdir()
    return tmp_path


@pytest.fixture
def engine(folder: Path) -> Iterator[Engine]:
    options = {"tick": "50 ms", "idle": "1 second"}
    engine = Engine(str(folder / "state"), str(folder / "out"), options=options, base=str(folder))
    engine.sql(PROGRAM)
    engine.start()
    yield engine
    engine.stop()


def at_second(number: float) -> datetime:
    """Not long ago: a stream that falls silent is complete by the wall clock."""
    return BASE + timedelta(seconds=number)


BASE = datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=30)


def test_rows_that_come_later_are_answered(engine: Engine, folder: Path) -> None:
    assert engine.answers("fed").empty
    engine.feed("hand", [row(at_second(i), "ab"[i % 2], 1.0) for i in range(3)])
    wait_for(lambda: not engine.answers("fed").empty)
    engine.feed("hand", [row(at_second(3), "a", 10.0), row(at_second(5), "b", 0.5)])
    drop(folder / "watched", "1.json", [row(at_second(i), "z", 2.0) for i in range(4)])

    def answered(query: str, second: float) -> list[dict[str, Any]]:
        frame = engine.answers(query)
        return frame[frame["at"] == at_second(second)].to_dict("records") if len(frame) else []

    assert {r["k"]: r["total"] for r in wait_for(lambda: answered("fed", 4))} == {"a": 12.0, "b": 1.0}
    # The folder fell silent: it is complete by the wall clock, and its queries answer all the same.
    (whole,) = wait_for(lambda: answered("watched", 4))
    assert (whole["n"], whole["twice"]) == (4, 16.0)
    (empty,) = wait_for(lambda: answered("watched", 25))
    assert (empty["n"], pd.isna(empty["twice"])) == (0, True)
    drop(folder / "watched", "2.json", [row(datetime.now(UTC) + timedelta(seconds=5), "z", 2.0)])
    wait_for(lambda: engine.answers("watched")["n"].iloc[-1] == 1)

    frame = engine.answers("fed")
    assert frame["on_time"].all()
    assert (frame["released"] <= frame["answered"]).all()
    assert (frame["deadline"] - frame["released"] == pd.Timedelta(hours=1)).all()
    assert engine.answers("watched")["deadline"].isna().all()
    assert engine.answers("watched")["on_time"].isna().all()
    instants = engine.answers("watched")["at"]
    assert (instants.diff().dropna() == pd.Timedelta(seconds=1)).all(), "an instant was left out or answered twice"


def test_a_query_added_while_it_runs(engine: Engine) -> None:
    engine.feed("hand", [row(at_second(1), "a", 1.0)])
    wait_for(lambda: not engine.answers("fed").empty)
    engine.sql("CREATE QUERY more AS SELECT max(x) AS top FROM hand [RANGE 1 MINUTE] PERIOD 1 SECOND")
    engine.feed("hand", [row(datetime.now(UTC) + timedelta(seconds=2), "a", 7.0)])
    wait_for(lambda: not engine.answers("more").empty and engine.answers("more")["top"].max() == 7.0)
    assert engine.answers("more")["on_time"].isna().all()
    engine.sql("DROP QUERY more")
    assert "more" not in engine.catalog.queries


def test_a_folder_that_vanishes_holds_nobody_up(folder: Path) -> None:
    said: list[str] = []
    engine = Engine(options={"tick": "50 ms", "idle": "1 second"}, base=str(folder), report=said.append)
    engine.sql(PROGRAM)
    engine.start()
    engine.feed("hand", [row(at_second(1), "a", 1.0)])
    # Every pass looks at every stream: the folder was there once when anything is answered.
    wait_for(lambda: not engine.answers("fed").empty)
    (folder / "watched").rmdir()
    wait_for(lambda: said)
    engine.feed("hand", [row(datetime.now(UTC) + timedelta(seconds=2), "b", 1.0)])
    wait_for(lambda: "b" in set(engine.answers("fed")["k"]))
    (folder / "watched").mkdir()
    drop(folder / "watched", "1.json", [row(datetime.now(UTC), "z", 2.0)])
    wait_for(lambda: not engine.answers("watched").empty)
    engine.stop()
    assert len(said) == 1
    assert 'stream "files" cannot be read for now' in said[0]


def test_what_the_thread_died_of_is_raised(folder: Path) -> None:
    class Mortal(SparkBackend):
        def alive(self) -> bool:
            return False

    engine = Engine(options={"tick": "10 seconds"}, base=str(folder), backend=Mortal)
    engine.sql(PROGRAM)
    engine.start()
    with pytest.raises(RunError, match="jvm-died"):
        engine.wait(PATIENCE_S)
    with pytest.raises(RunError, match="jvm-died"):
        engine.stop()
    with pytest.raises(RunError, match="not-open"):
        engine.feed("hand", [])
