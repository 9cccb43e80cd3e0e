"""Which queries share a unit, and what the unit keeps."""

from __future__ import annotations

from punctual.kinds.program import compile_program, share
from punctual.plan.shared import SharedPlan

STREAM = "CREATE STREAM s (ts TIMESTAMP EVENT TIME, k STRING, g INT, x DOUBLE, y INT) FROM FEED;"


def planned(*selects: str, sharing: bool = True) -> SharedPlan:
    text = STREAM + ";".join(f"CREATE QUERY q{i} AS {select}" for i, select in enumerate(selects))
    return share(compile_program(text, base=".").catalog.queries.values(), sharing=sharing)


def test_windows_functions_and_thresholds_share_one_unit() -> None:
    plan = planned(
        "SELECT k, avg(x) FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] WHERE x > 1 GROUP BY k",
        "SELECT k, max(y), count(*) FROM s [RANGE 7 SECONDS] WHERE x > 2 GROUP BY k PERIOD 3 SECONDS",
        "SELECT k, sum(x) FROM s [RANGE 1 MINUTE] WHERE x BETWEEN 0 AND 9 GROUP BY k PERIOD 1 MINUTE",
    )
    (unit,) = plan.units
    assert [s.kind for s in unit.synopses] == ["rows", "maximum", "sum"]
    assert unit.bands[0].cuts == (0.0, 1.0, 2.0, 9.0)
    assert unit.windows == ((7_000_000, 3_000_000), (10_000_000, 5_000_000), (60_000_000, 60_000_000))


def test_other_keys_filters_or_compared_columns_do_not() -> None:
    window = "FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS]"
    plan = planned(
        f"SELECT k, avg(x) {window} GROUP BY k",
        f"SELECT g, avg(x) {window} GROUP BY g",
        f"SELECT k, avg(x) {window} WHERE x + y > 3 GROUP BY k",
        f"SELECT k, avg(x) {window} WHERE y > 3 GROUP BY k",
    )
    assert len(plan.units) == 4


def test_units_that_share_nothing_have_different_names() -> None:
    select = "SELECT k, avg(x) FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k"
    apart = planned(select, select, sharing=False)
    assert len({unit.fingerprint for unit in apart.units}) == 2
    together = planned(select, select)
    assert len(together.units) == 1
    assert len(together.readers_of(0)) == 2


def test_a_filter_narrows_one_aggregate_alone() -> None:
    plan = planned(
        "SELECT count(*) AS n, sum(x) FILTER (WHERE g = 2) AS t, count_if(y > 1) AS c"
        " FROM s [RANGE 1 MINUTE] PERIOD 1 MINUTE"
    )
    (reader,) = plan.readers
    assert reader.where == ((),)
    assert reader.uses[0].conditions == ((),)
    assert reader.uses[1].conditions[0][0].values == (2,)
    counted = plan.units[0].synopses[reader.uses[2].synopsis].argument
    assert counted is not None
    assert counted.sql.startswith("CASE WHEN")


def test_the_identity_of_a_unit_outlives_other_windows_and_thresholds() -> None:
    one = planned("SELECT k, avg(x) FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] WHERE x > 1 GROUP BY k").units[0]
    other = planned("SELECT k, max(x) FROM s [RANGE 9 SECONDS SLIDE 3 SECONDS] WHERE x > 7 GROUP BY k").units[0]
    assert one.identity == other.identity
    assert one.fingerprint != other.fingerprint
