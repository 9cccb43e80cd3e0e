"""Blocks of answers survive the answer log."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa
import pytest

from punctual.errors import InternalError
from punctual.ports.answers import GROUPS, AnswerBlock, Answers, decode, encode
from tests.store.answering import block


def many() -> list[AnswerBlock]:
    blocks = [
        block(f"q{number % 7}", [("k", pa.string()), (f"n{number % 5}", pa.int64())],
              [[{"k": f"k{number}", f"n{number % 5}": number}], []], at=[number, number + 1])
        for number in range(40)
    ]
    blocks.append(block(
        "all types",
        [("d", pa.decimal128(9, 2)), ("t", pa.timestamp("us", "UTC")), ("l", pa.list_(pa.float64())),
         ("m", pa.map_(pa.string(), pa.int64())), ("s", pa.struct([("x", pa.bool_())])), ("b", pa.binary())],
        [[{"d": Decimal("1.25"), "t": dt.datetime(2024, 1, 1, tzinfo=dt.UTC), "l": [1.0, None], "m": [("a", 1)],
           "s": {"x": True}, "b": b"\x00"}]],
    ))
    blocks.append(block("decimal of another scale", [("d", pa.decimal128(9, 3))], [[{"d": Decimal("1.250")}]]))
    blocks.append(block("decimal", [("d", pa.decimal128(9, 2))], [[{"d": Decimal("1.25")}]]))
    blocks.append(block("nothing", [("n", pa.int64())], []))
    extra = block("model", [("n", pa.int64())], [[{"n": 1}]])
    blocks.append(AnswerBlock("model", extra.table.append_column("covered", pa.array([0.5]))))
    return blocks


def by_query(blocks: Sequence[AnswerBlock]) -> dict[tuple[str, str], list[object]]:
    """Answers of each query and schema in their order."""
    answers: dict[tuple[str, str], list[object]] = {}
    for each in blocks:
        answers.setdefault((each.query, str(each.table.schema)), []).extend(each.table.to_pylist())
    return answers


def test_decoding_gives_what_was_encoded() -> None:
    blocks = many()
    found = decode(encode(blocks))
    assert len(found) == len(blocks)
    assert by_query(found) == by_query(blocks)
    for each in found:
        each.table.validate(full=True)


def test_encoding_is_a_function_of_the_blocks() -> None:
    assert encode(many()) == encode(many())
    assert list(decode(encode([]))) == []


def test_parts_of_tables_and_tables_of_parts() -> None:
    blocks = many()[:6]
    whole = pa.concat_tables([each.table for each in blocks if each.table.schema.equals(blocks[0].table.schema)])
    part = AnswerBlock("part", whole.slice(1, 2))
    assert part.table.column("at").num_chunks == 2
    (found,) = decode(encode([part]))
    assert found.table.to_pylist() == part.table.to_pylist()


def test_a_record_does_not_hold_what_its_blocks_were_cut_from() -> None:
    rows = [[{"n": number}] for number in range(20_000)]
    big = block("q", [("n", pa.int64())], rows)
    assert len(encode([AnswerBlock("q", big.table.slice(5, 1))])) < 10_000


def test_a_table_of_another_form_is_a_bug() -> None:
    with pytest.raises(InternalError):
        AnswerBlock("q", pa.table({"at": [1]}))


def test_answers_of_some_queries() -> None:
    blocks = many()
    answers = Answers.of(blocks)
    assert answers.size == sum(each.count for each in blocks) == sum(each.table.num_rows for each in answers)
    assert answers.only(lambda query: True).groups == answers.groups
    some = answers.only(lambda query: query in ("q1", "decimal"))
    wanted = [each for each in blocks if each.query in ("q1", "decimal")]
    assert len(some) == len(wanted)
    assert by_query(some) == by_query(wanted)
    assert not answers.only(lambda query: False)


def test_what_is_nobodys_field_is_not_handed_out() -> None:
    plain = block("q", [("n", pa.int64())], [[{"n": 1}]])
    hidden = AnswerBlock("q", plain.table.append_column(GROUPS, pa.array([["a"]])))
    shown = Answers.of([plain, hidden]).visible()
    assert [each.table.to_pylist() for each in shown] == [plain.table.to_pylist()] * 2
    assert decode(encode([hidden]))[0].table.column_names[-1] == GROUPS
