"""Every line of a file is in exactly one stretch of it, however the file is cut; compared with a split of the whole."""

from __future__ import annotations

import gzip
import itertools
import random
import re
from pathlib import Path

import pytest

from punctual.scan.lines import pieces

LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
MARK = b"\xef\xbb\xbf"


@pytest.mark.parametrize("seed", range(4))
def test_cuts_lose_and_repeat_nothing(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    path = tmp_path / "lines"
    for _ in range(1_000):
        data = (MARK if rng.random() < 0.2 else b"") + bytes(rng.choices(b"abc\n\r", k=rng.randint(0, 40)))
        path.write_bytes(data)
        cuts = sorted({0, len(data), *(rng.randint(0, len(data)) for _ in range(3))})
        found: list[bytes] = []
        for start, end in itertools.pairwise(cuts):
            for piece in pieces(str(path), start, end, rng.randint(1, 10)):
                found += LINE.findall(piece)
        assert found == LINE.findall(data.removeprefix(MARK)), (data, cuts)


def test_pieces_are_no_longer_than_asked(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"0123456\n" * 1_000 + b"x" * 5_000 + b"\nend")
    sizes = [len(piece) for piece in pieces(str(path), 0, path.stat().st_size, 1_024)]
    assert sum(sizes) == path.stat().st_size
    assert sorted(sizes)[-2] <= 2_048, "only a long line makes a long piece"
    assert max(sizes) <= 10_240


def test_a_compressed_file_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "lines.gz"
    whole = b"one\ntwo\n" * 1_000
    path.write_bytes(gzip.compress(whole[:4_000]) + gzip.compress(whole[4_000:]))
    assert b"".join(pieces(str(path), 0, path.stat().st_size, 512)) == whole
