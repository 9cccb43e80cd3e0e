"""Rankings that would be late: their tail is cut, the answer says by how much, and a crash changes nothing.

The clock is simulated. Before anything is measured a pass is expected to take 60 ms.
"""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.answers.delivery import Delivery
from punctual.engine.engine import Engine
from tests.inprocess.backend import InProcess
from tests.oracles import worlds

START = 1_700_000_000 * SECOND
STREAM = "CREATE STREAM s (t TIMESTAMP EVENT TIME, id INT, v INT, p DOUBLE PROBABILITY, g STRING KEY) FROM FEED;\n"
THRESHOLD = 0.0005


def query(name: str, top: str, seconds: int, clause: str) -> str:
    return (
        f"CREATE QUERY {name} AS SELECT TOP {top} FROM s [RANGE {seconds} SECONDS] ORDER BY v "
        f"PERIOD 2 SECONDS {clause};"
    )


# Different ranges: rankings of one window are served by one walk, as exact as the most patient of them asks for.
PROGRAM = STREAM + "\n".join([
    query("hurried", f"2 BY PT({THRESHOLD}) id", 4, "DEADLINE 1 MILLISECOND"),
    query("keys", "2 STREAMS g", 5, "DEADLINE 1 MILLISECOND"),
    query("weighed", "30 BY PRF(2, -4) id", 6, "DEADLINE 1 MILLISECOND"),
    query("means", "2 BY EXPECTED_RANK id", 4, "DEADLINE 1 MILLISECOND").replace("ORDER BY v", "ORDER BY v + 1"),
    query("calm", f"2 BY PT({THRESHOLD}) id", 3, "DEADLINE 10 SECONDS"),
    query("patient", f"2 BY PT({THRESHOLD}) id", 2, ""),
])  # fmt: skip


def rows() -> list[tuple[int, int, int, float, str]]:
    chance = random.Random(3)
    return [
        (START + n * SECOND // 2, n, chance.randrange(1000), chance.randint(6, 14) / 16, chance.choice("xyz"))
        for n in range(40)
    ]


def opened(folder: Path, options: dict[str, str] | None = None) -> Engine:
    engine = Engine(str(folder), clock=ManualClock(2 * START), backend=InProcess, options=options)
    engine.sql(PROGRAM)
    engine.open()
    return engine


def gathered(engine: Engine) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for block in engine.records():
        found.setdefault(block.query, []).extend(block.table.to_pylist())
    return found


def played(engine: Engine) -> dict[str, list[Any]]:
    for begin in range(0, 40, 10):
        engine.feed("s", [(iso(t), *rest) for t, *rest in rows()[begin : begin + 10]])
        engine.tick()
    return gathered(engine)


def exact(at: int, seconds: int) -> tuple[list[worlds.Row], list[tuple[int, int, int, float, str]]]:
    inside = sorted((row for row in rows() if at - seconds * SECOND < row[0] <= at), key=lambda row: (row[2], row[0]))
    return [worlds.Row(len(inside) - i, Fraction(row[3]), None) for i, row in enumerate(inside)], inside


def test_the_error_is_stated_and_holds(tmp_path: Path) -> None:
    with opened(tmp_path) as engine:
        found = played(engine)
    stated = {name: {answer["error"] for answer in answers} for name, answers in found.items()}
    assert {name: {e and json.loads(e).popitem() for e in errors} for name, errors in stated.items()} == {
        "hurried": {("probability", 0.01)},
        "keys": {("expected", 0.02)},
        "weighed": {("score", 0.04)},
        "means": {None},
        "calm": {None},
        "patient": {None},
    }
    dropped = 0
    for name, seconds in (("hurried", 4), ("calm", 3), ("patient", 2)):
        for answer in found[name]:
            inside, ids = exact(answer["at"], seconds)
            true = dict(zip((row[1] for row in ids), worlds.topk_probabilities(inside, 2)))
            shown = {row["id"]: row["probability"] for row in answer["rows"]}
            allowed = 0.01 if name == "hurried" else 1e-12
            assert all(abs(value - float(true[number])) <= allowed for number, value in shown.items())
            missing = [float(p) for number, p in true.items() if p >= THRESHOLD and number not in shown]
            assert all(p <= allowed for p in missing)
            dropped += len(missing)
    assert dropped > 0, "the tail was not cut at all"
    for answer in found["keys"]:
        inside, ids = exact(answer["at"], 5)
        values = worlds.topk_probabilities(inside, 2)
        for row in answer["rows"]:
            whole = sum(float(p) for p, own in zip(values, ids) if own[4] == row["g"])
            assert abs(row["expected"] - whole) <= 0.02
    for answer in found["weighed"]:
        inside, ids = exact(answer["at"], 6)
        true = dict(zip((row[1] for row in ids), worlds.prf(inside, [Fraction(2), Fraction(-4)])))
        shown = {row["id"]: row["score"] for row in answer["rows"]}
        assert all(abs(float(value) - shown.get(number, 0.0)) <= 0.04 for number, value in true.items())


def test_best_effort_takes_its_time(tmp_path: Path) -> None:
    with opened(tmp_path, {"qos": "best-effort"}) as engine:
        assert {answer["error"] for answers in played(engine).values() for answer in answers} == {None}


def test_a_pass_that_is_run_again_cuts_as_it_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path / "undisturbed") as engine:
        expected = played(engine)

    class DeathError(Exception):
        pass

    def dies(self: Delivery, batch: int, number: int, blocks: list[Any]) -> int:
        raise DeathError

    engine = opened(tmp_path / "killed")
    with engine:
        for begin in range(0, 30, 10):
            engine.feed("s", [(iso(t), *rest) for t, *rest in rows()[begin : begin + 10]])
            engine.tick()
        engine.feed("s", [(iso(t), *rest) for t, *rest in rows()[30:]])
        with monkeypatch.context() as patch:
            patch.setattr(Delivery, "deliver", dies)
            with pytest.raises(DeathError):
                engine.tick()
    # Who goes on with it would never cut anything: what was decided stands.
    with opened(tmp_path / "killed", {"qos": "best-effort"}) as engine:
        found = gathered(engine)
    for name, answers in expected.items():
        assert [(a["at"], a["rows"], a["error"]) for a in found[name]] == [
            (a["at"], a["rows"], a["error"]) for a in answers
        ]
