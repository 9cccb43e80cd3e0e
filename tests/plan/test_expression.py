"""Expressions are values: made by binding or of each other, rendered part by part, and never edited as text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from punctual.errors import Span
from punctual.own_names import joined_column, own
from punctual.plan.expression import (
    NULL,
    Expression,
    Term,
    aggregate_name,
    cast,
    column_of,
    compose,
    conjunction,
    string,
    struct,
    truth,
)
from punctual.plan.fingerprint import fingerprint
from tests.sql.programs import body_of, query

SRC = Path(__file__).parent.parent.parent / "src" / "punctual"
EDITS = re.compile(r"^import re\b|\bfrom re import|\.replace\(\s*[rf]?[\"'].*?[\"']\s*,", re.MULTILINE)
MAY_EDIT_TEXT = {
    "plan/sql_text.py": "it quotes names and strings",
    "runtime/jvm/java.py": "what java prints",
    "runtime/session.py": "the name of a master",
    "runtime/direct_values.py": "it reads expressions, and edits none",
    "runtime/plain_expressions.py": "it reads expressions, and edits none",
    "runtime/declared_types.py": "it reads types, and edits none",
    "runtime/analysis.py": "the name of a function in a message of Spark's",
    "runtime/row_queries/refusals.py": "what Spark says of a row query",
    "runtime/row_queries/row_analysis.py": "the name that Spark gives to a column",
    "runtime/row_queries/plan_nodes.py": "the names of nodes of a plan",
    "runtime/row_queries/repeats.py": "the names of nodes of a plan",
    "runtime/row_queries/operator_rows.py": "the names of nodes of a plan, and its counters",
    "runtime/row_queries/plan_graph.py": "the graph of a running plan",
    "runtime/row_queries/shards.py": "the names of nodes of a plan",
    "runtime/row_queries/window_sorts.py": "the names of nodes of a plan",
    "kinds/aggregates/arithmetic.py": "it reads expressions, and edits none",
    "engine/batch/isolate.py": "what Spark says of a failed job",
    "engine/batch/state_faults.py": "what a task says of a file",
}


def bound(selected: str) -> Expression:
    text = f"SELECT lane, {selected} AS bound FROM speed [RANGE 1 MINUTE] GROUP BY lane PERIOD 1 MINUTE"
    return query(text).outputs[1].expression


def test_rendered_over_other_columns_only_columns_change() -> None:
    expression = bound("concat(max(sensor), '`a0` lane', lane)")
    lane, sensor = own("k0"), aggregate_name(0)
    assert expression.names == {lane, sensor}
    assert expression.over({lane: "x`y", sensor: "lane"}) == "concat(`lane`, '`a0` lane', `x``y`)"
    assert expression.over({lane: sensor, sensor: lane}) == f"concat(`{lane}`, '`a0` lane', `{sensor}`)"
    assert expression.written == "concat(a0, '`a0` lane', k0)"


@pytest.mark.parametrize(("selected", "column"), [
    ("lane", own("k0")), ("max(kmh)", aggregate_name(0)), ("now()", own("at")), ("(lane)", None), ("1", None),
    ("'lane'", None), ("max(loc).x", None),
])
def test_a_column_by_itself_is_known(selected: str, column: str | None) -> None:
    assert bound(selected).column == column


@pytest.mark.parametrize(("selected", "numbers"), [
    ("max(lane) > 5 AND NOT min(lane) <= 3.25", ["5", "3.25"]), ("-(2 * max(kmh))", ["2"]), ("5", ["5"]),
    ("max(kmh) * 1e3", ["1e3"]), ("max(lane) + 2 - 1", []), ("(1) + (2)", []), ("round(max(kmh), 2)", []),
    ("max(loc).x > 2", []), ("max(lane) > 5L", []), ("concat(max(sensor), '5') > 5", []), ("max(tags)[0] > 5", []),
])
def test_numbers_are_marked_where_nothing_but_their_value_counts(selected: str, numbers: list[str]) -> None:
    marked = [part.text for part in bound(selected).parts if isinstance(part, Term) and part.kind == "number"]
    assert marked == numbers


def test_expressions_are_made_of_each_other() -> None:
    x, city = column_of("x"), column_of(joined_column("l", "city"))
    row = struct([("a", truth(compose(x, " > 1"))), ("it's", cast(NULL, "STRING"))])
    assert row.sql == "named_struct('a', CAST((`x` > 1) AS INT), 'it\\'s', CAST((NULL) AS STRING))"
    both = conjunction([compose(x, " > 1"), compose(city, " = ", string("a\\b"))])
    assert both.written == "(x > 1) AND (l.city = 'a\\\\b')"
    assert both.names == {"x", joined_column("l", "city")}


def test_parts_have_one_form() -> None:
    """Whatever it was made of: equality is what queries are shared by."""
    x = column_of("x")
    assert compose("abs", "(", compose("", x), ")", "") == compose("abs(", x, ")")


def test_a_place_means_nothing() -> None:
    here, there = column_of("x", Span(1, 2)), column_of("x").at(Span(7, 8))
    assert (here, hash(here), fingerprint(here), repr(here)) == (there, hash(there), fingerprint(there), repr(there))
    one, other = (query(f"SELECT{gap}max( kmh+1 ) AS m FROM speed [NOW] PERIOD 1 MINUTE") for gap in (" ", "\n\n"))
    assert body_of(one).calls[0].argument == body_of(other).calls[0].argument
    assert fingerprint(one.body) == fingerprint(other.body)


@pytest.mark.parametrize("room", ["plan", "share", "runtime", "kinds", "engine", "explain"])
def test_nobody_edits_sql_as_text(room: str) -> None:
    edits = {
        path.relative_to(SRC).as_posix()
        for path in (SRC / room).rglob("*.py")
        if EDITS.search(path.read_text())
    }
    assert edits <= MAY_EDIT_TEXT.keys()


def test_those_who_may_edit_text_do() -> None:
    """An entry that is no longer needed goes."""
    assert all(EDITS.search((SRC / path).read_text()) for path in MAY_EDIT_TEXT)
