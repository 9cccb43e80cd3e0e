"""Rankings with STABLE through the engine: against the rules over whole rankings, over every world of every window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from punctual.clock import SECOND, ManualClock, iso
from punctual.engine.engine import Engine
from punctual.estimate.known_costs import KnownCosts
from punctual.explain.sharing import explain_query
from punctual.kinds.program import compile_program
from punctual.kinds.ranking.displays import _codes
from punctual.store.records import RecordLog
from tests.engine.test_topk import START, STREAM, WAYS, Row, drawn, gathered, ranked
from tests.inprocess.backend import InProcess
from tests.oracles import worlds
from tests.oracles.display import following

ROWS = drawn(9, 60)
MARGIN = Fraction(1, 2)
TOP = "SELECT TOP {what} FROM radar [RANGE 3 SECONDS] {group} ORDER BY speed {order} PERIOD 1 SECOND STABLE 50%"
Shown = list[tuple[Hashable, ...]]


def top(what: str, *, group: str = "", order: str = "DESC") -> str:
    return TOP.format(what=what, group=group, order=order)


QUERIES = {
    "pk": top("3 BY PK id"),
    "slowest": top("2 BY GLOBAL id", order="ASC"),
    "alike": top("4 lane, speed % 3 AS class"),  # entries that look alike
    "pt": top("2 BY PT(0.4) id"),
    "means": top("3 BY EXPECTED_RANK id"),
    "prf": top("2 BY PRF(1, -0.5, 0.25) id"),
    "prfe": top("2 BY PRFE(0.5) id"),
    "lanes": top("2 id", group="GROUP BY lane, speed > 55"),  # keys that are not selected
    "cars": top("2 STREAMS lane"),
}


def opened(folder: Path, program: str, way: str = "straight", clock: ManualClock | None = None) -> Engine:
    partitions, options = WAYS[way]
    engine = Engine(
        str(folder), clock=clock or ManualClock(2 * START), backend=lambda: InProcess(partitions, 1), live=False,
        options=options,
    )  # fmt: skip
    engine.sql(program)
    engine.open()
    return engine


def in_window(at: int) -> list[Row]:
    return [row for row in ROWS if at - 3 * SECOND < row[0] <= at]


def declared(queries: dict[str, str]) -> str:
    return STREAM + "".join(f"CREATE QUERY {name} AS {text};\n" for name, text in queries.items())


def feed(engine: Engine, rows: Sequence[Row]) -> None:
    engine.feed("radar", [(iso(t), *rest) for t, *rest in rows])
    engine.tick()


def played(
    folder: Path, queries: dict[str, str], rows: Sequence[Row], way: str = "straight", batch: int = 13
) -> dict[str, list[Any]]:
    with opened(folder, declared(queries), way) as engine:
        for begin in range(0, len(rows), batch):
            feed(engine, rows[begin : begin + batch])
        engine.end()
        return gathered(engine)


def whole_ranking(name: str, rows: list[Row]) -> list[tuple[Row, Fraction]]:
    """Rows and their values, best first, of a group of one window."""
    inside, ids = ranked(rows, ascending=name == "slowest")
    by_id = {row[1]: row for row in rows}
    if name == "means":
        means = worlds.expected_ranks(inside)
        return [(by_id[ids[i]], means[i]) for i in sorted(means, key=lambda i: (means[i], i))]
    if name == "prf":
        values = worlds.prf(inside, [Fraction(1), Fraction(-1, 2), Fraction(1, 4)])
    elif name == "prfe":
        values = worlds.prfe(inside, Fraction(1, 2))
    else:
        values = worlds.topk_probabilities(inside, {"pk": 3, "alike": 4}.get(name, 2))
    if name == "cars":
        lanes = [by_id[i][2] for i in ids]
        sums = worlds.expected_by_key(inside, lanes, 2)
        firsts = {lane: by_id[ids[lanes.index(lane)]] for lane in sums if sums[lane]}
        return [(firsts[x], sums[x]) for x in sorted(firsts, key=lambda x: (-sums[x], lanes.index(x)))]
    return [(by_id[ids[i]], values[i]) for i in worlds.best_by(inside, values, len(inside)) if values[i]]


SELECTED: dict[str, Callable[[Row], tuple[Hashable, ...]]] = {
    "alike": lambda row: (row[2], row[3] % 3),
    "cars": lambda row: (row[2],),
}
K = {"pk": 3, "alike": 4, "means": 3}


def expected_display(name: str, instants: list[int]) -> tuple[list[Shown], list[Shown], list[int]]:
    """What is selected of each row on display at each instant; the same of the ranking; how many are in the first only.
    """
    k = K.get(name, 2)
    selected = SELECTED.get(name, lambda row: (row[1],))
    group_of: Callable[[Row], Any] = (lambda row: (row[2], row[3] > 55)) if name == "lanes" else lambda row: ()
    shown: dict[Any, list[Any]] = {}
    lists: list[Shown] = []
    rankings: list[Shown] = []
    held = []
    for at in instants:
        inside = in_window(at)
        best: list[Any] = []
        now: dict[Any, list[Any]] = {}
        more = 0
        for group in sorted({group_of(row) for row in inside}):
            seen: Counter[Hashable] = Counter()
            ranking = []
            for row, value in whole_ranking(name, [row for row in inside if group_of(row) == group]):
                ranking.append(((selected(row), seen[selected(row)]), value))
                seen[selected(row)] += 1
            threshold = Fraction(2, 5) if name == "pt" else None
            now[group] = following(
                shown.get(group, []), ranking, MARGIN, k=k, threshold=threshold, ascending=name == "means"
            )
            good = ranking[:k] if threshold is None else [one for one in ranking if one[1] >= threshold]
            fresh = [entry for entry, _value in good]
            best += fresh
            more += len(set(now[group]) - set(fresh))
        shown = now
        lists.append([entry for group in now.values() for entry, _number in group])
        rankings.append([entry for entry, _number in best])
        held.append(more)
    return lists, rankings, held


def shown_by(name: str, answer: dict[str, Any]) -> Shown:
    columns = {"alike": ("lane", "class"), "cars": ("lane",)}.get(name, ("id",))
    return [tuple(row[column] for column in columns) for row in answer["rows"]]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    return played(tmp_path_factory.mktemp("stable"), QUERIES, ROWS)


def test_displays_follow_the_rules(undisturbed: dict[str, list[Any]]) -> None:
    assert set(undisturbed) == set(QUERIES)
    for name, answers in undisturbed.items():
        lists, rankings, held = expected_display(name, [answer["at"] for answer in answers])
        assert [shown_by(name, answer) for answer in answers] == lists, name
        assert [answer["held"] for answer in answers] == held, name
        assert lists != rankings, name
        assert sum(held) > 0 or name == "cars", name
        for answer in answers:
            assert answer["stable"] == 0.5
            assert "_groups" not in answer
            if name != "lanes":
                assert [row["rank"] for row in answer["rows"]] == list(range(1, len(answer["rows"]) + 1))
    groups = [[row["rank"] for row in answer["rows"]] for answer in undisturbed["lanes"]]
    assert any(ranks.count(1) > 2 for ranks in groups)


def test_values_are_those_of_now(undisturbed: dict[str, list[Any]]) -> None:
    for name, column in (("pk", "probability"), ("means", "expected"), ("prf", "score"), ("pt", "probability")):
        for answer in undisturbed[name]:
            values = {row[1]: value for row, value in whole_ranking(name, in_window(answer["at"]))}
            assert all(abs(row[column] - float(values[row["id"]])) < 1e-12 for row in answer["rows"])


@pytest.mark.parametrize("way", WAYS)
def test_the_same_whatever_the_way(tmp_path: Path, undisturbed: dict[str, list[Any]], way: str) -> None:
    assert played(tmp_path, QUERIES, ROWS, way, batch=7) == undisturbed


def test_sharing_with_rankings_that_are_not_stable(tmp_path: Path, undisturbed: dict[str, list[Any]]) -> None:
    others = {f"plain_{name}": text.replace(" STABLE 50%", "") for name, text in QUERIES.items()}
    found = played(tmp_path, {**others, **QUERIES}, ROWS)
    assert {name: found[name] for name in QUERIES} == undisturbed
    for name, answers in others.items():
        own = name.removeprefix("plain_")
        assert answers
        assert found[name][0]["rows"] == undisturbed[own][0]["rows"]  # the first is the ranking itself
        assert all("stable" not in answer for answer in found[name])


def test_a_list_that_flickers_and_one_that_does_not(tmp_path: Path) -> None:
    """Two sensors of nearly equal confidence; at last one of them is surely better."""
    rows: list[Row] = []
    for second in range(12):
        other = 0.62 if second % 2 else 0.58
        rows.append((START + second * SECOND, 0, "L", 50, 0.60, None))
        rows.append((START + second * SECOND, 1, "R", 50, other if second < 10 else 0.70, None))
    text = "SELECT TOP {} lane FROM radar [RANGE 1 SECOND] ORDER BY speed DESC PERIOD 1 SECOND"
    queries = {f"{kind}{k}": text.format(k) + stable for k in (1, 2) for kind, stable in
               (("plain", ""), ("stable", " STABLE 5%"))}
    found = played(tmp_path, queries, rows)
    lists = {name: [[row["lane"] for row in answer["rows"]] for answer in some] for name, some in found.items()}
    changes = {name: sum(a != b for a, b in pairwise(some)) for name, some in lists.items()}
    # At TOP 1 the first that exists wins: L with 0.60, R with 0.40 of its own confidence. Nothing to flicker there.
    assert (changes["plain1"], changes["stable1"]) == (0, 0)
    assert (changes["plain2"], changes["stable2"]) == (9, 1)
    assert (lists["stable2"][0], lists["stable2"][-1]) == (["L", "R"], ["R", "L"])
    assert [row["rank"] for row in found["stable2"][-1]["rows"]] == [1, 2]


@pytest.mark.parametrize("batch", [2, 100])
def test_who_left_the_window_is_forgotten(tmp_path: Path, batch: int) -> None:
    """A group without rows for one instant begins anew, the other goes on; so does an answer without any rows."""
    sure = [(0, 0.60, 0.58), (2, 0.60, 0.62), (3, 0.60, 0.58)]
    steady = [(0, 0.60, 0.58), (1, 0.60, 0.62), (2, 0.60, 0.62), (3, 0.60, 0.62)]
    rows: list[Row] = []
    for speed, several in ((50, sure), (60, steady)):
        for second, left, right in several:
            rows += [(START + second * SECOND, speed, lane, speed, p, None) for lane, p in (("L", left), ("R", right))]
    rows.sort()
    text = "SELECT TOP 2 lane FROM radar [RANGE 1 SECOND] {} ORDER BY speed DESC PERIOD 1 SECOND STABLE 5%"
    found = played(
        tmp_path, {"groups": text.format("GROUP BY speed"), "gap": text.format("WHERE speed = 50")}, rows, batch=batch
    )
    lists = {name: ["".join(row["lane"] for row in a["rows"]) for a in several] for name, several in found.items()}
    assert lists == {"groups": ["LRLR", "LR", "RLLR", "RLLR"], "gap": ["LR", "", "RL", "RL"]}


@pytest.mark.parametrize("way", ["straight", "on shards", "queries apart"])
def test_a_run_that_is_resumed_goes_on(tmp_path: Path, undisturbed: dict[str, list[Any]], way: str) -> None:
    rows = ROWS
    for begin in range(0, len(rows), 11):
        with opened(tmp_path, declared(QUERIES), way) as engine:
            feed(engine, rows[begin : begin + 11])
            if begin + 11 >= len(rows):
                engine.end()
                assert gathered(engine) == undisturbed


def test_a_display_outlives_the_answer_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query that answers seldom beside one that answers often: its last answer is long forgotten when it goes on."""
    rows = drawn(7, 120)
    queries = {
        "seldom": "SELECT TOP 3 id, lane FROM radar [RANGE 9 SECONDS] GROUP BY speed > 55 ORDER BY speed DESC "
        "PERIOD 3 SECONDS STABLE 50%",
        "often": "SELECT count(*) AS n FROM radar [RANGE 4 SECONDS] PERIOD 100 MILLISECONDS",
    }
    expected = played(tmp_path / "whole", queries, rows)["seldom"]
    assert sum(answer["held"] for answer in expected) > 0
    monkeypatch.setitem(RecordLog.__init__.__kwdefaults__, "segment_bytes", 1)
    found: dict[int, Any] = {}
    forgotten = 0
    clock = ManualClock(2 * START)
    for begin in range(0, len(rows), 4):
        with opened(tmp_path / "cut", declared(queries) + "SET keep_answers = '1 second';", clock=clock) as engine:
            there = gathered(engine).get("seldom", [])
            forgotten += begin > 60 and not there
            feed(engine, rows[begin : begin + 4])
            if begin + 4 == len(rows):
                engine.end()
            clock.sleep(10 * SECOND)
            found |= {answer["at"]: answer for answer in gathered(engine).get("seldom", [])}
    assert forgotten > 5
    assert list(found.values()) == expected


def test_another_meaning_begins_anew(tmp_path: Path) -> None:
    """What was on display keeps its place over a restart, and is forgotten when the query is dropped or changed."""
    text = "CREATE QUERY q AS SELECT TOP 2 lane FROM radar [RANGE 1 SECOND] ORDER BY speed DESC PERIOD 1 SECOND STABLE "
    seconds = iter(range(100))

    def shown(engine: Engine, left: float, right: float) -> str:
        at = START + next(seconds) * SECOND
        feed(engine, [(at, 0, "L", 50, left, None), (at, 1, "R", 50, right, None), (at + 1, 2, "N", 0, 0.0, None)])
        return "".join(row["lane"] for row in gathered(engine)["q"][-1]["rows"])

    with opened(tmp_path, STREAM + text + "5%") as engine:
        assert [shown(engine, 0.60, 0.58), shown(engine, 0.60, 0.62)] == ["LR", "LR"]
    with opened(tmp_path, STREAM + text + "5%") as engine:
        assert shown(engine, 0.60, 0.62) == "LR"
        engine.sql("DROP QUERY q")
        engine.sql(text + "5%")
        assert [shown(engine, 0.60, 0.62), shown(engine, 0.60, 0.58)] == ["RL", "RL"]
        engine.sql("DROP QUERY q")
        engine.sql(text + "10%")
        assert [shown(engine, 0.60, 0.58), shown(engine, 0.60, 0.62)] == ["LR", "LR"]
    with opened(tmp_path, STREAM + text + "20%") as engine:
        assert [shown(engine, 0.60, 0.62), shown(engine, 0.60, 0.58)] == ["RL", "RL"]
    with opened(tmp_path, STREAM + text + "20%") as engine:
        assert shown(engine, 0.60, 0.58) == "RL"


def test_instants_are_answered_in_order(
    tmp_path: Path, undisturbed: dict[str, list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Live, a scheduler that takes the latest first: a display waits for those before it."""
    sizes = []

    def latest_first(pending: Any, *_others: Any, **_more: Any) -> tuple[int, ...]:
        sizes.append(pending.at.size)
        return (int(pending.at.argmax()),)

    monkeypatch.setattr("punctual.schedule.passes.next_pass", latest_first)
    often = "SELECT count(*) AS n FROM radar [RANGE 4 SECONDS] PERIOD 1 SECOND"
    engine = Engine(str(tmp_path), clock=ManualClock(START + 100 * SECOND), backend=InProcess)
    engine.sql(declared({**QUERIES, "often": often}))
    engine.open()
    with engine:
        feed(engine, ROWS)
        engine.advance({"radar": START + 19 * SECOND})
        found = gathered(engine)
    assert len(sizes) > 10
    instants = [answer["at"] for answer in found["often"]]
    assert instants == sorted(instants, reverse=True)
    for name in QUERIES:
        displays = [[(answer["at"], answer["rows"]) for answer in one[name]] for one in (found, undisturbed)]
        assert displays[0][:15] == displays[1][:15]


def test_entries_of_any_type_are_told_apart() -> None:
    now = [
        pa.array([[1, 2], [1, 3], None, [1, 2]], pa.list_(pa.int64())),
        pa.array([float("nan"), 0.0, None, float("nan")]),
        pa.array([{"a": 1}, {"a": None}, None, {"a": 1}], pa.struct([("a", pa.int32())])),
        pa.array([b"x", b"y", None, b"x"]),
        pa.array([Decimal("1.50"), Decimal(0), None, Decimal("1.50")], pa.decimal128(30, 2)),
    ]
    types = [column.type for column in now]
    for column, data_type in zip(now, types):
        codes = _codes([column.slice(1)], [column], [data_type], 7).tolist()
        assert codes[3:] == [codes[2], codes[0], codes[1], codes[2]]
        assert len(set(codes)) == 3
    codes = _codes([column.take(pa.array([2, 0])) for column in now], now, types, 6).tolist()
    assert codes == [0, 1, 1, 2, 0, 1]


def test_a_stream_with_other_types_begins_anew(tmp_path: Path) -> None:
    """What was displayed of strings says nothing about numbers, in rows nor in groups."""
    for number, kind in enumerate(("STRING", "INT")):
        program = (
            f"CREATE STREAM s (t TIMESTAMP EVENT TIME, who {kind}, team {kind}, p DOUBLE PROBABILITY) FROM FEED;"
            "CREATE QUERY q AS SELECT TOP 1 who FROM s [RANGE 1 SECOND] GROUP BY team ORDER BY p DESC PERIOD 1 SECOND "
            "STABLE 100%"
        )
        with opened(tmp_path, program) as engine:
            at = START + number * SECOND
            name: str | int = number if number else "somebody"
            engine.feed("s", [(iso(at), name, name, 0.5), (iso(at + 1), name, name, 0.5)])
            engine.tick()
            assert [row["who"] for row in gathered(engine)["q"][-1]["rows"]] == [name]


def test_explain_says_the_margin() -> None:
    catalog = compile_program(declared(QUERIES), base="").catalog
    assert "stable 50%" in explain_query(catalog, catalog.queries["pk"], KnownCosts())
    plain = compile_program(declared({"pk": QUERIES["pk"].replace("STABLE 50%", "")}), base="").catalog
    assert "stable" not in explain_query(plain, plain.queries["pk"], KnownCosts())
