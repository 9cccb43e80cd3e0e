"""Whether a query reads nothing but the program's relations, and gives the same answer for the same rows.

The rows of a window come in one order, always, and stay in one partition, so what depends on the order of rows
(``first``, ``collect_list``) does repeat. What depends on chance, on the clock or on the session does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from pyspark.sql import DataFrame

from punctual.errors import PunctualError
from punctual.own_names import MARK
from punctual.runtime.row_queries.plan_nodes import plan_nodes
from punctual.runtime.row_queries.refusals import Refusals

OWN_LEAVES = frozenset((
    "OneRowRelation", "LocalRelation", "Range", "CTERelationRef", "UnionLoopRef", "ResolvedInlineTable",
))
"""Leaves of plans that read nothing: our views are mapped ranges, the others stand in the query itself."""
SCRIPT, SAMPLE = "ScriptTransformation", frozenset(("tablesample",))
CHANCE = ("Nondeterministic", "ExpressionWithRandomSeed")
"""Traits of expressions that depend on chance, or on where a row lies."""
EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
CURRENT = frozenset((
    "current_timestamp", "current_date", "current_time", "curdate", "localtimestamp", "now", "unix_timestamp",
    "current_user", "user", "session_user", "current_catalog", "current_database", "current_schema", "current_timezone",
))
"""Functions of the clock and the session, which Spark calls deterministic."""
CLOCK_TYPES = frozenset(("date", "timestamp", "timestamp_ltz", "timestamp_ntz"))
CLOCK_LITERALS = frozenset(("now", "today", "tomorrow", "yesterday"))
"""Literals that Spark reads the clock for: ``TIMESTAMP'now'``."""
_LAST_NAME = re.compile(r"([^.`\s]+)`?$")
_VIEW = re.compile(r"^\((?:`[^`]+`\.)*`([^`]+)`, ")


def not_repeatable_words(refusals: Refusals) -> PunctualError | None:
    """What does not repeat and is told by its words alone: samples, and literals that are read from the clock."""
    sample = refusals.place_of_call(SAMPLE)
    found = ("TABLESAMPLE", sample[1]) if sample else refusals.place_of_literal(CLOCK_TYPES, CLOCK_LITERALS)
    return refusals.not_repeatable(*found) if found else None


def foreign_or_not_repeatable(frame: DataFrame, refusals: Refusals) -> PunctualError | None:
    """What a standing query may not read or call; None where there is nothing."""
    plan = frame._jdf.queryExecution().analyzed()
    nodes = plan_nodes(plan)
    for node in nodes:
        view = _VIEW.match(node.rest) if node.name == "View" else None
        own_name = view is None or view[1].startswith(MARK) or (view[0].count("`") == 2 and refusals.is_table(view[1]))
        if view is not None and not own_name:
            return refusals.unknown_relation(view[1])
    for above, node in pairwise(nodes):
        if node.leaf and node.name not in OWN_LEAVES:
            name = _LAST_NAME.search(above.rest) if above.name == "SubqueryAlias" else None
            return refusals.unknown_relation(name[1] if name else node.name)
    if any(node.name == SCRIPT for node in nodes):
        return refusals.not_repeatable("TRANSFORM with a script", refusals.place_of("transform"))
    jvm: Any = frame.sparkSession._jvm
    if plan.containsPattern(jvm.org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE()):
        return _call(refusals, CURRENT, "a function of the clock or the session")
    if not plan.deterministic():
        chance = {name for name in _classes(json.loads(plan.toJSON())) if _is_chance(jvm, name)}
        if chance:
            return _call(refusals, _names_of(frame, refusals.called, chance), "a function of chance")
    return None


def _call(refusals: Refusals, names: frozenset[str], otherwise: str) -> PunctualError:
    place = refusals.place_of_call(names)
    return refusals.not_repeatable(*(place or (otherwise, None)))


def _classes(tree: Any) -> Iterator[str]:
    """The classes of all nodes and expressions of a plan."""
    if isinstance(tree, list):
        for one in tree:
            yield from _classes(one)
    elif isinstance(tree, dict):
        if "class" in tree:
            yield tree["class"]
        for one in tree.values():
            yield from _classes(one)


def _is_chance(jvm: Any, name: str) -> bool:
    load = jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass
    found = load(name)
    return any(load(EXPRESSIONS + trait).isAssignableFrom(found) for trait in CHANCE)


def _names_of(frame: DataFrame, called: list[str], classes: set[str]) -> frozenset[str]:
    """Those functions that are expressions of these classes."""
    spark = frame.sparkSession
    registry = spark._jsparkSession.sessionState().functionRegistry()
    found = set()
    jvm: Any = spark._jvm
    some = jvm.scala.Option.apply
    for name in called:
        identifier = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name, some("builtin"), some("system"))
        info = registry.lookupFunction(identifier)
        if info.isDefined() and info.get().getClassName().removesuffix("ExpressionBuilder") in classes:
            found.add(name)
    return frozenset(found)
