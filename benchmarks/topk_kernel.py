"""Uncertain top-k: one pass over ranked rows against the published O(n^2 k), and what a million rows take.

Three kinds of rows, in rules of one to five:

* *likely*: probabilities uniform, rules scaled to masses up to 1. After a few hundred rows k better ones exist almost
  surely and the pass stops; the published algorithm does not know that;
* *rare, light*: masses add up to at most k / 2, so that no row may be left out;
* *rare, certain*: the same with some long rules of masses between 0.5 and 1, where a factor cannot be divided out. The
  published algorithm joins the rows of a rule first, so it has less to do here as well.

The published algorithm is compiled like ours, with the same loop over coefficients in vector instructions. Times are
CPU milliseconds of the pass over rows that are ranked already, the best of several; ratios are of one run. Both must
give the same probabilities. Then whole calls, with checking and sorting, at a million rows; forty queries with k up to
1,000 together against the dearest of them alone, all of them Pk-topk, and of all semantics that read ranks; and how
many rows of a pane stay as candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import process_time

import numpy as np

from benchmarks.report import Goal, Picture, Point, Result
from punctual.kernel import world
from punctual.kernel.compiled import compiled
from punctual.kernel.world import Wanted, rank_together
from punctual.kernel.world.input.rank_order import ranked
from punctual.kernel.world.input.rows import F64, I64, UncertainRows
from punctual.kernel.world.ranks import row_values

KINDS = ("likely", "rare, light", "rare, certain")
SIZES = (1_000, 2_000, 5_000, 10_000)
QUICK_SIZES = (200, 400)
K = 100
KS = tuple(range(25, 1001, 25))
MIXED = ("PK", "GLOBAL", "PT", "U_KRANKS", "PRF", "STREAMS")
KEYS, WEIGHTS = 500, 20
MILLION = 1_000_000
GOAL_RATIO, GOAL_PASS_MS, GOAL_MILLION_S, GOAL_TOGETHER = 300.0, 5.0, 1.0, 1.3
COLUMNS = ("rows", "kind", "published, ms", "pass, ms", "published over pass", "rows read", "with sorting, ms")


def run(quick: bool) -> Result:
    sizes, many, times = (QUICK_SIZES, 10_000, 1) if quick else (SIZES, MILLION, 7)
    rows, ratios = [], {kind: list[Point]() for kind in KINDS}
    passes: dict[str, float] = {}
    row_values(ranked(*drawn("rare, certain", 50, 5)).possible(), 5)  # what is compiled now is not measured
    for n in sizes:
        for kind in KINDS:
            columns = drawn(kind, n, K)
            uncertain = ranked(*columns).possible()
            theirs, slow = taken(lambda u=uncertain: published(*joined(u), K), 3)
            ours, fast = taken(lambda u=uncertain: row_values(u, K), times)
            ours = np.trim_zeros(ours[uncertain.position], "b")
            _values, whole = taken(lambda c=columns: world.topk_probabilities(*c, k=K), times)
            assert np.abs(theirs[: ours.size] - ours).max() < 1e-12
            assert theirs[ours.size :].max(initial=0) < 1e-15
            rows.append((n, kind, slow, fast, slow / fast, int(ours.size), whole))
            ratios[kind].append((n, slow / fast))
            passes[kind] = fast
    million = {kind: whole_calls(kind, many) for kind in KINDS}
    company = {
        f"{kind}, {name}": together(kind, sizes[-1], semantics, times)
        for kind in KINDS
        for name, semantics in (("all Pk-topk", MIXED[:1]), ("mixed", MIXED))
    }
    kept = {f"k = {k}": float(world.candidates(*drawn("likely", many // 10, K), k=k).sum()) for k in (10, K)}
    return Result(
        "topk_kernel",
        f"Uncertain top-{K} with rules: the published O(n^2 k) over one pass",
        COLUMNS,
        rows,
        [
            *(goal for kind in KINDS for goal in goals(kind, ratios[kind][-1], passes[kind], many, million[kind])),
            *(Goal(f"{len(KS)} queries over one, {name}", GOAL_TOGETHER, b / a) for name, (a, b) in company.items()),
        ],
        [Picture("rows", "published over pass", ratios)],
        [
            *(f"{many:,} rows, {kind}, ms: {listed(million[kind])}" for kind in KINDS),
            *(
                f"{len(KS)} queries, k up to {KS[-1]}, {name}: {both:.1f} ms, the dearest alone {alone:.1f} ms"
                for name, (alone, both) in company.items()
            ),
            f"candidates of a pane of {many // 10:,} likely rows by k: {listed(kept)}",
        ],
        {"million_ms": million, "alone_and_together_ms": company, "candidates": kept},
    )


def goals(kind: str, largest: Point, ms: float, many: int, million: dict[str, float]) -> list[Goal]:
    n, ratio = largest
    return [
        Goal(f"published over pass, {n:,} rows, {kind}", GOAL_RATIO, ratio, at_least=True),
        Goal(f"pass over {n:,} rows, {kind}, ms", GOAL_PASS_MS, ms),
        Goal(f"{many:,} rows with sorting, {kind}, s", GOAL_MILLION_S, million["Pr_k"] / 1000),
    ]


def listed(numbers: dict[str, float]) -> str:
    return ", ".join(f"{name} {number:,.0f}" for name, number in numbers.items())


def drawn(kind: str, n: int, k: int) -> tuple[F64, F64, I64]:
    """Score, probability and rule of rows in random order."""
    random = np.random.default_rng(n + KINDS.index(kind))
    rule = np.repeat(np.arange(n), random.integers(1, 6, n))[:n]
    prob = 1.0 - random.random(n)
    if kind == "likely":
        prob /= np.maximum(1.0, np.bincount(rule, prob))[rule]
    else:
        prob *= min(k / 2, n / 40) / prob.sum()
    if kind == "rare, certain":
        few = min(k // 4, n // 40)  # rules, long ones, of a tenth of the rows
        inside = random.choice(n, n // 10, replace=False)
        rule[inside] = n + np.arange(inside.size) % few
        masses = np.bincount(rule[inside] - n, prob[inside])
        prob[inside] *= (random.uniform(0.5, 1.0, few) / masses)[rule[inside] - n]
    order = random.permutation(n)
    return random.random(n), prob[order], rule[order]


def taken(work: Callable[[], F64], times: int) -> tuple[F64, float]:
    """What the work gives, and the CPU milliseconds of the fastest of several runs."""
    fastest = np.inf
    for _time in range(times):
        before = process_time()
        result = work()
        fastest = min(fastest, 1000 * (process_time() - before))
    return result, fastest


def joined(rows: UncertainRows) -> tuple[F64, I64, int]:
    """Every row with a rule, perhaps its own."""
    alone = rows.rule < 0
    return rows.prob, np.where(alone, rows.rules + np.cumsum(alone) - 1, rows.rule), rows.rules + int(alone.sum())


@compiled
def published(prob: F64, rule: I64, rules: int, k: int) -> F64:
    """Section 3: for each row, join the better members of each other rule and run recurrence (2) over them."""
    values, above = np.zeros(prob.size), np.zeros(rules)
    known, seen = np.zeros(rules, np.int64), 0  # rules with a better row
    poly = np.zeros(k)
    for i in range(prob.size):
        poly[:] = 0.0
        poly[0] = 1.0
        high = 1
        for at in range(seen):
            if known[at] == rule[i]:
                continue
            a = above[known[at]]
            rest, before = max(0.0, 1.0 - a), 0.0
            high = min(k, high + 1)
            for c in range(high):
                here = poly[c]
                poly[c] = rest * here + a * before
                before = here
        values[i] = prob[i] * poly.sum()
        if above[rule[i]] == 0.0:
            known[seen] = rule[i]
            seen += 1
        above[rule[i]] += prob[i]
    return values


def whole_calls(kind: str, n: int) -> dict[str, float]:
    """CPU milliseconds of answers from unsorted rows."""
    columns = drawn(kind, n, K)
    calls: dict[str, Callable[[], object]] = {
        "Pr_k": lambda: world.topk_probabilities(*columns, k=K),
        "U-topk": lambda: world.u_topk(*columns, k=K),
        "expected rank": lambda: world.expected_ranks(*columns, k=K),
        "PRFE": lambda: world.prfe(*columns, k=K, alpha=0.95),
        "candidates": lambda: world.candidates(*columns, k=K),
    }
    for call in calls.values():
        call()
    found = {}
    for name, call in calls.items():
        before = process_time()
        call()
        found[name] = 1000 * (process_time() - before)
    return found


def together(kind: str, n: int, semantics: Sequence[str], times: int) -> tuple[float, float]:
    """Milliseconds of the dearest query alone and of all of them, over one window."""
    rows = ranked(*drawn(kind, n, KS[-1]))
    keys = np.arange(n) % KEYS
    # A threshold that about as many rows reach as the largest k.
    threshold = float(np.partition(rows.prob, -min(n, KS[-1]))[-min(n, KS[-1])])
    numbers = {"PT": (threshold,), "PRF": tuple(np.linspace(1.0, 0.1, WEIGHTS).tolist())}
    names = [semantics[place % len(semantics)] for place in range(len(KS))]
    wanted = [Wanted(name, k, numbers.get(name, ())) for name, k in zip(names, KS)]

    def answered(some: Sequence[Wanted]) -> F64:
        return np.concatenate([one.value for one in rank_together(rows.prob, rows.rule, keys, some)])

    apart = [taken(lambda one=one: answered([one]), times) for one in wanted]
    dearest = max(range(len(wanted)), key=lambda place: apart[place][1])
    alone, all_of_them = np.inf, np.inf
    for _time in range(3 * times):  # in turn, so that both see the machine alike
        alone = min(alone, taken(lambda: answered([wanted[dearest]]), 1)[1])
        both, ms = taken(lambda: answered(wanted), 1)
        all_of_them = min(all_of_them, ms)
    assert both.tobytes() == np.concatenate([value for value, _ms in apart]).tobytes()
    return alone, all_of_them
