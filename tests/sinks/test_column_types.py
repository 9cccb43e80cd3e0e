"""Columns of every type that Spark has: through the answer log, JSON lines, Parquet and memory."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from punctual.engine.dataframe import to_pandas
from punctual.ports import answers
from punctual.ports.answers import AnswerBlock, CannotEncode, decode, encode
from punctual.ports.sinks.jsonl import json_lines
from punctual.ports.sinks.memory import MemorySink
from punctual.ports.sinks.parquet import ParquetSink
from punctual.ports.storage import PosixFiles
from tests.store.answering import block

VOID = pa.null()
ZONED, LOCAL = pa.timestamp("us", tz="UTC"), pa.timestamp("us")
COLUMNS: dict[str, tuple[pa.DataType, list[Any], list[Any]]] = {
    "void": (VOID, [None, None], [None, None]),
    "truth": (pa.bool_(), [True, None], [True, None]),
    "tiny": (pa.int8(), [-128, None], [-128, None]),
    "small": (pa.int16(), [32767, None], [32767, None]),
    "whole": (pa.int32(), [1, None], [1, None]),
    "big": (pa.int64(), [-(2**63), None], [-(2**63), None]),
    "float": (pa.float32(), [1.5, None], [1.5, None]),
    "double": (pa.float64(), [float("inf"), None], ["Infinity", None]),
    "decimal": (pa.decimal128(38, 38), [Decimal("0." + "1" * 38), None], ["0." + "1" * 38, None]),
    "long_decimal": (pa.decimal128(38, 0), [Decimal("9" * 38), None], ["9" * 38, None]),
    "day": (pa.date32(), [date(2024, 2, 29), None], ["2024-02-29", None]),
    "first_and_last_day": (pa.date32(), [-(2**31), 2**31 - 1], ["-5877641-06-23", "+5881580-07-11"]),
    "days_around": (pa.date32(), [-719_529, 2_932_896], ["-0001-12-31", "9999-12-31"]),
    "year_0": (pa.date32(), [-719_528, None], ["0000-01-01", None]),
    "moment": (ZONED, [1, None], ["1970-01-01T00:00:00.000001Z", None]),
    "first_and_last_moment": (
        ZONED, [-(2**63), 2**63 - 1], ["-290308-12-21T19:59:05.224192Z", "+294247-01-10T04:00:54.775807Z"],
    ),
    "local_moment": (LOCAL, [0, None], ["1970-01-01T00:00:00Z", None]),
    "time": (pa.time64("ns"), [43_200_000_000_000, 1_500_000], ["12:00:00", "00:00:00.001500"]),
    "lasting": (pa.duration("us"), [-5, None], [-5, None]),
    "bytes": (pa.binary(), [b"\x00\xff", None], ["AP8=", None]),
    "text": (pa.string(), ['"\n\u2028', None], ['"\n\u2028', None]),
    "list": (pa.list_(pa.int32()), [[1, None], None], [[1, None], None]),
    "list_of_nothing": (pa.list_(VOID), [[None, None], []], [[None, None], []]),
    "struct": (pa.struct([("a", pa.int32()), ("b", VOID)]), [{"a": 1, "b": None}, None], [{"a": 1, "b": None}, None]),
    "map": (pa.map_(pa.string(), VOID), [[("a", None)], None], [{"a": None}, None]),
    "map_of_numbers": (pa.map_(pa.int32(), ZONED), [[(1, 0)], []], [{"1": "1970-01-01T00:00:00Z"}, {}]),
    "map_of_structs": (
        pa.map_(pa.struct([("a", pa.string())]), pa.int32()), [[({"a": "\""}, 2)], None], [{'{"a":"\\""}': 2}, None],
    ),
    "deep": (
        pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.list_(VOID)))])),
        [[{"m": [("k", [None])]}], None], [[{"m": {"k": [None]}}], None],
    ),
}  # fmt: skip


def answered(query: str, name: str, data_type: pa.DataType, values: list[Any]) -> AnswerBlock:
    """Two answers with a row each, and one without any."""
    struct = pa.StructArray.from_arrays([pa.array(values, data_type), pa.array([1, 2])], names=[name, "n"])
    rows = pa.ListArray.from_arrays(pa.array([0, 1, 1, 2], pa.int32()), struct)
    table = block(query, [("n", pa.int64())], [[], [], []]).table
    return AnswerBlock(query, table.set_column(table.column_names.index("rows"), "rows", rows))


def blocks_of(name: str) -> list[AnswerBlock]:
    """Two queries whose columns have one type and different names."""
    data_type, values, _shown = COLUMNS[name]
    return [answered("q", "o", data_type, values), answered("p", "other", data_type, values)]


@pytest.mark.parametrize("name", COLUMNS)
def test_the_log_keeps_every_type(name: str) -> None:
    blocks = blocks_of(name)
    found = decode(encode(blocks))
    for one, same in zip(blocks, found, strict=True):
        assert one.query == same.query
        same.table.validate(full=True)
        assert one.table.equals(same.table)


@pytest.mark.parametrize("name", COLUMNS)
def test_json_of_every_type(name: str) -> None:
    shown = COLUMNS[name][2]
    for blocks in (blocks_of(name), decode(encode(blocks_of(name)))):
        for (query, lines), column in zip(json_lines(blocks), ("o", "other")):
            rows = [json.loads(line)["rows"] for line in bytes(lines).splitlines()]
            assert rows == [[{column: shown[0], "n": 1}], [], [{column: shown[1], "n": 2}]], query


@pytest.mark.parametrize("name", COLUMNS)
def test_sinks_take_every_type(tmp_path: Path, name: str) -> None:
    blocks = decode(encode(blocks_of(name)))
    memory, parquet = MemorySink(), ParquetSink(PosixFiles(), str(tmp_path))
    parquet.open(None)
    parquet.claim(["q", "p"])
    for position in (1, 2):
        memory.write(position, blocks)
        parquet.write(position, blocks)
    parquet.checkpoint()
    frame = memory.frame("q")
    assert frame is not None
    frame.validate(full=True)
    assert frame.column("o").type == COLUMNS[name][0]
    assert len(repr(to_pandas(frame)["o"].tolist())) > 0
    written = pq.read_table(tmp_path / "q").column("rows").combine_chunks()
    expected = pa.concat_arrays([blocks[0].table.column("rows").combine_chunks()] * 2)
    assert written.equals(expected)


def test_a_block_that_cannot_be_encoded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """No type of Spark's is one; should there be one some day, the others go on."""
    good, bad = blocks_of("whole")
    encoded = answers._encoded

    def fails(blocks: list[AnswerBlock]) -> bytes:
        if bad in blocks:
            raise pa.ArrowNotImplementedError("a type\nof tomorrow")
        return encoded(blocks)

    monkeypatch.setattr(answers, "_encoded", fails)
    with pytest.raises(CannotEncode) as told:
        encode([good, bad])
    assert told.value.reasons == {"p": "a type"}
    assert decode(encode([good]))[0].query == "q"
