"""PO-MULTIQ: fair core time by the longest way through a graph of lifetimes, as it was published and restored.

``critical_intervals.py`` gives the same allocation sooner and exactly. This one is here for comparison: it is what the
paper measured, with its filter and without.

Model
-----
A query *antecedes* another one that begins and ends later and begins while the first is alive; it *covers* another one
whose lifetime is inside its own (equal lifetimes cover each other; touching ones have nothing to do with each other).
``v+`` are the queries that v covers, and v. A *path* goes along anteceding queries; it stands for the interval from the
start of its first query to the deadline of its last one, and its load is that of all that its queries cover. The path
with the highest load factor (load by core time) is the most loaded interval: the queries inside get the ratio of one by
that factor, its time is gone (F of the restored text), and the search begins again.

The load of what two neighbours of a path both cover must not count twice: that is all queries from the start of the
later one to the deadline of the earlier one.

References
----------
Ge and others, anytime queries with deadlines on multicores, Algorithm PO-MULTIQ; numbers of lines are those of the
paper. Theorem 1 is the filter: a path that is loaded too lightly is no beginning of the most loaded one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from punctual.schedule.epoch.anytime_query import AnytimeQuery, check_cores

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

ROUNDING = 1 - 1e-9
"""A path that is at the border of the filter stays."""


def allocate_by_graph(queries: Sequence[AnytimeQuery], cores: float, filtering: bool = True) -> list[float]:
    """Core time for each query, in their order; without ``filtering`` every path is kept, which takes far longer.

    >>> queries = [AnytimeQuery(0, 2, 0.2), AnytimeQuery(1, 3, 2.4), AnytimeQuery(2, 3, 0.8)]
    >>> [round(time, 9) for time in allocate_by_graph(queries, cores=2)]
    [2.0, 3.0, 1.0]
    """
    check_cores(cores)
    allocated = np.zeros(len(queries))
    needing = [place for place, query in enumerate(queries) if query.essential]
    vertices = sorted(needing, key=lambda place: (queries[place].start, queries[place].deadline))
    if vertices:
        graph = _Graph([queries[place] for place in vertices], cores)
        allocated[vertices] = graph.shared_out(filtering)
    return [float(time) for time in allocated]


class _Graph:
    """The vertices are queries by start, which is a topological order of anteceding ones; and the time that is left."""

    def __init__(self, queries: Sequence[AnytimeQuery], cores: float) -> None:
        times = np.array([(query.start, query.deadline) for query in queries], np.float64)
        moments, borders = np.unique(times, return_inverse=True)
        self.start, self.deadline = borders.reshape(-1, 2).T
        self.essential: Floats = np.array([query.essential for query in queries], np.float64)
        _starts, self._row = np.unique(self.start, return_inverse=True)
        _deadlines, self._column = np.unique(self.deadline, return_inverse=True)
        self.parents = [
            np.flatnonzero((self.start < start) & (start < self.deadline) & (self.deadline < deadline)).tolist()
            for start, deadline in zip(self.start, self.deadline)
        ]
        """By vertex, those that antecede it: the graph of line 2."""
        self._capacity = cores * np.diff(moments)
        """Of the stretches between all starts and deadlines; nought where the time is gone."""

    def shared_out(self, filtering: bool) -> Floats:
        """Core time of each vertex."""
        allocated = np.zeros(self.essential.size)
        before = self._capacity_before()
        undetermined = before[self.start] < before[self.deadline]  # a lifetime that rounding swallows gets nothing
        while undetermined.any():  # line 3
            search = _Search(self, undetermined, self._capacity_before(), filtering)
            for begin, end in search.most_loaded():
                self._capacity[begin:end] = 0.0
            before = self._capacity_before()
            determined = undetermined & (before[self.start] == before[self.deadline])
            allocated[determined] = self.essential[determined] / search.highest  # line 23
            undetermined &= ~determined
        return allocated

    def loads(self, vertices: NDArray[np.bool_]) -> Callable[[int, int], float]:
        """Of vertices u and v: the load of all among ``vertices`` that begin with u or later, end with v or earlier."""
        between = np.zeros((self._row.max() + 1, self._column.max() + 1))
        np.add.at(between, (self._row, self._column), self.essential * vertices)
        between[::-1].cumsum(axis=0, out=between[::-1]).cumsum(axis=1, out=between[::-1])
        row, column = self._row.tolist(), self._column.tolist()
        return lambda first, last: float(between[row[first], column[last]])

    def _capacity_before(self) -> Floats:
        """By border: the core time that is left before it. Equal where all between is gone, whatever was added up."""
        return np.concatenate([[0.0], np.cumsum(self._capacity)])


class _Search:
    """One round: paths to each vertex, by the vertex that they begin with, and their loads."""

    def __init__(self, graph: _Graph, undetermined: NDArray[np.bool_], before: Floats, filtering: bool) -> None:
        self._graph = graph
        self._filtering = filtering
        self._first, self._end = before[graph.start].tolist(), before[graph.deadline].tolist()
        self._load = graph.loads(undetermined)
        self._paths: dict[int, dict[int, float]] = {}
        vertices = np.flatnonzero(undetermined).tolist()
        self.highest = max(self._load(v, v) / (self._end[v] - self._first[v]) for v in vertices)  # lines 6 to 9
        for vertex in vertices:  # line 12
            self._paths[vertex] = self._paths_to(vertex)

    def most_loaded(self) -> list[tuple[int, int]]:
        """Borders of the paths with the highest load factor (line 22)."""
        return [
            (int(self._graph.start[begin]), int(self._graph.deadline[last]))
            for last, paths in self._paths.items()
            for begin, load in paths.items()
            if load / (self._end[last] - self._first[begin]) == self.highest
        ]

    def _paths_to(self, vertex: int) -> dict[int, float]:
        """Its own (line 10), and those to its parents with the vertex behind them (13 to 21)."""
        first, end, highest = self._first, self._end[vertex], self.highest
        own_length, own_load = end - first[vertex], self._load(vertex, vertex)
        found = {vertex: own_load}
        for parent in self._graph.parents[vertex]:
            added = own_load - self._load(vertex, parent)
            for begin, before in self._paths.get(parent, {}).items():
                load, length = before + added, end - first[begin]  # line 16
                factor = load / length  # line 17
                if self._filtering and factor < highest * (1 - own_length / length) * ROUNDING:  # line 18
                    continue
                if load > found.get(begin, 0.0):  # line 19
                    found[begin] = load
                    highest = max(highest, factor)  # line 21
        self.highest = highest
        return found
