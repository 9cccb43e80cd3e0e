"""Uncertain attributes: what a declaration means, what is wrong with one, and who may not read them."""

from __future__ import annotations

import pytest

from punctual.clock import SECOND
from punctual.engine.program.running_program import stream_meaning, unit_key
from punctual.errors import ProgramErrors
from punctual.kinds.registry import needs_of
from punctual.plan.fingerprint import fingerprint
from punctual.plan.relation import Column, Stream
from punctual.plan.uncertain import FoundBy, GivenBy, Uncertainty
from punctual.plan.worlds import Worlds
from punctual.share.units import share_units
from punctual.sql.bind_uncertain import uncertain_columns
from tests.sql.programs import compiled, errors, found, sql

GIVEN = ", Sd DOUBLE, hi FLOAT, n INT, d DECIMAL(4,2), k STRING, b BOOLEAN, ints ARRAY<INT>, ss ARRAY<STRING>, " \
    "ws ARRAY<DOUBLE>, bs ARRAY<BOOLEAN>"


def program(column: str, rest: str = "") -> str:
    return f"CREATE STREAM s (ts TIMESTAMP EVENT TIME, {column}{GIVEN}{rest}) FROM FEED;"


def declared(text: str, name: str = "x") -> Column:
    column = compiled(text).catalog.streams["s"].column(name)
    assert column is not None
    return column


@pytest.mark.parametrize(("column", "law"), [
    ("x DOUBLE ~ NORMAL(X, sd)", GivenBy("NORMAL", ("x", "Sd"))),
    ("x FLOAT ~ UNIFORM(n, HI)", GivenBy("UNIFORM", ("n", "hi"))),
    ("x DOUBLE ~ NORMAL(d, n)", GivenBy("NORMAL", ("d", "n"))),
    ("x INT ~ DISCRETE(ints, ws)", GivenBy("DISCRETE", ("ints", "ws"))),
    ("x DOUBLE ~ DISCRETE(ints, ints)", GivenBy("DISCRETE", ("ints", "ints"))),
    ("x STRING ~ DISCRETE(ss, ws)", GivenBy("DISCRETE", ("ss", "ws"))),
    ("x BOOLEAN ~ DISCRETE(bs, ws)", GivenBy("DISCRETE", ("bs", "ws"))),
    ("x INT ~ EMPIRICAL BY K", FoundBy("EMPIRICAL", ("k",))),
    ("x STRING ~ EMPIRICAL BY (k, n)", FoundBy("EMPIRICAL", ("k", "n"))),
    ("x SMALLINT ~ INTERPOLATED BY k", FoundBy("INTERPOLATED", ("k",))),
    ("x DOUBLE ~ INTERPOLATED BY k WITHIN 30 MINUTES", FoundBy("INTERPOLATED", ("k",), within_us=1800 * SECOND)),
    ("x BOOLEAN ~ NEAREST 10 BY (n, d)", FoundBy("NEAREST", ("n", "d"), 10)),
])
def test_what_is_declared(column: str, law: Uncertainty) -> None:
    assert declared(program(column)).uncertain == law


def test_what_counts_as_missing_is_a_condition_over_the_row() -> None:
    law = declared(program("x INT ~ EMPIRICAL BY k IF X < 0 OR n = 9")).uncertain
    assert isinstance(law, FoundBy)
    assert sql(law.missing_if) == "`x` < 0 or `n` = 9"


@pytest.mark.parametrize(("column", "derived"), [
    ("x DOUBLE ~ NORMAL(x, sd)", None),
    ("x DOUBLE ~ UNIFORM(n, hi)", "CAST((NULL) AS DOUBLE)"),
    ("x INT ~ DISCRETE(ints, ws)", "CAST((NULL) AS INT)"),
    ("x INT ~ EMPIRICAL BY k", None),
])
def test_only_a_column_made_of_others_is_not_in_the_rows(column: str, derived: str | None) -> None:
    assert sql(declared(program(column)).derived) == derived


def test_generated_rows_may_have_derived_parameters() -> None:
    text = (
        "CREATE STREAM s (ts TIMESTAMP EVENT TIME, value BIGINT, mean DOUBLE AS (value % 30), "
        "x DOUBLE ~ NORMAL(mean, value)) FROM RATE 10 PER SECOND;"
    )
    assert declared(text).uncertain == GivenBy("NORMAL", ("mean", "value"))
    missing = text.replace("x DOUBLE ~ NORMAL(mean, value)", "x DOUBLE ~ EMPIRICAL BY value")
    assert found(missing) == [("bind.rate-column", "x")]


WRONG = [
    ("x DOUBLE ~ NORMAL(x, ds)", "bind.unknown-column", "ds"),
    ("x INT ~ EMPIRICAL BY branch", "bind.unknown-column", "branch"),
    ("x INT ~ EMPIRICAL BY k IF y < 0", "bind.unknown-column", "y"),
    ("x INT ~ EMPIRICAL BY k IF max(x) < 0", "bind.aggregate-in-column", "max(x)"),
    ("x INT ~ NEAREST 0 BY n", "bind.bad-neighbours", "0"),
    ("x INT ~ NEAREST -3 BY n", "bind.bad-neighbours", "-3"),
    ("x DOUBLE ~ NORMAL(x, k)", "bind.bad-parameter-type", "k"),
    ("x DOUBLE ~ UNIFORM(b, n)", "bind.bad-parameter-type", "b"),
    ("x DOUBLE ~ UNIFORM(ts, n)", "bind.bad-parameter-type", "ts"),
    ("x DOUBLE ~ NORMAL(n, ws)", "bind.bad-parameter-type", "ws"),
    ("x INT ~ DISCRETE(n, ws)", "bind.bad-parameter-type", "n"),
    ("x INT ~ DISCRETE(ints, n)", "bind.bad-parameter-type", "n"),
    ("x INT ~ DISCRETE(ints, ss)", "bind.bad-parameter-type", "ss"),
    ("x INT ~ DISCRETE(ss, ws)", "bind.bad-parameter-type", "ss"),
    ("x STRING ~ DISCRETE(ints, ws)", "bind.bad-parameter-type", "ints"),
    ("x STRING ~ DISCRETE(bs, ws)", "bind.bad-parameter-type", "bs"),
    ("x BOOLEAN ~ DISCRETE(ints, ws)", "bind.bad-parameter-type", "ints"),
    ("x DOUBLE ~ NEAREST 3 BY (n, k)", "bind.bad-parameter-type", "k"),
    ("x INT ~ NORMAL(n, sd)", "bind.bad-uncertain-type", "INT"),
    ("x STRING ~ NORMAL(x, sd)", "bind.bad-uncertain-type", "STRING"),
    ("x DECIMAL(4,2) ~ UNIFORM(n, hi)", "bind.bad-uncertain-type", "DECIMAL(4,2)"),
    ("x DECIMAL(4,2) ~ DISCRETE(ints, ws)", "bind.bad-uncertain-type", "DECIMAL(4,2)"),
    ("x DATE ~ EMPIRICAL BY k", "bind.bad-uncertain-type", "DATE"),
    ("x ARRAY<INT> ~ NEAREST 3 BY n", "bind.bad-uncertain-type", "ARRAY<INT>"),
    ("x STRING ~ INTERPOLATED BY k", "bind.bad-uncertain-type", "STRING"),
    ("x BOOLEAN ~ INTERPOLATED BY k", "bind.bad-uncertain-type", "BOOLEAN"),
    ("x INT KEY ~ EMPIRICAL BY k", "bind.uncertain-role", "KEY"),
    ("x DOUBLE ~ NORMAL(x, sd) PROBABILITY", "bind.uncertain-role", "PROBABILITY"),
    ("x DOUBLE ~ NORMAL(n, sd) AS (n * 2)", "bind.uncertain-role", "AS (n * 2)"),
    ("x INT ~ EMPIRICAL BY x", "bind.uncertain-parameter", "x"),
    ("x DOUBLE ~ NEAREST 3 BY (n, x)", "bind.uncertain-parameter", "x"),
    ("y DOUBLE ~ NORMAL(y, sd), x DOUBLE ~ NORMAL(y, n)", "bind.uncertain-parameter", "y"),
    ("y DOUBLE ~ NORMAL(n, sd), x DOUBLE ~ UNIFORM(n, y)", "bind.uncertain-parameter", "y"),
    ("y DOUBLE ~ NORMAL(y, sd), x DOUBLE ~ NEAREST 3 BY (y, n)", "bind.uncertain-parameter", "y"),
    ("y INT ~ EMPIRICAL BY k, x INT ~ EMPIRICAL BY y", "bind.uncertain-parameter", "y"),
    ("y INT ~ EMPIRICAL BY k, x INT ~ EMPIRICAL BY k IF y < 0", "bind.uncertain-in-column", "y"),
    ("y INT ~ EMPIRICAL BY k, x INT AS (n + s.y)", "bind.uncertain-in-column", "s.y"),
    ("y DOUBLE ~ UNIFORM(n, hi), x DOUBLE AS (y * 2)", "bind.uncertain-in-column", "y"),
]


@pytest.mark.parametrize(("column", "code", "underlined"), WRONG)
def test_what_is_wrong_is_said_once_with_its_place(column: str, code: str, underlined: str) -> None:
    assert found(program(column)) == [(code, underlined)]


@pytest.mark.parametrize("code", sorted({code for _column, code, _underlined in WRONG} - {"bind.bad-neighbours"}))
def test_there_is_something_to_type(code: str) -> None:
    for column in (column for column, other, _underlined in WRONG if other == code and "max(" not in column):
        (error,) = errors(program(column))
        assert error.hint, error.render()


@pytest.mark.parametrize(("law", "fact"), [
    ("NORMAL(x)", 'expected ",", but there is ")"'), ("UNIFORM", 'expected "(", but the statement ends'),
    ("DISCRETE(v, w", 'expected ")", but the statement ends'), ("EMPIRICAL", "expected BY, but the statement ends"),
    ("INTERPOLATED k", 'expected BY, but there is "k"'),
    ("NEAREST BY (x)", 'expected a number of neighbours, but there is "BY"'),
    ("NEAREST 0 BY (x)", "a number of neighbours is a whole number of at least 1"),
])  # fmt: skip
def test_who_writes_a_distribution_wrong_is_shown_how(law: str, fact: str) -> None:
    (error,) = errors(f"CREATE STREAM s (ts TIMESTAMP EVENT TIME, x DOUBLE ~ {law}")
    assert error.fact == fact
    assert (error.hint or "").startswith(f"for example: ~ {law.split('(')[0].split()[0]}")


def test_an_event_time_and_a_rule_are_certain() -> None:
    assert found("CREATE STREAM s (ts TIMESTAMP EVENT TIME ~ EMPIRICAL BY k, k STRING) FROM FEED;") == [
        ("bind.uncertain-role", "EVENT TIME")
    ]
    text = program("p DOUBLE PROBABILITY, x STRING RULE ~ EMPIRICAL BY k")
    assert found(text) == [("bind.uncertain-role", "RULE")]


def test_a_table_has_no_uncertain_columns() -> None:
    text = "CREATE TABLE t (a DOUBLE ~ NORMAL(a, nowhere), b DOUBLE) FROM FILES 't.csv';"
    assert found(text) == [("bind.role-in-table", "~ NORMAL(a, nowhere)")]


def test_all_that_is_wrong_is_said() -> None:
    text = program("x INT ~ NORMAL(k, ds), y INT KEY ~ EMPIRICAL BY y")
    assert found(text) == [
        ("bind.bad-uncertain-type", "INT"), ("bind.bad-parameter-type", "k"), ("bind.unknown-column", "ds"),
        ("bind.uncertain-role", "KEY"), ("bind.uncertain-parameter", "y"),
    ]


READINGS = """
CREATE STREAM s (ts TIMESTAMP EVENT TIME, k STRING KEY, p DOUBLE PROBABILITY, kmh DOUBLE ~ NORMAL(kmh, sd), sd DOUBLE,
  wait DOUBLE ~ UNIFORM(sd, hi), hi DOUBLE, load INT ~ EMPIRICAL BY k, lane INT) FROM FEED;
CREATE STREAM u (ts TIMESTAMP EVENT TIME, k STRING KEY, p DOUBLE PROBABILITY, kmh DOUBLE, sd DOUBLE, lane INT,
  load INT ~ EMPIRICAL BY k) FROM FEED;
CREATE TABLE lanes (id INT, load INT) FROM FILES 'lanes.csv';
"""
S, U = "s [RANGE 1 MINUTE]", "u [RANGE 1 MINUTE]"


def refused(select: str) -> list[tuple[str, str]]:
    return found(f"{READINGS}CREATE QUERY q AS {select} PERIOD 1 MINUTE;")


@pytest.mark.parametrize(("select", "fact", "underlined", "hint"), [
    (f"SELECT TOP 2 k FROM {S} ORDER BY kmh DESC", "TOP cannot rank by an uncertain score", "kmh",
     "name what is read apart: kmh DOUBLE ~ NORMAL(kmh_read, sd)"),
    (f"SELECT TOP 2 k FROM {S} ORDER BY lane + s.wait", "TOP cannot rank by an uncertain score", "s.wait",
     "name a column that is certain, for example: sd"),
    (f"SELECT TOP 2 k, LOAD AS n FROM {S} ORDER BY lane", "TOP cannot select an uncertain column", "LOAD",
     "name a column without ~"),
    (f"SELECT TOP 2 k FROM {S} WHERE lane > 2 AND load > 3 ORDER BY lane", "TOP cannot decide by an uncertain column",
     "load", "name a column without ~"),
    (f"SELECT TOP 2 k FROM {S} GROUP BY load ORDER BY lane", "TOP cannot decide by an uncertain column", "load",
     "name a column without ~"),
    (f"SELECT TOP 2 k FROM {S} JOIN lanes ON s.load = lanes.id ORDER BY lane",
     "TOP cannot decide by an uncertain column", "s.load", "name a column without ~"),
    (f"SELECT TOP 2 k FROM {S} LEFT JOIN lanes ON s.load = lanes.id ORDER BY lane",
     "TOP cannot decide by an uncertain column", "s.load", "name a column without ~"),
])
def test_a_ranking_reads_what_is_certain(select: str, fact: str, underlined: str, hint: str) -> None:
    text = f"{READINGS}CREATE QUERY q AS {select} PERIOD 1 MINUTE;"
    (error,) = errors(text)
    assert error.span is not None
    assert (error.code, error.fact, error.hint) == ("bind.uncertain-score", fact, hint)
    assert text[error.span.start : error.span.end] == underlined


def test_a_score_by_an_alias_is_what_it_stands_for() -> None:
    assert refused(f"SELECT TOP 2 k, lane + wait AS score FROM {S} ORDER BY score") == [
        ("bind.uncertain-score", "wait"), ("bind.uncertain-score", "wait"),
    ]


@pytest.mark.parametrize("select", [
    f"WITH a AS (SELECT kmh AS v FROM {S}) SELECT EXPECTED(max(v)) AS most FROM a",
    f"SELECT lane FROM {S} WHERE wait > 3 INTERSECT SELECT `Load` FROM {U} ORDER BY 1",
    f"SELECT DISTINCT a.lane FROM {S} a NATURAL JOIN {U} b",
    f"SELECT PROBABILITY(count(*) > 2) AS n FROM (SELECT kmh FROM {S}) x",
    f"SELECT lane FROM {U} INTERSECT SELECT x.load FROM {S} x",
    f"SELECT lane FROM {U} WHERE EXISTS (SELECT 1 FROM {S} x WHERE hi > x.load)",
])
def test_spark_reads_what_is_uncertain_in_every_round(select: str) -> None:
    query = compiled(f"{READINGS}CREATE QUERY q AS {select} PERIOD 1 MINUTE;").catalog.queries["q"]
    assert isinstance(query.body, Worlds)
    assert query.body.by_rows
    drawn = [window.drawn for window in query.body.statement.windows if window.drawn is not None]
    assert any(one.names for one in drawn)
    assert {one.rounds for one in drawn} == {100}


@pytest.mark.parametrize(("select", "underlined"), [
    (f"SELECT DISTINCT * FROM {S}", ["*"]),
    (f"SELECT x.*, stddev(x.load) OVER (PARTITION BY x.k) AS d FROM {S} AS x", ["*"]),
    (f"SELECT lane, EXISTS (SELECT 1 FROM {S} x WHERE hi > x.load) AS e FROM {U}", ["SELECT"]),
    (f"SELECT lane FROM (SELECT lane FROM {U}) u WHERE EXISTS (SELECT 1 FROM {S} x WHERE hi > x.load)", ["SELECT"]),
    (f"(SELECT wait FROM {S}) UNION SELECT load FROM {U}", ["("]),
    (f"FROM {S} |> SELECT wait", ["FROM", "|>"]),
    (f"SELECT y FROM {S} LATERAL VIEW explode(array(load)) z AS y", ["VIEW"]),
    (f"SELECT EXPECTED(wait) AS w FROM {S} UNION SELECT load FROM {U}", ["EXPECTED"]),
    (f"SELECT avg(w) AS w FROM (SELECT EXPECTED(wait) AS w FROM {S}) AS q", ["EXPECTED"]),
    (f"SELECT DISTINCT EXPECTED(wait) AS w FROM {S}", ["DISTINCT"]),
    (f"SELECT w FROM (SELECT avg(wait) AS w FROM {S}) [RANGE 5 MINUTES] AS q", ["[RANGE 5 MINUTES]"]),
    ("SELECT stddev(load) AS w FROM s [ROWS 5]", ["[ROWS 5]"]),
    (f"SELECT s.k, s.load FROM {S} RIGHT JOIN {U} ON s.load = u.load", ["s", "u"]),
    (f"SELECT s.k, s.load FROM lanes LEFT JOIN {S} ON s.load = lanes.id", ["s"]),
    (f"SELECT s.k, q.load FROM {S} LEFT JOIN (SELECT load, k FROM {U}) AS q ON s.load = q.load", ["u"]),
    (f"SELECT k, EXPECTED(stddev(wait)) AS w FROM {S} GROUP BY k ORDER BY k LIMIT 3 OFFSET 1", ["LIMIT"]),
    (f"SELECT k, stddev(wait) AS w FROM {S} GROUP BY k", ["stddev(wait)"]),
    (f"SELECT k, EXPECTED(stddev(wait)) AS w FROM {S} GROUP BY k HAVING count(*) > 1", ["count(*) > 1"]),
])
def test_what_spark_cannot_take_apart_is_refused(select: str, underlined: list[str]) -> None:
    assert refused(select) == [("plan.not-yet", word) for word in underlined]


@pytest.mark.parametrize(("select", "wrong"), [
    ("SELECT k, kmh FROM s", [("bind.missing-window", "s")]),
    ("SELECT k, PROBABILITY(avg(kmh) > 3) AS p, max(lain) AS m FROM s GROUP BY k",
     [("bind.missing-window", "s"), ("bind.unknown-column", "lain")]),
    ("SELECT EXPECTED(count(*)) AS n FROM s x", [("bind.missing-window", "s x")]),
    ("SELECT k, stddev(kmh) AS d FROM s GROUP BY k", [("bind.missing-window", "s")]),
    ("SELECT * FROM s WHERE load > 2", [("bind.missing-window", "s")]),
])
def test_worlds_have_a_window(select: str, wrong: list[tuple[str, str]]) -> None:
    assert sorted(refused(select)) == wrong


def test_the_key_of_a_window_is_certain() -> None:
    assert refused("SELECT lane FROM s [PARTITION BY load ROWS 3]") == [("plan.not-yet", "load")]
    assert refused("SELECT lane FROM s [PARTITION BY lane ROWS 3]") == []


@pytest.mark.parametrize("select", [
    f"SELECT k, count(*) AS n, max(lane) AS most, avg(sd) AS sd FROM {S} GROUP BY k",
    f"SELECT TOP 2 k, sd FROM {S} WHERE lane > 1 ORDER BY hi DESC",
    f"SELECT DISTINCT k, lane FROM {S}",
    f"SELECT DISTINCT lane AS load FROM {S}",
    f"SELECT DISTINCT kmh FROM {U}",
    f"SELECT count(*) AS n, avg(sd) AS sd FROM {S} UNION ALL {U}",
    f"SELECT TOP 2 k FROM {S} UNION ALL {U} ORDER BY lane",
])
def test_who_reads_nothing_uncertain_does_as_before(select: str) -> None:
    assert refused(select) == []


def test_united_streams_say_the_same_of_a_column() -> None:
    """Of ``load`` they do, of ``kmh`` they do not: that is no column of both."""
    text = f"{READINGS}CREATE QUERY q AS SELECT TOP 2 k FROM {S} UNION ALL {U} ORDER BY kmh PERIOD 1 MINUTE;"
    (error,) = errors(text)
    assert (error.code, error.detail) == (
        "bind.unknown-column",
        "all streams of a UNION ALL have to declare it, with one type and one distribution (~), if any",
    )
    assert refused(f"SELECT TOP 2 k FROM {S} UNION ALL {U} ORDER BY load") == [("bind.uncertain-score", "load")]


def test_the_state_knows_a_stream_by_what_is_stored() -> None:
    """Fingerprints of streams without ``~`` are what they were, and ``~`` changes none: rows are stored as read."""
    plain = program("x DOUBLE")
    assert fingerprint(Column("x", "DOUBLE")) == "109ff26c4e6adc6e"
    assert fingerprint(declared(program("x DOUBLE ~ NORMAL(x, sd)"))) != fingerprint(Column("x", "DOUBLE"))

    def meaning(text: str) -> tuple[str, str]:
        """Of rows that are retained, and of what panes keep."""
        query = "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 1 MINUTE] PERIOD 1 MINUTE;"
        catalog = compiled(text + query).catalog
        (unit,) = share_units([(one, needs_of(one)) for one in catalog.queries.values()]).units
        return stream_meaning(catalog.streams["s"]), unit_key(unit, catalog)

    assert meaning(program("x DOUBLE ~ NORMAL(x, sd)")) == meaning(plain)
    assert meaning(program("x DOUBLE ~ EMPIRICAL BY k IF x < 0")) == meaning(plain)
    assert meaning(program("x DOUBLE ~ UNIFORM(n, hi)")) == meaning(program("x DOUBLE ~ NORMAL(n, sd)"))
    assert meaning(program("x DOUBLE ~ UNIFORM(n, hi)")) != meaning(plain)


FRAME = (
    Column("ts", "TIMESTAMP"), Column("k", "STRING"), Column("Kmh", "DOUBLE"), Column("sd", "FLOAT"),
    Column("ints", "ARRAY<INT>"), Column("ws", "ARRAY<DOUBLE>"), Column("odd name", "INT"),
)
ROLES = {"ts": "EVENT TIME", "K": "KEY"}


def test_columns_of_a_frame() -> None:
    laws = {
        "kmh": "NORMAL(kmh, sd)", "wait": "UNIFORM(sd, KMH_LOW)", "state": "discrete(INTS, ws)",
        "odd name": "EMPIRICAL BY k IF `odd name` < 0",
    }
    with pytest.raises(ProgramErrors):
        uncertain_columns(FRAME, ROLES, laws)
    bound = uncertain_columns(FRAME, ROLES, laws | {"wait": "UNIFORM(sd, SD)"})
    assert bound[:2] == FRAME[:2]
    assert [(c.name, c.type) for c in bound[7:]] == [("wait", "DOUBLE"), ("state", "INT")]
    by_name = {column.name: column for column in bound}
    assert by_name["Kmh"] == Column("Kmh", "DOUBLE", None, GivenBy("NORMAL", ("Kmh", "sd")))
    assert sql(by_name["wait"].derived) == "CAST((NULL) AS DOUBLE)"
    assert by_name["state"].uncertain == GivenBy("DISCRETE", ("ints", "ws"))
    law = by_name["odd name"].uncertain
    assert isinstance(law, FoundBy)
    assert sql(law.missing_if) == "`odd name` < 0"
    assert uncertain_columns(FRAME, ROLES, {}) == FRAME


@pytest.mark.parametrize(("laws", "codes", "line"), [
    ({"kmh": "NORMAL(kmh, k)"}, ["bind.bad-parameter-type"], "kmh DOUBLE ~ NORMAL(kmh, k)"),
    ({"kmh": "NORMAL(kmh, sd) KEY"}, ["parse.syntax"], "kmh DOUBLE ~ NORMAL(kmh, sd) KEY"),
    ({"kmh": "NORMAL(kmh sd)"}, ["parse.syntax"], "kmh DOUBLE ~ NORMAL(kmh sd)"),
    ({"kmh": "GAUSS(kmh, sd)"}, ["parse.syntax"], "kmh DOUBLE ~ GAUSS(kmh, sd)"),
    ({"kmh": ""}, ["parse.syntax"], "kmh DOUBLE ~ "),
    ({"kmh": "EMPIRICAL BY k IF kmh = '"}, ["parse.syntax"], "kmh DOUBLE ~ EMPIRICAL BY k IF kmh = '"),
    ({"ts": "EMPIRICAL BY sd"}, ["bind.uncertain-role"], "ts TIMESTAMP ~ EMPIRICAL BY sd"),
    ({"k": "EMPIRICAL BY sd"}, ["bind.uncertain-role"], "k STRING ~ EMPIRICAL BY sd"),
    ({"rain": "EMPIRICAL BY k"}, ["bind.unknown-column"], "rain ~ EMPIRICAL BY k"),
    ({"kmh": "NORMAL(kmh, sd)", "KMH": "EMPIRICAL BY k"}, ["bind.duplicate-name"], "KMH DOUBLE ~ EMPIRICAL BY k"),
    ({"kmh": "NORMAL(kmh, sd)", "sd": "UNIFORM(sd, Kmh)"}, ["bind.uncertain-parameter"] * 2, "sd FLOAT ~ UNIFORM"),
    ({"odd name": "NORMAL(sd, sd)"}, ["bind.bad-uncertain-type"], "`odd name` INT ~ NORMAL(sd, sd)"),
    ({"state": "DISCRETE(kmh, ws)"}, ["bind.bad-parameter-type"], "state ~ DISCRETE(kmh, ws)"),
])
def test_what_is_wrong_with_columns_of_a_frame(laws: dict[str, str], codes: list[str], line: str) -> None:
    with pytest.raises(ProgramErrors) as caught:
        uncertain_columns(FRAME, ROLES, laws)
    assert [error.code for error in caught.value.errors] == codes
    assert line in caught.value.render()
    assert all(error.span is not None for error in caught.value.errors)


def test_an_error_in_a_frame_is_underlined() -> None:
    with pytest.raises(ProgramErrors) as caught:
        uncertain_columns(FRAME, ROLES, {"wait": "UNIFORM(sd, sd)", "kmh": "NORMAL(kmh, k)"})
    assert caught.value.render() == (
        'error[bind.bad-parameter-type]: NORMAL is made of numbers, and column "k" is STRING\n'
        "   2 | kmh DOUBLE ~ NORMAL(kmh, k)\n"
        "     |                          ^\n"
        "hint: declare it as a number, for example: k DOUBLE"
    )


def test_streams_say_which_distributions_rows_give() -> None:
    stream = compiled(READINGS).catalog.streams["s"]
    assert isinstance(stream, Stream)
    assert stream.given_laws == (
        ("kmh", GivenBy("NORMAL", ("kmh", "sd"))), ("wait", GivenBy("UNIFORM", ("sd", "hi"))),
    )
