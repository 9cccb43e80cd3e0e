"""Which streams may be shed at ingest: one reader that wants every row keeps a stream whole, and is named."""

from __future__ import annotations

import pytest

from punctual.kinds.program import compile_program, share
from punctual.plan.shared import SharedPlan
from punctual.share.sheddable import Shedding, ingest_shares, shedding

STREAMS = """
CREATE STREAM a (t TIMESTAMP EVENT TIME, k STRING, x DOUBLE) FROM FEED;
CREATE STREAM b (t TIMESTAMP EVENT TIME, k STRING, x DOUBLE) FROM FEED;
"""
WINDOW = "[RANGE 10 SECONDS]"
PERIOD = "PERIOD 5 SECONDS"


def planned(*queries: str, rows: bool = False) -> SharedPlan:
    text = STREAMS + "".join(f"CREATE QUERY q{number} AS {one};" for number, one in enumerate(queries))
    catalog = compile_program(text, base=".").catalog
    return share(catalog.queries.values(), rows_of=catalog.streams if rows else None)


LINEAR = f"SELECT k, avg(x) AS m FROM a {WINDOW} GROUP BY k {PERIOD} QUALITY LINEAR"
TABLE = f"SELECT k, sum(x) AS m FROM A {WINDOW} GROUP BY k {PERIOD} QUALITY (100% => 1, 40% => 0.5)"


def test_the_least_share_is_that_of_the_strictest_reader() -> None:
    assert shedding(planned(LINEAR)) == {"a": Shedding(0.01, strictest="q0")}
    assert shedding(planned(LINEAR, TABLE)) == {"a": Shedding(0.4, strictest="q1")}
    assert shedding(planned(TABLE, LINEAR, TABLE)) == {"a": Shedding(0.4, strictest="q0")}
    assert ingest_shares(shedding(planned(LINEAR, TABLE)), {"a": 0.1}, None) == {"a": 4_000}
    assert ingest_shares(shedding(planned(LINEAR)), {"a": 1.0}, None) == {}
    assert ingest_shares(shedding(planned(LINEAR)), {"a": 0.5}, 0.25) == {"a": 2_500}


def test_who_accepts_no_less_than_everything_is_named() -> None:
    everything = LINEAR.replace("LINEAR", "(100% => 1)")
    plan = planned(LINEAR, everything, TABLE)
    assert shedding(plan) == {"a": Shedding(1.0, "query q1 accepts no less than all of its rows")}
    assert ingest_shares(shedding(plan), {"a": 0.5}, None) == {}


@pytest.mark.parametrize(
    "exact",
    [
        f"SELECT count(*) AS n FROM a {WINDOW} {PERIOD}",
        f"SELECT count(DISTINCT k) AS n FROM a {WINDOW} {PERIOD} QUALITY LINEAR",
        f"SELECT approx_percentile(x, 0.5) AS n FROM a {WINDOW} {PERIOD} QUALITY LINEAR",
        f"SELECT last(x) AS n FROM a {WINDOW} {PERIOD} QUALITY LINEAR",
        f"SELECT stddev(x) AS n FROM a {WINDOW} {PERIOD} QUALITY LINEAR",
    ],
)
def test_a_reader_that_cannot_do_with_less_is_named(exact: str) -> None:
    plan = planned(LINEAR, exact)
    assert shedding(plan) == {"a": Shedding(1.0, "query q1 reads it exactly")}
    assert ingest_shares(shedding(plan), {"a": 0.5}, 0.5) == {}
    assert [unit.sampled for unit in plan.units] == [True, False]


def test_who_reads_rows_is_named_too() -> None:
    join = f"SELECT a.k FROM a {WINDOW} JOIN b {WINDOW} ON a.k = b.k {PERIOD}"
    assert shedding(planned(LINEAR, join)) == {
        "a": Shedding(1.0, "query q1 reads its rows"),
        "b": Shedding(1.0, "query q1 reads its rows"),
    }
    assert shedding(planned(LINEAR, rows=True)) == {"a": Shedding(1.0, "query q0 reads its rows")}


def test_exact_readers_and_others_share_no_cells() -> None:
    """Nor do readers that need the parts of a sample and those that do not."""
    exact = f"SELECT k, avg(x) AS m FROM a {WINDOW} GROUP BY k {PERIOD}"
    expression = f"SELECT k, avg(x) + 1 AS m FROM a {WINDOW} GROUP BY k {PERIOD} QUALITY LINEAR"
    plan = planned(LINEAR, exact, TABLE, expression)
    assert [reader.unit for reader in plan.readers] == [0, 1, 0, 2]
    assert [(unit.sampled, unit.parted) for unit in plan.units] == [(True, False), (False, False), (True, True)]
    assert len({unit.identity for unit in plan.units}) == 3
