"""EXPLAIN of a query: as it stood where the statement is."""

from __future__ import annotations

from punctual.explain.look import look_at
from tests.sql.programs import BASE, DECLARED


def test_a_query_that_is_dropped_later_is_explained() -> None:
    text = f"""{DECLARED}
        CREATE QUERY q AS SELECT max(kmh) AS top FROM speed [RANGE 7 MINUTES] PERIOD 1 MINUTE;
        EXPLAIN q;
        DROP QUERY q;
        CREATE QUERY q AS SELECT min(lane) AS least FROM speed [RANGE 9 MINUTES] PERIOD 1 MINUTE;
        EXPLAIN q;
        DROP QUERY q;
    """
    first, second = look_at(text, BASE, {}, types=False).explanations()
    assert "max of maximum(kmh)" in first
    assert "range 7min" in first
    assert "min of minimum(lane)" in second
    assert "range 9min" in second
