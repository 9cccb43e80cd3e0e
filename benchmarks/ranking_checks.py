"""Answers of rankings against their definition, in NumPy: nothing of the kernel is used here.

Pr_k of a row is its probability times that of fewer than k better rows, of which those of one rule are one event.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.ranking_runs import Ran
from benchmarks.topk_workloads import RANGE_S, Query, Workload
from benchmarks.workload import EPOCH_US
from punctual.clock import SECOND

F64 = NDArray[np.float64]
OTHERS = 5
"""So many rows that are not in an answer must be worse than the last of it."""


def check(workload: Workload, rows: pa.Table, queries: Sequence[Query], ran: Ran) -> int:
    """No gap exceeds a bound, and an answer of three queries each is right; how many values were compared."""
    compared = 0
    times = rows["t"].cast(pa.int64()).to_numpy()
    for number, query in enumerate(queries):
        answers = ran.tables(f"q{number}")
        at = answers["at"].to_numpy()
        assert np.diff(at).min(initial=1) > 0
        assert np.diff(at).max(initial=0) <= query.bound * SECOND, f"q{number} waited longer than its bound"
        assert EPOCH_US + (RANGE_S + workload.measured_s) * SECOND - at[-1] <= query.bound * SECOND
        if number in (0, len(queries) // 2, len(queries) - 1):
            place = len(at) // 2
            begin, end = np.searchsorted(times, [at[place] - RANGE_S * SECOND, at[place]], side="right")
            given = answers["rows"][place].as_py()
            compared += _compare(rows.slice(begin, end - begin), query.k, given, keys=workload.family == "streams")
    return compared


def _compare(window: pa.Table, k: int, given: list[dict[str, float]], *, keys: bool) -> int:
    order = np.argsort(-window["v"].to_numpy(), kind="stable")  # event times are in order already
    prob = window["p"].to_numpy()[order]
    if keys:
        values = without_rules(prob, k)
        names = window["stream"].to_numpy()[order]
        sums = {name: values[names == name].sum() for name in np.unique(names)}
        best = sorted(sums.values(), reverse=True)[:k]
        assert np.allclose([row["expected"] for row in given], best, rtol=0, atol=1e-9)
        assert all(abs(sums[row["stream"]] - row["expected"]) < 1e-9 for row in given)
        return len(given)
    identity = window["id"].to_numpy()[order]
    rules = window["r"].to_pylist()
    rule = np.array([rules[place] or f"alone {place}" for place in order.tolist()])
    place_of = {int(one): place for place, one in enumerate(identity)}
    least = min(row["probability"] for row in given)
    shown = [given[0], given[len(given) // 2], given[-1]]
    for row in shown:
        assert abs(top_probability(prob, rule, place_of[int(row["id"])], k) - row["probability"]) < 1e-9
    others = np.setdiff1d(np.arange(min(prob.size, 4 * k)), [place_of[int(row["id"])] for row in given])
    for place in others[:: max(1, others.size // OTHERS)]:
        assert top_probability(prob, rule, int(place), k) <= least + 1e-9
    return len(shown)


def without_rules(prob: F64, k: int) -> F64:
    """Pr_k of rows in rank order that exist independently."""
    fewer = np.zeros(k)
    fewer[0] = 1.0
    found = np.zeros(prob.size)
    for place, p in enumerate(prob.tolist()):
        found[place] = p * fewer.sum()
        fewer[1:] = (1 - p) * fewer[1:] + p * fewer[:-1]
        fewer[0] *= 1 - p
    return found


def top_probability(prob: F64, rule: NDArray[np.str_], place: int, k: int) -> float:
    """Pr_k of one row: the better rows of each other rule are one event."""
    above = rule[:place] != rule[place]
    labels, group = np.unique(rule[:place][above], return_inverse=True)
    masses = np.bincount(group, prob[:place][above], labels.size)
    # As the last of rows in rank order, each of which is a rule.
    return float(without_rules(np.append(masses, prob[place]), k)[-1])
