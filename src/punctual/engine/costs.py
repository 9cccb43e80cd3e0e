"""What an engine knows of costs: read with the state, learned by its threads, kept with the state."""

from __future__ import annotations

from dataclasses import replace

from punctual.clock import Clock
from punctual.engine.answers.round_model import RoundModel
from punctual.engine.answers.row_model import RowModel
from punctual.engine.held.held_batches import HeldBatches
from punctual.estimate.accounts import Accounts
from punctual.estimate.execution_cost import ExecutionCost
from punctual.estimate.known_costs import KnownCosts
from punctual.estimate.operator_costs import FIRST_GUESS
from punctual.estimate.row_costs import RowCosts
from punctual.plan.row_query import RowStatement
from punctual.plan.shared import RowReader
from punctual.runtime.backend import Backend
from punctual.store.noted import Noted


class Costs:
    """The models of one engine: ``accounts`` of reading and of panes, ``rows`` of row queries, ``rounds`` of worlds."""

    def __init__(self, saved: Noted, backend: Backend, held: HeldBatches, clock: Clock) -> None:
        self._saved = saved
        self._held = held
        known = saved.read(KnownCosts) or KnownCosts()
        if known.rows.operators.names != FIRST_GUESS.names:  # of a version that counted other things
            known = replace(known, rows=RowCosts())
        self._saved_rates = known.rates
        self.accounts = Accounts(known.accounts)
        self.rows = RowModel(known.rows, backend.core_time.untaken_us, clock.monotonic)
        self.rounds = RoundModel(clock)

    def executions(self) -> dict[str, ExecutionCost] | None:
        """What the next execution of each row query will cost; None where nobody knows. On the holder's thread."""
        holders = self._held.holders
        readers = holders.running.plan.row_readers
        through = {name: progress.through for name, progress in self._held.progress.items()}
        known = [one for one in readers if all(name.lower() in through for name in one.query.streams)]
        by_rows = [one for one in known if one.query.name not in self.rounds.costs or not _is_plain(one)]
        found = self.rows.executions(by_rows, holders.rows, through) if by_rows else None
        return self.rounds.added(found, frozenset(one.query.name for one in readers))

    def known(self) -> KnownCosts:
        """All of it as it is now."""
        holders = self._held.holders
        queries = [reader.query.name for reader in holders.running.plan.row_readers]
        return KnownCosts(dict(self.accounts.costs), self.rows.costs.only(queries), holders.rows.rates())

    def ever_known(self) -> KnownCosts:
        """The same of queries that no longer run as well, also before any runs."""
        rates = {**self._saved_rates, **(self._held.holders.rows.rates() if self._held.installed else {})}
        return KnownCosts(dict(self.accounts.costs), self.rows.costs, rates)

    def save(self) -> None:
        """Keep it with the state, if there is anything to keep."""
        if self._held.installed and (self.rows.costs.queries or self.accounts.costs):
            self._saved.save(self.known())


def _is_plain(reader: RowReader) -> bool:
    """Whether the driver reads its rows itself."""
    return isinstance(reader.statement, RowStatement) and reader.statement.plain is not None
