"""Functions that a standing query treats in a way of its own: those that do not repeat, that make rows, aggregates.

Which functions there are, and of which types, only Spark can say; this is only what must be known before.
"""

from __future__ import annotations

from collections.abc import Collection

from punctual.errors import BindError, PunctualError, Span
from punctual.plan.functions import canonical
from punctual.sql.expressions.scope import Scope
from punctual.sql.problems import not_yet
from punctual.sql.syntax.expression import Call, ExpressionSyntax, NeedsRowsError

NOT_REPEATABLE = frozenset((
    "rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle", "current_timestamp", "current_date",
    "current_time", "curdate", "localtimestamp", "monotonically_increasing_id", "spark_partition_id",
    "input_file_name", "input_file_block_start", "input_file_block_length", "reflect", "java_method", "try_reflect",
    "version", "current_user", "user", "session_user", "current_timezone", "current_catalog", "current_database",
    "current_schema",
))
WITHOUT_BRACKETS = frozenset((
    "current_timestamp", "current_date", "current_time", "localtimestamp", "current_user", "session_user", "user",
))
GENERATORS = frozenset((
    "explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack", "json_tuple",
))
"""Functions that make several rows, or none, out of one."""
MONTE_CARLO = frozenset(("expected", "probability", "interval", "histogram"))
WINDOW_MAKERS = frozenset(("window", "session_window", "window_time"))
GROUPING = frozenset(("rollup", "cube", "grouping", "grouping_id"))
OTHER_AGGREGATES = frozenset((
    "percentile", "percentile_cont", "percentile_disc", "median", "mode", "collect_list", "collect_set", "array_agg",
    "max_by", "min_by", "corr", "covar_pop", "covar_samp", "kurtosis", "skewness", "bool_and", "bool_or", "every",
    "any", "some", "bit_and", "bit_or", "bit_xor", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2",
    "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "histogram_numeric", "try_sum", "try_avg", "listagg",
    "string_agg", "count_min_sketch", "hll_sketch_agg", "hll_union_agg", "theta_sketch_agg", "theta_union_agg",
    "theta_intersection_agg", "approx_top_k", "approx_top_k_accumulate", "approx_top_k_combine", "collect_union",
    "measure", "bitmap_construct_agg", "bitmap_or_agg", "bitmap_and_agg",
    *(f"kll_{part}_agg_{kind}" for part in ("sketch", "merge") for kind in ("bigint", "float", "double")),
    *(f"tuple_{part}_agg_{kind}" for part in ("sketch", "union", "intersection") for kind in ("double", "integer")),
))


def is_aggregate(name: str) -> bool:
    """Whether a call makes one value of many rows, be it here yet or not."""
    return canonical(name) is not None or name in OTHER_AGGREGATES or name in MONTE_CARLO


def refuse_aggregate(expression: ExpressionSyntax, call: Call) -> PunctualError | None:
    """Why an aggregate cannot be answered from panes; None where it can."""
    span = expression.place(call.first, call.end)
    if call.name in MONTE_CARLO:
        return not_yet(f"{call.name.upper()}(...)", span)
    if canonical(call.name) is None:
        return NeedsRowsError(f"the aggregate {call.name}", span)
    return None


def refuse_calls(
    expression: ExpressionSyntax, scope: Scope, aliases: Collection[str] = ()
) -> list[PunctualError]:
    """Every call of an expression, aggregates aside, that no standing query may make.

    A column of the scope and an alias (in lower case) are none, even where they look like ``current_user``.
    """
    errors = [error for call in expression.calls if (error := _refusal(expression, call)) is not None]
    called = {call.first for call in expression.calls}
    for index, token in enumerate(expression.tokens):
        name = token.word.lower()
        field = index > 0 and expression.tokens[index - 1].word == "."
        looks_so = name in WITHOUT_BRACKETS and index not in called and not field
        if looks_so and name not in aliases and not scope.find((name,)):
            errors.append(not_repeatable(name, token.span))
    return errors


def _refusal(expression: ExpressionSyntax, call: Call) -> PunctualError | None:
    name, span = call.name, expression.place(call.first, call.end)
    if call.window is not None:
        return NeedsRowsError(f"{name} with {expression.text_at(call.window)}", call.window)
    if name in NOT_REPEATABLE or (name == "unix_timestamp" and not call.arguments):
        return not_repeatable(name, span)
    if name in GENERATORS:
        return NeedsRowsError(f"{name}(...)", span, BindError(
            "bind.makes-rows", f"{name} makes several rows out of one", span=span,
            detail="a row of a stream counts once, in every query that reads it",
            hint="keep the array whole, for example: size(a), array_contains(a, 3), aggregate(a, 0, (s, x) -> s + x)",
        ))  # fmt: skip
    if name in WINDOW_MAKERS:
        return NeedsRowsError(f"{name}(...)", span)
    if name in GROUPING:
        return NeedsRowsError(name.upper(), span)
    return None


def not_repeatable(name: str, span: Span) -> BindError:
    """The refusal of a function whose result depends on when or where it is computed."""
    hint = "now() is the instant of the answer" if "time" in name or "date" in name else None
    return BindError(
        "bind.not-repeatable",
        f"{name} does not repeat",
        span=span,
        detail="the same rows must give the same answer whenever and wherever it is computed",
        hint=hint,
    )
