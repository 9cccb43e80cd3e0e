"""Records of CSV files: lines as Spark's parser takes them apart, values and faults, and files in parts.

The lines and what Spark made of each are a table (``tests/spark/test_scan_csv.py`` compares whole files with Spark).
"""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from punctual.scan.block import Columns
from punctual.scan.csv.records import MOST_FIELDS, read_csv
from punctual.scan.csv.settings import CsvSettings, csv_settings

CASES = pq.read_table(Path(__file__).parent / "cases" / "csv_lines.parquet").to_pylist()
NO_HEADER = ("header", "false")
SETTINGS: dict[str, list[tuple[str, str]]] = {
    "plain": [NO_HEADER],
    "backslash": [NO_HEADER, ("escape", "\\")],
    "tick": [NO_HEADER, ("quote", "'"), ("sep", ";")],
    "tab": [NO_HEADER, ("sep", "\t"), ("comment", "#")],
    "noquote": [NO_HEADER, ("quote", "")],
    "escx": [NO_HEADER, ("escape", "x"), ("comment", "a")],
    "space": [NO_HEADER, ("sep", " ")],
}
TEXTS = [("c0", "STRING"), ("c1", "STRING"), ("c2", "STRING")]
TRADES = [("ts", "TIMESTAMP"), ("sym", "STRING"), ("px", "DECIMAL(6,2)"), ("none", "INT"), ("size", "INT")]
PLACES = (0, 1, 3, None, 2)


def records(
    path: Path,
    columns: Columns,
    settings: CsvSettings,
    width: int = 3,
    places: tuple[int | None, ...] = (0, 1, 2),
    cuts: tuple[int, ...] = (),
    piece_bytes: int = 1 << 16,
) -> list[tuple[object, ...]]:
    """All rows of a file that is read in parts: values, reason, text."""
    rows: list[tuple[object, ...]] = []
    for start, end in itertools.pairwise([0, *cuts, path.stat().st_size]):
        for block in read_csv(str(path), start, end, width, places, columns, settings, piece_bytes):
            faults: dict[int, tuple[str, str]] = {}
            if block.faults is not None:
                told = zip(block.faults.reasons.to_pylist(), block.faults.texts.to_pylist())
                faults = dict(zip(block.faults.rows.tolist(), told))
                assert list(faults) == sorted(faults)
            values = [block.column(name) for name, _kind in columns]
            assert {len(value) for value in values} == {block.rows}
            for value in values:
                value.validate(full=True)
            named = zip(*(value.to_pylist() for value in values))
            rows += [(*row, *faults.get(at, (None, None))) for at, row in enumerate(named)]
    return rows


@pytest.mark.parametrize("piece_bytes", [1 << 20, 1 << 9])
@pytest.mark.parametrize("name", SETTINGS)
def test_lines_are_taken_apart_as_spark_does(name: str, piece_bytes: int, tmp_path: Path) -> None:
    cases = [case for case in CASES if case["settings"] == name]
    path = tmp_path / "lines.csv"
    settings = csv_settings(SETTINGS[name])
    assert settings is not None
    # A byte order mark at the start of a file is another matter.
    first = settings.sep.join("mno")
    path.write_bytes(b"\n".join([first.encode(), *(case["line"] for case in cases)]))
    start, *found = records(path, TEXTS, settings, piece_bytes=piece_bytes)
    assert start == ("m", "n", "o", None, None)
    kept = [case for case in cases if case["is_record"]]
    expected = [tuple(case[part] for part in ("c0", "c1", "c2", "reason", "raw")) for case in kept]
    wrong = [case for case in zip((case["line"] for case in kept), found, expected) if case[1] != case[2]]
    assert wrong == []
    assert len(found) == len(expected)


def test_values_faults_and_columns_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "trades.csv"
    path.write_bytes(
        b"ts,sym,size,px\r\n"
        b"2020-01-02T03:04:05.678Z,AB,7,1.005\r\n"
        b'2020-01-02 03:04:05,"a ""b"" \x01\x1f\\/\xc3\xa9",x,9999.995\r\n'
        b"\r\n"
        b"1,2,3\r\n"
        b",,,\r\n"
        b"2020,x,1,2,3"
    )
    found = [tuple(map(str, row)) for row in records(path, TRADES, CsvSettings(), 4, PLACES)]
    assert found == [
        ("2020-01-02 03:04:05.678000+00:00", "AB", "1.01", "None", "7", "None", "None"),
        (
            "2020-01-02 03:04:05+00:00",
            'a "b" \x01\x1f\\/é',
            "None",
            "None",
            "None",
            'column "px" is not DECIMAL(6,2); column "size" is not INT',
            r'{"ts":"2020-01-02 03:04:05","sym":"a \"b\" \u0001\u001F\\/é","px":"9999.995","size":"x"}',
        ),
        ("None", "2", "None", "None", "3", "not a record of 4 fields", "1,2,3"),
        ("None", "None", "None", "None", "None", "None", "None"),
        ("2020-01-01 00:00:00+00:00", "x", "2.00", "None", "1", "not a record of 4 fields", "2020,x,1,2,3"),
    ]


def test_a_record_of_one_field_is_named_so(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_bytes(b"a,b\n")
    settings = CsvSettings(header=False)
    assert records(path, [("x", "STRING")], settings, 1, (0,)) == [("a", "not a record of 1 field", "a,b")]


@pytest.mark.parametrize("seed", range(3))
def test_a_file_in_parts_has_the_same_rows(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    path = tmp_path / "parts.csv"
    lines = [b"c0,c1,c2", *(bytes(rng.choices(b'ab,," \r', k=rng.randint(0, 12))) for _ in range(200))]
    path.write_bytes(b"\n".join(lines))
    whole = records(path, TEXTS, CsvSettings())
    assert len(whole) > 100
    for _ in range(20):
        cuts = tuple(sorted(rng.randint(9, path.stat().st_size) for _ in range(4)))
        assert records(path, TEXTS, CsvSettings(), cuts=cuts, piece_bytes=rng.randint(1, 400)) == whole


def test_the_header_is_the_first_line_of_the_file_that_says_something(tmp_path: Path) -> None:
    path = tmp_path / "header.csv"
    path.write_bytes(b"\n \n#x\n #y\nc0,c1,c2\n1,2,3\n#z\nc0,c1,c2\n")
    settings = CsvSettings(comment="#")
    expected = [("1", "2", "3", None, None), ("c0", "c1", "c2", None, None)]
    for piece_bytes in (1, 7, 1 << 10):
        assert records(path, TEXTS, settings, piece_bytes=piece_bytes) == expected
    assert records(path, TEXTS, settings, cuts=(30,)) == expected
    path.write_bytes(b"c0,c1,c2")
    assert records(path, TEXTS, settings) == []


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\xef\xbb\xbf\xef\xbb\xbfa,b,c\n\xef\xbb\xbfd,b,c\n", [("a", "b", "c"), ("\ufeffd", "b", "c")]),
        (b"\n\xef\xbb\xbfa,b\n", [("a", "b", None, "a,b")]),
        (b"\n\xef\xbb\xbf\nd,e,f", [("\0", None, None, "\ufeff"), ("d", "e", "f")]),
        (b"\n\xef\xbb\xbf \nd,e,f", [(" ", None, None, " "), ("d", "e", "f")]),
        (b"\n\xef\xbb\xbf#a,b,c\nd,e,f\n#g,h,i", [(None, None, None), ("d", "e", "f")]),
    ],
)
def test_marks_of_byte_order(data: bytes, expected: list[tuple[str | None, ...]], tmp_path: Path) -> None:
    """As Spark does: Hadoop drops the mark of a file, its parser the mark of the first line that it is given."""
    path = tmp_path / "marks.csv"
    path.write_bytes(data)
    found = records(path, TEXTS, CsvSettings(header=False, comment="#"))
    assert [(*row[:3], *row[4:]) if row[3] else row[:3] for row in found] == expected


def test_a_line_with_more_fields_than_spark_takes_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_bytes(b"," * (MOST_FIELDS - 1))
    assert records(path, TEXTS, CsvSettings(header=False))[0][3] == "not a record of 3 fields"
    for line in (b"," * MOST_FIELDS, b'"a"b' + b"," * MOST_FIELDS):
        path.write_bytes(line)
        with pytest.raises(ValueError, match="more than 20,480 fields"):
            records(path, TEXTS, CsvSettings(header=False))


@pytest.mark.parametrize(
    "options",
    [
        [("multiLine", "true")],
        [("encoding", "latin1")],
        [("timestampFormat", "yyyy")],
        [("nullValue", "-")],
        [("mode", "DROPMALFORMED")],
        [("lineSep", ";")],
        [("sep", "::")],
        [("sep", "§")],
        [("sep", '"')],
        [("quote", "''")],
        [("escape", "")],
        [("comment", ",")],
    ],
)
def test_what_is_not_read_exactly_is_left_to_spark(options: list[tuple[str, str]]) -> None:
    assert csv_settings(options) is None
