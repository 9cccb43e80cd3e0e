"""The core time until a deadline, against a plain sum over the passes that there will be."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from punctual.schedule.qos.capacity import Capacity

TIMES = st.integers(-5_000, 50_000)
CAPACITIES = st.builds(
    Capacity,
    now=st.integers(-1_000, 1_000),
    cores=st.sampled_from([1.0, 2.0, 8.0]),
    reading=st.sampled_from([0.0, 0.25, 1.0, 3.0]),
    latency_us=st.sampled_from([0.0, 1.0, 100.0, 2_500.0]),
    spacing_us=st.sampled_from([1.0, 1_000.0, 10_000.0]),
    to_come=st.lists(TIMES, max_size=8).map(lambda times: tuple(sorted(set(times)))),
)
DEADLINES = st.lists(TIMES, min_size=1, max_size=8)


def plainly(capacity: Capacity, deadline: int) -> float:
    """Cores that reading leaves, for the time that no pass stands idle at its beginning."""
    left = max(0, deadline - capacity.now)
    released = sum(1 for at in capacity.to_come if at <= deadline)
    # As passes follow each other no sooner than this, latencies take no more than half of the time besides the first.
    apart = max(capacity.spacing_us, 2 * capacity.latency_us, 1.0)
    passes = 1 + min(released, left / apart)
    return max(0.0, capacity.cores - capacity.reading) * max(0.0, left - passes * capacity.latency_us)


@settings(max_examples=300, deadline=None)
@given(CAPACITIES, DEADLINES)
def test_it_is_what_reading_and_latencies_leave(capacity: Capacity, deadlines: list[int]) -> None:
    found = capacity.until(np.array(deadlines, np.int64))
    assert np.allclose(found, [plainly(capacity, one) for one in deadlines])


@settings(max_examples=300, deadline=None)
@given(CAPACITIES, DEADLINES)
def test_what_is_to_come_takes_time_and_never_more_than_half(capacity: Capacity, deadlines: list[int]) -> None:
    at = np.array(deadlines, np.int64)
    alone = Capacity(capacity.now, capacity.cores, capacity.reading, capacity.latency_us, capacity.spacing_us)
    found, before = capacity.until(at), alone.until(at)
    assert np.all(found >= 0.0)
    assert np.all(found <= before)
    free = max(0.0, capacity.cores - capacity.reading)
    assert np.all(found >= before - free * np.maximum(at - capacity.now, 0) / 2 - 1e-6)
    last = capacity.to_come[0] if capacity.to_come else max(deadlines) + 1
    assert np.array_equal(found[at < last], before[at < last]), "what is due before it does not wait for it"


@settings(max_examples=300, deadline=None)
@given(CAPACITIES, DEADLINES, st.sampled_from([1.0, 2.0]))
def test_more_cores_less_reading_and_shorter_latencies_leave_more(
    capacity: Capacity, deadlines: list[int], more: float
) -> None:
    at = np.array(deadlines, np.int64)
    found = capacity.until(at)
    spacing, to_come = max(capacity.spacing_us, 2 * capacity.latency_us), capacity.to_come
    shorter = Capacity(capacity.now, capacity.cores, capacity.reading, capacity.latency_us / 2, spacing, to_come)
    wider = Capacity(
        capacity.now, capacity.cores + more, capacity.reading, capacity.latency_us, capacity.spacing_us, to_come
    )
    read = Capacity(
        capacity.now, capacity.cores, capacity.reading + more, capacity.latency_us, capacity.spacing_us, to_come
    )
    assert np.all(shorter.until(at) >= found)
    assert np.all(wider.until(at) >= found)
    assert np.all(read.until(at) <= found)
