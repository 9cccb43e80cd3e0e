"""Rankings over possible worlds through the engine, against every world of every window."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.core import Core
from punctual.engine.engine import Engine
from punctual.engine.held import holders
from punctual.engine.status import read_dead
from tests.inprocess.backend import InProcess
from tests.oracles import worlds

START = 1_700_000_000 * SECOND
STREAM = """
CREATE STREAM radar (
    t TIMESTAMP EVENT TIME, id INT, lane STRING KEY, speed INT, conf DOUBLE PROBABILITY, car STRING RULE
) FROM FEED;
"""
WINDOW = "FROM radar [RANGE 4 SECONDS] {where} {group} ORDER BY speed {order} PERIOD 2 SECONDS"
WAYS = {
    "straight": (1, {}),
    "three partitions, cut small": (3, {}),
    "on shards": (2, {"placement": "cluster"}),
    "scanned": (1, {"window_merge": "scan"}),
    "queries apart": (1, {"sharing": "off"}),
}
Row = tuple[int, int, str, int, float | None, str | None]


def drawn(seed: int, count: int = 40) -> list[Row]:
    """(time, id, lane, speed, probability, car); probabilities in sixteenths, rules that never break."""
    chance = random.Random(seed)
    left: dict[str, int] = {}
    rows: list[Row] = []
    for number in range(count):
        car = f"c{chance.randrange(12)}" if chance.random() < 0.5 else None
        sixteenths = chance.randint(1, 16) if car is None else chance.randint(0, min(5, left.setdefault(car, 16)))
        if car is not None:
            left[car] -= sixteenths
        at = START + number * SECOND // 3
        rows.append((at, number, chance.choice("LR"), chance.randint(50, 60), sixteenths / 16, car))
    return rows


def select(
    semantics: str, k: int, *, where: str = "", group: str = "", order: str = "DESC", columns: str = "id"
) -> str:
    return f"SELECT TOP {k} BY {semantics} {columns} {WINDOW.format(where=where, group=group, order=order)}"


def played(folder: Path, queries: dict[str, str], rows: list[Row], way: str = "straight") -> dict[str, list[Any]]:
    partitions, options = WAYS[way]
    engine = Engine(
        str(folder), clock=ManualClock(2 * START), backend=lambda: InProcess(partitions, 1), live=False, options=options
    )
    engine.sql(STREAM + "".join(f"CREATE QUERY {name} AS {text};\n" for name, text in queries.items()))
    with engine:
        engine.open()
        for begin in range(0, len(rows), 13):
            engine.feed("radar", [(iso(t), *rest) for t, *rest in rows[begin : begin + 13]])
            engine.tick()
        engine.end()
        return gathered(engine)


def gathered(engine: Engine) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for block in engine.records():
        found.setdefault(block.query, []).extend(block.table.to_pylist())
    return found


def in_window(rows: list[Row], at: int) -> list[Row]:
    return [row for row in rows if at - 4 * SECOND < row[0] <= at]


def ranked(rows: list[Row], *, ascending: bool = False) -> tuple[list[worlds.Row], list[int]]:
    """Rows for the oracle, in rank order, and their ids."""
    order = sorted(rows, key=lambda row: (row[3] if ascending else -row[3], row[0], row[1]))
    return (
        [worlds.Row(len(rows) - i, Fraction(row[4] or 0), row[5]) for i, row in enumerate(order)],
        [row[1] for row in order],
    )


def close(found: list[float], expected: list[Fraction]) -> bool:
    return len(found) == len(expected) and all(abs(a - float(b)) < 1e-12 for a, b in zip(found, expected))


@pytest.mark.parametrize("way", WAYS)
def test_every_semantics_in_every_window(tmp_path: Path, way: str) -> None:
    rows = drawn(1)
    queries = {
        "pk1": select("PK", 1),
        "pk3": select("PK", 3),
        "slowest": select("GLOBAL", 2, order="ASC"),
        "pt": select("PT(0.25)", 2),
        "kranks": select("U_KRANKS", 2),
        "likeliest": select("U_TOPK", 2),
        "means": select("EXPECTED_RANK", 3),
        "prf": select("PRF(1, 0.5, 0.25)", 2),
        "prfe": select("PRFE(0.5)", 2),
    }
    found = played(tmp_path, queries, rows, way)
    assert set(found) == set(queries)
    for name, some in found.items():
        assert len(some) > 5
        for answer in some:
            inside, ids = ranked(in_window(rows, answer["at"]), ascending=name == "slowest")
            got = [row["id"] for row in answer["rows"]]
            values = [row.get("probability", row.get("expected", row.get("score"))) for row in answer["rows"]]
            assert [row["rank"] for row in answer["rows"]] == list(range(1, len(got) + 1))
            assert (answer["rejected"], answer["complete"]) == (0, True)
            if name in ("pk1", "pk3", "slowest"):
                k = 1 if name == "pk1" else 3 if name == "pk3" else 2
                expected = worlds.topk_probabilities(inside, k)
                best = worlds.best_by(inside, expected, k)
            elif name == "pt":
                expected = worlds.topk_probabilities(inside, 2)
                best = [i for i in worlds.best_by(inside, expected, len(inside)) if expected[i] >= Fraction(1, 4)]
            elif name == "kranks":
                pairs = worlds.u_kranks(inside, 2)
                assert got == [ids[i] for i, _p in pairs]
                assert close(values, [p for _i, p in pairs])
                continue
            elif name == "likeliest":
                best, chance = list(worlds.u_topk(inside, 2)[0]), worlds.u_topk(inside, 2)[1]
                expected = [chance] * len(inside)
            elif name == "means":
                means = worlds.expected_ranks(inside)
                best = sorted(means, key=lambda i: (means[i], i))[:3]
                expected = [means[i] for i in range(len(inside))]
            else:
                weights = [Fraction(1), Fraction(1, 2), Fraction(1, 4)]
                expected = worlds.prf(inside, weights) if name == "prf" else worlds.prfe(inside, Fraction(1, 2))
                best = worlds.best_by(inside, expected, 2)
            assert got == [ids[i] for i in best], (name, answer["at"])
            assert close(values, [expected[i] for i in best])


@pytest.mark.parametrize("way", ["straight", "on shards", "queries apart"])
def test_keys_in_place_of_rows(tmp_path: Path, way: str) -> None:
    """Lanes are keys: expected rows among the k best; or one true row per lane, by probability or each as likely."""
    rows = [row for row in drawn(4) if row[5] is None]
    halves = [(*row[:4], 1 / 16, None) for row in rows]  # of one lane they never add up to more than 1
    queries = {
        "expected": "SELECT TOP 2 STREAMS lane " + WINDOW.format(where="", group="", order="DESC"),
        "exclusive": "SELECT TOP 1 STREAMS EXCLUSIVE lane " + WINDOW.format(where="", group="", order="DESC"),
    }
    found = played(tmp_path / "rows", queries, rows, way)
    for answer in found["expected"]:
        inside, ids = ranked(in_window(rows, answer["at"]))
        lanes = [next(row[2] for row in rows if row[1] == i) for i in ids]
        sums = worlds.expected_by_key(inside, lanes, 2)
        best = sorted(sums, key=lambda lane: (-sums[lane], lanes.index(lane)))[:2]
        assert [row["lane"] for row in answer["rows"]] == [lane for lane in best if sums[lane]]
        assert close([row["expected"] for row in answer["rows"]], [sums[lane] for lane in best if sums[lane]])
    found = played(tmp_path / "halves", queries, halves, way)
    for answer in found["exclusive"]:
        inside, ids = ranked(in_window(halves, answer["at"]))
        lanes = [next(row[2] for row in rows if row[1] == i) for i in ids]
        alternatives = [row._replace(rule=lane) for row, lane in zip(inside, lanes)]
        sums = worlds.expected_by_key(alternatives, lanes, 1)
        best = sorted(sums, key=lambda lane: (-sums[lane], lanes.index(lane)))[:1]
        assert [row["lane"] for row in answer["rows"]] == best
        assert close([row["probability"] for row in answer["rows"]], [sums[lane] for lane in best])
        assert answer["rejected"] == 0


@pytest.mark.parametrize("way", ["straight", "on shards"])
def test_where_and_groups(tmp_path: Path, way: str) -> None:
    rows = drawn(2)
    queries = {
        "lanes": select("PK", 2, group="GROUP BY lane", columns="lane, id"),
        "fast": select("PK", 2, where="WHERE speed >= 55"),
    }
    found = played(tmp_path, queries, rows, way)
    for answer in found["fast"]:
        inside, ids = ranked([row for row in in_window(rows, answer["at"]) if row[3] >= 55])
        best = worlds.best_by(inside, worlds.topk_probabilities(inside, 2), 2)
        assert [row["id"] for row in answer["rows"]] == [ids[i] for i in best]
    for answer in found["lanes"]:
        expected = []
        for lane in "LR":
            inside, ids = ranked([row for row in in_window(rows, answer["at"]) if row[2] == lane])
            best = worlds.best_by(inside, worlds.topk_probabilities(inside, 2), 2)
            expected += [(lane, ids[i], rank) for rank, i in enumerate(best, 1)]
        assert [(row["lane"], row["id"], row["rank"]) for row in answer["rows"]] == expected


def test_keys_whose_rows_are_all_as_likely(tmp_path: Path) -> None:
    engine = Engine(str(tmp_path), clock=ManualClock(2 * START), backend=InProcess, live=False)
    engine.sql("CREATE STREAM r (t TIMESTAMP EVENT TIME, car STRING KEY, kmh INT) FROM FEED")
    engine.sql(
        "CREATE QUERY q AS SELECT TOP 1 STREAMS EXCLUSIVE car, kmh FROM r [RANGE 9 SECONDS] "
        "ORDER BY kmh DESC PERIOD 2 SECONDS"
    )
    with engine:
        engine.open()
        readings = [("a", 90), ("a", 60), ("b", 80), ("b", 70), ("b", 50)]
        engine.feed("r", [(iso(START + i), car, kmh) for i, (car, kmh) in enumerate(readings, 1)])
        engine.tick()
        engine.advance({"r": START + 2 * SECOND})
        answer = gathered(engine)["q"][-1]
    # a is the best when its 90 is true, or its 60 is and b's 50: 1/2 + 1/2 * 1/3.
    (row,) = answer["rows"]
    assert (row["car"], row["kmh"], row["rank"]) == ("a", 90, 1)
    assert abs(row["probability"] - 2 / 3) < 1e-12


def test_rows_without_a_probability_are_dead_letters(tmp_path: Path) -> None:
    bad: list[Row] = [(START + i, i, "L", 50, p, None) for i, p in enumerate((None, -0.1, 1.5, float("nan"), 0.5))]
    found = played(tmp_path, {"q": select("PK", 3)}, [*bad, (START + 2 * SECOND, 9, "L", 50, 1.0, None)])
    assert [row["id"] for row in found["q"][-1]["rows"]] == [9, 4]
    reasons = [letter["reason"] for letter in read_dead(str(tmp_path), None)]
    assert sorted(reasons) == ["missing probability", *["probability outside [0, 1]"] * 3]


def test_a_rule_that_breaks_is_left_out_and_counted(tmp_path: Path) -> None:
    rows: list[Row] = [
        (START + 1, 1, "L", 90, 0.8, "a"),
        (START + 2, 2, "L", 80, 0.8, "a"),
        (START + 3, 3, "L", 70, 0.5, None),
        (START + 2 * SECOND, 4, "L", 60, 0.5, "b"),
    ]
    found = played(tmp_path, {"q": select("PK", 2)}, rows)
    answer = found["q"][-1]
    assert ([row["id"] for row in answer["rows"]], answer["rejected"]) == ([3, 4], 2)


def test_a_larger_k_that_comes_later(tmp_path: Path) -> None:
    """What the store kept for the smaller k still answers it; the larger one says that it is not covered yet."""
    rows = drawn(3, 200)
    engine = Engine(str(tmp_path), clock=ManualClock(2 * START), backend=InProcess, live=False)
    engine.sql(STREAM + f"CREATE QUERY small AS {select('PK', 1)};")
    with engine:
        engine.open()
        engine.feed("radar", [(iso(t), *rest) for t, *rest in rows[:100]])
        engine.tick()
        engine.sql(f"CREATE QUERY large AS {select('PK', 3)};")
        engine.feed("radar", [(iso(t), *rest) for t, *rest in rows[100:]])
        engine.tick()
        engine.end()
        found = gathered(engine)
    for name, k in (("small", 1), ("large", 3)):
        for answer in found[name]:
            inside, ids = ranked(in_window(rows, answer["at"]))
            best = worlds.best_by(inside, worlds.topk_probabilities(inside, k), k)
            if answer["complete"]:
                assert [row["id"] for row in answer["rows"]] == [ids[i] for i in best]
    assert all(answer["complete"] for answer in found["small"])
    assert not found["large"][0]["complete"]
    assert found["large"][-1]["complete"]


@pytest.mark.parametrize("way", WAYS)
def test_nothing_to_rank(tmp_path: Path, way: str) -> None:
    nothing = "WHERE speed > 1000"
    queries = {
        "rows": select("PK", 3, where=nothing),
        "groups": select("PK", 3, where=nothing, group="GROUP BY lane"),
        "stable": select("PK", 3, where=nothing) + " STABLE 5%",
        "stable_groups": select("PK", 3, where=nothing, group="GROUP BY lane") + " STABLE 5%",
        "means": select("EXPECTED_RANK", 3, where=nothing),
    }
    found = played(tmp_path, queries, drawn(1), way)
    for name in queries:
        assert len(found[name]) > 5
        assert {(len(answer["rows"]), answer["rejected"]) for answer in found[name]} == {(0, 0)}


def test_panes_with_very_many_rows_move_to_the_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = {
        "means": select("EXPECTED_RANK", 3),
        "likeliest": select("U_TOPK", 2),
        "counted": "SELECT count(*) AS n FROM radar [RANGE 4 SECONDS] WHERE speed IS NOT NULL PERIOD 2 SECONDS",
    }
    expected = played(tmp_path / "driver", queries, drawn(1))
    moved: list[bool] = []
    real = Engine.tick

    def tick(self: Engine, *, limit: int | None = None) -> Any:
        settled = real(self, limit=limit)
        moved.append(self._opened().core.held.holders.in_shards)
        return settled

    monkeypatch.setattr(Engine, "tick", tick)
    monkeypatch.setattr(holders, "MANY_BYTES", 2_000)
    found = played(tmp_path / "moved", queries, drawn(1))
    assert found == expected
    assert (moved[0], moved[-1]) == (False, True)


def test_large_batches_are_never_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = {"means": select("EXPECTED_RANK", 3), "counted": "SELECT count(*) AS n FROM radar [NOW] PERIOD 2 SECONDS"}
    expected = played(tmp_path / "driver", queries, drawn(1))
    held: list[int] = []
    real = Core.deliver

    def deliver(self: Core, *arguments: Any) -> int:
        held.append(self.held.holders.nbytes)
        return real(self, *arguments)

    monkeypatch.setattr(Core, "deliver", deliver)
    played(tmp_path / "again", queries, drawn(1))
    as_usual, held[:] = max(held), []
    monkeypatch.setattr(holders, "LARGE_BATCH", 1_000)
    found = played(tmp_path / "moved", queries, drawn(1))
    assert found == expected
    assert max(held) < as_usual / 2
