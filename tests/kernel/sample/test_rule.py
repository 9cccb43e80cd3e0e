"""The rule of samples, as anybody would check it."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from itertools import count

import numpy as np
import pyarrow as pa
import pytest

from punctual.kernel.arrays.row_hashes import row_hashes
from punctual.kernel.sample import kept, places, places_of

ROWS = 50_000


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    random = np.random.default_rng(7)
    keys = random.integers(0, 2_000, ROWS)
    texts = np.array(["x", "", "Zürich", "long " * 20])[random.integers(0, 4, ROWS)]
    return pa.table(
        {
            "k": pa.array(keys, mask=random.random(ROWS) < 0.02),
            "x": random.normal(size=ROWS),
            "s": texts.tolist(),
        }
    )


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
@pytest.mark.parametrize("salt", ["", "a", "2012-04-21T09:20:00Z"])
def test_a_share_is_kept(rows: pa.Table, share: float, salt: str) -> None:
    found = kept(rows, "row", salt, share).mean()
    assert abs(found - share) < 4 * math.sqrt(share * (1 - share) / ROWS)


def test_shares_are_nested_and_ends_are_exact(rows: pa.Table) -> None:
    small, large = kept(rows, "row", "s", 0.2), kept(rows, "row", "s", 0.5)
    assert not (small & ~large).any()
    assert not kept(rows, "row", "s", 0.0).any()
    assert kept(rows, "row", "s", 1.0).all()


def test_keys_stay_together_in_any_table(rows: pa.Table) -> None:
    whole = kept(rows, ["k"], "s", 0.4)
    other = pa.table({"other": rows.column("x"), "k": rows.column("k").cast(pa.int32())})
    assert (whole == kept(other, ["k"], "s", 0.4)).all()
    by_key: dict[int | None, set[bool]] = {}
    for key, one in zip(rows.column("k").to_pylist(), whole.tolist()):
        by_key.setdefault(key, set()).add(one)
    assert all(len(answers) == 1 for answers in by_key.values())


def test_batches_do_not_count(rows: pa.Table) -> None:
    whole = kept(rows, "row", "s", 0.4)
    parts = [kept(rows.slice(at, 777), "row", "s", 0.4) for at in range(0, ROWS, 777)]
    assert (whole == np.concatenate(parts)).all()


def test_salts_are_independent(rows: pa.Table) -> None:
    one, other = places(rows, "row", "a"), places(rows, "row", "b")
    assert abs(np.corrcoef(one, other)[0, 1]) < 4 / math.sqrt(ROWS)


def test_places_are_uniform(rows: pa.Table) -> None:
    counts = np.histogram(places(rows, "row", "s"), 20, (0.0, 1.0))[0]
    expected = ROWS / 20
    chi = float(((counts - expected) ** 2 / expected).sum())
    assert chi < 50.0  # 19 degrees of freedom: beyond this one of ten thousand


def test_a_table_of_raw_rows_has_the_same_places() -> None:
    moments = [datetime(1969, 12, 31, 23, 59, 59, 250_001, UTC) + timedelta(hours=7 * i) for i in range(50)]
    ours = pa.table(
        {
            "t": pa.array(moments, pa.timestamp("us", tz="UTC")),
            "k": pa.array(range(50), pa.int16()).dictionary_encode(),
            "x": pa.array([0.5 * i for i in range(50)], pa.float32()),
            "s": pa.array([None if i % 5 == 0 else f"s{i}" for i in range(50)], pa.large_string()),
            "tags": pa.array([[i, i + 1] for i in range(50)]),
        }
    )
    theirs = {
        "t": pa.array(moments, pa.timestamp("ns", tz="Europe/Zurich")),
        "k": list(range(50)),
        "x": [0.5 * i for i in range(50)],
        "s": ours.column("s").to_pylist(),
        "tags": [[i, i + 1] for i in range(50)],
    }
    naive = pa.array([moment.replace(tzinfo=None) for moment in moments], pa.timestamp("us"))
    expected = places(ours, "row", "s")
    assert (expected == places(pa.table(theirs), "row", "s")).all()
    assert (expected == places(pa.table({**theirs, "t": naive}), "row", "s")).all()
    assert (places(ours, ["t"], "s") == places(pa.table(theirs), ["t"], "s")).all()


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_every_unit_of_time_is_the_same_instant(unit: str) -> None:
    moments = [datetime(1960, 1, 1, tzinfo=UTC), None, datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)]
    one, other = (pa.table({"t": pa.array(moments, pa.timestamp(u, tz="UTC"))}) for u in (unit, "us"))
    assert (places(one, "row", "s") == places(other, "row", "s")).all()


def test_equal_rows_are_told_apart_as_by_one_more_column() -> None:
    random = np.random.default_rng(3)
    keys = random.integers(0, 40, 1_000)
    rows = pa.table({"k": keys, "s": [f"s{k % 3}" for k in keys]})
    seen: dict[int, count[int]] = {}
    ordinals = [next(seen.setdefault(k, count())) for k in keys.tolist()]
    plain = places_of(row_hashes(rows.columns, 1_000), "s", ordinals=False)
    further = places(rows.append_column("o", pa.array(ordinals)), ["k", "s", "o"], "s")
    expected = np.where(np.array(ordinals) == 0, plain, further)
    assert (places(rows, "row", "s") == expected).all()
    assert np.unique(expected).size == 1_000


def test_equal_rows_are_no_clump_and_their_order_does_not_count() -> None:
    rows = pa.table({"k": np.repeat(np.arange(20), 500)})
    found = kept(rows, "row", "s", 0.3)
    per_value = np.bincount(rows.column("k").to_numpy()[found], minlength=20)
    assert abs(per_value - 150).max() < 5 * math.sqrt(500 * 0.3 * 0.7)
    shuffled = rows.take(pa.array(np.random.default_rng(5).permutation(rows.num_rows)))
    again = shuffled.filter(pa.array(kept(shuffled, "row", "s", 0.3)))
    assert (np.bincount(again.column("k").to_numpy(), minlength=20) == per_value).all()
    by_key = kept(rows, ["k"], "s", 0.3)
    assert all(by_key[at : at + 500].all() or not by_key[at : at + 500].any() for at in range(0, 10_000, 500))
