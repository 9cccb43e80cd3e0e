"""Row groups of Parquet files: values, what does not fit and how it reads, as Spark has them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from punctual.scan.block import Block
from punctual.scan.parquet import groups as parquet_groups
from punctual.scan.parquet.exact_cast import exact_cast
from punctual.scan.parquet.groups import read_parquet
from punctual.scan.parquet.kinds import flat_kind, supported
from punctual.scan.parts import ParquetPart

DAY_US = 86_400_000_000
CASTS: list[tuple[str, pa.Array, str, list[Any]]] = [
    ("BIGINT", pa.array([127, 128, -129, None]), "TINYINT", [127, None, None, None]),
    ("INT", pa.array([2**31 - 1], pa.int32()), "BIGINT", [2**31 - 1]),
    ("BIGINT", pa.array([2**53 + 1, 16777217]), "DOUBLE", [2.0**53, 16777217.0]),
    ("BIGINT", pa.array([16777217]), "FLOAT", [16777216.0]),
    ("BIGINT", pa.array([99999999, 100000000]), "DECIMAL(10,2)", [Decimal("99999999.00"), None]),
    ("BIGINT", pa.array([0, -3, None]), "BOOLEAN", [False, True, None]),
    ("DOUBLE", pa.array([2.9, -2.9, 2147483647.5, 2147483648.0, math.nan]), "INT", [2, -2, 2**31 - 1, None, None]),
    ("DOUBLE", pa.array([127.9, 128.0, -128.9, -129.0, math.inf]), "TINYINT", [127, None, -128, None, None]),
    ("DOUBLE", pa.array([2.0**63, -(2.0**63), 9.3e18]), "BIGINT", [2**63 - 1, -(2**63), None]),
    ("DOUBLE", pa.array([1e300, 0.1, None]), "FLOAT", [math.inf, 0.10000000149011612, None]),
    ("DOUBLE", pa.array([math.nan, -0.0]), "BOOLEAN", [True, False]),
    ("FLOAT", pa.array([0.5], pa.float32()), "DOUBLE", [0.5]),
    ("BOOLEAN", pa.array([True, False, None]), "INT", [1, 0, None]),
    ("BOOLEAN", pa.array([True, False]), "DECIMAL(5,5)", [None, Decimal("0.00000")]),
    ("DECIMAL(4,2)", pa.array([Decimal("1.25"), Decimal("-9.95")]), "DECIMAL(2,1)", [Decimal("1.3"), None]),
    ("DECIMAL(3,2)", pa.array([Decimal("1.25")]), "DECIMAL(38,18)", [Decimal("1.250000000000000000")]),
    ("DECIMAL(3,2)", pa.array([Decimal("-1.99"), Decimal("0.10")]), "TINYINT", [-1, 0]),
    ("DECIMAL(20,0)", pa.array([Decimal(2**63), Decimal(2**63 - 1)]), "BIGINT", [None, 2**63 - 1]),
    # Where Arrow's division by more than one word is wrong.
    (
        "DECIMAL(38,18)",
        pa.array([Decimal("2147483647.999999999999999999"), Decimal("1.0005")], pa.decimal128(38, 18)),
        "DECIMAL(18,3)",
        [Decimal("2147483648.000"), Decimal("1.001")],
    ),
    (
        "DECIMAL(37,24)",
        pa.array([Decimal("922337203685.4775807")], pa.decimal128(37, 24)),
        "DECIMAL(34,7)",
        [Decimal("922337203685.4775807")],
    ),
    (
        "DECIMAL(38,24)",
        pa.array([Decimal("4294.967294999999999999999999")], pa.decimal128(38, 24)),
        "DECIMAL(9,5)",
        [Decimal("4294.96729")],
    ),
    # Long decimals are asked by way of doubles: the nearest one of this is too large.
    ("DECIMAL(38,18)", pa.array([Decimal("2147483647.999999999999999999")]), "INT", [None]),
    ("DECIMAL(3,2)", pa.array([Decimal("0.07"), None]), "DOUBLE", [0.07, None]),
    ("DECIMAL(38,0)", pa.array([Decimal(2**53 + 1)], pa.decimal128(38, 0)), "DOUBLE", [2.0**53]),
    ("DECIMAL(3,2)", pa.array([Decimal("0.00"), Decimal("0.01")]), "BOOLEAN", [False, True]),
    ("NANOSECONDS", pa.array([1999, -1, None]), "TIMESTAMP", [1, -1, None]),
    ("NANOSECONDS", pa.array([-1]), "DATE", [-1]),
    ("MILLISECONDS", pa.array([-1, 2**63 // 1000, None]), "TIMESTAMP_NTZ", [-1000, None, None]),
    ("DATE", pa.array([1, 2**31 - 1], pa.int32()).view(pa.date32()), "TIMESTAMP", [DAY_US, None]),
    ("TIMESTAMP", pa.array([-1, DAY_US]).view(pa.timestamp("us", tz="UTC")), "DATE", [-1, 1]),
    ("TIMESTAMP_NTZ", pa.array([5]).view(pa.timestamp("us")), "TIMESTAMP", [5]),
    ("VOID", pa.nulls(2), "DECIMAL(5,2)", [None, None]),
    ("BINARY", pa.array([b"a"]), "STRING", ["a"]),
    ("STRING", pa.array(["ä"]), "BINARY", ["ä".encode()]),
]


def plain(values: pa.Array) -> list[Any]:
    """Values as Python's, points in time as numbers."""
    if pa.types.is_temporal(values.type):
        values = values.view(pa.int32() if pa.types.is_date32(values.type) else pa.int64())
    listed: list[Any] = values.to_pylist()
    return listed


@pytest.mark.parametrize(("own", "values", "declared", "expected"), CASTS)
def test_casts(own: str, values: pa.Array, declared: str, expected: list[Any]) -> None:
    cast = exact_cast(own, declared)
    assert cast is not None
    assert plain(cast.change(values)) == expected
    assert not (cast.always and plain(cast.change(values)).count(None) > values.null_count)
    padded = pa.concat_arrays([values, values]).slice(1, len(values))
    assert plain(cast.change(padded)) == expected[1:] + expected[:1], "of a part of an array"


@pytest.mark.parametrize(
    ("own", "declared"),
    [("STRING", "INT"), ("BIGINT", "STRING"), ("DOUBLE", "DECIMAL(10,2)"), ("ARRAY<INT>", "ARRAY<INT>"),
     ("DATE", "STRING"), ("BIGINT", "TIMESTAMP"), ("STRING", "VARCHAR(3)"), ("BOOLEAN", "DATE")],
)  # fmt: skip
def test_what_is_left_to_spark(own: str, declared: str) -> None:
    assert exact_cast(own, declared) is None


def blocks_of(
    path: Path, columns: Sequence[tuple[str, str]], wanted: Sequence[str] = (), **names: str | None
) -> list[Block]:
    metadata = pq.read_metadata(path)
    own_names = tuple(names.get(name, name) for name, _kind in columns)
    assert supported(metadata, own_names, columns)
    part = ParquetPart(str(path), 0, metadata.num_row_groups, own_names)
    return list(read_parquet(part, columns, frozenset(wanted)))


def test_rows_that_do_not_fit_say_why_and_how_they_read(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    when = pa.array([0, 1_500_000_000_000_000_123, -1]).view(pa.timestamp("ns"))
    pq.write_table(pa.table({"N": [1, 2**40, 300], "m": [1.5, 1e10, 7.0], "at": when, "s": ["a", None, '"']}), path)
    columns = [("n", "TINYINT"), ("m", "INT"), ("at", "TIMESTAMP"), ("s", "STRING"), ("gone", "DATE")]
    [block] = blocks_of(path, columns, n="N", gone=None)
    assert block.rows == 3
    assert block.faults is not None
    assert block.faults.rows.tolist() == [1, 2]
    assert block.faults.reasons.to_pylist() == [
        'column "n" is not TINYINT; column "m" is not INT',
        'column "n" is not TINYINT',
    ]
    assert block.faults.texts.to_pylist() == [
        '{"n":1099511627776,"m":1.0E10,"at":1500000000000000123,"s":null}',
        '{"n":300,"m":7.0,"at":-1,"s":"\\""}',
    ]
    assert [plain(block.column(name)) for name, _kind in columns] == [
        [1, None, None], [1, None, 7], [0, 1_500_000_000_000_000, -1], ["a", None, '"'], [None] * 3,
    ]  # fmt: skip
    assert block.column("gone").type == pa.date32()


def test_rows_that_fit_have_no_faults_and_types_are_the_declared_ones(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({
        "d": pa.array(["x", "y", "x"]).dictionary_encode(), "l": pa.array(["p", None, "q"], pa.large_string()),
        "u": pa.array([2**64 - 1, 0, None], pa.uint64()), "v": pa.array([1, 2, 3], pa.uint8()),
        "b": pa.array([b"ab", b"cd", None], pa.binary(2)),
        "z": pa.array([1, 2, 3]).view(pa.timestamp("us", tz="Asia/Tokyo")),
        "day": pa.array([date(2012, 4, 21)] * 3), "n": pa.nulls(3),
    })  # fmt: skip
    pq.write_table(table, path)
    columns = [
        ("d", "STRING"), ("l", "STRING"), ("u", "DECIMAL(20,0)"), ("v", "SMALLINT"), ("b", "BINARY"),
        ("z", "TIMESTAMP"), ("day", "DATE"), ("n", "INT"),
    ]  # fmt: skip
    [block] = blocks_of(path, columns, wanted=["d", "u"])
    assert block.faults is None
    assert [str(block.column(name).type) for name, _kind in columns] == [
        "string", "string", "decimal128(20, 0)", "int16", "binary", "timestamp[us, tz=UTC]", "date32[day]", "int32",
    ]  # fmt: skip
    assert block.column("d").to_pylist() == ["x", "y", "x"]
    assert block.column("u").to_pylist() == [Decimal(2**64 - 1), 0, None]
    assert plain(block.column("z")) == [1, 2, 3]


def test_old_timestamps_of_twelve_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    when = pa.array([0, -1, 1_335_000_000_123_456_789, -(2**62), None]).view(pa.timestamp("ns"))
    pq.write_table(pa.table({"a": when, "b": when}), path, use_deprecated_int96_timestamps=True)
    [block] = blocks_of(path, [("a", "TIMESTAMP"), ("b", "TIMESTAMP_NTZ")])
    expected = [0, -1, 1_335_000_000_123_456, -(2**62) // 1000, None]
    assert plain(block.column("a")) == plain(block.column("b")) == expected


@pytest.mark.parametrize("block_rows", [1, 7, 100, 1_000])
def test_groups_are_cut_into_blocks_and_late_columns_find_their_rows(
    block_rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    count = 250
    texts = [f"t{i}" for i in range(count)]
    table = pa.table({"i": list(range(count)), "s": texts, "k": [2**40 if i % 50 == 9 else i for i in range(count)]})
    pq.write_table(table, path, row_group_size=100)
    monkeypatch.setattr(parquet_groups, "BLOCK_ROWS", block_rows)
    columns = [("i", "BIGINT"), ("s", "STRING"), ("k", "INT")]
    blocks = blocks_of(path, columns, wanted=["i"])
    assert all(block.rows <= min(block_rows, 100) for block in blocks)
    assert [i for block in blocks for i in block.column("i").to_pylist()] == list(range(count))
    # From the last to the first: a column can be asked for whenever one likes.
    late = [block.column("s").to_pylist() for block in reversed(blocks)]
    assert [text for block in reversed(late) for text in block] == texts
    firsts = [sum(block.rows for block in blocks[:at]) for at in range(len(blocks))]
    bad = [int(row) + first for block, first in zip(blocks, firsts) if block.faults for row in block.faults.rows]
    assert bad == list(range(9, count, 50))
    shown = [text for block in blocks if block.faults for text in block.faults.texts.to_pylist()]
    assert shown == [f'{{"i":{i},"s":"t{i}","k":1099511627776}}' for i in bad]


def test_some_groups_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"i": list(range(10))}), path, row_group_size=3)
    part = ParquetPart(str(path), 1, 3, ("i",))
    found = [i for block in read_parquet(part, [("i", "INT")], frozenset({"i"})) for i in block.column("i").to_pylist()]
    assert found == [3, 4, 5, 6, 7, 8]


def test_blocks_of_wide_rows_are_smaller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"s": [str(i) * 500 for i in range(200)]}), path)
    monkeypatch.setattr(parquet_groups, "BLOCK_BYTES", 100_000)
    blocks = blocks_of(path, [("s", "STRING")], wanted=["s"])
    assert len(blocks) >= 2
    assert max(block.column("s").nbytes for block in blocks) < 200_000


def test_rows_are_counted_where_no_column_is_wanted(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"i": list(range(10)), "i.j": ["x"] * 10}), path)
    [block] = blocks_of(path, [("i", "BIGINT")])
    assert (block.rows, block.faults) == (10, None)
    assert block.column("i").to_pylist() == list(range(10)), "and not the column whose name begins so"


def test_files_that_go_through_spark(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"l": [[1]], "x.y": [1], "d": [date(1500, 1, 1)], "s": ["1"]}), path)
    metadata = pq.read_metadata(path)
    assert supported(metadata, ["d", "s"], [("d", "DATE"), ("s", "STRING")])
    for name, kind in [("l", "ARRAY<BIGINT>"), ("x.y", "BIGINT"), ("s", "INT")]:
        assert not supported(metadata, ["d", name], [("d", "DATE"), ("a", kind)])
    assert not supported(metadata, ["d", None], [("d", "DATE"), ("a", "ARRAY<INT>")])


@pytest.mark.parametrize(
    ("notes", "read_here"),
    [({}, True), ({"org.apache.spark.version": "4.3.0"}, True), ({"org.apache.spark.version": "2.4.8"}, False),
     ({"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyDateTime": ""}, False),
     ({"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyINT96": ""}, False)],
)  # fmt: skip
def test_files_whose_dates_are_of_the_old_calendar_go_through_spark(
    notes: dict[str, str], read_here: bool, tmp_path: Path
) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"d": [date(1500, 1, 1)]}).replace_schema_metadata(notes), path)
    assert supported(pq.read_metadata(path), ["d"], [("d", "DATE")]) is read_here


def test_kinds_without_a_flat_form() -> None:
    for own in (pa.list_(pa.int8()), pa.time64("us"), pa.float16(), pa.decimal256(40, 2), pa.duration("us")):
        assert flat_kind(own, "INT64") is None
