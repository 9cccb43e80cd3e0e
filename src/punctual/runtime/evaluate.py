"""Expressions over aggregates mean what Spark means: Catalyst evaluates them, over one local relation for a whole pass.

Questions of one shape (the same expressions over columns of the same types) are stacked. Shapes share the relation's
columns by type, and each row is evaluated by its own shape only. A small relation is evaluated inside the driver's
JVM without a Spark job; a large one is worth a job, since its result then comes back as Arrow.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from punctual.own_names import own
from punctual.plan.expression import Expression
from punctual.plan.sql_text import quoted
from punctual.runtime.backend import Question
from punctual.runtime.parameters import parametrised

LOCAL_ROWS = 5_000
"""Above this a job that returns Arrow is cheaper than rows that are unpickled one by one."""

Shape = tuple[tuple[Expression, ...], tuple[tuple[str, str], ...]]
VIEW, ORDER, SHAPE = own("answers"), own("order"), own("shape")


def evaluate(spark: SparkSession, questions: Sequence[Question]) -> list[list[pa.Array]]:
    """One list of arrays per question, in its order."""
    questions = [parametrised(question) for question in questions]
    results: list[list[pa.Array]] = [[] for _ in questions]
    shapes: dict[Shape, list[int]] = {}
    for number, question in enumerate(questions):
        if question.rows:
            key = (question.expressions, tuple((name, str(a.type)) for name, a in question.columns.items()))
            shapes.setdefault(key, []).append(number)
        else:
            results[number] = [pa.nulls(0, t) for t in question.types]
    if not shapes:
        return results
    relation, texts = _relation(questions, shapes)
    frame = spark.createDataFrame(relation)
    frame.createOrReplaceTempView(quoted(VIEW))
    selected = spark.sql(f"SELECT {quoted(ORDER)}, {', '.join(texts)} FROM {quoted(VIEW)}")
    types = [t for members in shapes.values() for t in questions[members[0]].types]
    local = relation.num_rows <= LOCAL_ROWS and all(_is_plain(t) for t in types)
    if local:
        rows = selected.collect()
        columns = [[row[i + 1] for row in rows] for i in range(len(shapes))]
    else:
        table = selected.toArrow()
        table = table.take(np.argsort(table.column(ORDER).to_numpy(), kind="stable"))
    at = 0
    for place, members in enumerate(shapes.values()):
        for number in members:
            question = questions[number]
            if local:
                structs = columns[place][at : at + question.rows]
                results[number] = [
                    pa.array([None if s is None else s[i] for s in structs], type=t)
                    for i, t in enumerate(question.types)
                ]
            else:
                struct = table.column(f"r{place}").slice(at, question.rows).combine_chunks()
                struct = struct.combine_chunks() if isinstance(struct, pa.ChunkedArray) else struct
                results[number] = [struct.field(i).cast(t) for i, t in enumerate(question.types)]
            at += question.rows
    return results


def _relation(questions: Sequence[Question], shapes: dict[Shape, list[int]]) -> tuple[pa.Table, list[str]]:
    """The stacked relation (with the shape of each row, and its place) and a struct expression for each shape."""
    total = sum(questions[n].rows for members in shapes.values() for n in members)
    pools: dict[tuple[str, int], list[pa.Array]] = {}
    filled: dict[tuple[str, int], int] = {}
    types: dict[str, pa.DataType] = {}
    labels: list[np.ndarray] = []
    texts: list[str] = []
    at = 0
    for place, (key, members) in enumerate(shapes.items()):
        rows = sum(questions[n].rows for n in members)
        uses: dict[str, int] = {}
        names: dict[str, str] = {}
        for name, array in questions[members[0]].columns.items():
            kind = str(array.type)
            types[kind] = array.type
            slot = (kind, uses.get(kind, 0))
            uses[kind] = slot[1] + 1
            pool = pools.setdefault(slot, [])
            if at > filled.get(slot, 0):
                pool.append(pa.nulls(at - filled.get(slot, 0), array.type))
            pool += [questions[n].columns[name] for n in members]
            filled[slot] = at + rows
            names[name] = _pool_name(slot)
        fields = ", ".join(f"'{i}', ({expression.over(names)})" for i, expression in enumerate(key[0]))
        texts.append(f"CASE WHEN {quoted(SHAPE)} = {place} THEN named_struct({fields}) END AS r{place}")
        labels.append(np.full(rows, place, np.int32))
        at += rows
    arrays = [pa.array(np.arange(total, dtype=np.int64)), pa.array(np.concatenate(labels))]
    columns = [ORDER, SHAPE]
    for slot, pool in pools.items():
        if filled[slot] < total:
            pool.append(pa.nulls(total - filled[slot], types[slot[0]]))
        arrays.append(pa.chunked_array(pool, types[slot[0]]))
        columns.append(_pool_name(slot))
    return pa.Table.from_arrays(arrays, names=columns), texts


def _pool_name(slot: tuple[str, int]) -> str:
    """The column of the relation that is the so-manieth of its type."""
    return own(f"{slot[0]} {slot[1]}")


def _is_plain(data_type: pa.DataType) -> bool:
    """Whether every value of a type becomes the same value of Python: not times of all years, nor nested values."""
    of = pa.types
    numeric = of.is_integer(data_type) or of.is_floating(data_type) or of.is_decimal(data_type)
    return bool(numeric or of.is_boolean(data_type) or of.is_string(data_type) or of.is_binary(data_type))
