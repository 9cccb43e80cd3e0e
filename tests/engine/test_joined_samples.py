"""Aggregates over joins of windows with QUALITY: what samples of them say, worked out again from the raw rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from punctual.clock import SECOND, iso
from tests.engine.joined_samples import (
    OWNERS,
    START,
    Row,
    Rows,
    answered_pairs,
    answers,
    equal,
    fed,
    sums,
)
from tests.inprocess.backend import InProcess

ROWS = fed()
JOIN = "FROM trades [RANGE 10 SECONDS] AS a, quotes [RANGE 20 SECONDS] AS b"
COLUMNS = "count(*) AS n, sum(a.x) AS sx, sum(b.y) AS sy, sum(a.x) / sum(b.y) AS r, min(a.x) AS low, max(b.y) AS high"
END = "PERIOD 10 SECONDS"
TABLE = "QUALITY (1 => (a 100%, b 100%), 0.7 => (a 60%, b 30%))"


def ends(left: Row, right: Row) -> bool:
    return left[3] is not None and right[3] is not None and left[3] < right[3]


def next_of(left: Row, right: Row) -> bool:
    return left[2] is not None and right[2] is not None and left[2] + 1 == right[2]


MATCHES: dict[str, tuple[str, Callable[[Row, Row], bool], list[str] | str]] = {
    "key": ("a.k = b.k", equal(1), ["k"]),
    "both": ("a.j = b.j AND a.k = b.k", equal(1, 2), ["k", "j"]),
    "more": ("b.k = a.k AND a.x < b.y", lambda a, b: equal(1)(a, b) and ends(a, b), ["k"]),
    "next": ("a.j + 1 = b.j", next_of, "row"),
}


WINDOWS = {"a": ("trades", 10), "b": ("quotes", 20)}
OF_ITSELF = {"a": ("trades", 10), "b": ("trades", 20)}


def check(
    answer: dict[str, Any],
    matches: Callable[[Row, Row], bool],
    windows: Mapping[str, tuple[str, int]] = MappingProxyType(WINDOWS),
) -> None:
    """The one row of an answer, from the raw rows and what it says of its samples."""
    found = answered_pairs(ROWS, answer, windows, matches)
    (row,) = answer["rows"]
    assert row["n"] == round(sum(weight for *_rows, weight in found))
    sx, sy = (sums([(pair[side][3], pair[2]) for pair in found]) for side in (0, 1))
    assert (row["sx"], row["sy"]) == (near(sx), near(sy))
    assert row["r"] == (near(sx / sy) if sx is not None and sy else None)
    assert row["low"] == min((a[3] for a, _b, _w in found if a[3] is not None), default=None)
    assert row["high"] == max((b[3] for _a, b, _w in found if b[3] is not None), default=None)
    if answer["basis"] == "sample" and answer["error"]["n"]["confidence"] is not None:
        assert answer["error"]["n"]["low"][0] >= len(found), "so many were seen"


def near(value: float | None) -> Any:
    return None if value is None else pytest.approx(value, rel=1e-12)


def joins() -> dict[str, str]:
    """Joins of two windows, by name."""
    queries = {
        name: f"SELECT {COLUMNS} {JOIN} WHERE {where} {END} QUALITY LINEAR" for name, (where, *_) in MATCHES.items()
    }
    queries["apart"] = f"SELECT {COLUMNS} {JOIN} WHERE a.k = b.k {END} {TABLE}"
    queries["itself"] = (
        "SELECT count(*) AS n, sum(a.x) AS sx, sum(b.x) AS sy, sum(a.x) / sum(b.x) AS r, min(a.x) AS low, "
        "max(b.x) AS high FROM trades [RANGE 10 SECONDS] AS a JOIN trades [RANGE 20 SECONDS] AS b ON a.k = b.k "
        f"{END} QUALITY LINEAR"
    )
    queries["itself_apart"] = queries["itself"].replace("a.k = b.k", "a.j + 1 = b.j")
    queries["by_owner"] = (
        f"SELECT owner, count(*) AS n {JOIN}, owners WHERE a.k = b.k AND id = a.k GROUP BY owner {END} QUALITY LINEAR"
    )
    queries["keys"] = (
        f"SELECT b.k, count(*) AS n, sum(a.x) AS sx {JOIN} WHERE a.k = b.k GROUP BY b.k {END} QUALITY LINEAR"
    )
    return queries


@pytest.fixture(scope="module", params=["30%", None], ids=["sample", "whole"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    options = {} if request.param is None else {"keep": request.param}
    return answers(tmp_path_factory.mktemp("joins"), InProcess, joins(), options, ROWS)


@pytest.mark.parametrize("query", MATCHES)
def test_every_answer_follows_from_its_sample(found: dict[str, list[dict[str, Any]]], query: str) -> None:
    _where, matches, by = MATCHES[query]
    assert len(found[query]) == 5
    for answer in found[query]:
        check(answer, matches)
        if "sample" in answer:
            assert [answer["sample"][name]["by"] for name in "ab"] == [by, by]
            salts = ["a", "b"] if by == "row" else [answer["at"]] * 2
            assert [answer["sample"][name]["salt"] for name in "ab"] == salts
            assert (answer["basis"], answer["kept"], answer["quality"]) == ("sample", 0.3, pytest.approx(0.3))


def test_a_table_of_shares_draws_each_input_by_itself(found: dict[str, list[dict[str, Any]]]) -> None:
    for answer in found["apart"]:
        check(answer, equal(1))
        if "sample" in answer:
            shares = [answer["sample"][name]["share"] for name in "ab"]
            assert shares == [0.6, 0.3]  # the last point of the table: nothing below it is used
            assert [answer["sample"][name]["by"] for name in "ab"] == ["row", "row"]
            assert set(answer["sample"]["a"]["certain"]) == {"x"}
            assert set(answer["sample"]["b"]["certain"]) == {"y"}


@pytest.mark.parametrize(("query", "matches"), [("itself", equal(1)), ("itself_apart", next_of)])
def test_a_stream_joined_with_itself(
    found: dict[str, list[dict[str, Any]]], query: str, matches: Callable[[Row, Row], bool]
) -> None:
    for answer in found[query]:
        check(answer, matches, OF_ITSELF)


def test_groups_by_something_else_are_estimated(found: dict[str, list[dict[str, Any]]]) -> None:
    for answer in found["by_owner"]:
        counts: dict[str, float] = {}
        for one, _other, weight in answered_pairs(ROWS, answer, WINDOWS, equal(1)):
            if one[1] in OWNERS:
                counts[OWNERS[one[1]]] = counts.get(OWNERS[one[1]], 0.0) + weight
        assert answer["rows"] == [{"owner": owner, "n": round(count)} for owner, count in sorted(counts.items())]


def test_groups_by_the_key_are_exact_and_some_are_missing(found: dict[str, list[dict[str, Any]]]) -> None:
    sampled = [answer for answer in found["keys"] if "sample" in answer]
    for answer in found["keys"]:
        exact: dict[str, int] = {}
        for one, _other, _weight in answered_pairs(ROWS, {"at": answer["at"]}, WINDOWS, equal(1)):
            exact[one[1]] = exact.get(one[1], 0) + 1
        counts = {row["k"]: row["n"] for row in answer["rows"]}
        assert counts == {key: exact[key] for key in counts}
        assert list(counts) == sorted(counts)
        assert answer["error"] is None
        if not sampled:
            assert counts == exact
    if sampled:
        kept = {frozenset(row["k"] for row in answer["rows"]) for answer in sampled}
        assert len(kept) == len(sampled), "other keys are left out at each instant"


def test_share_one_says_what_the_plain_row_query_says(tmp_path: Path) -> None:
    """Without QUALITY the same texts are row queries."""
    texts = {
        "plain": f"SELECT {COLUMNS} {JOIN} WHERE a.k = b.k {END}",
        "grouped": f"SELECT b.j, a.k AS k, count(*) AS n, sum(a.x) AS s, avg(b.y) AS m {JOIN} WHERE a.k = b.k "
        f"AND a.j = b.j AND b.y > 2 GROUP BY b.j, a.k {END}",
        "ordered": f"SELECT a.k, count(*) AS n {JOIN} WHERE a.k = b.k GROUP BY a.k HAVING count(*) > 3 "
        f"ORDER BY n DESC, a.k LIMIT 4 {END}",
        "filtered": f"SELECT count(*) FILTER (WHERE a.x > 3) AS n, count_if(b.y < 2) AS m {JOIN} WHERE a.k = b.k {END}",
        "three": "SELECT count(*) AS n, sum(c.x) AS s FROM trades [RANGE 2 SECONDS] AS a, quotes [NOW] AS b, "
        f"trades [RANGE 3 SECONDS] AS c WHERE a.k = b.k AND b.k = c.k AND a.j = c.j {END}",
        "empty": f"SELECT count(*) AS n, sum(a.x) AS s {JOIN} WHERE a.k = b.k AND a.k = 'nobody' {END}",
    }
    queries = {**texts, **{f"{name}_q": f"{text} QUALITY CONVEX" for name, text in texts.items()}}
    found = answers(tmp_path / "run", InProcess, queries, {}, ROWS)
    for name in texts:
        assert len(found[name]) == 5
        for plain, ours in zip(found[name], found[f"{name}_q"]):
            assert ours["basis"] == "exact"
            assert ours["kept"] == 1.0
            assert close(ours["rows"], plain["rows"])
            assert {**ours, "query": name, "rows": plain["rows"]} == plain


def close(ours: list[dict[str, Any]], others: list[dict[str, Any]]) -> bool:
    """Whether rows are the same up to the last digits of sums."""
    return len(ours) == len(others) and all(
        one.keys() == other.keys()
        and all(one[n] == (near(other[n]) if isinstance(other[n], float) else other[n]) for n in one)
        for one, other in zip(ours, others)
    )


def test_an_empty_sample_has_no_interval(tmp_path: Path) -> None:
    """One key is all there is: where it is left out nobody knows what there would be."""
    rows = {name: [(row[0], "only", *row[2:]) for row in several] for name, several in ROWS.items()}
    text = f"SELECT count(*) AS n, sum(a.x) AS s {JOIN} WHERE a.k = b.k {END} QUALITY LINEAR"
    found = answers(tmp_path / "run", InProcess, {"q": text}, {"keep": "40%"}, rows)["q"]
    empty = [answer for answer in found if answer["rows"][0]["n"] == 0]
    assert 0 < len(empty) < len(found)
    for answer in found:
        assert answer["error"] == {"n": {"confidence": None}, "s": {"confidence": None}}
        assert answer["basis"] == "sample"


def many_joins(seconds: int) -> dict[str, list[Row]]:
    """Rows of small windows of a second, in five groups that have nothing to do with keys."""
    rng = Random(5)
    rows: dict[str, list[Row]] = {}
    for stream, count in (("trades", 300), ("quotes", 400)):
        times = (START + second * SECOND + rng.randrange(1, SECOND) for second in range(seconds) for _n in range(count))
        rows[stream] = [(at, f"k{rng.randrange(250)}", rng.randrange(5), rng.gauss(10, 3)) for at in times]
    return rows


def test_samples_are_unbiased_and_intervals_cover(tmp_path: Path) -> None:
    """Many small joins: each instant draws other keys, and rows of the next second are others."""
    seconds = 100
    rows = many_joins(seconds)
    text = (
        "SELECT a.j AS g, count(*) AS n, sum(a.x) AS sx, sum(a.x) / sum(b.y) AS r FROM trades [RANGE 1 SECOND] AS a, "
        "quotes [RANGE 1 SECOND] AS b WHERE a.k = b.k GROUP BY a.j PERIOD 1 SECOND"
    )
    apart = "QUALITY (1 => (a 100%, b 100%), 0.5 => (a 60%, b 60%))"
    queries = {"by_key": f"{text} QUALITY LINEAR", "by_row": f"{text} {apart}"}
    found = answers(tmp_path / "run", InProcess, queries, {"keep": "60%"}, rows)
    truth = exact_groups(rows)
    for query in queries:
        assert len(found[query]) == seconds - 1
        for column, bias in (("n", 0.0), ("sx", 0.0), ("r", 0.003)):  # a ratio of estimates is biased a little
            errors, covered = np.zeros((seconds - 1, 5)), []
            for number, answer in enumerate(found[query]):
                exact = np.array([truth[answer["at"], row["g"]][column] for row in answer["rows"]])
                errors[number] = np.array([row[column] for row in answer["rows"]]) / exact - 1
                said = answer["error"][column]
                for low, value, high in zip(said["low"], exact, said["high"]):
                    covered += [] if low is None else [low <= value <= high]
            of_instants = errors.mean(axis=1)  # groups of an instant have the same keys
            spread = of_instants.std(ddof=1) / of_instants.size**0.5
            assert len(covered) > 0.95 * errors.size
            assert abs(of_instants.mean()) < 3 * spread + bias
            # Variances of both inputs are added up, so intervals of samples by row are rather too wide.
            assert 0.92 <= np.mean(covered) <= (0.985 if query == "by_key" else 1.0)


def exact_groups(rows: Rows) -> dict[tuple[str, int], dict[str, float]]:
    """What DuckDB says of each second and group."""
    names = ("t", "k", "j", "v")
    tables = {stream: pa.table(dict(zip(names, map(list, zip(*several))))) for stream, several in rows.items()}
    with duckdb.connect() as connection:
        for stream, table in tables.items():
            connection.register(stream, table)
        found = connection.execute(
            "SELECT (a.t // 1000000 + 1) * 1000000, a.j, count(*), sum(a.v), sum(a.v) / sum(b.v) FROM trades a "
            "JOIN quotes b ON a.k = b.k AND a.t // 1000000 = b.t // 1000000 GROUP BY ALL"
        ).fetchall()
    return {(iso(at), group): {"n": n, "sx": sx, "r": r} for at, group, n, sx, r in found}
