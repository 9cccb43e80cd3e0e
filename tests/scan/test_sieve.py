"""What is shed at ingest: recomputed from the raw lines and positions with the public rule of samples."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from punctual.kernel.sample import places
from punctual.scan import generated
from punctual.scan.block import Block
from punctual.scan.csv.settings import CsvSettings
from punctual.scan.open_part import Reading, open_part
from punctual.scan.parquet import groups as parquet_groups
from punctual.scan.parts import CsvPart, JsonPart, ParquetPart, Part, RatePart
from punctual.scan.sieve import Sieve

SALT = "trips"
COLUMNS = (("n", "INT"), ("s", "STRING"))
READING = Reading(COLUMNS, CsvSettings(comment="#"))
WANTED = frozenset({"n", "s"})
SHARES = [1, 3_000, 9_999, 10_000]
Row = tuple[tuple[Any, ...], str | None, str | None]


def rows_of(blocks: Iterable[Block]) -> list[Row]:
    """Every row with its values, and the reason and the text of one that does not fit."""
    found: list[Row] = []
    for block in blocks:
        faults: dict[int, tuple[str, str]] = {}
        if block.faults is not None:
            texts = zip(block.faults.reasons.to_pylist(), block.faults.texts.to_pylist())
            faults = dict(zip(block.faults.rows.tolist(), texts))
        values = list(zip(*(block.column(name).to_pylist() for name, _kind in COLUMNS)))
        assert len(values) == block.rows
        found += [(value, *faults.get(row, (None, None))) for row, value in enumerate(values)]
    return found


def opened(parts: Sequence[Part], sieve: Sieve | None = None) -> list[Block]:
    return [block for part in parts for block in open_part(part, READING, WANTED, sieve)]


def check(parts: Sequence[Part], position: pa.Table, share: int) -> None:
    """``position`` has what the place of each row hangs on, in the order of the rows."""
    whole = opened(parts)
    assert all(block.sifted is None for block in whole)
    rows = rows_of(whole)
    assert len(rows) == position.num_rows
    place = places(position, position.column_names, SALT)
    kept = np.flatnonzero(place < share / 10_000)
    sifted = opened(parts, Sieve(SALT, share))
    assert rows_of(sifted) == [rows[row] for row in kept]
    told = [block.sifted for block in sifted if block.sifted is not None]
    assert len(told) == len(sifted)
    assert sum(one.shed for one in told) == len(rows) - kept.size
    assert np.concatenate([one.places for one in told]).tolist() == place[kept].tolist()


def lines_table(lines: Iterable[bytes]) -> pa.Table:
    """A column of text, as anybody would make it of a file."""
    return pa.table({"line": pa.array(list(lines), pa.binary())})


def cut(size: int, rng: random.Random) -> list[tuple[int, int]]:
    return list(pairwise(sorted({0, size, *(rng.randrange(size) for _ in range(3))})))


JSON_LINES = [
    *(json.dumps({"n": n, "s": f"row {n}"}).encode() for n in range(200)),
    b'  {"n": 1, "s": "blanks around it"} \t', b"not JSON", b'{"n": "seven", "s": "x"}', b'{"n": 1e400}', b"[]",
    '{"n": 4, "s": "Zürich"}'.encode(), b'{"n": 5, "s": "\xff"}', b'{"n": 6, "s": "twice"}', b'{"n": 6, "s": "twice"}',
]  # fmt: skip


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("packed", [False, True])
def test_json_lines_are_shed_by_their_bytes(share: int, packed: bool, tmp_path: Path) -> None:
    rng = random.Random(share)
    lines = rng.sample(JSON_LINES, len(JSON_LINES))
    data = b"".join(line + rng.choice((b"\n", b"\r\n", b"\r", b"\n\n", b"\n \t\n")) for line in lines).rstrip(b"\r\n")
    path = tmp_path / ("a.json.gz" if packed else "a.json")
    path.write_bytes(gzip.compress(data) if packed else data)
    whole = lines_table(line for line in re.split(rb"[\r\n]", data) if line.strip(b" \t"))
    cuts = [(0, len(data))] if packed else cut(len(data), rng)
    check([JsonPart(str(path), start, end) for start, end in cuts], whole, share)


CSV_LINES = [
    *(f"{n},row {n}".encode() for n in range(200)),
    b'7,"quoted, with a comma"', b'8,"begins in quotes', b'ends in them"', b'9,"doubled ""quotes"""', b"ten,no number",
    b"11,one,too many", b" 12,a blank before it", "13,Zürich".encode(), b"14,\xff", b"15,twice", b"15,twice",
]  # fmt: skip


@pytest.mark.parametrize("share", SHARES)
def test_csv_lines_are_shed_by_their_bytes(share: int, tmp_path: Path) -> None:
    """The header, comments and blank lines are neither kept nor shed; a break inside quotes ends a record."""
    rng = random.Random(share)
    lines = rng.sample(CSV_LINES, len(CSV_LINES))
    data = b"# a comment\r\nn,s\r\n"
    for line in lines:
        data += line + rng.choice((b"\n", b"\r\n", b"\r", b"\n\n", b"\r\n \t\r\n", b"\n# a comment\n"))
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    found = [line for line in re.split(rb"[\r\n]", data) if line.strip() and not line.startswith(b"#")]
    parts = [CsvPart(str(path), start, end, 2, (0, 1)) for start, end in cut(len(data), rng)]
    check(parts, lines_table(found[1:]), share)


def test_a_mark_of_byte_order_counts_for_the_first_line_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    lines = [b"\xef\xbb\xbf1,a", b"\xef\xbb\xbf2,b", b"3,c"]
    path.write_bytes(b"x,y\n" + b"\n".join(lines))
    for share in range(0, 10_001, 250):
        check([CsvPart(str(path), 4, 30, 2, (0, 1))], lines_table(lines), share)


@pytest.mark.parametrize("share", SHARES)
def test_rows_of_parquet_are_shed_by_their_place_in_the_file(
    share: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_groups, "BLOCK_ROWS", 7)
    path = str(tmp_path / "a.parquet")
    numbers = [2**40 if n % 9 == 0 else n for n in range(100)]  # some are no INT
    pq.write_table(pa.table({"n": numbers, "s": [str(n) for n in numbers]}), path, row_group_size=30)
    parts = [ParquetPart(path, first, last, ("n", "s")) for first, last in ((0, 1), (1, 3), (3, 4))]
    check(parts, pa.table({"file": [path] * 100, "row": range(100)}), share)


@pytest.mark.parametrize("share", SHARES)
def test_generated_rows_are_shed_by_their_numbers(share: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generated, "BLOCK_ROWS", 7)
    parts = [RatePart(5, 60, 0, 10, 1_000_000), RatePart(60, 100, 0, 10, 1_000_000)]
    place = places(pa.table({"row": range(5, 100)}), ["row"], SALT)
    sieve = Sieve(SALT, share)
    blocks = [block for part in parts for block in open_part(part, READING, WANTED, sieve)]
    values = [value for block in blocks for value in block.column("value").to_pylist()]
    assert values == [row for row in range(5, 100) if place[row - 5] < share / 10_000]
    assert sum(block.sifted.shed for block in blocks if block.sifted is not None) == 95 - len(values)


def test_another_stream_sheds_other_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"\n".join(JSON_LINES))
    part = JsonPart(str(path), 0, path.stat().st_size)
    one, other = (rows_of(opened([part], Sieve(salt, 5_000))) for salt in ("a", "b"))
    assert one != other
    less = rows_of(opened([part], Sieve("a", 2_500)))
    assert [row for row in one if row in less] == less  # a larger share keeps what a smaller one keeps
