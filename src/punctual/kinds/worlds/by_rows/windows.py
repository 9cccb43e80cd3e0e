"""Windows of a text that is Spark's: those that differ between worlds are handed over in every round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from punctual.kinds.worlds.by_rows.drawn_window import DrawnWindow
from punctual.kinds.worlds.missing_if import known_condition
from punctual.own_names import ROW_IDENTITY
from punctual.plan.relation import Column, Stream
from punctual.plan.row_query import RowWindow
from punctual.plan.uncertain import FoundBy, GivenBy
from punctual.plan.world_expression import renumbered
from punctual.plan.worlds import Attribute, Existence
from punctual.sql.bind_row_query import whole_rows
from punctual.sql.expressions.function_names import MONTE_CARLO
from punctual.sql.parse_rows import RowsSyntax
from punctual.sql.syntax.clauses import AnswersClause, ConfidenceClause, RoundsClause


def is_in_worlds(rows: RowsSyntax, streams: Sequence[Stream]) -> bool:
    """Whether a text that is Spark's reads an uncertain attribute, or says something of worlds."""
    uncertain = uncertain_columns(streams)
    if not uncertain and all(stream.probability is None for stream in streams):
        return False
    clauses = any(isinstance(clause, RoundsClause | ConfidenceClause | AnswersClause) for clause in rows.clauses)
    tokens = rows.tokens
    calls = any(
        token.kind == "word" and after.word == "(" and token.value.lower() in MONTE_CARLO and token.word != "INTERVAL"
        for token, after in pairwise(tokens)
    )
    declared = {column.name.lower() for stream in streams for column in stream.columns}
    having = any(
        before.word in ("HAVING", "AND") and token.word == "PROBABILITY" and after.word != "("
        for before, token, after in zip(tokens, tokens[1:], tokens[2:])
    )
    if clauses or calls or (having and "probability" not in declared):
        return True
    return any(_is_read(rows, index, uncertain) for index in range(len(tokens))) or bool(
        uncertain and any(whole_rows(tokens))
    )


def _is_read(rows: RowsSyntax, index: int, names: set[str]) -> bool:
    """Whether a token names a column, and is no alias and no function."""
    token = rows.tokens[index]
    if token.kind not in ("word", "quoted") or token.value.lower() not in names:
        return False
    alias = index > 0 and rows.tokens[index - 1].word == "AS"
    return not alias and not (index + 1 < len(rows.tokens) and rows.tokens[index + 1].word == "(")


def uncertain_columns(streams: Sequence[Stream]) -> set[str]:
    """The names of uncertain attributes, in lower case."""
    return {column.name.lower() for one in streams for column in one.columns if column.uncertain is not None}


def drawn_attributes(window: RowWindow, stream: Stream) -> list[Column]:
    """The uncertain attributes of a window that the text may name."""
    return [column for column in stream.columns if column.uncertain is not None and column.name in window.columns]


def is_drawn(window: RowWindow, stream: Stream) -> bool:
    """Whether a window differs between worlds."""
    return bool(drawn_attributes(window, stream)) or stream.probability is not None


def in_rounds(window: RowWindow, stream: Stream, rounds: int) -> RowWindow:
    """A window as Spark gets it: in every round, where it differs between worlds."""
    if not is_drawn(window, stream):
        return window
    attributes = drawn_attributes(window, stream)
    assert window.range_us is not None, "a window by rows"
    needed = {*window.columns, stream.event_time}
    within = 0
    for column in attributes:
        law = column.uncertain
        needed |= set(law.parameters if isinstance(law, GivenBy) else law.by if law is not None else ())
        known = known_condition(law, stream) if isinstance(law, FoundBy) else None
        needed |= set(() if known is None else known.columns)
        within = max(within, (law.within_us or 0) if isinstance(law, FoundBy) else 0)
    needed |= {name for name in (stream.probability, stream.rule) if name is not None}
    columns = (*(one.name for one in stream.columns if one.name in needed), ROW_IDENTITY)
    reach = window.range_us + within
    drawn = DrawnWindow(
        window.columns, rounds, stream.name, columns, window.range_us, reach,
        tuple(_attribute(column, stream, columns) for column in attributes), _existence(stream, columns),
    )  # fmt: skip
    return replace(window, range_us=reach, columns=columns, drawn=drawn)


def _attribute(column: Column, stream: Stream, columns: tuple[str, ...]) -> Attribute:
    law = column.uncertain
    assert law is not None, "a certain column"
    named = law.parameters if isinstance(law, GivenBy) else (column.name, *law.by)
    numbers = tuple(columns.index(name) for name in named)
    known = known_condition(law, stream) if isinstance(law, FoundBy) else None
    missing = None if known is None else renumbered(known.expression, [columns.index(name) for name in known.columns])
    identity, time = columns.index(ROW_IDENTITY), columns.index(stream.event_time)
    return Attribute(stream.name, column.name, law, numbers, identity, time, missing)


def _existence(stream: Stream, columns: tuple[str, ...]) -> tuple[Existence, ...]:
    if stream.probability is None:
        return ()
    rule = None if stream.rule is None else columns.index(stream.rule)
    identity, time = columns.index(ROW_IDENTITY), columns.index(stream.event_time)
    return (Existence(stream.name, identity, time, columns.index(stream.probability), rule),)
