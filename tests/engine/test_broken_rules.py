"""Rules whose rows add up to more than 1 within a window: left out, counted, and dead letters once."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.answers.delivery import Delivery
from punctual.engine.engine import Engine
from punctual.engine.status import read_dead, read_status
from tests.engine.test_topk import START, STREAM, WAYS, Row, gathered, select
from tests.inprocess.backend import InProcess

QUERIES = {
    "two": select("PK", 2),
    "means": select("EXPECTED_RANK", 5),
    "slow": select("PK", 3, where="WHERE speed < 75"),
    "lanes": select("PK", 2, group="GROUP BY lane"),
    "longer": select("PK", 2).replace("4 SECONDS", "7 SECONDS"),
}


def heavy(count: int = 60) -> list[Row]:
    """Rules of random rows, many of which add up to more than 1 in some windows and not in others."""
    chance = random.Random(5)
    return [
        (
            START + number * SECOND // 3, number, chance.choice("LR"), chance.randint(50, 90),
            chance.randint(0, 16) / 16, f"c{chance.randrange(8)}" if chance.random() < 0.8 else None,
        )
        for number in range(count)
    ]  # fmt: skip


def broken_in(rows: list[Row]) -> set[int]:
    """Ids of the rows whose rule adds up to more than 1."""
    mass: Counter[str] = Counter()
    for row in rows:
        if row[5] is not None and row[4] is not None:
            mass[row[5]] += row[4]  # type: ignore[assignment]
    return {row[1] for row in rows if row[5] is not None and mass[row[5]] > 1}


def opened(folder: Path, way: str) -> Engine:
    partitions, options = WAYS[way]
    engine = Engine(
        str(folder), clock=ManualClock(2 * START), backend=lambda: InProcess(partitions, 1), live=False, options=options
    )
    engine.sql(STREAM + "".join(f"CREATE QUERY {name} AS {text};\n" for name, text in QUERIES.items()))
    engine.open()
    return engine


@pytest.mark.parametrize("way", WAYS)
def test_counted_in_every_answer_and_written_once(tmp_path: Path, way: str) -> None:
    rows = heavy()
    for begin in range(0, len(rows), 10):  # every batch by another process
        with opened(tmp_path, way) as engine:
            engine.feed("radar", [(iso(t), *rest) for t, *rest in rows[begin : begin + 10]])
            engine.tick()
            if begin + 10 >= len(rows):
                engine.end()
                found = gathered(engine)
    expected: set[int] = set()
    for name, answers in found.items():
        length = 7 if name == "longer" else 4
        for answer in answers:
            inside = [row for row in rows if answer["at"] - length * SECOND < row[0] <= answer["at"]]
            parts = [inside]
            if name == "slow":
                parts = [[row for row in inside if row[3] < 75]]
            elif name == "lanes":
                parts = [[row for row in inside if row[2] == lane] for lane in "LR"]
            broken = set().union(*(broken_in(part) for part in parts))
            assert answer["rejected"] == len(broken), (name, answer["at"])
            assert not {row["id"] for row in answer["rows"]} & broken
            expected |= broken
    letters = list(read_dead(str(tmp_path), "radar"))
    written = [json.loads(letter["row"]) for letter in letters]
    assert Counter(row["id"] for row in written) == Counter(expected)
    by_id = {row[1]: row for row in rows}
    for row, letter in zip(written, letters):
        t, number, lane, speed, p, car = by_id[row["id"]]
        assert row == {"t": iso(t), "id": number, "lane": lane, "speed": speed, "conf": p, "car": car}
        assert letter["reason"] == f'rule "{car}" adds up to more than 1 within a window'
        assert letter["event_time"] == iso(t)
    assert 10 < len(expected) < 55
    (status,) = [s for name, s in read_status(str(tmp_path))["streams"].items() if name == "radar"]
    assert status["dead_letters"] == len(letters)


def test_written_once_though_the_pass_is_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The letters are durable before the answers that count them; whoever dies in between finds them again."""

    class DeathError(Exception):
        pass

    def dies(self: Delivery, batch: int, number: int, blocks: list[Any]) -> int:
        raise DeathError

    rows = heavy()
    with opened(tmp_path, "straight") as engine:
        engine.feed("radar", [(iso(t), *rest) for t, *rest in rows[:40]])
        with monkeypatch.context() as patch:
            patch.setattr(Delivery, "deliver", dies)
            with pytest.raises(DeathError):
                engine.tick()
    before = Counter(json.loads(letter["row"])["id"] for letter in read_dead(str(tmp_path), "radar"))
    assert before
    with opened(tmp_path, "straight") as engine:
        assert len(gathered(engine)["two"]) > 5
        engine.feed("radar", [(iso(t), *rest) for t, *rest in rows[40:]])
        engine.tick()
        engine.end()
    after = Counter(json.loads(letter["row"])["id"] for letter in read_dead(str(tmp_path), "radar"))
    assert set(after.values()) == {1}
    assert before.keys() < after.keys()
    assert read_status(str(tmp_path))["streams"]["radar"]["dead_letters"] == len(after)


def test_a_query_that_takes_over_a_name_reports_what_it_finds(tmp_path: Path) -> None:
    """What the former query of that name saw in its shorter windows says nothing about the new one's."""
    rows: list[Row] = [(START + at * SECOND, at, "L", 60, 0.7, "far apart") for at in (1, 7)]
    rows += [(START + at * SECOND, at, "L", 60, 0.7, None) for at in (9, 12)]
    longer = select("PK", 2).replace("4 SECONDS", "20 SECONDS")
    keeps = "SELECT count(*) AS n FROM radar [RANGE 20 SECONDS] PERIOD 2 SECONDS"  # panes for the longer window
    engine = Engine(str(tmp_path), clock=ManualClock(2 * START), backend=InProcess, live=False, options={})
    engine.sql(f"{STREAM}CREATE QUERY q AS {select('PK', 2)};\nCREATE QUERY other AS {keeps};")
    with engine:
        engine.open()
        engine.feed("radar", [(iso(t), *rest) for t, *rest in rows[:3]])
        engine.tick()
        assert not list(read_dead(str(tmp_path), "radar"))
        engine.sql("DROP QUERY q;")
        engine.sql(f"CREATE QUERY q AS {longer};")
        engine.feed("radar", [(iso(t), *rest) for t, *rest in rows[3:]])
        engine.tick()
        engine.end()
        assert gathered(engine)["q"][-1]["rejected"] == 2
    assert sorted(json.loads(letter["row"])["id"] for letter in read_dead(str(tmp_path), "radar")) == [1, 7]


def written(folder: Path) -> list[dict[str, Any]]:
    return list(read_dead(str(folder), "radar"))


def run(folder: Path, rows: list[Row], batch: int, **queries: str) -> dict[str, list[Any]]:
    engine = Engine(str(folder), clock=ManualClock(2 * START), backend=InProcess, live=False, options={})
    with engine:
        engine.sql(STREAM + "".join(f"CREATE QUERY {name} AS {text};\n" for name, text in queries.items()))
        engine.open()
        for begin in range(0, len(rows), batch):
            engine.feed("radar", [(iso(t), *rest) for t, *rest in rows[begin : begin + batch]])
            engine.tick()
        engine.feed("radar", [(iso(START + 10 * SECOND), 9999, "L", 50, 0.5, None)])  # windows before are complete
        engine.tick()
        engine.end()
        return gathered(engine)


def below_many(*alternatives: float) -> list[Row]:
    """A rule behind so many sure rows that none of its own is a candidate."""
    sure: list[Row] = [(START + n, n, "L", 200 + n, 1.0, None) for n in range(300)]
    return [*sure, *((START + 400 + n, 1000 + n, "R", 50, p, "c") for n, p in enumerate(alternatives))]


@pytest.mark.parametrize("company", [{}, {"means": select("EXPECTED_RANK", 5)}], ids=["alone", "beside a whole one"])
@pytest.mark.parametrize("batch", [400, 301, 7])
def test_a_rule_of_which_no_row_is_a_candidate(tmp_path: Path, batch: int, company: dict[str, str]) -> None:
    """It is judged all the same, however rows come and whoever stands beside."""
    answers = run(tmp_path, below_many(0.6, 0.6), batch, two=select("PK", 2), **company)
    assert max(answer["rejected"] for answer in answers["two"]) == 2
    seen = [json.loads(one["row"])["id"] for one in written(tmp_path) if one["row"] is not None]
    counted = [one["reason"] for one in written(tmp_path) if one["row"] is None]
    if company or batch != 301:
        assert (sorted(seen), counted) == ([1000, 1001], [])
    else:
        assert len(seen) + sum(int(reason.split("; ")[1].split()[0]) for reason in counted) == 2
        assert all(reason.startswith('rule "c" adds up to more than 1 within a window; ') for reason in counted)


def test_a_rule_that_breaks_across_panes_behind_all_candidates(tmp_path: Path) -> None:
    """Its rows are gone when it is found broken: they are counted, and a letter says of how many nobody knows more."""
    later = [(t + 2 * SECOND, 2000 + number, *rest) for t, number, *rest in below_many(0.5)]
    rows = [*below_many(0.3, 0.3), *later]
    answers = run(tmp_path, rows, len(rows), two=select("PK", 2), three=select("PK", 3))  # type: ignore[arg-type]
    assert max(answer["rejected"] for answer in answers["two"]) == 3
    (letter,) = written(tmp_path)
    more = "3 of its rows were no candidates and are not kept"
    assert letter["reason"] == f'rule "c" adds up to more than 1 within a window; {more}'
    assert letter["row"] is None


def test_equal_rows_are_written_as_often_as_they_are_there(tmp_path: Path) -> None:
    row: Row = (START, 1, "L", 60, 0.6, "c")
    two = {"two": QUERIES["two"], "longer": QUERIES["longer"]}
    answers = run(tmp_path, [row, row, (START + SECOND, 2, "L", 60, 0.2, "c")], 2, **two)
    assert max(answer["rejected"] for answer in answers["two"]) == 3
    assert sorted(json.loads(one["row"])["id"] for one in written(tmp_path)) == [1, 1, 2]
