"""Row queries with QUALITY on Spark: an answer over a sample is the part of the whole answer that the rule keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from punctual.explain.look import look_at
from punctual.kernel.sample import kept
from punctual.plan.row_query import RowSampling
from tests.engine.joined_samples import NAMES, STREAMS, TYPES, answers, fed, in_window
from tests.spark.backends import Shared
from tests.spark.row_programs import row_query, types_of

pytestmark = pytest.mark.spark

ROWS = fed(per_second=4)
JOIN = "FROM trades [RANGE 10 SECONDS] AS a {} JOIN quotes [RANGE 20 SECONDS] AS b ON a.k = b.k"
BY_KEY = {
    "pairs": f"SELECT a.k, a.x, b.y {JOIN.format('')} AND a.x < b.y ORDER BY b.y DESC",
    "left_pairs": f"SELECT a.k, a.x, b.y {JOIN.format('LEFT')}",
    "silent": f"SELECT a.k, a.x {JOIN.format('LEFT ANTI')}",
    "names": "SELECT DISTINCT k FROM trades [RANGE 10 SECONDS]",
    "medians": "SELECT k, percentile(x, 0.5) AS m FROM trades [RANGE 10 SECONDS] GROUP BY k",
    "several": f"SELECT a.k, count(DISTINCT b.j) AS n {JOIN.format('')} GROUP BY a.k",
}
BY_ROW = "SELECT k, x * 2 AS twice FROM trades [RANGE 10 SECONDS] WHERE x > 1"
NEVER = {
    "limited": ("SELECT k, x FROM trades [RANGE 10 SECONDS] ORDER BY x LIMIT 5", "LIMIT takes some rows of all"),
    "ranked": (
        "SELECT k, row_number() OVER (ORDER BY x, t) AS place FROM trades [RANGE 10 SECONDS]",
        "a window function may need any rows of its window",
    ),
    "middle": (
        "SELECT percentile(x, 0.5) AS m FROM trades [RANGE 10 SECONDS]",
        "its aggregates need all rows of their groups, and no column of the stream is in all of these",
    ),
    "last": ("SELECT k, x FROM trades [ROWS 20]", "a window by ROWS counts all of them"),
    "near": (
        "SELECT a.k, b.y FROM trades [RANGE 2 SECONDS] AS a JOIN quotes [RANGE 2 SECONDS] AS b ON a.x < b.y",
        "its windows have no columns that are equal in all rows that belong together",
    ),
}
END = "PERIOD 10 SECONDS QUALITY LINEAR"


def queries() -> dict[str, str]:
    texts = {**BY_KEY, "rows": BY_ROW, **{name: text for name, (text, _why) in NEVER.items()}}
    return {name: f"{text} {END}" for name, text in texts.items()}


def test_answers_over_samples_are_parts_of_whole_answers(spark: SparkSession, tmp_path: Path) -> None:
    whole = answers(tmp_path / "whole", Shared, queries(), {}, ROWS)
    sampled = answers(tmp_path / "sample", Shared, queries(), {"keep": "40%"}, ROWS)
    for name in BY_KEY:
        left_out = 0
        for one, other in zip(sampled[name], whole[name], strict=True):
            assert (one["basis"], one["kept"], one["quality"], one["error"]) == ("sample", 0.4, 0.4, None)
            assert {said["salt"] for said in one["sample"].values()} == {one["at"]}
            assert {(said["share"], *said["by"]) for said in one["sample"].values()} == {(0.4, "k")}
            assert one["rows"] == [row for row in other["rows"] if of_key(row["k"], one)]
            left_out += len(other["rows"]) - len(one["rows"])
        assert left_out > 0
    for one in sampled["rows"]:
        assert one["sample"] == {"trades": {"share": 0.4, "salt": "trades", "by": "row"}}
        assert one["rows"] == kept_rows(one)
    for name in NEVER:
        for one, other in zip(sampled[name], whole[name], strict=True):
            assert one == other
            assert (one["basis"], one["kept"]) == ("exact", 1.0)


def of_key(key: str | None, answer: dict[str, Any]) -> bool:
    said = next(iter(answer["sample"].values()))
    return bool(kept(pa.table({"k": pa.array([key], pa.string())}), ["k"], said["salt"], said["share"])[0])


def kept_rows(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """What is selected of the rows of the window that the rule keeps."""
    window = in_window(ROWS, "trades", answer["at"], 10)
    columns = {name: pa.array([row[i] for row in window], TYPES[name]) for i, name in enumerate(NAMES["trades"])}
    chosen = kept(pa.table(columns), "row", "trades", 0.4).tolist()
    found = [
        {"k": row[1], "twice": row[3] * 2}
        for row, is_kept in zip(window, chosen)
        if is_kept and row[3] is not None and row[3] > 1
    ]
    return sorted(found, key=lambda row: (row["k"] is not None, row["k"] or "", row["twice"]))


PRESERVED = {
    "inner": ("SELECT a.k, b.w FROM {a} JOIN {b} ON a.k = b.k", None),
    "left": ("SELECT a.k, b.w FROM {a} LEFT JOIN {b} ON a.k = b.k", 0),
    "semi": ("SELECT a.k, a.v FROM {a} LEFT SEMI JOIN {b} ON a.k = b.k", 0),
    "exists": ("SELECT a.k, a.v FROM {a} WHERE EXISTS (SELECT 1 FROM {b} WHERE a.k = b.k)", 0),
    "anti": ("SELECT a.k, a.v FROM {a} LEFT ANTI JOIN {b} ON a.k = b.k", 0),
    "counted": ("SELECT a.k, count(b.w) AS n FROM {a} LEFT JOIN {b} ON a.k = b.k GROUP BY a.k", 0),
    "second": ("WITH b AS (SELECT k, w FROM {b}) SELECT a.k, b.w FROM {a} LEFT JOIN b ON a.k = b.k", 1),
}


def test_a_plan_says_which_side_of_a_join_is_preserved(spark: SparkSession) -> None:
    """The number of its window, as the text has them; where the join is an inner one neither is."""
    windows = {"a": "s [RANGE 10 SECONDS] AS a", "b": "r [RANGE 20 SECONDS] AS b"}
    queries = [row_query(f"{text.format(**windows)} QUALITY LINEAR", name) for name, (text, _side) in PRESERVED.items()]
    found = {name: types.sampling for name, types in types_of(spark, *queries).items()}
    by = (("k",), ("k",))
    assert found == {name: RowSampling(by, preserved=side) for name, (_text, side) in PRESERVED.items()}


def test_check_says_how_queries_are_sampled_and_why_not(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "owners.csv").write_text("id,owner\n")
    text = STREAMS + "".join(f"CREATE QUERY {name} AS {query};\n" for name, query in queries().items())
    look = look_at(text, str(tmp_path), {}, types=True)
    said = look.answered_from()
    assert said["rows"].endswith("; samples of rows")
    assert said["names"].endswith("; samples by trades.k")
    assert said["pairs"].endswith("; samples by a.k = b.k")
    for name, (_text, why) in NEVER.items():
        assert said[name].endswith(f"; QUALITY has no effect: {why}")
        assert f"note   QUALITY has no effect: {why}" in look.sharing()
