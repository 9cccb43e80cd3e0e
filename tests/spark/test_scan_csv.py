"""CSV files read in a task give what Spark's reader gives: values, reasons, texts, also where a file is cut."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from punctual.ports.feeds.file_reader import FileReader
from punctual.ports.feeds.listing import list_files
from punctual.scan.csv.settings import csv_settings
from tests.scan.test_csv_records import NO_HEADER, SETTINGS, TEXTS, records

pytestmark = pytest.mark.spark

TYPED = [
    ("s", "STRING"), ("i", "INT"), ("n", "DECIMAL(5,2)"), ("missing", "DOUBLE"), ("b", "BINARY"), ("x", "BOOLEAN"),
    ('q"\\', "DATE"), ("t", "TIMESTAMP_NTZ"),
]  # fmt: skip
HEADER, PLACES = b'i,unused,s,n,"q""\\",x,t,b', (2, 0, 3, None, 7, 5, 4, 6)
PIECES = (
    b"a", b"b", b"1", b" ", b"\t", b"\\", b"'", "é".encode(), "😀".encode(), b"\x00", b"#", b"\xff", b"\xed\xa0\x80",
    b"\xe4\xb8", b"\xf0\x9f", b"\xf0\x80\x80", b"\xc0\xaf", b"\x7f", b"\x01", b"\r", b",", b";", b'"',
)  # fmt: skip


def by_spark(
    spark: SparkSession, path: Path, columns: list[tuple[str, str]], options: list[tuple[str, str]], cut: int
) -> list[tuple[Any, ...]]:
    """Rows of the file, read by Spark in splits of so many bytes."""
    session = spark.newSession()
    for name in ("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes"):
        session.conf.set(name, str(cut))
    frame = FileReader(columns, "CSV", options).read(session, list_files(str(path)))
    return [tuple(bytes(part) if isinstance(part, bytearray) else part for part in row[:-1]) for row in frame.collect()]


def fuzzed_line(rng: random.Random, marks: list[bytes]) -> bytes:
    odd = rng.random() < 0.3
    return b"".join(
        rng.choice(PIECES) if odd and rng.random() < 0.4 else rng.choice(marks)
        for _ in range(rng.choice((0, 2, 5, 9, 14)))
    )


@pytest.mark.parametrize("name", SETTINGS)
def test_lines_of_any_kind(spark: SparkSession, name: str, tmp_path: Path) -> None:
    seed = random.randrange(1 << 30)
    rng = random.Random(seed)
    settings = csv_settings(SETTINGS[name])
    assert settings is not None
    marks = [mark.encode() for mark in (settings.sep, settings.sep, settings.quote, settings.quote, settings.escape)]
    path = tmp_path / "lines.csv"
    lines = [fuzzed_line(rng, [*marks, b"a", b" ", b"b"]) for _ in range(3_000)]
    path.write_bytes(
        rng.choice((b"", b"\xef\xbb\xbf")) + b"".join(line + rng.choice((b"\n", b"\r\n")) for line in lines)
    )
    cut = rng.randint(3_000, 9_000)
    expected = by_spark(spark, path, TEXTS, SETTINGS[name], cut)
    found = records(path, TEXTS, settings, cuts=tuple(range(cut, path.stat().st_size, cut)), piece_bytes=1_000)
    assert [pair for pair in zip(found, expected) if pair[0] != pair[1]] == [], seed
    assert len(found) == len(expected) > 1_000


def test_values_of_every_type(spark: SparkSession, tmp_path: Path) -> None:
    seed = random.randrange(1 << 30)
    rng = random.Random(seed)
    fitting = (
        ("1", "-7", "\t1 ", ""), ("u",), ("é😀", '"a ""b"" c"', "\x01\x1f\x7f\u2028", '""'), ("1.005", "1e2", ""),
        ("2020-01-02", "2020"), ("true", "no", ""), ("2020-01-02 03:04:05.5Z", "2020-1-2"), ("x", '"\\"'),
    )  # fmt: skip
    odd = [value for values in fitting for value in values] + ["999.995", "NaN", "1e9"]
    path = tmp_path / "typed.csv"
    lines = [
        ",".join(rng.choice(values) if rng.random() < 0.9 else rng.choice(odd) for values in fitting)
        for _ in range(2_000)
    ]
    lines += [",".join(rng.choices(odd, k=rng.randint(1, 10))) for _ in range(500)]
    rng.shuffle(lines)
    path.write_bytes(HEADER + b"\n" + "\n".join(lines).encode())
    expected = by_spark(spark, path, TYPED, [], 20_000)
    settings = csv_settings([])
    assert settings is not None
    found = records(path, TYPED, settings, 8, PLACES, tuple(range(20_000, path.stat().st_size, 20_000)))
    assert [pair for pair in zip(found, expected) if pair[0] != pair[1]] == [], seed
    assert len(found) == len(expected) == len([line for line in lines if line.strip()])
    assert 100 < sum(row[-1] is None for row in found) < 2_000


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf\xef\xbb\xbfa,b,c\n\xef\xbb\xbfd,b,c\n",
        b"\n\xef\xbb\xbfa,b\n",
        b"\n\xef\xbb\xbf\nd,e,f\n",
        b"\n\xef\xbb\xbf \nd,e,f\n",
        b'\n\xef\xbb\xbf"a""b",b,c\nd,e,f',
        b"\n\xef\xbb\xbf#a,b,c\nd,e,f\n#g,h,i",
        b"#\n\xef\xbb\xbfa,b,c\n",
        b"\xef\xbb\xbf",
        b"",
    ],
)
@pytest.mark.parametrize("options", [[NO_HEADER], [NO_HEADER, ("comment", "#")]], ids=["plain", "comment"])
def test_marks_of_byte_order(spark: SparkSession, data: bytes, options: list[tuple[str, str]], tmp_path: Path) -> None:
    path = tmp_path / "marks.csv"
    path.write_bytes(data)
    settings = csv_settings(options)
    assert settings is not None
    assert records(path, TEXTS, settings) == by_spark(spark, path, TEXTS, options, 1 << 20)
