"""Rows as JSON: what Spark's ``to_json`` wrote for the same values (on Java 21)."""

from __future__ import annotations

import math
import random
import re
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from punctual.scan.written.number_text import float_texts
from punctual.scan.written.row_text import row_texts

DOUBLES = {
    0.0: "0.0", 1.0: "1.0", -1.5: "-1.5", 0.001: "0.001", 0.0009999: "9.999E-4", 9999999.0: "9999999.0", 1e7: "1.0E7",
    -12345678.9: "-1.23456789E7", 1e10: "1.0E10", 1e-5: "1.0E-5", 1.25e-4: "1.25E-4", 123456789012345680.0:
    "1.2345678901234568E17", 1e21: "1.0E21", 1e22: "1.0E22", 1e23: "1.0E23", 2e23: "2.0E23", 1e300: "1.0E300",
    5e-324: "4.9E-324", 1e-323: "9.9E-324", 2e-323: "2.0E-323", 1.04e-322: "1.04E-322", 9.9e-322: "9.9E-322",
    2.2250738585072014e-308: "2.2250738585072014E-308", 1.7976931348623157e308: "1.7976931348623157E308",
    16777216.0: "1.6777216E7", 100.0: "100.0", 4611686018427387904.0: "4.611686018427388E18", 3e-5: "3.0E-5",
    math.inf: '"Infinity"', -math.inf: '"-Infinity"', 10000000.5: "1.00000005E7", 123456789.0: "1.23456789E8",
}  # fmt: skip
FLOATS = {
    0.1: "0.1", 16777216.0: "1.6777216E7", 2147483648.0: "2.1474836E9", 1e-45: "1.4E-45", 9.9e-44: "9.9E-44",
    3.4028235e38: "3.4028235E38", 1.17549435e-38: "1.1754944E-38", 3e-5: "3.0E-5", 1e10: "1.0E10", -0.002: "-0.002",
}  # fmt: skip
STRINGS = {
    "": "", "a/b": "a/b", 'say "x"': '\\"', "\\": "\\\\", "\b\t\n\f\r": "\\b\\t\\n\\f\\r", "\x00": "\\u0000",
    "\x0b\x1f": "\\u000B\\u001F", "\x7f\x80": "\x7f\x80", "ä€😀": "ä€😀", "\u2028": "\u2028", "\\n": "\\\\n",
    "\\\\u0041": "\\\\\\\\u0041",
}  # fmt: skip
BAD_BYTES = {
    b"\xff\xfe": 2, b"\xed\xa0\x80": 1, b"\xed\xa0": 1, b"\xed": 1, b"\xc0\x80": 2, b"\xf0\x9f\x98": 1,
    b"\xf4\x90\x80\x80": 4, b"\xe0\x80\x80": 3, b"\xed\xb0\x80\xed\xa0\x80": 2, b"\x80\x80": 2,
}  # fmt: skip


def shown(values: pa.Array) -> list[str]:
    texts = row_texts([("x", values)]).to_pylist()
    assert all(text.startswith('{"x":') and text.endswith("}") for text in texts)
    return [text[len('{"x":') : -1] for text in texts]


@pytest.mark.parametrize(("cases", "kind"), [(DOUBLES, pa.float64()), (FLOATS, pa.float32())])
def test_doubles_and_floats_in_the_notation_of_java(cases: dict[float, str], kind: pa.DataType) -> None:
    assert dict(zip(cases, shown(pa.array(list(cases), kind)))) == cases
    # One at a time too: which ways are taken depends on what else is in the column.
    assert {value: shown(pa.array([value], kind))[0] for value in cases} == cases


def test_what_is_no_number_is_a_text_and_zero_has_a_sign() -> None:
    assert shown(pa.array([math.nan, None, -0.0], pa.float64())) == ['"NaN"', "null", "-0.0"]
    assert shown(pa.array([math.nan, None, 1.0], pa.float32())) == ['"NaN"', "null", "1.0"]


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_every_number_reads_back_and_has_one_form(kind: type) -> None:
    numbers = np.frombuffer(random.Random(1).randbytes(80_000), kind)
    finite = numbers[np.isfinite(numbers)]
    texts = float_texts(pa.array(finite)).to_pylist()
    assert np.array_equal(np.array(texts).astype(kind), finite)
    form = re.compile(r"-?(0\.0|[1-9]\d{0,6}\.\d+|0\.0{0,2}[1-9]\d*|[1-9]\.\d+E-?[1-9]\d*)")
    assert [text for text in texts if not form.fullmatch(text) or re.search(r"\d\.\d+0(E|$)", text)] == []
    exponents = [abs(float(text)) for text in texts if "E" in text]
    assert not [size for size in exponents if 1e-3 <= size < 1e7]


def test_strings_with_the_escapes_of_jackson() -> None:
    expected = {**STRINGS, 'say "x"': 'say \\"x\\"'}
    assert shown(pa.array([*STRINGS, None])) == [f'"{text}"' for text in expected.values()] + ["null"]
    assert [shown(pa.array([text]))[0] for text in STRINGS] == [f'"{text}"' for text in expected.values()]
    assert row_texts([('a"b\n', pa.array([1]))]).to_pylist() == ['{"a\\"b\\n":1}']


def test_part_of_an_array_shows_that_part_alone() -> None:
    whole = pa.array(['"', "a", None, "b", '"'])
    assert shown(whole.slice(1, 3)) == ['"a"', "null", '"b"']
    numbers = pa.array([1e10, 1.0, None, 1e-9]).slice(1)
    assert shown(numbers) == ["1.0", "null", "1.0E-9"]


def test_bytes_that_are_no_text_are_replaced_as_java_does() -> None:
    raw = pa.array([b"<" + part + b">" for part in BAD_BYTES], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
    marks = ["\ufffd" * count for count in BAD_BYTES.values()]
    assert shown(texts) == [f'"<{mark}>"' for mark in marks]


def test_decimals_show_their_scale() -> None:
    def decimals(precision: int, scale: int, *unscaled: int) -> list[str]:
        return shown(pa.array([Decimal(f"{n}E-{scale}") for n in unscaled], pa.decimal128(precision, scale)))

    assert decimals(10, 2, 0, 1, -12345, 10) == ["0.00", "0.01", "-123.45", "0.10"]
    assert decimals(38, 10, 0, 1, 123, -12345) == ["0E-10", "1E-10", "1.23E-8", "-0.0000012345"]
    assert decimals(20, 0, 2**64 - 1) == ["18446744073709551615"]
    assert decimals(38, 0, 10**38 - 1) == ["9" * 38]


def test_days_and_instants_of_any_year() -> None:
    days = pa.array([0, -719528, -719529, 2932896, 2932897, 2**31 - 1, -(2**31), None], pa.int32()).cast(pa.date32())
    assert shown(days) == [
        '"1970-01-01"', '"0000-01-01"', '"-0001-12-31"', '"9999-12-31"', '"+10000-01-01"', '"+5881580-07-11"',
        '"-5877641-06-23"', "null",
    ]  # fmt: skip
    micros = pa.array([0, -1, 1335000000123456, -62167219200000001, 253402300800000000, 2**63 - 1, -(2**63), None])
    expected = [
        "1970-01-01T00:00:00.000000", "1969-12-31T23:59:59.999999", "2012-04-21T09:20:00.123456",
        "-0001-12-31T23:59:59.999999", "+10000-01-01T00:00:00.000000", "+294247-01-10T04:00:54.775807",
        "-290308-12-21T19:59:05.224192",
    ]  # fmt: skip
    assert shown(micros.view(pa.timestamp("us"))) == [*(f'"{text}"' for text in expected), "null"]
    assert shown(micros.view(pa.timestamp("us", tz="UTC"))) == [*(f'"{text}Z"' for text in expected), "null"]
    assert shown(micros.slice(1, 2).view(pa.timestamp("us"))) == [f'"{text}"' for text in expected[1:3]]


def test_a_row_of_every_other_kind() -> None:
    columns = [
        ("t", pa.array([True, False, None])), ("i", pa.array([1, -128, None], pa.int8())),
        ("b", pa.array([b"", b"\xff\x00a", None])), ("n", pa.nulls(3)),
    ]  # fmt: skip
    assert row_texts(columns).to_pylist() == [
        '{"t":true,"i":1,"b":"","n":null}',
        '{"t":false,"i":-128,"b":"/wBh","n":null}',
        '{"t":null,"i":null,"b":null,"n":null}',
    ]
    with pytest.raises(TypeError, match="no row text for list"):
        row_texts([("x", pa.array([[1]]))])
