"""The parser keeps every value that it reads: clauses, models, uncertain attributes, windows, the tree of FROM."""

from __future__ import annotations

import pytest

from punctual.clock import SECOND
from punctual.errors import PunctualError
from punctual.sql.syntax.clauses import (
    AnswersClause,
    Clause,
    ConfidenceClause,
    DeadlineClause,
    ErrorClause,
    EveryClause,
    FrequencyClause,
    PeriodClause,
    QualityClause,
    RoundsClause,
    SampleClause,
    StableClause,
)
from punctual.sql.syntax.models import FittedModel, PolynomialModel, SolvedModel
from punctual.sql.syntax.parse_statement import parse_statement
from punctual.sql.syntax.select import (
    FromItem,
    FromJoin,
    FromSyntax,
    FromUnion,
    NowWindow,
    RangeWindow,
    RowsWindow,
    SelectSyntax,
    leaves,
)
from punctual.sql.syntax.statement import (
    CreateQuerySyntax,
    CreateRelationSyntax,
    DropSyntax,
    FitModelSyntax,
    GivenDistribution,
    MissingValue,
    ReadModelSyntax,
    StatementSyntax,
)
from punctual.sql.syntax.tokens import tokenize
from punctual.sql.syntax.written import Duration, Precision

MINUTE = 60 * SECOND


def parsed(text: str) -> StatementSyntax:
    tokens, broken = tokenize(text)
    assert broken is None
    return parse_statement(text, tokens)


def select(text: str) -> SelectSyntax:
    statement = parsed(f"CREATE QUERY q AS {text}")
    assert isinstance(statement, CreateQuerySyntax)
    return statement.select


def clause(text: str) -> Clause:
    whole = f"SELECT a FROM s {text} LIMIT 3"
    query = select(whole)
    assert query.limit == 3  # the clause ended where it should
    (found,) = query.clauses
    assert f"CREATE QUERY q AS {whole}"[found.span.start : found.span.end] == text
    return found


def durations(*found: Duration | None) -> tuple[int | None, ...]:
    return tuple(None if one is None else one.us for one in found)


def bound(precision: Precision | None) -> tuple[float | None, float | None] | None:
    return None if precision is None else (precision.relative, precision.absolute)


def test_clauses_of_one_duration() -> None:
    for text, kind in (
        ("PERIOD 2 SECONDS", PeriodClause), ("FREQUENCY 2 SECONDS", FrequencyClause),
        ("DEADLINE 2 SECONDS", DeadlineClause), ("SAMPLE EVERY 2 SECONDS", SampleClause),
    ):
        found = clause(text)
        assert type(found) is kind
        assert isinstance(found, PeriodClause | FrequencyClause | DeadlineClause | SampleClause)
        assert found.duration.us == 2 * SECOND


def test_anytime_clauses() -> None:
    answers = clause("ANSWERS WITHIN 1 SECOND, 5 SECONDS, 1 MINUTE")
    assert isinstance(answers, AnswersClause)
    assert durations(*answers.deadlines) == (SECOND, 5 * SECOND, MINUTE)
    rounds = clause("ROUNDS 100")
    assert isinstance(rounds, RoundsClause)
    assert rounds.rounds == 100
    confidence = clause("CONFIDENCE 95% WITHIN 0.5")
    assert isinstance(confidence, ConfidenceClause)
    assert (confidence.confidence.value, bound(confidence.within)) == (0.95, (None, 0.5))
    stable = clause("STABLE 5%")
    assert isinstance(stable, StableClause)
    assert stable.share == 0.05


def test_every() -> None:
    every = clause("EVERY 1 MINUTE BY 5 SECONDS ERROR WITHIN 1% OR 0.01 AT 95%")
    assert isinstance(every, EveryClause)
    assert durations(every.period, every.deadline) == (MINUTE, 5 * SECOND)
    assert every.confidence is not None
    assert (bound(every.within), every.confidence.value) == ((0.01, 0.01), 0.95)
    short = clause("EVERY 1 MINUTE BY 5 SECONDS ERROR WITHIN 3")
    assert isinstance(short, EveryClause)
    assert (bound(short.within), short.confidence) == ((None, 3.0), None)


@pytest.mark.parametrize(("text", "bounds", "split"), [
    ("ERROR WITHIN 1%", [(0.01, None, None)], None),
    ("ERROR WITHIN 0.5", [(None, 0.5, None)], None),
    ("ERROR WITHIN 1% OR 0.25 ON a SPLIT EQUAL", [(0.01, 0.25, "a")], "EQUAL"),
    ("ERROR WITHIN 2%, 0.5 ON b, 1% OR 3 ON `c d` SPLIT mine",
     [(0.02, None, None), (None, 0.5, "b"), (0.01, 3.0, "c d")], "mine"),
    ("ERROR WITHIN -1 ON a", [(None, -1.0, "a")], None),
])
def test_error(text: str, bounds: list[tuple[float | None, float | None, str | None]], split: str | None) -> None:
    error = clause(text)
    assert isinstance(error, ErrorClause)
    found = [(b.within.relative, b.within.absolute, b.output.text if b.output else None) for b in error.bounds]
    assert found == bounds
    assert (error.split.text if error.split else None) == split


@pytest.mark.parametrize(("text", "points"), [
    ("QUALITY (100% => 1, 50% => 0.9, 10% => 0.4)",
     [(1.0, [(None, 1.0)]), (0.9, [(None, 0.5)]), (0.4, [(None, 0.1)])]),
    ("QUALITY (1 => (a 100%, b 100%), 0.7 => (a 60%, b 30%))",
     [(1.0, [("a", 1.0), ("b", 1.0)]), (0.7, [("a", 0.6), ("b", 0.3)])]),
])
def test_quality_tables(text: str, points: list[tuple[float, list[tuple[str | None, float]]]]) -> None:
    quality = clause(text)
    assert isinstance(quality, QualityClause)
    assert not isinstance(quality.curve, str)
    assert [
        (p.quality, [(s.input.text if s.input else None, s.share.value) for s in p.shares]) for p in quality.curve
    ] == points


@pytest.mark.parametrize("shape", ["CONVEX", "LINEAR", "CONCAVE"])
def test_quality_shapes(shape: str) -> None:
    quality = clause(f"QUALITY {shape}")
    assert isinstance(quality, QualityClause)
    assert quality.curve == shape


def item(text: str) -> FromItem:
    source = select(f"SELECT a FROM {text} PERIOD 1 SECOND").source
    assert isinstance(source, FromItem)
    return source


@pytest.mark.parametrize(("text", "within", "degree", "gap", "horizon"), [
    ("x FIT", None, None, None, None),
    ("x FIT WITHIN 0.5", (None, 0.5), None, None, None),
    ("x FIT WITHIN 1% OR 0.01 DEGREE 5 GAP 60 SECONDS FOR 30 SECONDS", (0.01, 0.01), 5, MINUTE, 30 * SECOND),
    ("s.x FIT FOR 1 SECOND GAP 2 SECONDS DEGREE 0 WITHIN 1%", (0.01, None), 0, 2 * SECOND, SECOND),
])
def test_fits(text: str, within: object, degree: int | None, gap: int | None, horizon: int | None) -> None:
    model = item(f"gps MODEL {text} AS s").model
    assert isinstance(model, FittedModel)
    assert (bound(model.fit.within), model.fit.degree) == (within, degree)
    assert durations(model.fit.gap, model.fit.horizon) == (gap, horizon)
    (attribute,) = model.attributes
    qualifier = "s" if text.startswith("s.") else None
    assert (attribute.name.text, attribute.item and attribute.item.text) == ("x", qualifier)


def test_polynomials() -> None:
    model = item("gps AS g MODEL (x = x + v * t, g.y = y) FOR 60 SECONDS").model
    assert isinstance(model, PolynomialModel)
    assert [a.name.text for a in model.attributes] == ["x", "y"]
    assert [a.item.text if a.item else None for a in model.attributes] == [None, "g"]
    assert [e.text for e in model.expressions] == ["x + v * t", "y"]
    assert model.horizon.us == MINUTE
    one = item("gps MODEL x = x + v * t FOR 5 SECONDS g").model
    assert isinstance(one, PolynomialModel)
    assert ([e.text for e in one.expressions], one.horizon.us) == (["x + v * t"], 5 * SECOND)


def test_solvers() -> None:
    model = item("gps MODEL x BY linear_ode(x, a * 2, -1) FOR 60 SECONDS").model
    assert isinstance(model, SolvedModel)
    assert (model.solver.text, [a.text for a in model.arguments]) == ("linear_ode", ["x", "a * 2", "-1"])
    assert durations(model.horizon) == (MINUTE,)


def test_stored_models() -> None:
    fit = parsed("CREATE MODEL speeds AS FIT kmh WITHIN 0.5 DEGREE 1 GAP 60 SECONDS BY sensor, lane FROM speed")
    assert isinstance(fit, FitModelSyntax)
    assert (fit.name.text, fit.attribute.text, fit.stream.text) == ("speeds", "kmh", "speed")
    assert ([key.text for key in fit.keys], fit.fit.degree) == (["sensor", "lane"], 1)
    assert (bound(fit.fit.within), durations(fit.fit.gap)) == ((None, 0.5), (MINUTE,))
    read = parsed("CREATE MODEL given FROM FILES 'models/speeds' FORMAT PARQUET OPTIONS (a 'b')")
    assert isinstance(read, ReadModelSyntax)
    assert (read.files.path.text, read.files.format, read.files.options) == ("models/speeds", "PARQUET", (("a", "b"),))
    drop = parsed("DROP MODEL speeds")
    assert isinstance(drop, DropSyntax)
    assert (drop.kind, drop.name.text) == ("model", "speeds")


def uncertain(text: str) -> GivenDistribution | MissingValue:
    statement = parsed(f"CREATE STREAM s (ts TIMESTAMP EVENT TIME, x DOUBLE ~ {text} KEY, y INT) FROM FEED")
    assert isinstance(statement, CreateRelationSyntax)
    found = statement.columns[1].uncertain
    assert found is not None
    assert statement.columns[1].role("KEY") is not None
    assert len(statement.columns) == 3
    return found


@pytest.mark.parametrize(("text", "kind", "columns"), [
    ("NORMAL(kmh, kmh_sd)", "NORMAL", ["kmh", "kmh_sd"]), ("UNIFORM(lo, hi)", "UNIFORM", ["lo", "hi"]),
    ("DISCRETE(states, weights)", "DISCRETE", ["states", "weights"]),
])
def test_given_distributions(text: str, kind: str, columns: list[str]) -> None:
    found = uncertain(text)
    assert isinstance(found, GivenDistribution)
    assert (found.kind, [name.text for name in found.columns]) == (kind, columns)


@pytest.mark.parametrize(("text", "kind", "columns", "neighbours", "within", "condition"), [
    ("EMPIRICAL BY branch", "EMPIRICAL", ["branch"], None, None, None),
    ("EMPIRICAL BY branch IF x < 0", "EMPIRICAL", ["branch"], None, None, "x < 0"),
    ("INTERPOLATED BY station WITHIN 30 MINUTES", "INTERPOLATED", ["station"], None, 30 * MINUTE, None),
    ("NEAREST 10 BY (lat, lon)", "NEAREST", ["lat", "lon"], 10, None, None),
])
def test_missing_values(
    text: str, kind: str, columns: list[str], neighbours: int | None, within: int | None, condition: str | None
) -> None:
    found = uncertain(text)
    assert isinstance(found, MissingValue)
    assert (found.kind, [name.text for name in found.columns], found.neighbours) == (kind, columns, neighbours)
    assert durations(found.within) == (within,)
    assert (found.condition.text if found.condition else None) == condition


def test_windows() -> None:
    ranged = item("s [SIZE 30 ADVANCE 10]").window
    assert isinstance(ranged, RangeWindow)
    assert durations(ranged.length, ranged.slide) == (30 * SECOND, 10 * SECOND)
    assert isinstance(item("s [NOW]").window, NowWindow)
    rows = item("s [ROWS 10]").window
    assert isinstance(rows, RowsWindow)
    assert (rows.rows, rows.partition) == (10, ())
    parts = item("s [PARTITION BY k, upper(j) ROWS 7]").window
    assert isinstance(parts, RowsWindow)
    assert (parts.rows, [key.text for key in parts.partition]) == (7, ["k", "upper(j)"])


def shape(tree: FromSyntax) -> object:
    """The tree as nested tuples of labels."""
    match tree:
        case FromItem():
            return tree.label
        case FromJoin():
            on = tree.on.text if tree.on is not None else None
            return (("natural " if tree.natural else "") + tree.kind, shape(tree.left), shape(tree.right), on)
        case FromUnion():
            return ("union", *map(shape, tree.parts), tree.alias.text if tree.alias else None)


@pytest.mark.parametrize(("text", "tree"), [
    ("a", "a"),
    ("a AS x, b y", ("comma", "x", "y", None)),
    ("a, b JOIN c ON c.i = b.i", ("inner", ("comma", "a", "b", None), "c", "c.i = b.i")),
    ("a LEFT JOIN b ON x = y INNER JOIN c ON z = y",
     ("inner", ("left outer", "a", "b", "x = y"), "c", "z = y")),
    ("a JOIN (b LEFT OUTER JOIN c ON u = v) ON x = y", ("inner", "a", ("left outer", "b", "c", "u = v"), "x = y")),
    ("a [NOW] UNION ALL b [NOW] JOIN c ON x = y", ("inner", ("union", "a", "b", None), "c", "x = y")),
    ("(a [NOW] UNION ALL b [NOW]) AS both, c", ("comma", ("union", "a", "b", "both"), "c", None)),
    ("c, a [NOW] UNION ALL b [NOW]", ("comma", "c", ("union", "a", "b", None), None)),
    ("a JOIN c ON x = y UNION ALL b", ("union", ("inner", "a", "c", "x = y"), "b", None)),
    ("a CROSS JOIN b", ("cross", "a", "b", None)),
    ("a RIGHT JOIN b ON x = y", ("right outer", "a", "b", "x = y")),
    ("a FULL OUTER JOIN b ON x = y", ("full outer", "a", "b", "x = y")),
    ("a LEFT SEMI JOIN b ON x = y", ("left semi", "a", "b", "x = y")),
    ("a LEFT ANTI JOIN b ON x = y", ("left anti", "a", "b", "x = y")),
    ("a NATURAL LEFT JOIN b", ("natural left outer", "a", "b", None)),
    ("((a))", "a"), ("(a) AS x", "x"),
])
def test_the_tree_of_from(text: str, tree: object) -> None:
    assert shape(select(f"SELECT k FROM {text} WHERE k = 1 PERIOD 1 SECOND").source) == tree


def test_subqueries() -> None:
    source = item("(SELECT lane FROM speed [NOW] WHERE kmh > 3 LIMIT 2) [RANGE 1 MINUTE] AS x")
    assert isinstance(source.source, SelectSyntax)
    assert (source.source.limit, source.label) == (2, "x")
    assert [leaf.label for leaf in leaves(source.source.source)] == ["speed"]


def test_the_item_before_a_star_is_kept() -> None:
    (first, second) = select("SELECT *, s.* FROM speed [NOW] s").items
    assert first.star_of is None
    assert second.star_of is not None
    assert second.star_of.text == "s"


@pytest.mark.parametrize("text", [
    "SELECT a FROM " + "(" * 200 + "b" + ")" * 200,
    "SELECT a FROM " + "(SELECT a FROM " * 200 + "b" + ")" * 200,
    "SELECT a FROM b" + " UNION ALL SELECT a FROM b" * 2000,
    "SELECT a FROM b" + ", b" * 5000,
])
def test_what_is_too_deep_is_refused(text: str) -> None:
    with pytest.raises(PunctualError, match="more than"):
        select(text)

