"""Instants as text, whatever their year."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from punctual.clock import SECOND, instant_us, iso


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (-62_135_596_800 * SECOND, "0001-01-01T00:00:00Z"),
        (-62_135_596_800 * SECOND - 1, "0000-12-31T23:59:59.999999Z"),
        (-62_167_219_200 * SECOND, "0000-01-01T00:00:00Z"),
        (-62_167_219_200 * SECOND - SECOND, "-0001-12-31T23:59:59Z"),
        (253_402_300_800 * SECOND - 1, "9999-12-31T23:59:59.999999Z"),
        (253_402_300_800 * SECOND, "+10000-01-01T00:00:00Z"),
        (951_782_400 * SECOND, "2000-02-29T00:00:00Z"),
        (951_782_400 * SECOND + 146_097 * 86_400 * SECOND * 20, "+10000-02-29T00:00:00Z"),
    ],
)
def test_years_of_any_length(at: int, text: str) -> None:
    assert iso(at) == text


def test_every_instant_of_64_bits_has_a_text_that_numpy_reads_back() -> None:
    random = np.random.default_rng(0)
    for at in random.integers(-(2**63), 2**63 - 1, 2_000, endpoint=True).tolist():
        text = iso(at)
        assert int(np.datetime64(text.removesuffix("Z"), "us").astype(np.int64)) == at
        year = int(text[: text.index("-", 1)])
        assert text[0] in "+-" if not 0 <= year <= 9999 else text[4] == "-"


def test_instants_are_read_back() -> None:
    for at in (-2_208_988_800 * SECOND, 0, 1, 1_700_000_000 * SECOND):
        assert instant_us(iso(at)) == at
        assert instant_us(iso(at).removesuffix("Z")) == at, "UTC without a zone"
    assert instant_us("2020-06-01") == int(datetime(2020, 6, 1, tzinfo=UTC).timestamp()) * SECOND
