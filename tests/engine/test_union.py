"""UNION ALL of windowed streams: one ranking, one count, as late as the latest of them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.engine.status import read_dead
from punctual.errors import ProgramErrors
from tests.engine.test_topk import START, WAYS, Row, drawn, gathered, in_window
from tests.inprocess.backend import InProcess
from tests.oracles import worlds

# The second stream names its columns as it likes: what a row means is declared, not guessed from names.
STREAMS = """
CREATE STREAM radar (
    t TIMESTAMP EVENT TIME, id INT, lane STRING KEY, speed INT, conf DOUBLE PROBABILITY, car STRING RULE
) FROM FEED;
CREATE STREAM camera (
    seen TIMESTAMP EVENT TIME, lane STRING KEY, ID INT, plate STRING RULE, speed INT, p DOUBLE PROBABILITY
) FROM FEED;
"""
BOTH = "FROM radar [RANGE 4 SECONDS] UNION ALL camera [RANGE 4 SECONDS]"
QUERIES = {
    "top": f"SELECT TOP 3 id, speed {BOTH} ORDER BY speed DESC PERIOD 2 SECONDS",
    "smaller": f"SELECT TOP 1 id, speed {BOTH} ORDER BY speed DESC PERIOD 2 SECONDS",
    "lanes": f"SELECT TOP 2 STREAMS lane {BOTH} ORDER BY speed DESC PERIOD 2 SECONDS",
    "counted": "SELECT both.lane, count(*) AS n, sum(speed) AS s FROM (radar [RANGE 4 SECONDS] UNION ALL camera "
    "[RANGE 4 SECONDS]) AS both WHERE both.speed > 51 GROUP BY both.lane PERIOD 2 SECONDS",
    "alone": "SELECT count(*) AS n FROM camera [RANGE 4 SECONDS] PERIOD 2 SECONDS",
}


def second(rows: list[Row]) -> list[tuple[Any, ...]]:
    return [(iso(t), lane, number, car, speed, p) for t, number, lane, speed, p, car in rows]


def some() -> list[Row]:
    """Rows of the first stream, few enough to go through all worlds of a window."""
    return drawn(7)[::2]


def others() -> list[Row]:
    """Rows of the second stream: other ids, the same labels of rules."""
    return [(t + SECOND // 7, 100 + number, *rest) for t, number, *rest in drawn(8, 30)[::3]]  # type: ignore[misc]


def opened(folder: Path, way: str = "straight") -> Engine:
    partitions, options = WAYS[way]
    engine = Engine(
        str(folder), clock=ManualClock(2 * START), backend=lambda: InProcess(partitions, 1), live=False, options=options
    )
    engine.sql(STREAMS + "".join(f"CREATE QUERY {name} AS {text};\n" for name, text in QUERIES.items()))
    engine.open()
    return engine


def played(folder: Path, way: str) -> dict[str, list[Any]]:
    """Both streams in pieces that do not go together, and a restart in between."""
    first, more = some(), others()
    with opened(folder, way) as engine:
        for begin in range(0, 12, 6):
            engine.feed("radar", [(iso(t), *rest) for t, *rest in first[begin : begin + 6]])
            engine.tick()
        engine.feed("camera", second(more[:4]))
        engine.tick()
    with opened(folder, way) as engine:
        engine.feed("camera", second(more[4:]))
        engine.feed("radar", [(iso(t), *rest) for t, *rest in first[12:]])
        engine.tick()
        engine.end()
        return gathered(engine)


def together(at: int) -> tuple[list[worlds.Row], list[Row]]:
    """The rows of a window in rank order, their labels told apart by stream, for the oracle and as they are."""
    named = [(row, "radar") for row in in_window(some(), at)] + [(row, "camera") for row in in_window(others(), at)]
    order = sorted(named, key=lambda one: (-one[0][3], one[0][0], one[0][1]))
    inside = [
        worlds.Row(len(order) - i, Fraction(row[4] or 0), None if row[5] is None else f"{name}:{row[5]}")
        for i, (row, name) in enumerate(order)
    ]
    return inside, [row for row, _name in order]


@pytest.mark.parametrize("way", WAYS)
def test_one_ranking_and_one_count_of_both(tmp_path: Path, way: str) -> None:
    found = played(tmp_path, way)
    last = max(row[0] for row in (*some(), *others())) // (2 * SECOND) * 2 * SECOND
    for name in QUERIES:
        first = START + (2 * SECOND if name == "alone" else 0)  # its own first row comes a little later
        assert [answer["at"] for answer in found[name]] == list(range(first, last + 1, 2 * SECOND))
        assert all(answer["complete"] for answer in found[name])
    for k, name in ((3, "top"), (1, "smaller")):
        for answer in found[name]:
            inside, rows = together(answer["at"])
            value = worlds.topk_probabilities(inside, k)
            best = worlds.best_by(inside, value, k)
            assert [row["id"] for row in answer["rows"]] == [rows[i][1] for i in best]
            for row, i in zip(answer["rows"], best):
                assert abs(row["probability"] - float(value[i])) < 1e-12
    for answer in found["lanes"]:
        inside, rows = together(answer["at"])
        value = worlds.topk_probabilities(inside, 2)
        sums = {lane: sum(value[i] for i, row in enumerate(rows) if row[2] == lane) for lane in "LR"}
        assert len(answer["rows"]) == sum(1 for total in sums.values() if total)
        for row in answer["rows"]:
            assert abs(row["expected"] - float(sums[row["lane"]])) < 1e-12
    for answer in found["counted"]:
        rows = [row for row in together(answer["at"])[1] if row[3] > 51]
        expected = [
            {"lane": lane, "n": len(own), "s": sum(row[3] for row in own)}
            for lane in "LR"
            if (own := [row for row in rows if row[2] == lane])
        ]
        assert answer["rows"] == expected
    assert {answer["execution"].split("/")[0] for answer in found["top"]} == {"radar+camera"}


def test_the_slower_stream_decides_what_is_complete(tmp_path: Path) -> None:
    with opened(tmp_path) as engine:
        engine.feed("radar", [(iso(t), *rest) for t, *rest in some()])
        engine.tick()
        assert gathered(engine) == {}
        engine.feed("camera", second(others()[:4]))  # through about 3 seconds
        engine.tick()
        answered = gathered(engine)
        assert [answer["at"] - START for answer in answered["top"]] == [0, 2 * SECOND]
        # What is too late for its own stream is counted, though the other stream is not so far.
        engine.feed("camera", second(others()[:2]))
        engine.tick()
        engine.end()
        late = {answer["at"] - START: answer["late_rows"] for answer in gathered(engine)["top"]}
        assert (late[0], late[2 * SECOND], late[4 * SECOND]) == (0, 0, 2)
        assert {answer["late_rows"] for answer in gathered(engine)["alone"]} == {0, 2}


def test_without_rows_of_one_stream_the_other_is_answered_to_its_end(tmp_path: Path) -> None:
    with opened(tmp_path) as engine:
        engine.feed("radar", [(iso(t), *rest) for t, *rest in some()])
        engine.tick()
        engine.end()
        found = gathered(engine)
    assert len(found["top"]) == (some()[-1][0] - START) // (2 * SECOND) + 1
    assert "alone" not in found or all(answer["rows"] == [{"n": 0}] for answer in found["alone"])


@pytest.mark.parametrize(
    ("select", "code", "said"),
    [
        (f"SELECT TOP 3 plate {BOTH} ORDER BY speed DESC", "bind.unknown-column", "have to declare it, with one type"),
        (f"SELECT TOP 3 id {BOTH} ORDER BY conf DESC", "bind.unknown-column", "have to declare it"),
        (
            "SELECT TOP 3 speed FROM radar [RANGE 4 SECONDS] UNION ALL camera [RANGE 5 SECONDS] ORDER BY speed",
            "plan.not-yet", "different lengths in a ranking",
        ),
        (
            "SELECT TOP 3 speed FROM radar [NOW] UNION ALL camera [RANGE 5 SECONDS] ORDER BY speed", "plan.not-yet",
            "different lengths in a ranking",
        ),
        (
            "SELECT count(*) FROM radar [NOW] UNION ALL radar [NOW] AS again", "bind.duplicate-name",
            "stands twice in UNION ALL",
        ),
        ("SELECT count(*) FROM radar [NOW] UNION ALL names", "bind.union-of-table", 'table "names"'),
        ("SELECT count(*) FROM names UNION ALL radar [NOW]", "bind.union-of-table", 'table "names"'),
        ("SELECT count(*) FROM radar [NOW] UNION ALL camera", "bind.missing-window", "camera"),
        (
            "SELECT TOP 1 speed FROM radar [NOW] UNION ALL camera [NOW], radar [NOW] AS r ORDER BY speed",
            "plan.not-yet", "join of two",
        ),
        ("SELECT TOP 1 x FROM plain [NOW] UNION ALL bare [NOW] ORDER BY x", "bind.no-probability", "bare"),
        ("SELECT TOP 1 STREAMS x FROM plain [NOW] UNION ALL plain2 [NOW] ORDER BY x", "bind.no-key", "plain"),
    ],
)  # fmt: skip
def test_errors(tmp_path: Path, select: str, code: str, said: str) -> None:
    names = tmp_path / "names.csv"
    names.write_text("id,name\n")
    program = f"""{STREAMS}
    CREATE STREAM plain (t TIMESTAMP EVENT TIME, x INT, p DOUBLE PROBABILITY) FROM FEED;
    CREATE STREAM plain2 (t TIMESTAMP EVENT TIME, x INT, p DOUBLE PROBABILITY) FROM FEED;
    CREATE STREAM bare (t TIMESTAMP EVENT TIME, x INT) FROM FEED;
    CREATE TABLE names (id INT, name STRING) FROM FILES '{names}' FORMAT CSV;
    CREATE QUERY q AS {select} PERIOD 2 SECONDS;
    """
    engine = Engine(
        str(tmp_path / "state"), clock=ManualClock(START), backend=lambda: InProcess(1, 1), live=False, options={}
    )
    with pytest.raises(ProgramErrors) as caught:
        engine.sql(program)
    found = [error for error in caught.value.errors if error.code == code]
    assert found, str(caught.value)
    assert any(said in f"{error.fact} {error.detail} {error.hint}" for error in found), str(caught.value)


def test_broken_rules_are_told_to_their_own_stream(tmp_path: Path) -> None:
    """Rows of a key are alternatives here, whichever stream they come from; some keys have too many."""
    engine = Engine(str(tmp_path), clock=ManualClock(2 * START), backend=InProcess, live=False, options={})
    ranking = f"SELECT TOP 2 STREAMS EXCLUSIVE lane {BOTH} ORDER BY speed DESC PERIOD 2 SECONDS"
    engine.sql(f"{STREAMS}CREATE QUERY keys AS {ranking};")
    with engine:
        engine.open()
        engine.feed("radar", [(iso(t), *rest) for t, *rest in some()])
        engine.feed("camera", second(others()))
        engine.tick()
        engine.end()
        answers = gathered(engine)["keys"]
    broken: set[int] = set()
    for answer in answers:
        rows = together(answer["at"])[1]
        full = {lane for lane in "LR" if sum(row[4] or 0 for row in rows if row[2] == lane) > 1}
        assert answer["rejected"] == sum(row[2] in full for row in rows)
        broken |= {row[1] for row in rows if row[2] in full}
    found = {name: [json.loads(one["row"]) for one in read_dead(str(tmp_path), name)] for name in ("radar", "camera")}
    assert sorted(row["id"] for row in found["radar"]) == sorted(number for number in broken if number < 100)
    assert sorted(row["ID"] for row in found["camera"]) == sorted(number for number in broken if number >= 100)
    assert min(len(rows) for rows in found.values()) > 2
    as_read = {one["ID"]: one for one in map(_read, second(others()))}
    assert all(row == as_read[row["ID"]] for row in found["camera"])
    reasons = {one["reason"] for name in found for one in read_dead(str(tmp_path), name)}
    assert reasons == {f'key "{lane}" adds up to more than 1 within a window' for lane in "LR"}


def _read(row: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(("seen", "lane", "ID", "plate", "speed", "p"), row))


def test_a_row_is_written_once_by_its_own_stream_and_by_united_ones(tmp_path: Path) -> None:
    """Whole, and under the names of its own stream, whichever query met it first."""
    engine = Engine(str(tmp_path), clock=ManualClock(2 * START), backend=InProcess, live=False, options={})
    alone = "SELECT TOP 2 ID FROM camera [RANGE 4 SECONDS] ORDER BY speed DESC PERIOD 2 SECONDS"
    engine.sql(f"{STREAMS}CREATE QUERY alone AS {alone}; CREATE QUERY united AS {QUERIES['top']};")
    rows = [(iso(START + n * SECOND), "L", n, f"car{n // 3}", 50 + n, 0.4) for n in range(12)]
    with engine:
        engine.open()
        engine.feed("camera", [*rows, (iso(START + 20 * SECOND), "L", 99, None, 50, 0.5)])
        engine.feed("radar", [(iso(START + 20 * SECOND), 99, "L", 50, 0.5, None)])
        engine.tick()
        engine.end()
        assert sum(answer["rejected"] for answer in gathered(engine)["united"]) > 4
    letters = list(read_dead(str(tmp_path), "camera"))
    written = sorted((json.loads(one["row"]) for one in letters), key=lambda row: row["ID"])
    assert written == [_read(row) for row in rows]
    reasons = [f'rule "car{n // 3}" adds up to more than 1 within a window' for n in range(12)]
    assert sorted(one["reason"] for one in letters) == reasons
