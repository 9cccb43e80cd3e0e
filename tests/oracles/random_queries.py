"""Random row queries of a small grammar, in text that DuckDB and Spark understand alike.

One seed gives one text. A query is a SELECT, or two under a set operation, over windows of streams, a static table,
subqueries and names of WITH; each column of it has a type that is chosen beforehand, so that both sides of a set
operation fit. Left out is what the two understand differently, or what no order of rows determines:

- ``avg`` of DECIMAL (a DECIMAL in Spark, a DOUBLE in DuckDB), division and products of DECIMAL (other scales), sums of
  DECIMAL without a cast (DuckDB's have 38 digits, which leaves no room for the larger scale of another side);
- sums of fractions that are not exact: numbers are multiples of a quarter; variances and percentiles;
- -0.0 among values that are grouped or made distinct: which of two equal zeros is shown is nobody's promise;
- ``row_number``, ``lag``, frames by ROWS and inner LIMIT without an order of all columns;
- casts of fractions to integers, differences of timestamps, ``concat`` with NULL, division of integers by DIV;
- subqueries that are correlated by an inequality and have an aggregate, which Spark refuses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

STREAMS = {
    "s": {"ts": "time", "k": "text", "i": "int", "n": "int", "v": "real", "b": "truth", "d": "day", "u": "time",
          "m": "money"},
    "r": {"ts": "time", "k": "text", "j": "int", "w": "real", "e": "day", "x": "money", "f": "truth"},
    "p": {"ts": "time", "k": "text", "i": "int", "n": "int"},
}  # fmt: skip
"""The columns of the streams by type; those of the same name and type may be joined by USING."""
TABLE = {"id": "int", "code": "text", "label": "text", "price": "money"}
PROGRAM = """
CREATE STREAM s (
    ts TIMESTAMP EVENT TIME WATERMARK {watermark} SECONDS, k STRING, i INT, n BIGINT, v DOUBLE, b BOOLEAN, d DATE,
    u TIMESTAMP, m DECIMAL(10,2)
) FROM FEED;
CREATE STREAM r (
    ts TIMESTAMP EVENT TIME WATERMARK {watermark} SECONDS, k STRING, j INT, w DOUBLE, e DATE, x DECIMAL(8,3), f BOOLEAN
) FROM FEED;
CREATE STREAM p (ts TIMESTAMP EVENT TIME WATERMARK {watermark} SECONDS, k STRING, i INT, n BIGINT) FROM FEED;
CREATE TABLE dims (id INT, code STRING, label STRING, price DECIMAL(6,2)) FROM FILES 'dims.csv' FORMAT CSV;
"""
TABLE_TEXT = "id,code,label,price\n1,a,first,1.50\n2,b,second,\n2,b,again,2.25\n3,,none,0.00\n,c,lost,10.00\n"
LITERALS = {
    "text": ("'a'", "'b'", "'é'", "''"),
    "int": ("0", "1", "2", "3", "-1"),
    "real": ("CAST(0.5 AS DOUBLE)", "CAST(2 AS DOUBLE)", "CAST(-1.25 AS DOUBLE)"),
    "truth": ("true", "false"),
    "day": ("DATE '2023-11-14'", "DATE '1969-12-31'"),
    "time": ("TIMESTAMP '2023-11-14 22:13:25'", "TIMESTAMP '1969-12-31 23:59:59.999999'"),
    "money": ("CAST(1.5 AS DECIMAL(10,2))", "CAST(0 AS DECIMAL(10,2))"),
}
TYPES = tuple(LITERALS)
LONGEST = 700
"""Characters of a text: what Spark needs to plan it grows faster than that."""
RARELY_EQUAL = ("time", "real")
PERIOD_S = 5
RANGES_S = (2, 4, 5, 9, 15)
Scope = tuple[tuple[str, str], ...]
"""Columns that may be named, and their types."""


@dataclass
class _Writer:
    """Writes one query; names are counted, so that no two are the same."""

    rng: Random
    named: int = 0
    common: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    """Names of WITH that may be read, and the types of their columns c1, c2, ..."""

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def name(self) -> str:
        self.named += 1
        return f"t{self.named}"

    # -- what stands in FROM -----------------------------------------------------------------------

    def windowed(self, stream: str) -> tuple[str, Scope]:
        alias = self.name()
        window = f"RANGE {self.rng.choice(RANGES_S)} SECONDS" if self.chance(0.95) else "NOW"
        scope = tuple((f"{alias}.{column}", kind) for column, kind in STREAMS[stream].items())
        return f"{stream} [{window}] {'AS ' if self.chance(0.8) else ''}{alias}", scope

    def item(self, depth: int) -> tuple[str, Scope]:
        """A window, a table, a subquery or a name of WITH, with its columns."""
        draw = self.rng.random()
        if draw < 0.1:
            alias = self.name()
            return f"dims AS {alias}", tuple((f"{alias}.{column}", kind) for column, kind in TABLE.items())
        if draw < 0.25 and self.common:
            found, types = self.rng.choice(self.common)
            return self.aliased(found, types)
        if draw < 0.45 and depth > 0:
            types = self.types(3)
            inner = self.nested(types, depth - 1) if self.chance(0.2) else self.select(types, depth - 1)
            if self.chance(0.15):
                inner += f" ORDER BY {', '.join(_columns(types))} LIMIT {self.rng.randrange(1, 6)}"
            return self.aliased(f"({inner})", types)
        return self.windowed(self.rng.choice(tuple(STREAMS)))

    def nested(self, types: Sequence[str], depth: int) -> str:
        """A SELECT with a WITH of its own."""
        before = list(self.common)
        inner, name = self.types(2), self.name()
        text = self.select(inner, depth)
        self.common.append((name, tuple(inner)))
        whole = f"WITH {name} AS ({text}) {self.select(types, depth)}"
        self.common = before
        return whole

    def aliased(self, relation: str, types: Sequence[str]) -> tuple[str, Scope]:
        alias = self.name()
        return f"{relation} AS {alias}", tuple((f"{alias}.c{i}", kind) for i, kind in enumerate(types, 1))

    def source(self, depth: int) -> tuple[str, Scope]:
        """One item or a join of two, seldom three."""
        text, scope = self.item(depth) if self.chance(0.5) else self.windowed(self.rng.choice(tuple(STREAMS)))
        for _join in range(self.rng.choice((0, 0, 1, 1, 1, 1, 1, 1, 2))):
            other, columns = self.item(depth)
            draw = self.rng.random()
            if draw < 0.08:
                text, scope = f"{text} CROSS JOIN {other}", scope + columns
            elif draw < 0.28:
                kind = self.rng.choice(("LEFT SEMI JOIN", "LEFT ANTI JOIN"))
                text = f"{text} {kind} {other} ON {self.matching(scope, columns)}"
            else:
                kind = self.rng.choice(("JOIN", "INNER JOIN", "LEFT JOIN", "RIGHT OUTER JOIN", "FULL OUTER JOIN"))
                text = f"{text} {kind} {other} ON {self.matching(scope, columns)}"
                scope += columns
        return text, scope

    def matching(self, left: Scope, right: Scope) -> str:
        """A condition between two sides: an equality, an inequality, or both."""
        pairs = [(a, b, kind) for a, kind in left for b, other in right if kind == other]
        if not pairs:
            return self.truth(left + right, 1)
        a, b, _kind = self.rng.choice([pair for pair in pairs if pair[2] not in RARELY_EQUAL] or pairs)
        c, d, kind = self.rng.choice(pairs)
        more = f"{c} {self.rng.choice(('<', '<=', '>', '<>'))} {d}"
        if kind == "time" and self.chance(0.5):
            more = f"{c} BETWEEN {d} - INTERVAL 3 SECONDS AND {d}"
        equal = f"{a} {'<=>' if self.chance(0.1) else '='} {b}"
        also = self.truth(left + right, 0)
        return self.rng.choice((equal, equal, equal, f"{equal} AND {more}", f"{equal} AND {also}", more))

    # -- expressions -------------------------------------------------------------------------------

    def column(self, scope: Scope, kind: str) -> str:
        """A column of a type, or a literal where there is none."""
        fitting = [name for name, other in scope if other == kind]
        return self.rng.choice(fitting) if fitting else self.rng.choice(LITERALS[kind])

    def value(self, scope: Scope, kind: str, depth: int = 1) -> str:
        """An expression of a type."""
        column = self.column(scope, kind)
        if depth == 0 or self.chance(0.55):
            return column
        literal = self.rng.choice(LITERALS[kind])
        if self.chance(0.2):
            return f"coalesce({column}, {literal})"
        if self.chance(0.2):
            truth = self.truth(scope, depth - 1)
            return f"CASE WHEN {truth} THEN {column} ELSE {self.value(scope, kind, depth - 1)} END"
        return self.rng.choice(self.forms(scope, kind, column))

    def forms(self, scope: Scope, kind: str, column: str) -> Sequence[str]:
        match kind:
            case "text":
                number = self.column(scope, "int")
                return f"upper({column})", f"{column} || 'x'", f"CAST({number} AS STRING)", f"nullif({column}, 'a')"
            case "int":
                day, text = self.column(scope, "day"), self.column(scope, "text")
                return (
                    f"{column} + 1", f"{column} * 2", f"-({column})", f"abs({column})", f"{column} % 3",
                    f"length({text})", f"CAST({self.column(scope, 'truth')} AS INT)", f"year({day})",
                    f"unix_micros({self.column(scope, 'time')})",
                )
            case "real":
                return f"{column} * 2", f"{column} + 0.5", f"CAST({self.column(scope, 'int')} AS DOUBLE)"
            case "truth":
                return (f"({self.truth(scope, 1)})",)
            case "time":
                return (f"{column} + INTERVAL 1 SECOND",)
            case "money":
                return f"{column} + {self.column(scope, kind)}", f"-({column})"
            case _:
                return f"greatest({column}, {self.column(scope, kind)})", f"CAST({self.column(scope, 'time')} AS DATE)"

    def truth(self, scope: Scope, depth: int) -> str:
        """A condition."""
        kind = self.rng.choice([other for _name, other in scope] or ["int"])
        one, literal = self.value(scope, kind, depth), self.rng.choice(LITERALS[kind])
        draw = self.rng.random()
        if draw < 0.15:
            return f"{one} IS {'NOT ' if self.chance(0.5) else ''}NULL"
        if draw < 0.25:
            return f"{one} {'NOT ' if self.chance(0.3) else ''}IN ({literal}, {self.rng.choice(LITERALS[kind])})"
        if draw < 0.3 and kind == "text":
            return f"{one} LIKE '{self.rng.choice(('%a%', 'b_', '%', ''))}'"
        if draw < 0.4 and depth > 0:
            word = self.rng.choice(("AND", "OR"))
            return f"({self.truth(scope, depth - 1)} {word} {self.truth(scope, depth - 1)})"
        if draw < 0.45 and depth > 0:
            return f"NOT ({self.truth(scope, depth - 1)})"
        if kind == "truth" and draw < 0.7:
            return one
        other = literal if self.chance(0.5) else self.column(scope, kind)
        if other == one:
            return f"{one} IS NOT NULL"
        return f"{one} {self.rng.choice(('=', '<>', '<', '<=', '>', '>=', '<=>'))} {other}"

    def subquery(self, scope: Scope, depth: int) -> str:
        """A condition with a subquery, correlated or not."""
        item, inner = self.item(depth)
        pairs = [(a, b) for a, kind in scope for b, other in inner if kind == other and kind not in RARELY_EQUAL]
        same = f" WHERE {' = '.join(self.rng.choice(pairs))}" if pairs and self.chance(0.7) else ""
        negated = "NOT " if self.chance(0.4) else ""
        draw = self.rng.random()
        if draw < 0.35:
            more = ""
            if same and self.chance(0.3):
                more = f" AND {' < '.join(self.rng.choice(pairs))}"
            return f"{negated}EXISTS (SELECT 1 FROM {item}{same}{more})"
        kind = self.rng.choice(sorted({other for _name, other in inner}))
        if draw < 0.7:
            inside = f" WHERE {self.truth(inner, 0)}" if self.chance(0.5) else ""
            return f"{self.value(scope, kind, 0)} {negated}IN (SELECT {self.column(inner, kind)} FROM {item}{inside})"
        found = f"(SELECT {self.aggregate(inner, kind)} FROM {item}{same})"
        return f"{self.value(scope, kind, 0)} {self.rng.choice(('<', '>=', '='))} {found}"

    def aggregate(self, scope: Scope, kind: str) -> str:
        """An aggregate whose value has a type."""
        column = self.column(scope, kind)
        choices = [f"min({column})", f"max({column})"]
        if kind == "int":
            some = self.rng.choice(scope)[0]
            filtered = f" FILTER (WHERE {self.truth(scope, 0)})" if self.chance(0.2) else ""
            choices += [f"count(*){filtered}", f"count({some})", f"count(DISTINCT {some})", f"sum({column})"]
        elif kind == "real":
            choices += [f"sum({column})", f"avg({self.column(scope, 'int')})", f"avg({column})"]
        elif kind == "money":
            choices += [f"CAST(sum({word}{column}) AS DECIMAL(24,3))" for word in ("", "DISTINCT ")]
        elif kind == "truth":
            choices += [f"bool_or({column})", f"bool_and({column})"]
        return self.rng.choice(choices)

    # -- SELECT ------------------------------------------------------------------------------------

    def types(self, most: int) -> list[str]:
        return [self.rng.choice((*TYPES, "int", "int")) for _column in range(self.rng.randrange(1, most + 1))]

    def query(self, types: Sequence[str], depth: int) -> str:
        """A SELECT, or several under set operations."""
        text = self.select(types, depth)
        while self.chance(0.28) and len(text) < LONGEST:
            word = self.rng.choice(("UNION", "UNION ALL", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL"))
            # Often the same over other windows: rows of both sides meet.
            other = re.sub(r"RANGE \d+", f"RANGE {self.rng.choice(RANGES_S)}", text)
            text = f"{text} {word} {other if self.chance(0.5) else self.select(types, depth)}"
        return text

    def select(self, types: Sequence[str], depth: int) -> str:
        """A SELECT whose columns c1, c2, ... have these types."""
        draw = self.rng.random()
        if draw < 0.45 and depth > 0:
            return self.ranked(types, depth)
        source, scope = self.source(depth)
        condition = ""
        if self.chance(0.4):
            condition = f" WHERE {self.truth(scope, 1)}"
            if depth > 0 and self.chance(0.8):
                condition += f" {'OR' if self.chance(0.15) else 'AND'} {self.subquery(scope, 0)}"
        if draw < 0.65:
            return self.grouped(types, source, scope, condition)
        columns = [self.value(scope, kind) for kind in types]
        distinct = "DISTINCT " if self.chance(0.25) else ""
        return f"SELECT {distinct}{_named(columns)} FROM {source}{condition}"

    def grouped(self, types: Sequence[str], source: str, scope: Scope, condition: str) -> str:
        keys, columns = [], []
        for kind in types:
            fitting = any(other == kind for _name, other in scope)
            if fitting and self.chance(0.5):
                key = self.column(scope, kind) if self.chance(0.7) else self.value(scope, kind, 1)
                if not any(name in key for name, _kind in scope):
                    key = self.column(scope, kind)
                keys.append(key)
                columns.append(key)
            else:
                columns.append(self.aggregate(scope, kind))
        text = f"SELECT {_named(columns)} FROM {source}{condition}"
        if keys:
            text += f" GROUP BY {', '.join(dict.fromkeys(keys))}"
        if self.chance(0.25):
            text += f" HAVING {self.aggregate(scope, 'int')} {self.rng.choice(('>', '<=', '<>'))} 2"
        return text

    def ranked(self, types: Sequence[str], depth: int) -> str:
        """A SELECT with window functions over a subquery, whose columns make a total order where one is needed."""
        inner = [*types, self.rng.choice(TYPES), "int"]
        relation, scope = self.aliased(f"({self.select(inner, depth - 1)})", inner)
        every = [name for name, _kind in scope]
        columns = [self.over(scope, every, kind) for kind in types]
        where = f" WHERE {self.truth(scope, 1)}" if self.chance(0.3) else ""
        return f"SELECT {_named(columns)} FROM {relation}{where}"

    def over(self, scope: Scope, every: Sequence[str], kind: str) -> str:
        column, some, others = self.column(scope, kind), self.rng.choice(every), list(every)
        self.rng.shuffle(others)
        parts = f"PARTITION BY {some} " if self.chance(0.7) else ""
        down = self.rng.choice((" DESC", "", " NULLS LAST"))
        total = f"{parts}ORDER BY {others[0]}{down}, {', '.join(others[1:])}"
        tied = f"{parts}ORDER BY {self.rng.choice(every)}{down}"
        if self.chance(0.3):
            return column
        choices = [
            f"lag({column}) OVER ({total})", f"lead({column}, 2) OVER ({total})", f"max({column}) OVER ({tied})",
            f"first_value({column}) OVER ({total})",
            f"min({column}) OVER ({total} ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
        ]
        if kind == "int":
            choices += [
                f"row_number() OVER ({total})", f"rank() OVER ({tied})", f"dense_rank() OVER ({tied})",
                f"ntile(3) OVER ({total})", f"count({some}) OVER ({tied})", f"sum({column}) OVER ({tied})",
            ] * 3
        if kind == "real":
            choices += [f"sum({column}) OVER ({tied})"] * 3
        if kind == "money":
            choices += [f"CAST(sum({column}) OVER ({tied}) AS DECIMAL(24,3))"] * 3
        return self.rng.choice(choices)

    def whole(self) -> str:
        """A query from WITH or SELECT through its cadence."""
        head = ""
        while self.chance(0.25) and len(self.common) < 3:
            types, name = self.types(3), self.name()
            head += f"{',' if head else 'WITH'} {name} AS ({self.query(types, 0)})"
            self.common.append((name, tuple(types)))
        types = self.types(3)
        text = f"{head} {self.query(types, self.rng.choice((0, 1, 1, 1, 2)))}".strip()
        if self.chance(0.3):
            columns = [f"{name}{self.rng.choice(('', ' DESC', ' NULLS LAST', ' DESC NULLS FIRST'))}"
                       for name in _columns(types) if self.chance(0.6)]  # fmt: skip
            text += f" ORDER BY {', '.join(columns)}" if columns else ""
        if self.chance(0.2):
            text += f" LIMIT {self.rng.randrange(1, 12)}"
        return f"{text} PERIOD {PERIOD_S} SECONDS"


def _columns(types: Sequence[str]) -> list[str]:
    return [f"c{number}" for number in range(1, len(types) + 1)]


def _named(columns: Sequence[str]) -> str:
    return ", ".join(f"{column} AS c{number}" for number, column in enumerate(columns, 1))


def random_queries(seed: int, count: int) -> Iterator[str]:
    """So many texts, each with a window at least; a later one does not depend on how many there are before it."""
    for number in range(count):
        for attempt in range(100):
            text = _Writer(Random(f"{seed} {number} {attempt}")).whole()
            if "[" in text and len(text) < LONGEST:
                yield text
                break
