"""Possible worlds as bundles against a NumPy loop over worlds, and what a draw costs.

The query is the sum of a normal column over a window, in each of 1,000 worlds. Bundles draw the uncertain rows of all
worlds at once, by name, and sum exactly; the certain part is summed once. Three loops do one world after the other, and
draw only the uncertain rows as well:

* *plain*: ``rng.normal(mean, sd)`` and a sum, as one writes it. Goals are against this one;
* *lean*: ``mean + sd * rng.standard_normal(n)``, which spares NumPy its checks of parameters;
* *by name*: a generator of its own for each world, so that a world can be drawn again without those before it, which
  bundles can for each single draw.

Times are CPU microseconds a world, the best of several, taken in turn; ratios are of one run. Costs of draws are CPU
nanoseconds. Threads are compared by the wall clock: the same work by one thread and by two.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter, process_time

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Goal, Picture, Point, Result
from punctual.kernel.draw import (
    Among,
    Between,
    Normal,
    Uniform,
    Weighted,
    draw_numbers,
    draw_places,
    existing,
    finished,
    fold,
    merged,
    source,
    stretches,
)

F64 = NDArray[np.float64]
SIZES, QUICK_SIZES = (100, 1_000, 10_000), (100, 200)
ONE_IN = 20
WORLDS = 1_000
SLAB = 2**17
"""Draws of one bundle: a megabyte."""
SEED = 7
GOALS = {(100, False): 20.0, (1_000, False): 4.0, (1_000, True): 50.0}
GOAL_DRAW_NS, GOAL_THREADS = 15.0, 1.8
COLUMNS = (
    "rows",
    "uncertain",
    "bundle, us",
    "plain, us",
    "lean, us",
    "by name, us",
    "plain over",
    "lean over",
    "by name over",
)


class Window:
    """Rows of which all, or one in twenty, have an uncertain value."""

    def __init__(self, rows: int, few: bool) -> None:
        random = np.random.default_rng(rows)
        self.mean, self.sd = random.normal(50.0, 9.0, rows), random.uniform(1.0, 5.0, rows)
        self.where = np.arange(0, rows, ONE_IN if few else 1)
        self.identity = random.integers(0, 2**63, rows).astype(np.uint64)
        self.one, self.wide = self.mean[self.where], self.sd[self.where]

    def bundle(self, worlds: int) -> F64:
        """The sum in each world, by the kernel."""
        rest = np.delete(self.mean, self.where)
        certain = fold(["sum"], np.zeros(rest.size, np.int64), 1, rest[:, None])
        identity, law = self.identity[self.where], Normal(self.one, self.wide)
        group, drawn_from, sums = np.zeros(identity.size, np.int64), source(SEED, "speed", "kmh"), []
        step = max(64, SLAB // identity.size)
        for first in range(0, worlds, step):
            values = draw_numbers(drawn_from, identity, law, range(first, min(worlds, first + step)))
            sums.append(finished("sum", merged(fold(["sum"], group, 1, values), certain))[0][0])
        return np.concatenate(sums)

    def plain(self, worlds: int) -> F64:
        random = np.random.default_rng(SEED)
        return self._loop(worlds, lambda _world: random.normal(self.one, self.wide))

    def lean(self, worlds: int) -> F64:
        random = np.random.default_rng(SEED)
        return self._loop(worlds, lambda _world: self.one + self.wide * random.standard_normal(self.one.size))

    def by_name(self, worlds: int) -> F64:
        def drawn(world: int) -> F64:
            random = np.random.Generator(np.random.Philox(key=[SEED, world]))
            return self.one + self.wide * random.standard_normal(self.one.size)

        return self._loop(worlds, drawn)

    def _loop(self, worlds: int, drawn: Callable[[int], F64]) -> F64:
        sums = np.empty(worlds)
        if self.one.size == self.mean.size:
            for world in range(worlds):
                sums[world] = drawn(world).sum()
        else:
            for world in range(worlds):
                values = self.mean.copy()
                values[self.where] = drawn(world)
                sums[world] = values.sum()
        return sums


def run(quick: bool) -> Result:
    sizes, times, worlds = (QUICK_SIZES, 1, 100) if quick else (SIZES, 15, WORLDS)
    rows, curves, ratios = [], dict[str, list[Point]](), dict[tuple[int, bool], float]()
    for few in (False, True):
        for n in sizes:
            window = Window(n, few)
            ways = [window.bundle, window.plain, window.lean, window.by_name]
            check(window, [way(worlds) for way in ways])
            us = [1e6 * seconds / worlds for seconds in in_turn([lambda w=way: w(worlds) for way in ways], times)]
            over = [slow / us[0] for slow in us[1:]]
            rows.append((n, "one in 20" if few else "all", *us, *over))
            ratios[n, few] = over[0]
            for name, ratio in zip(("plain", "lean"), over):
                curves.setdefault(f"{name}, {'one in 20' if few else 'all'}", []).append((n, ratio))
    costs = draw_costs(sizes[1], times)
    one, two = threads(sizes[1], times)
    return Result(
        "world_draws",
        f"The sum of a normal column in {worlds:,} worlds: NumPy loops over bundles",
        COLUMNS,
        rows,
        [
            Goal("normal draw, ns and core", GOAL_DRAW_NS, costs["normal"]),
            Goal("two threads over one", GOAL_THREADS, one / two, at_least=True),
            *(
                Goal(
                    f"plain loop over bundle, {n:,} rows, {'one in 20' if few else 'all'} uncertain",
                    goal,
                    ratio,
                    at_least=True,
                )
                for (n, few), ratio in ratios.items()
                if (goal := GOALS.get((n, few))) is not None
            ),
        ],
        [Picture("rows", "loop over bundle", curves)],
        [
            f"a draw and core of {sizes[1]:,} rows, ns: " + ", ".join(f"{name} {ns:.1f}" for name, ns in costs.items()),
            f"{sizes[1]:,} rows by one thread {1e3 * one:.1f} ms, by two {1e3 * two:.1f} ms",
        ],
        {"draw_ns": costs, "threads_s": [one, two]},
    )


def check(window: Window, sums: list[F64]) -> None:
    """All ways have the mean of the law, within four standard errors."""
    error = np.sqrt((window.wide**2).sum() / sums[0].size)
    for found in sums:
        assert abs(found.mean() - window.mean.sum()) < 4 * error


def in_turn(works: list[Callable[[], object]], times: int) -> list[float]:
    """CPU seconds of the fastest run of each, taken in turn so that all see the machine alike."""
    fastest = [np.inf] * len(works)
    for _time in range(times):
        for number, work in enumerate(works):
            before = process_time()
            work()
            fastest[number] = min(fastest[number], process_time() - before)
    return fastest


def draw_costs(rows: int, times: int) -> dict[str, float]:
    """CPU nanoseconds of one draw of each kind, and of adding one to a sum."""
    window, number, rounds = Window(rows, False), np.arange(rows), range(max(64, SLAB // rows))
    drawn_from, identity = source(SEED, "speed", "kmh"), window.identity
    values = draw_numbers(drawn_from, identity, Normal(window.mean, window.sd), rounds)
    lists = Weighted.of_lists(np.arange(rows + 1) * 5, np.random.default_rng(1).random(5 * rows))
    there, group = stretches(identity, np.full(rows, 0.3)), np.zeros(rows, np.int64)
    works: dict[str, Callable[[], object]] = {
        "normal": lambda: draw_numbers(drawn_from, identity, Normal(window.mean, window.sd), rounds),
        "uniform": lambda: draw_numbers(drawn_from, identity, Uniform(window.sd, window.mean), rounds),
        "discrete of five": lambda: draw_places(drawn_from, identity, lists, rounds),
        "among ten": lambda: draw_places(drawn_from, identity, Among(number * 0, number * 0 + 10, number), rounds),
        "between two": lambda: draw_places(drawn_from, identity, Between(number, number, window.sd / 9), rounds),
        "existence": lambda: existing(drawn_from, there, rounds),
        "exact sum": lambda: fold(["sum"], group, 1, values),
    }
    for work in works.values():
        work()
    seconds = in_turn(list(works.values()), 3 * times)
    return {name: 1e9 * taken / values.size for name, taken in zip(works, seconds)}


def threads(rows: int, times: int) -> tuple[float, float]:
    """Seconds by the wall clock of drawing and summing: all by one thread, and by halves in two."""
    window, slabs = Window(rows, False), 32
    law, drawn_from, group = Normal(window.mean, window.sd), source(SEED, "speed", "kmh"), np.zeros(rows, np.int64)
    step = max(64, SLAB // rows)

    def work(number: int) -> None:
        for slab in range(number * slabs // 2, (number + 1) * slabs // 2):
            values = draw_numbers(drawn_from, window.identity, law, range(slab * step, (slab + 1) * step))
            finished("sum", fold(["sum"], group, 1, values))

    one, two = np.inf, np.inf
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(2)))
        for _time in range(times):
            before = perf_counter()
            work(0)
            work(1)
            middle = perf_counter()
            list(pool.map(work, range(2)))
            one, two = min(one, middle - before), min(two, perf_counter() - middle)
    return one, two
