"""The JSON of answers against the standard library's, value by value, for every type."""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.clock import EPOCH, iso
from punctual.ports.answers import FIELDS, INSTANTS, AnswerBlock
from punctual.ports.sinks.json_text import fragments
from punctual.ports.sinks.jsonl import json_lines
from tests.store.answering import block


def plain(value: Any) -> Any:
    """A Python value as the JSON value that stands for it: the rules of the language, written independently."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dt.datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        return iso((aware - EPOCH) // dt.timedelta(microseconds=1))
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], tuple):  # a map
        return {key if isinstance(key, str) else json.dumps(plain(key)).strip('"'): plain(v) for key, v in value}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return value


def expected(block: AnswerBlock) -> list[str]:
    """The lines of a block by the standard library; doubles are written as they are, not parsed."""
    lines = []
    for answer in block.table.to_pylist():
        fields: dict[str, Any] = {"query": block.query}
        for name, value in answer.items():
            if name in INSTANTS:
                fields[name] = None if value is None else iso(value)
            elif name == "error":
                fields[name] = None if value is None else json.loads(value)
            elif name in dict(FIELDS) or value is not None:
                fields[name] = plain(value)
        lines.append(json.dumps(fields, ensure_ascii=False, separators=(",", ":")))
    return lines


def lines_of(*blocks: AnswerBlock) -> dict[str, list[str]]:
    lines: dict[str, list[str]] = {}
    for query, text in json_lines(blocks):
        content = bytes(text).decode()
        assert content.endswith("\n")
        lines.setdefault(query, []).extend(content[:-1].split("\n"))
    return lines


UTC = dt.UTC
CASES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int8(), [0, -128, 127, None]),
    (pa.int32(), [0, -(2**31), None]),
    (pa.int64(), [2**63 - 1, -(2**63), 0]),
    (pa.uint64(), [2**64 - 1]),
    (pa.bool_(), [True, False, None]),
    (pa.float64(), [50.0, 0.1, -0.0, 0.25, 123456789.125, float("nan"), float("inf"), -float("inf"), None]),
    (pa.float64(), [1.0, 2.5]),
    (pa.float64(), [None, None]),
    (pa.string(), ["plain", "", None]),
    (pa.string(), ['quote " backslash \\ slash /', "new\nline\ttab\x00\x1f\x7f", "größe 日本 🚗", None, "a", "a"]),
    (pa.large_string(), ["wide", 'w"', None]),
    (pa.binary(), [b"", b"\x00\xff", b"abc", None]),
    (pa.binary(3), [b"abc", None]),
    (pa.decimal128(10, 2), [Decimal("1.50"), Decimal("-0.01"), Decimal("12345678.90"), None]),
    (pa.decimal128(38, 20), [Decimal("0.00000000000000000001")]),
    (pa.date32(), [dt.date(2012, 4, 21), dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    (pa.timestamp("us", "UTC"), [dt.datetime(2012, 4, 21, 9, 20, tzinfo=UTC), dt.datetime(1, 1, 1, tzinfo=UTC), None]),
    (pa.timestamp("us", "UTC"), [dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)]),
    (pa.timestamp("us"), [dt.datetime(9999, 12, 31, 23, 59, 59, 1)]),
    (pa.timestamp("ms", "Europe/Berlin"), [dt.datetime(2024, 7, 1, 12, 0, 0, 5_000, tzinfo=UTC), None]),
    (pa.null(), [None, None]),
    (pa.list_(pa.int64()), [[1, None, 3], [], None]),
    (pa.large_list(pa.string()), [["a", 'b"'], None]),
    (pa.list_(pa.float64(), 2), [[1.5, 2.5], None, [float("nan"), None]]),
    (pa.list_(pa.list_(pa.string())), [[["a"], [], None], None, []]),
    (pa.struct([("a", pa.int64()), ('b"', pa.list_(pa.date32()))]), [{"a": 1, 'b"': [dt.date(2020, 1, 1)]}, None]),
    (pa.list_(pa.struct([("x", pa.float64())])), [[{"x": 1.0}, None], []]),
    (pa.map_(pa.string(), pa.float64()), [[("a", 1.0), ('b"', None)], [], None]),
    (pa.map_(pa.int32(), pa.string()), [[(1, "x"), (2, None)]]),
    (pa.map_(pa.date32(), pa.int64()), [[(dt.date(2020, 1, 1), 1)]]),
]


@pytest.mark.parametrize(("data_type", "values"), CASES, ids=lambda case: str(case)[:40])
def test_every_type(data_type: pa.DataType, values: list[Any]) -> None:
    array = pa.array(values, data_type)
    padded = pa.concat_arrays([array, array]).slice(1, len(array))  # also where an array is a part of another
    for part in (array, padded):
        texts = fragments(part)
        assert texts.null_count == 0
        wanted = [plain(value) for value in part.to_pylist()]
        if pa.types.is_map(data_type):
            wanted = [{} if value == [] else value for value in wanted]
        assert texts.to_pylist() == [json.dumps(v, ensure_ascii=False, separators=(",", ":")) for v in wanted]


def test_types_that_python_has_no_value_for() -> None:
    assert fragments(pa.array([0.1, 1e20], pa.float32())).to_pylist() == ["0.1", "1e+20"]
    assert fragments(pa.array(np.array([0.5], np.float16))).to_pylist() == ["0.5"]
    assert fragments(pa.array(["a", None, "a"]).dictionary_encode()).to_pylist() == ['"a"', "null", '"a"']
    assert fragments(pa.array([1_500], pa.duration("ms"))).to_pylist() == ["1500000"]
    broken = pa.array([b"ok", b"\xff!"]).view(pa.string())
    assert fragments(broken).to_pylist() == ['"ok"', '"\ufffd!"']
    assert fragments(pa.array([], pa.float64())).to_pylist() == []


def digits(text: str) -> tuple[int, ...]:
    return Decimal(text).normalize(Context(prec=400)).as_tuple().digits


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(st.floats(width=64) | st.none(), max_size=20))
def test_doubles_read_back_and_are_shortest(values: list[float | None]) -> None:
    for text, value in zip(fragments(pa.array(values, pa.float64())).to_pylist(), values):
        if value is None or not math.isfinite(value):
            assert text == json.dumps(plain(value))
        else:
            assert float(text) == value
            assert math.copysign(1, float(text)) == math.copysign(1, value)
            assert digits(text) == digits(repr(value))
            assert any(mark in text for mark in ".e")  # a double stays a double


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(st.text(max_size=8) | st.none(), max_size=6))
def test_strings_read_back(values: list[str | None]) -> None:
    texts = fragments(pa.array(values, pa.string())).to_pylist()
    assert [json.loads(text) for text in texts] == values


def test_the_line_of_the_language_page() -> None:
    answer = block(
        "fastest",
        [("sensor", pa.string()), ("kmh", pa.float64()), ("probability", pa.float64())],
        [[{"sensor": "S1", "kmh": 50.0, "probability": 0.8}]],
        at=[1_335_000_000_000_000], **{"from": [1_334_998_800_000_000]}, on_time=[True], execution=["speed/60s#1234"],
        released=[1_335_000_000_250_000], deadline=[1_335_000_001_000_000], answered=[1_335_000_000_900_000],
        error=['{"kmh":1.5}'],
    )
    assert lines_of(answer) == {"fastest": [
        '{"query":"fastest","number":0,"at":"2012-04-21T09:20:00Z","from":"2012-04-21T09:00:00Z",'
        '"rows":[{"sensor":"S1","kmh":50.0,"probability":0.8}],'
        '"basis":"exact","quality":1.0,"kept":1.0,"complete":true,"error":{"kmh":1.5},'
        '"released":"2012-04-21T09:20:00.250000Z","deadline":"2012-04-21T09:20:01Z",'
        '"answered":"2012-04-21T09:20:00.900000Z","on_time":true,"execution":"speed/60s#1234","late_rows":0}'
    ]}


def test_blocks_of_many_shapes_in_one_go() -> None:
    blocks = []
    for number in range(12):
        columns = [("k", pa.string()), (f"n{number % 3}", pa.int64())]
        if number % 4 == 0:
            columns.append(("when", pa.timestamp("us", "UTC")))
        rows = [
            [{"k": f"k{row}" if row else None, f"n{number % 3}": row * number} for row in range(count)]
            for count in (number % 3, 0, 2)
        ]
        blocks.append(block(f"q{number}", columns, rows, complete=[True, False, True], on_time=[None, False, True]))
    blocks.append(block("q1", [("k", pa.string()), ("n1", pa.int64())], [[{"k": "late", "n1": 1}]], at=[9_500_000]))
    blocks.append(block("empty", [("k", pa.string())], []))
    found = lines_of(*blocks)
    assert "empty" not in found
    for query in found:
        assert found[query] == [line for b in blocks if b.query == query for line in expected(b)]


def test_fields_that_only_some_answers_have() -> None:
    answers = block("q", [("n", pa.int64())], [[{"n": 1}], [{"n": 2}]])
    table = answers.table.append_column("covered", pa.array([0.5, None])).append_column("retracts", pa.array([None, 3]))
    extended = AnswerBlock("q", table)
    found = lines_of(extended)["q"]
    assert found == expected(extended)
    assert found[0].endswith('"late_rows":0,"covered":0.5}')
    assert found[1].endswith('"late_rows":0,"retracts":3}')


def test_equal_names_of_columns_stay_two_columns() -> None:
    struct = pa.StructArray.from_arrays([pa.array([1]), pa.array(["x"])], names=["a", "a"])
    answers = block("q", [("n", pa.int64())], [[]])
    rows = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), struct)
    (line,) = lines_of(AnswerBlock("q", answers.table.set_column(3, "rows", rows)))["q"]
    assert '"rows":[{"a":1,"a":"x"}]' in line
