"""All that is known of costs, as it is kept with a state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from punctual.estimate.linear_cost import LinearCost
from punctual.estimate.row_costs import RowCosts


@dataclass(frozen=True, slots=True)
class StreamRate:
    """How fast rows of a stream come, in event time, and what one of them takes in files."""

    rows_per_second: float
    bytes_per_row: float


@dataclass(frozen=True, slots=True)
class KnownCosts:
    """Models by the name of what they are of; what row queries cost; the rates of streams by name in lower case."""

    accounts: Mapping[str, LinearCost] = field(default_factory=dict)
    rows: RowCosts = field(default_factory=RowCosts)
    rates: Mapping[str, StreamRate] = field(default_factory=dict)
