"""EXPLAIN of a query: as it stood where the statement is."""

from __future__ import annotations

from dataclasses import replace

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


def test_what_a_query_is_answered_from() -> None:
    text = f"""{DECLARED}
        CREATE QUERY top AS SELECT max(kmh) AS top FROM speed [RANGE 7 MINUTES] PERIOD 1 MINUTE;
        CREATE QUERY lanes_seen AS SELECT DISTINCT lane FROM speed [RANGE 7 MINUTES] PERIOD 1 MINUTE;
        CREATE QUERY ages AS SELECT lane, now() AS at FROM speed [RANGE 7 MINUTES] WHERE lane > 1 PERIOD 1 MINUTE;
        EXPLAIN top; EXPLAIN lanes_seen; EXPLAIN ages;
    """
    look = look_at(text, BASE, {}, types=False)
    said = [text.splitlines()[-1] for text in look.explanations()]
    assert said == [
        "answered from panes",
        "answered from rows, prepared once unless Spark needs an exchange or a subquery",
        "answered from rows, planned anew for each instant: it names now()",
    ]
    assert look.to_json()["answered"] == dict(zip(["top", "lanes_seen", "ages"], (one[9:] for one in said)))
    asked = replace(look, stands={"lanes_seen": True, "ages": True}).answered_from()
    assert asked["lanes_seen"] == "from rows, prepared once"
    assert asked["ages"] == "from rows, planned anew for each instant: it names now()"
    assert "Spark needs" in replace(look, stands={"lanes_seen": False}).answered_from()["lanes_seen"]
    by_rows = look_at(text, BASE, {"window_merge": "rows"}, types=False)
    assert by_rows.answered_from()["top"] == "from rows, by the kernels of panes"
