"""Small parts of the engine: isolation, late rows, progress."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.engine.batch.isolate import find
from punctual.engine.batch.progress import Progress
from punctual.engine.held.late_rows import LateRows
from punctual.kernel.panes.lift import lift
from punctual.runtime.lower import rows_only
from punctual.schedule.due import BEGINNING
from punctual.store.codec import decode, encode
from punctual.store.products import Facts


@settings(derandomize=True, deadline=None)
@given(st.integers(0, 40), st.sets(st.integers(0, 39)))
def test_every_culprit_is_found_and_nobody_else(count: int, bad: set[int]) -> None:
    tries = []

    def fails(some: object) -> Exception | None:
        assert isinstance(some, list)
        tries.append(some)
        hit = [i for i in some if i in bad]
        return ValueError(f"item {hit[0]}") if hit else None

    items = list(range(count))
    assert find(items, fails) == [(i, f"item {i}") for i in items if i in bad]
    if len(bad & set(items)) == 1:
        assert len(tries) <= 2 * max(1, count).bit_length() + 2


@settings(derandomize=True, deadline=None)
@given(st.lists(st.lists(st.integers(-50, 50), min_size=1), max_size=4), st.integers(-60, 20))
def test_late_rows_of_a_window(batches: list[list[int]], dropped: int) -> None:
    late = LateRows(rows_only([(20, 5)]))
    for times in batches:
        late.add(lift(rows_only([(20, 5)]), np.array(times, np.int64), {}, 2))
    instants = np.arange(-50, 75, 5)
    rows = [t for times in batches for t in times]
    found = late.counts.count(instants, np.array([20]))
    expected = [sum(at - 20 < t <= at for t in rows) for at in instants.tolist()]
    assert (found is None and not rows) or (found is not None and found.tolist() == [expected])
    late.drop(dropped)
    after = late.counts.count(instants[instants - 20 >= dropped + 5], np.array([20]))
    if after is not None:
        assert after.tolist() == [[e for at, e in zip(instants.tolist(), expected) if at - 20 >= dropped + 5]]


def test_completeness_is_a_microsecond_behind_the_watermark_and_never_goes_back() -> None:
    progress = Progress().after(Facts("s", 3, 0, 0, 100, 200), 50)
    assert (progress.through, progress.least, progress.greatest) == (149, 100, 200)
    later = progress.after(Facts("s", 1, 2, 1, 160, 160), 50)
    assert (later.through, later.accepted, later.late, later.dead) == (149, 4, 2, 1)
    assert later.complete(10).through == 149
    assert later.complete(1_000).through == 1_000
    assert Progress().after(Facts("s", 0, 0, 5), 50).through == BEGINNING
    assert decode(encode(later), Progress) == later
