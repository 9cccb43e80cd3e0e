"""JSON lines give the values and the dead letters that Spark was observed to give, however a file is cut."""

from __future__ import annotations

import gzip
import itertools
import random
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from punctual.scan.block import Columns, arrow_type
from punctual.scan.json.line import LineReader
from punctual.scan.json.lines import read_json
from punctual.scan.text import spark_times
from tests.scan import json_fuzz
from tests.scan.json_cases import Group, differences, line_of, plain, read_lines, table

GROUPS = list(table())
TRADES = [("ts", "TIMESTAMP"), ("sym", "STRING"), ("px", "DOUBLE"), ("qty", "INT")]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: ",".join(kind for _name, kind in group.columns))
def test_lines_are_read_as_spark_reads_them(group: Group, tmp_path: Path) -> None:
    found = read_lines(group.columns, group.lines, tmp_path / "a.json")
    assert differences(group.lines, found, group.answers) == []


@pytest.mark.parametrize("seed", range(3))
def test_cuts_and_pieces_change_nothing(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    group = next(group for group in GROUPS if group.columns == TRADES)
    lines = rng.sample(group.lines, 60)
    path = tmp_path / "a.json"
    expected = read_lines(TRADES, lines, path)
    data = b"".join(line + rng.choice((b"\n", b"\r\n", b"\r", b"\n\n", b"\n \t\n")) for line in lines).rstrip(b"\r\n")
    path.write_bytes(data)
    cuts = sorted({0, len(data), *(rng.randint(0, len(data)) for _ in range(4))})
    blocks = [
        block
        for start, end in itertools.pairwise(cuts)
        for block in read_json(str(path), start, end, TRADES, rng.choice((1, 100, 5_000)))
    ]
    assert all(block.rows for block in blocks)
    for place, (name, _kind) in enumerate(TRADES):
        assert [v for block in blocks for v in plain(block.column(name))] == [a[0][place] for a in expected]
    reasons = [reason for block in blocks if block.faults for reason in block.faults.reasons.to_pylist()]
    assert reasons == [answer[1] for answer in expected if answer[1] is not None]


SCALARS = [
    ("t", "TINYINT"), ("h", "SMALLINT"), ("i", "INT"), ("l", "BIGINT"), ("f", "FLOAT"), ("d", "DOUBLE"), ("a", "DATE"),
    ("z", "TIMESTAMP"), ("n", "TIMESTAMP_NTZ"), ("c", "DECIMAL(10,2)"), ("e", "DECIMAL(38,18)"), ("g", "DECIMAL(5,0)"),
    ("s", "STRING"), ("b", "BOOLEAN"),
]  # fmt: skip


@pytest.mark.parametrize("kind", range(len(SCALARS)), ids=lambda place: SCALARS[place][1])
def test_the_walk_and_the_slow_reader_agree(kind: int, tmp_path: Path) -> None:
    """One column at a time, so that no line is doubtful because of another."""
    rng = random.Random(kind)
    columns = SCALARS[kind : kind + 1]
    values = [*json_fuzz.numbers(rng, 2_000), *json_fuzz.times(rng, 2_000), *json_fuzz.strings(rng, 1_000)]
    values += [b"true", b"false", b"null"]
    lines = [line_of(value, columns) for value in values]
    assert _differences_from_slow(columns, lines, tmp_path) == []


@pytest.mark.parametrize("columns", [TRADES, [("y", "BINARY"), ("i", "INT")]], ids=["trades", "binary"])
def test_the_walk_and_the_slow_reader_agree_on_broken_lines(columns: Columns, tmp_path: Path) -> None:
    rng = random.Random(7)
    lines = [*json_fuzz.broken_lines(rng, 5_000), *json_fuzz.binaries(rng, 1_000), *json_fuzz.GOOD]
    assert _differences_from_slow(columns, lines, tmp_path) == []


def _differences_from_slow(columns: Columns, lines: list[bytes], tmp_path: Path) -> list[str]:
    slow = LineReader(columns)
    read = [slow.read(line) for line in lines]
    arrays = [pa.array([row.values[i] for row in read], arrow_type(kind)) for i, (_name, kind) in enumerate(columns)]
    texts = [line.decode("utf-8", "replace").encode().decode("latin-1") for line in lines]
    expected = [
        (values, row.reason, None if row.reason is None else text)
        for values, row, text in zip(zip(*map(plain, arrays)), read, texts)
    ]
    return differences(lines, read_lines(columns, lines, tmp_path / "a.json"), expected)


def test_long_texts_are_no_trouble() -> None:
    many = "0" * 5_000
    reader = LineReader([("c", "DECIMAL(10,2)"), ("a", "DATE")])
    assert reader.read(f'{{"c":"{many}1.5{many}","a":"{many}7"}}'.encode()).values == (Decimal("1.50"), 7)
    assert reader.read(f'{{"c":"1{many}","a":"7{many}"}}'.encode()).values == (None, None)
    assert reader.read(f'{{"c":"1e{many}1"}}'.encode()).values == (Decimal("10.00"), None)
    assert reader.read(f'{{"c":"1e1{many}"}}'.encode()).values == (None, None)
    assert reader.read(b'{"c":"1e-21474"}').values == (Decimal("0.00"), None)
    assert reader.read(b'{"c":"1e-2147483640"}').reason == 'column "c" is not DECIMAL(10,2)'


def test_compressed_files_and_marks(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(b'\xef\xbb\xbf{"qty":1}\n{"qty":2}'))
    (block,) = read_json(str(path), 0, path.stat().st_size, TRADES)
    assert block.faults is None
    assert block.column("qty").to_pylist() == [1, 2]


def test_nothing_gives_no_block(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for data in (b"", b"\n", b" \t\r\n\n  "):
        path.write_bytes(data)
        assert list(read_json(str(path), 0, len(data), TRADES)) == []


def test_good_lines_are_read_by_the_walk_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(_self: object, line: bytes) -> None:
        raise AssertionError(line)

    monkeypatch.setattr("punctual.scan.json.line.LineReader.read", read)
    path = tmp_path / "a.json"
    path.write_text(
        '{"ts":"2012-04-21T09:20:00.123Z","sym":"ABC","px":12.34,"qty":100}\n'
        '{ "ts" : "2012-04-21 09:20:00+02:00", "sym" : "\\u00e9\\ud83d\\ude00\\n/", "px" : 0.1234567890123456789 }\n'
        '{"x":{"a":[1,{"qty":"}"}]},"qty":-5,"sym":12345,"px":null,"ts":1334999999,"y":[[],{},"\\\\",true,1e400]}\n'
    )
    (block,) = read_json(str(path), 0, path.stat().st_size, TRADES)
    assert plain(block.column("ts")) == [1335000000123000, 1334992800000000, 1334999999000000]
    assert block.column("sym").to_pylist() == ["ABC", "é😀\n/", "12345"]
    assert block.column("px").to_pylist() == [12.34, 0.12345678901234568, None]
    assert block.column("qty").to_pylist() == [100, None, -5]


def test_a_time_alone_is_of_the_day_on_which_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_times, "today", lambda _zone: 15_451)
    texts = ["T09:20:00", "09:20:00", "T09:20", "9:20", "9:2:3", "09:20:00.5Z", "09:20:00 +10:00", " 9:20", " T09:20"]
    found = [spark_times.timestamp(text) for text in texts]
    nine = 1335000000000000
    assert found == [nine, nine, nine, nine, nine - 1077000000, nine + 500000, nine - 36000000000, nine, None]
    assert [spark_times.timestamp_ntz(text) for text in texts] == [None] * len(texts)
