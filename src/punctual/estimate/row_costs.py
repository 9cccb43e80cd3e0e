"""What row queries cost: operators by their kind, the same for all queries; selectivities and a factor for each query.

Model
-----
A job answers several queries; only its core time is measured. It is explained by ``job + sum over queries of (plan_q +
factor_q (slot + scan N_q + sum of c_j n_j))``, where the ``c_j`` are shared
(:mod:`punctual.estimate.operator_costs`), N_q are the rows that are looked at for a query, whether or not they are in
its sample, and the factor is what is special to a query (expressions that are dear, wide rows). The core time of a job
is dealt out to its queries by what each is expected to need.

Before a job the ``n_j`` are estimated: the rows of windows are known from manifests, selectivities from the last
execution, where they are exact. So a prediction errs by what changed since, and by the noise of time itself. Both are
in the ratios of used to expected time that each query remembers, and whose quantiles are what is predicted. They are by
what would be expected now: once coefficients have followed an error, it is no longer in the ratios.

All of it is a value, which is kept with the state. Losing it costs nothing but a slower start.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from punctual.estimate.execution_cost import ExecutionCost
from punctual.estimate.linear_cost import ALPHA, HIGH, NOISE, RATIOS, LinearCost, Prediction
from punctual.estimate.operator_costs import (
    FIRST_GUESS,
    Counts,
    counts,
    estimated_rows,
    plan_cost,
    remaining_cost,
    selectivities,
)
from punctual.estimate.remaining import RemainingCost, taken_apart
from punctual.estimate.sampling import EstimatorErrors, sampled_selectivities
from punctual.plan.fingerprint import fingerprint
from punctual.plan.operators import OperatorNode, OperatorRows
from punctual.plan.row_query import RowStatement

FACTOR_ALPHA = ALPHA / 2
"""How much of a job's error is put to the factors of its queries; the shared coefficients take theirs first."""
FARTHEST = 8.0
"""A factor is within this and one by it."""
ANEW = 3
"""A plan that was made so often in a row is made every time."""
RECENT = 3
"""So many last ratios say what is usual now: one that is far off says nothing, and a change is soon followed."""


def meaning_of(statement: object) -> str:
    """What a query means, for telling it apart from another one of the same name; aggregates are all alike."""
    return fingerprint(statement) if isinstance(statement, RowStatement) else "aggregates"


@dataclass(frozen=True, slots=True)
class RowFiring:
    """A row query at an instant: what it means (its fingerprint), and how many rows each of its windows has.

    Of a sample these are the rows that are in it, and ``share`` is its share; ``by_key`` says that all windows have the
    rows of the same keys. ``scanned`` are the rows that are looked at for it; None: just these.
    """

    query: str
    meaning: str
    windows: tuple[float, ...]
    share: float = 1.0
    by_key: bool = False
    scanned: float | None = None

    @property
    def scan(self) -> float:
        """How many rows are looked at."""
        return sum(self.windows) if self.scanned is None else self.scanned

    @property
    def keys(self) -> float:
        """The share of keys that the windows have rows of."""
        return self.share if self.by_key else 1.0


@dataclass(frozen=True, slots=True)
class RowExecution:
    """What became of it: the rows of its operators where somebody looked, and whether its plan was made for it.

    ``sampled`` are the selectivities that a sampler had found before.
    """

    rows: OperatorRows | None
    planned: bool = False
    sampled: tuple[float | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class QueryCost:
    """What is known of a query: its operators, their selectivities, its factor, its last ratios.

    ``plans`` is how many of its last executions in a row had their plans made for them: that of a first one always is,
    and so is that of a first one beside other queries.
    """

    meaning: str
    operators: OperatorNode
    selectivities: tuple[float | None, ...]
    factor: float = 1.0
    ratios: tuple[float, ...] = ()
    plans: int = 0
    errors: EstimatorErrors = field(default_factory=EstimatorErrors)

    @staticmethod
    def unseen(firing: RowFiring) -> QueryCost:
        """Of one that never ran: all that is known is which windows it reads."""
        reads = tuple(OperatorNode("read", window=number) for number in range(len(firing.windows)))
        return QueryCost.of_plan(firing.meaning, OperatorNode("answer", (OperatorNode("other", reads),)))

    @staticmethod
    def of_plan(meaning: str, operators: OperatorNode) -> QueryCost:
        """Of one whose plan is known, and nothing else."""
        return QueryCost(meaning, operators, (None,) * len(list(operators.nodes())))

    @property
    def planned(self) -> bool:
        """Whether its plan is made for each execution."""
        return self.plans >= ANEW

    @property
    def usual(self) -> float:
        """Used by expected time, as it is usually now."""
        return float(np.median(self.ratios[-RECENT:])) if self.ratios else 1.0

    def after(self, rows: OperatorRows | None, firing: RowFiring) -> QueryCost:
        """The same with the selectivities of one more execution."""
        if rows is None:
            return self
        seen = selectivities(rows.operators, rows.rows)
        known = self.selectivities if rows.operators == self.operators else (None,) * len(seen)
        told = seen
        if firing.share < 1.0:
            told = sampled_selectivities(rows, firing.keys, known, by_key=firing.by_key)
        found = tuple(
            next((one for one in several if one is not None), None) for several in zip(told, known, seen)
        )
        return replace(self, operators=rows.operators, selectivities=found)

    def rows(self, windows: Sequence[float], keys: float = 1.0) -> tuple[float, ...]:
        """The rows that each operator is expected to give out, where windows have the rows of such a share of keys.

        Rows that match are there together, so joins find more among them than they would in any rows.
        """
        known = self.selectivities
        if keys < 1.0:
            nodes = self.operators.nodes()
            known = tuple(
                one / keys if one is not None and node.kind in ("join", "pairs") else one
                for node, one in zip(nodes, known)
            )
        return estimated_rows(self.operators, windows, known)


def windows_of(execution: OperatorRows) -> list[float]:
    """The rows of each window that an execution read; of one that is read twice, once."""
    read = {
        node.window: rows for node, rows in zip(execution.operators.nodes(), execution.rows) if node.window is not None
    }
    return [read.get(number, 0.0) for number in range(1 + max(read, default=-1))]


@dataclass(frozen=True, slots=True)
class RowCosts:
    """What row queries cost, by all that was seen so far."""

    operators: LinearCost = FIRST_GUESS
    queries: Mapping[str, QueryCost] = field(default_factory=dict)

    def of(self, firing: RowFiring) -> QueryCost:
        """What is known of a query; nothing of one that meant something else."""
        known = self.queries.get(firing.query)
        return known if known is not None and known.meaning == firing.meaning else QueryCost.unseen(firing)

    def expected(self, firings: Sequence[RowFiring]) -> list[float]:
        """Microseconds of core time that each needs, when one job answers them all."""
        known = [self.of(firing) for firing in firings]
        rows = [one.rows(firing.windows, firing.keys) for one, firing in zip(known, firings)]
        return self._expected(firings, known, rows, [one.planned and bool(one.ratios) for one in known], 1)

    def predict(self, firings: Sequence[RowFiring]) -> list[Prediction]:
        """The same as quantiles."""
        found = []
        for firing, expected in zip(firings, self.expected(firings)):
            ratios = self.of(firing).ratios or self.operators.ratios
            median, high = np.quantile(np.array(ratios), (0.5, HIGH)) if ratios else (1.0, 1 + 2 * NOISE)
            found.append(Prediction(expected * float(median), expected * float(high)))
        return found

    def expected_of(self, firings: Sequence[RowFiring], executions: Sequence[RowExecution]) -> float:
        """Microseconds that executions would be expected to use for the rows that they had, without their job's."""
        known, rows = self._executed(firings, executions)
        expected = self._expected(firings, known, rows, [one.planned for one in executions], 0)
        return sum(one.usual * each for one, each in zip(known, expected))

    def executions(self, firings: Sequence[RowFiring]) -> list[ExecutionCost] | None:
        """What each needs whatever it reads, and for all of its windows; None where nothing was measured yet.

        A job's own part is left out: it is that of a pass, however many queries there are. Rows that match are sampled
        by their key, so a join of samples needs the same share of what the whole one does.
        """
        if not self.operators.seen:
            return None
        return [self._execution(self.of(firing), firing) for firing in firings]

    def _execution(self, known: QueryCost, firing: RowFiring) -> ExecutionCost:
        cost, rows = self.operators, known.rows(firing.windows)
        scan = cost.each("scan") * firing.scan
        none = known.rows((0.0,) * len(firing.windows))
        whole, nothing = (known.factor * (scan + plan_cost(cost, known.operators, some)) for some in (rows, none))
        plan = cost.each("plan") if known.planned and known.ratios else 0.0
        return ExecutionCost(known.usual * (nothing + plan), known.usual * max(0.0, whole - nothing), rows[0])

    def remaining(self, firing: RowFiring) -> RemainingCost | None:
        """Equation (2) for a query whose scans have read their windows and handed nothing on yet; None: who knows.

        What is seldom exceeded: late answers are worth nothing, and those that use a little less are worth nearly all.
        """
        if not self.operators.seen:
            return None
        known = self.of(firing)
        ratios = known.ratios or self.operators.ratios
        high = known.factor * (float(np.quantile(np.array(ratios), HIGH)) if ratios else 1 + 2 * NOISE)

        def left_us(windows: Sequence[float]) -> float:
            operators = remaining_cost(self.operators, known.operators, known.rows(windows, firing.keys), {})
            return high * (self.operators.each("slot") + max(0.0, operators))

        return taken_apart(left_us, firing.windows)

    def dealt(self, firings: Sequence[RowFiring], executions: Sequence[RowExecution], used_us: float) -> list[float]:
        """The core time of jobs as that of their firings, by what each is expected to need for the rows that it had."""
        known, rows = self._executed(firings, executions)
        expected = self._expected(firings, known, rows, [one.planned for one in executions], 1)
        total = sum(expected)
        return [used_us * one / total if total > 0 else used_us / len(expected) for one in expected]

    def after(
        self, firings: Sequence[RowFiring], executions: Sequence[RowExecution], used_us: float, jobs: int = 1
    ) -> RowCosts:
        """The same with the core time of one more job, or of several."""
        if not firings:
            return self
        known, rows = self._executed(firings, executions)
        planned = [one.planned for one in executions]
        total: Counts = {
            "job": float(jobs), "plan": float(sum(planned)), "scan": sum(firing.scan for firing in firings)
        }
        for one, found in zip(known, rows):
            for name, count in counts(one.operators, found).items():
                total[name] = total.get(name, 0.0) + count
        expected = self._expected(firings, known, rows, planned, jobs)
        whole = sum(expected)
        if whole <= 0:
            return self
        ratio = used_us / whole
        # What is special to its queries is no news about operators.
        operators = self.operators.after(total, used_us * self.operators.expected_us(total) / whole)
        factors = [_factor(one.factor, now / whole, ratio) for one, now in zip(known, expected)]
        taught = [replace(one, factor=factor) for one, factor in zip(known, factors)]
        # By what is expected from now on: what was learned of an error must not be counted a second time.
        unplanned = [False] * len(firings)
        then = self._expected(firings, known, rows, unplanned, 0)
        since = RowCosts(operators)._expected(firings, taught, rows, unplanned, 0)
        queries = dict(self.queries)
        for firing, one, execution, before, now, old, new in zip(
            firings, taught, executions, self.expected(firings), expected, then, since
        ):
            # A plan that is made once is no surprise, and says nothing about the times after it.
            usual = not execution.planned or one.planned
            ratios = (*one.ratios, now * ratio / before)[-RATIOS:] if usual and before > 0 else one.ratios
            learned = old / new if new > 0 else 1.0
            queries[firing.query] = replace(
                one,
                ratios=tuple(learned * each for each in ratios),
                plans=one.plans + 1 if execution.planned else 0,
                errors=self._errors(firing, execution),
            )
        return RowCosts(operators, queries)

    def after_ended(self, firings: Sequence[RowFiring], used_us: float) -> RowCosts:
        """The same with a job that was ended before it was done: it would have used no less than this.

        Where that is no more than was expected, it says nothing.
        """
        if used_us <= sum(one.median_us for one in self.predict(firings)):
            return self
        return self.after(firings, self.unseen(firings), used_us)

    def unseen(self, firings: Sequence[RowFiring]) -> list[RowExecution]:
        """Executions of which nobody saw more than that they began."""
        return [RowExecution(None, self.of(firing).planned) for firing in firings]

    def _errors(self, firing: RowFiring, execution: RowExecution) -> EstimatorErrors:
        """How far off the selectivities of before were, and those of a sampler, by what they make of the cost."""
        found, before = execution.rows, self.of(firing)
        if found is None or found.operators != before.operators or not before.ratios or firing.share < 1.0:
            return before.errors
        windows = windows_of(found)
        truth = plan_cost(self.operators, found.operators, found.rows)

        def error(known: Sequence[float | None]) -> float:
            rows = estimated_rows(found.operators, windows, known)
            return abs(plan_cost(self.operators, found.operators, rows) / truth - 1) if truth > 0 else 0.0

        sampled = None if execution.sampled is None else error(execution.sampled)
        return before.errors.after(error(before.selectivities), sampled)

    def with_selectivities(self, found: Mapping[str, tuple[float | None, ...]]) -> RowCosts:
        """The same with other selectivities of some queries."""
        changed = {name: replace(self.queries[name], selectivities=several) for name, several in found.items()}
        return replace(self, queries={**self.queries, **changed})

    def with_plan(self, query: str, meaning: str, operators: OperatorNode) -> RowCosts:
        """The same with the plan of a query that did not run yet."""
        return replace(self, queries={**self.queries, query: QueryCost.of_plan(meaning, operators)})

    def only(self, queries: Collection[str]) -> RowCosts:
        """The same without what is known of other queries."""
        return replace(self, queries={name: one for name, one in self.queries.items() if name in queries})

    def _executed(
        self, firings: Sequence[RowFiring], executions: Sequence[RowExecution]
    ) -> tuple[list[QueryCost], list[tuple[float, ...]]]:
        """What is known of each after its execution, and the rows of its operators: estimates where none were read."""
        known = [self.of(firing).after(one.rows, firing) for firing, one in zip(firings, executions, strict=True)]
        rows = [
            cost.rows(firing.windows, firing.keys) if one.rows is None else one.rows.rows
            for cost, firing, one in zip(known, firings, executions)
        ]
        return known, rows

    def _expected(
        self,
        firings: Sequence[RowFiring],
        known: Sequence[QueryCost],
        rows: Sequence[tuple[float, ...]],
        planned: Sequence[bool],
        jobs: int,
    ) -> list[float]:
        cost = self.operators
        each, scan = (cost.fixed_us + jobs * cost.each("job")) / max(1, len(known)), cost.each("scan")
        return [
            each
            + cost.each("plan") * plans
            + one.factor * (plan_cost(cost, one.operators, found) + scan * firing.scan)
            for firing, one, found, plans in zip(firings, known, rows, planned)
        ]


def _factor(factor: float, part: float, ratio: float) -> float:
    """The factor of a query that is such a part of a job, after one that used so much of what was expected."""
    return min(max(factor * (1 + FACTOR_ALPHA * part * (min(ratio, 2.0) - 1)), 1 / FARTHEST), FARTHEST)
