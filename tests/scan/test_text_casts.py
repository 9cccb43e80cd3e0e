"""Texts as declared types: fourteen thousand texts and what Spark 4.3 made of each, for eighteen types.

The table was asked of Spark (``tests/spark/test_scan_casts.py`` asks again). It has no times without a date, which
are of today, and names of time zones only for years in which databases of zones agree.
"""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from punctual.scan.text.text_casts import cast_texts

CASES = pq.read_table(Path(__file__).parent / "cases" / "casts.parquet")
KINDS = CASES.column_names[1:]
BITS = {"FLOAT": pa.uint32(), "DOUBLE": pa.uint64(), "DATE": pa.int32()}


def cast(texts: list[str | None], kind: str) -> tuple[pa.Array, list[bool]]:
    """The texts, one after the other with something between them, as a type."""
    encoded = [(text or "").encode() for text in texts]
    data = b"7".join([b"", *encoded, b""])
    lengths = [len(text) for text in encoded]
    starts = [1 + before for before in itertools.accumulate((length + 1 for length in lengths), initial=0)][:-1]
    valid = np.array([text is not None for text in texts], np.bool_)
    found, misfits = cast_texts(
        np.frombuffer(data, np.uint8), np.array(starts, np.int64), np.array(lengths, np.int64), valid, kind
    )
    found.validate(full=True)
    return found, misfits.tolist()


def plain(values: pa.Array, kind: str) -> list[object]:
    """Values as what compares well: bits of floats (but one NaN), numbers of times."""
    bits = pa.int64() if kind.startswith("TIMESTAMP") else BITS.get(kind)
    if bits is None:
        return list(values.to_pylist())
    found = [None if value is None else int(value) for value in values.view(bits).to_pylist()]
    if kind in ("FLOAT", "DOUBLE"):
        return ["NaN" if value != value else bit for value, bit in zip(values.to_pylist(), found)]
    return list(found)


@pytest.mark.parametrize("kind", KINDS)
def test_every_text_is_cast_as_spark_casts_it(kind: str) -> None:
    texts = CASES["text"].to_pylist()
    found, misfits = cast(texts, kind)
    assert found.type == CASES.schema.field(kind).type
    expected = plain(pa.concat_arrays(CASES[kind].chunks), kind)
    wrong = [case for case in zip(texts, plain(found, kind), expected) if case[1] != case[2]]
    assert wrong == []
    assert misfits == [value is None for value in expected], "what does not fit is NULL, and nothing else"


@pytest.mark.parametrize("kind", KINDS)
def test_absent_texts_are_null_and_fit(kind: str) -> None:
    found, misfits = cast([None, "1", None], kind)
    assert [value is None for value in found.to_pylist()][::2] == [True, True]
    assert misfits[::2] == [False, False]
    found, misfits = cast([], kind)
    assert (len(found), misfits) == (0, [])


def test_a_time_without_a_date_is_of_today() -> None:
    before = datetime.now(UTC).date()
    found, misfits = cast(["12:30:00", "T1:2:3.5Z", "12:30"], "TIMESTAMP")
    after = datetime.now(UTC).date()
    first, second, third = found.to_pylist()
    assert first.date() in (before, after)
    assert (first.strftime("%H:%M:%S"), third.strftime("%H:%M"), misfits) == ("12:30:00", "12:30", [False] * 3)
    assert second.strftime("%H:%M:%S.%f") == "01:02:03.500000"
    assert cast(["12:30:00"], "TIMESTAMP_NTZ")[1] == [True]


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2020-03-29 02:30:00 Europe/Berlin", "2020-03-29 01:30:00"),
        ("2020-10-25 02:30:00 Europe/Berlin", "2020-10-25 00:30:00"),
        ("2020-07-01T00:00:00America/New_York", "2020-07-01 04:00:00"),
        ("2020-07-01T00:00:00.5 UTC+1", "2020-06-30 23:00:00.500000"),
    ],
)
def test_clocks_of_regions(text: str, utc: str) -> None:
    found = cast([text], "TIMESTAMP")[0].to_pylist()[0]
    assert str(found.replace(tzinfo=None)) == utc
