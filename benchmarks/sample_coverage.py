"""How often 95 % intervals of sampled answers hold, and how wide they are.

Simulated: windows of normal, lognormal (sigma 1.5) and Pareto (1.5) rows are drawn, and samples of them. *Certain* is
what queries over retained rows use: so many of all rows of a window, and the largest 5 % of them besides. *Simple* is
the same without those, *poisson* is what is shed before anything is known of a row. An answer is about a whole window,
or about one of its ten groups. Sums, averages and counts have intervals by formula; ratios of sums, joins by key and
joins of two samples by the jackknife.

Points are by the rows of an answer that are expected in the sample. Half-widths are medians, relative to the truth.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.kernel.sample.simulation import SHAPES, Outcome, draw, draw_keys, draw_pairs, moments_of, outcome

from benchmarks.report import Goal, Picture, Point, Result
from punctual.kernel.sample.entries import Entries, Moments
from punctual.kernel.sample.estimates import Function, estimated, values_freedom
from punctual.kernel.sample.jackknife import jackknife, replicates, support

DESIGNS = ("certain", "simple", "poisson")
FUNCTIONS: tuple[Function, ...] = ("sum", "avg", "count")
LOW, HIGH = 0.93, 0.97


def plain(shape: str, design: str, groups: int, share: float, sampled: int, answers: int) -> dict[str, Outcome]:
    """One point of intervals by formula, and of a ratio by the jackknife."""
    size = round(sampled / share)
    drawn = draw(np.random.default_rng([sampled, groups, round(share * 100)]), SHAPES[shape], windows=answers // groups,
                 groups=groups, size=size, share=share, design=design, partner=True)  # fmt: skip
    found = {function: outcome(function, drawn) for function in FUNCTIONS}
    one, other = drawn.moments, drawn.partner
    assert other is not None
    whole = estimated("sum", drawn.entries, one) / estimated("sum", drawn.entries, other)
    parts = replicates("sum", drawn.entries, one) / replicates("sum", drawn.entries, other)
    freedom = values_freedom(drawn.entries, [one, other])
    by_groups = jackknife(whole, parts, support(drawn.entries, one.count), freedom)
    found["ratio"] = Outcome.of(whole, by_groups, drawn.truth["sum"] / drawn.truth["partner"])
    return found


def joined(entries: Entries, moments: Moments, truth: dict[str, Any]) -> dict[str, Outcome]:
    """Counts and sums of a join."""
    found = {}
    for function in ("count", "sum"):
        whole = estimated(function, entries, moments)  # type: ignore[arg-type]
        parts = replicates(function, entries, moments)  # type: ignore[arg-type]
        interval = jackknife(whole, parts, support(entries, moments.count))
        found[function] = Outcome.of(whole, interval, truth[function])
    return found


def joins(quick: bool) -> dict[str, dict[str, Outcome]]:
    windows, found = (20 if quick else 200), {}
    for share, keys in ((0.1, 500), (0.3, 150), (0.3, 600), (0.6, 80)):
        sample = draw_keys(np.random.default_rng(keys), windows=windows, groups=10, keys=keys, share=share)
        found[f"by key, share {share}, {round(keys * share)} keys"] = joined(*sample)
    for shares, sizes in (([0.3, 0.4], (1_500, 400)), ([0.3, 1.0], (800, 200)), ([0.2, 0.2], (600, 200))):
        pairs = draw_pairs(np.random.default_rng(sizes), windows=windows * 5 // 2, groups=4, sizes=sizes, shares=shares)
        rows = " and ".join(str(round(size * share)) for size, share in zip(sizes, shares))
        name = f"by row, shares {shares[0]} and {shares[1]}, {rows} rows"
        found[name] = joined(pairs[0], moments_of(pairs[1]), pairs[2])
    return found


def run(quick: bool) -> Result:
    answers = 200 if quick else 2_000
    shares, sizes = ((0.3,), (40,)) if quick else ((0.1, 0.3, 0.6), (40, 100, 300))
    points = [
        (shape, design, groups, share, sampled)
        for shape in SHAPES for design in DESIGNS for groups in (1, 10) for share in shares for sampled in sizes
    ]  # fmt: skip
    found = {point: plain(*point, answers) for point in points}
    of_joins = joins(quick)
    lines = []
    for (shape, design, groups, share, sampled), each in found.items():
        covered = [each[f].coverage if each[f].known > 0.1 else None for f in (*FUNCTIONS, "ratio")]
        about = "window" if groups == 1 else "group"
        lines.append(
            [shape, design, about, share, sampled, *covered, each["sum"].known, number(each["sum"].half_width)]
        )

    def over(design: str, function: str, groups: tuple[int, ...] = (1, 10)) -> list[float]:
        return [each[function].coverage for point, each in found.items() if point[1] == design and point[2] in groups]

    def curve(shape: str, design: str) -> list[Point]:
        return [(n, float(np.mean([1 - found[shape, design, 1, share, n]["sum"].coverage for share in shares])))
                for n in sizes]  # fmt: skip

    by_key = [one.coverage for name, each in of_joins.items() for one in each.values() if name.startswith("by key")]
    checked = {
        "sums": over("certain", "sum"), "averages": over("certain", "avg"),
        "counts of groups": over("certain", "count", (10,)), "ratios": over("certain", "ratio"), "joins by key": by_key,
    }  # fmt: skip
    biases = [abs(each[f].bias) for point, each in found.items() for f in ("sum", "count")]
    return Result(
        name="sample_coverage",
        title="How often 95 % intervals of sampled answers cover",
        columns=["rows", "design", "about", "share", "sampled", *FUNCTIONS, "ratio", "sums with one", "width of sums"],
        rows=lines,
        goals=[
            *(Goal(f"{name}: least", LOW, min(some), at_least=True) for name, some in checked.items()),
            *(Goal(f"{name}: greatest", HIGH, max(some)) for name, some in checked.items()),
            Goal("ratios of what was shed: least", LOW, min(over("poisson", "ratio")), at_least=True),
            Goal(f"largest mean error of {len(biases)} sums and counts, standard errors", 4.0, max(biases)),
        ],
        pictures=[
            Picture(
                "sampled rows",
                f"sums of windows that miss, {design}",
                {s: curve(s, design) for s in SHAPES},
                logarithmic=False,
            )
            for design in ("certain", "simple")
        ],
        notes=[
            *(
                f"join {name}: "
                + ", ".join(f"{f} {one.coverage:.3f} (width {one.half_width:.2f})" for f, one in each.items())
                for name, each in of_joins.items()
            ),
        ],
        facts={
            "formula": [[*point, {name: vars_of(one) for name, one in each.items()}] for point, each in found.items()],
            "joins": {name: {f: vars_of(one) for f, one in each.items()} for name, each in of_joins.items()},
        },
    )


def vars_of(one: Outcome) -> list[float | None]:
    """Coverage, bias in standard errors, half-width, part that has an interval."""
    return [number(value) for value in (one.coverage, one.bias, one.half_width, one.known)]


def number(value: float) -> float | None:
    """JSON has no NaN."""
    return None if np.isnan(value) else round(value, 4)
