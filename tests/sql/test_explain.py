"""EXPLAIN of a query: as it stood where the statement is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from punctual.cli.main import main
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


def test_which_queries_keep_rounds() -> None:
    """Where windows overlap and a draw needs its row alone, and nothing is known without drawing."""
    stream = """CREATE STREAM s (t TIMESTAMP EVENT TIME, k STRING, x DOUBLE ~ NORMAL(x, sd), sd DOUBLE,
                                 v INT ~ EMPIRICAL BY k) FROM FEED;"""
    over = "FROM s [RANGE 10 MINUTES]"
    queries = {
        "kept": f"SELECT k, avg(x) AS m {over} WHERE x > 3 GROUP BY k PERIOD 1 MINUTE",
        "closed": f"SELECT k, avg(x) AS m {over} GROUP BY k PERIOD 1 MINUTE",
        "apart": f"SELECT k, avg(x) AS m {over} WHERE x > 3 GROUP BY k PERIOD 10 MINUTES",
        "found": f"SELECT k, avg(v) AS m {over} GROUP BY k PERIOD 1 MINUTE",
        "staged": f"SELECT k, avg(x) AS m {over} WHERE x > 3 GROUP BY k PERIOD 1 MINUTE ANSWERS WITHIN 1 SECOND",
        "spark": f"SELECT k, stddev(x) AS m {over} GROUP BY k PERIOD 1 MINUTE",
    }
    text = stream + "".join(f"CREATE QUERY {name} AS {query};" for name, query in queries.items())
    look = look_at(text + "".join(f"EXPLAIN {name};" for name in queries), BASE, {}, types=False)
    line = "kept   the first rounds, by panes, for windows that overlap, where that spares work"
    assert [line in text for text in look.explanations()] == [name == "kept" for name in queries]


SAMPLED = """
    CREATE STREAM gps (t TIMESTAMP EVENT TIME, truck STRING, kmh DOUBLE) FROM FEED;
    CREATE STREAM stops (t TIMESTAMP EVENT TIME, truck STRING, cost DOUBLE) FROM FEED;
    CREATE STREAM seen (t TIMESTAMP EVENT TIME, truck STRING, kmh DOUBLE, p DOUBLE PROBABILITY) FROM FEED;
    CREATE QUERY exact AS SELECT sum(kmh) AS n FROM gps [RANGE 10 SECONDS] PERIOD 5 SECONDS;
    CREATE QUERY panes AS SELECT truck, sum(kmh) AS n, max(DISTINCT kmh) AS top FROM gps [RANGE 10 SECONDS]
    GROUP BY truck PERIOD 5 SECONDS QUALITY CONVEX;
    CREATE QUERY never AS SELECT count(DISTINCT truck) AS n, sum(kmh) AS total, stddev(kmh) AS s
    FROM gps [RANGE 10 SECONDS] PERIOD 5 SECONDS QUALITY CONVEX;
    CREATE QUERY by_key AS SELECT sum(s.cost) AS n FROM gps [RANGE 10 SECONDS] AS g, stops [RANGE 20 SECONDS] AS s
    WHERE g.truck = s.truck PERIOD 5 SECONDS QUALITY CONVEX;
    CREATE QUERY apart AS SELECT sum(s.cost) AS n FROM gps [RANGE 10 SECONDS] AS g, stops [RANGE 20 SECONDS] AS s
    WHERE g.truck = s.truck PERIOD 5 SECONDS QUALITY (1 => (g 100%, s 100%), 0.5 => (g 50%, s 20%));
    CREATE QUERY selected AS SELECT truck, kmh FROM gps [RANGE 10 SECONDS] PERIOD 5 SECONDS QUALITY CONVEX;
    CREATE QUERY top AS SELECT TOP 3 truck, kmh FROM seen [RANGE 10 SECONDS] ORDER BY kmh DESC PERIOD 5 SECONDS
    QUALITY CONVEX;
    CREATE QUERY cut AS SELECT TOP 3 truck, kmh FROM seen [RANGE 10 SECONDS] ORDER BY kmh DESC PERIOD 5 SECONDS
    DEADLINE 2 SECONDS QUALITY CONVEX;
    EXPLAIN exact; EXPLAIN panes; EXPLAIN never; EXPLAIN by_key; EXPLAIN apart; EXPLAIN selected; EXPLAIN top;
    EXPLAIN cut;
"""
NEVER = "QUALITY has no effect: count(DISTINCT ...) and stddev_samp(...) cannot be told from a part of the rows"
RANKED = "QUALITY has no effect: a ranking needs all rows of its window"


def sampling(text: str) -> list[str]:
    """What EXPLAIN says of samples."""
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if line.startswith(("sample ", "note "))]


def test_how_a_query_is_sampled_or_why_it_never_is() -> None:
    look = look_at(SAMPLED, BASE, {}, types=False)
    assert [sampling(text) for text in look.explanations()] == [
        [],
        ["sample rows of gps, where it is shed at ingest"],
        [f"note   {NEVER}"],
        ["sample keys g.truck = s.truck, other ones at each instant"],
        [
            "sample rows of g, apart from the others",
            "sample rows of s, apart from the others; certain: the largest cost",
        ],
        ["note   samples as Spark's plan of it allows, which punctual check asks for"],
        [f"note   {RANKED}"],
        ["note   its rows are never sampled"],
    ]
    from_rows = look_at(SAMPLED, BASE, {"window_merge": "rows"}, types=False).explanations()
    assert [sampling(text) for text in from_rows[:3]] == [
        [],
        ["sample rows of gps; certain: the largest kmh"],
        [f"note   {NEVER}"],
    ]


def test_the_strictest_reader_of_a_stream_is_named() -> None:
    text = """
        CREATE STREAM gps (t TIMESTAMP EVENT TIME, kmh DOUBLE) FROM FILES 'in' FORMAT JSON;
        CREATE QUERY loose AS SELECT sum(kmh) AS n FROM gps [RANGE 10 SECONDS] PERIOD 5 SECONDS QUALITY LINEAR;
        CREATE QUERY strict AS SELECT sum(kmh) AS n FROM gps [RANGE 10 SECONDS] PERIOD 5 SECONDS
        QUALITY (100% => 1, 40% => 0.5);
    """
    said = look_at(text, BASE, {}, types=False).sharing()
    least = "to no less than 40 % of its rows, the least that query strict accepts"
    assert f"      shed at ingest where reading is too much, {least}\n" in said


def test_check_says_where_quality_has_no_effect() -> None:
    """In the words that it has for row queries."""
    said = look_at(SAMPLED, BASE, {}, types=False).answered_from()
    assert (said["exact"], said["panes"], said["cut"]) == ("from panes",) * 3
    assert said["never"] == f"from panes; {NEVER}"
    assert said["top"] == f"from panes; {RANKED}"
    assert said["by_key"] == "from rows, by the kernels of panes; samples by g.truck = s.truck"


def test_check_warns_of_deadlines_that_cannot_be_promised(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked = {
        "short": "PERIOD 1 SECOND DEADLINE 199 MILLISECONDS",
        "enough": "PERIOD 1 SECOND DEADLINE 200 MILLISECONDS",
        "often": "PERIOD 100 MILLISECONDS",
        "judged": "PERIOD 100 MILLISECONDS QUALITY LINEAR",
    }
    queries = (
        f"CREATE QUERY {name} AS SELECT max(kmh) AS top FROM speed [RANGE 1 MINUTE] {clauses};"
        for name, clauses in asked.items()
    )
    program = tmp_path / "program.sql"
    program.write_text(f"SET tick = 50 MILLISECONDS; {DECLARED} {' '.join(queries)}")
    assert main(["check", str(program)]) == 0
    warnings = [line for line in capsys.readouterr().out.splitlines() if "warning" in line]
    assert [line.partition(" is shorter")[0].strip() for line in warnings] == [
        'warning: query "short": a DEADLINE of 199 MILLISECONDS',
        'warning: query "judged": with QUALITY a PERIOD of 100 MILLISECONDS',
    ]


def test_check_prints_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    program = tmp_path / "program.sql"
    program.write_text(SAMPLED)
    look = look_at(SAMPLED, BASE, {}, types=False)
    monkeypatch.setattr("punctual.cli.look.look_at", lambda *_arguments, **_named: look)
    assert main(["check", str(program)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f'  query "never" is answered from panes; {NEVER}' in lines
    assert not any('"panes"' in line or '"exact"' in line for line in lines)
