"""Which rows count and why others do not, against rules that are asked one after the other for every row."""

from __future__ import annotations

import json
import random

import numpy as np
import pyarrow as pa
import pytest

from punctual.own_names import ORIGIN, ROW, TIME, WHY
from punctual.runtime.operators.order import StreamOrder
from punctual.runtime.operators.verdict import Meanings, dead_rows, judge
from punctual.scan.arrow_block import ArrowBlock
from punctual.scan.block import Faults

COLUMNS = (("t", "TIMESTAMP"), ("p", "DOUBLE"), ("k", "STRING"))
ORDER = StreamOrder(earliest=10, horizon=100, complete_through=50)


def expected(time: int | None, chance: float | None, fault: str | None, *, uncertain: bool) -> str | None:
    if fault is not None:
        return fault
    if time is None:
        return "missing event time"
    if time < 10:
        return "event time before earliest"
    if time > 100:
        return "event time too far ahead"
    if uncertain and chance is None:
        return "missing probability"
    if uncertain and chance is not None and not 0 <= chance <= 1:
        return "probability outside [0, 1]"
    return "late" if time <= 50 else None


def block_of(
    times: list[int | None], chances: list[float | None], faults: list[str | None]
) -> ArrowBlock:
    columns = {
        "t": pa.array(times, pa.timestamp("us", tz="UTC")),
        "p": pa.array(chances, pa.float64()),
        "k": pa.array([f"row {n}" for n in range(len(times))]),
    }
    at = [n for n, fault in enumerate(faults) if fault is not None]
    wrong = Faults(np.array(at, np.int64), pa.array([faults[n] for n in at]), pa.array([f"text {n}" for n in at]))
    return ArrowBlock(len(times), columns.__getitem__, wrong if at else None)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("uncertain", [True, False])
def test_the_first_broken_rule_is_the_reason(seed: int, uncertain: bool) -> None:
    rng = random.Random(seed)
    rows = rng.randint(0, 12)
    times = [rng.choice([None, 9, 10, 50, 51, 100, 101]) for _ in range(rows)]
    chances = [rng.choice([None, -0.1, 0.0, 0.5, 1.0, 1.1, float("nan")]) for _ in range(rows)]
    faults = [rng.choice([None, None, None, 'column "k" is not INT']) for _ in range(rows)]
    meanings = Meanings("t", "p" if uncertain else None)
    block = block_of(times, chances, faults)
    verdict = judge(block, meanings, ORDER)
    reasons = [expected(*row, uncertain=uncertain) for row in zip(times, chances, faults)]
    good = verdict.good
    counting = [True] * rows if good is None else good.tolist()
    assert counting == [one is None for one in reasons]
    dead = dead_rows(block, verdict, meanings, COLUMNS, "here").to_pylist()
    found = {}
    for one in dead:
        text = one[ROW]
        number = int(text.split()[-1]) if text.startswith("text") else int(json.loads(text)["k"].split()[-1])
        assert text.startswith("text") == (faults[number] is not None), "a row that fits is shown as it was read"
        found[number] = one
    assert {n: one[WHY] for n, one in found.items()} == {n: why for n, why in enumerate(reasons) if why is not None}
    assert all(one[TIME] == times[n] and one[ORIGIN] == "here" for n, one in found.items())
