"""Aggregates over joins of windows with QUALITY on Spark: the answers that are checked in process from the raw rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from punctual.runtime.row_queries import row_plans
from tests.engine.joined_samples import answers, fed
from tests.engine.test_joined_samples import END, JOIN, close, joins
from tests.inprocess.backend import InProcess
from tests.spark.backends import Shared

pytestmark = pytest.mark.spark

ROWS = fed(per_second=8)


@pytest.mark.parametrize("options", [{"keep": "30%"}, {}], ids=["sample", "whole"])
def test_samples_of_joins_are_those_of_the_rule(
    spark: SparkSession, tmp_path: Path, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[bool] = []
    real = row_plans.stands
    monkeypatch.setattr(row_plans, "stands", lambda frame: made.append(real(frame)) or made[-1])
    ours = answers(tmp_path / "spark", Shared, joins(), options, ROWS)
    assert ours == answers(tmp_path / "duck", InProcess, joins(), options, ROWS)
    assert made.count(True) >= len(joins()) - 1
    assert made.count(False) <= 1, "plans of joins are made once and run again, but for that with a table"


def test_share_one_says_what_the_plain_row_query_says(spark: SparkSession, tmp_path: Path) -> None:
    texts = {
        "grouped": f"SELECT b.j, a.k AS k, count(*) AS n, sum(a.x) AS s, avg(b.y) AS m {JOIN} WHERE a.k = b.k "
        f"AND a.j = b.j AND b.y > 2 GROUP BY b.j, a.k {END}",
        "ordered": f"SELECT a.k, count(*) AS n {JOIN} WHERE a.k = b.k GROUP BY a.k ORDER BY n DESC, k LIMIT 4 {END}",
        "whole": f"SELECT count(*) AS n, count_if(upper(a.k) = 'K1') AS s {JOIN} WHERE a.k = b.k {END}",
    }
    queries = {**texts, **{f"{name}_q": f"{text} QUALITY CONVEX" for name, text in texts.items()}}
    found = answers(tmp_path / "run", Shared, queries, {}, ROWS)
    for name in texts:
        for plain, ours in zip(found[name], found[f"{name}_q"], strict=True):
            assert close(ours["rows"], plain["rows"])
            assert (ours["basis"], ours["kept"]) == ("exact", 1.0)
