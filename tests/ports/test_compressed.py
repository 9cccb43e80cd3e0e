"""What is said about compressed files that cannot be read."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pytest

from punctual.ports.feeds.compressed import damage

TEXT = b"".join(b'{"n": %d}\n' % number for number in range(1_000))


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.json", TEXT, None),
        ("a.json.gz", gzip.compress(TEXT), None),
        ("a.json.bz2", bz2.compress(TEXT), None),
        ("a.json.gz", TEXT, "it is named like a gzip file and is none"),
        ("a.json.GZ", b"", "it is named like a gzip file and is none"),
        ("a.json.gz", gzip.compress(TEXT)[:-20], "it is a damaged gzip file: "),
        ("a.json.gz", gzip.compress(TEXT)[:40] + b"?" * 40, "it is a damaged gzip file: "),
        ("a.json.bz2", bz2.compress(TEXT)[:-20], "it is a damaged bzip2 file: "),
    ],
    ids=["plain", "gzip", "bzip2", "no gzip", "empty", "cut gzip", "mangled gzip", "cut bzip2"],
)
def test_damage(tmp_path: Path, name: str, data: bytes, said: str | None) -> None:
    (tmp_path / name).write_bytes(data)
    found = damage(str(tmp_path / name))
    assert (found is None) == (said is None)
    assert (found or "").startswith(said or "")
