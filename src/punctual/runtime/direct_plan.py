"""Branches of the direct way as the operator that runs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from punctual.plan.rows import Join
from punctual.runtime.backend import SliceWork
from punctual.runtime.given_law_rules import given_laws
from punctual.runtime.lower import Branch
from punctual.runtime.operators.direct import DirectBranch, DirectStream
from punctual.runtime.operators.enrich import Lookup
from punctual.runtime.operators.reduction import Reduce
from punctual.runtime.operators.verdict import Meanings
from punctual.scan.open_part import Reading


def direct_stream(
    work: SliceWork, branches: Sequence[Branch], reading: Reading, shards: int, table: Callable[[Join, bool], Lookup]
) -> DirectStream:
    """The operator's part for one stream.

    ``table`` makes a static table travel; it is told whether rows without a row of the table are kept.
    """
    stream = branches[0].stream
    several = []
    for branch in branches:
        assert branch.direct is not None
        late = work.late if branch.counted else None
        lookups = tuple(table(join, branch.shared or join.how == "left") for join in branch.joins)
        reduce = Reduce(work.stream, branch.units, late, shards, branch.counted, branch.retain)
        several.append(DirectBranch(reduce, branch.direct, lookups))
    meanings = Meanings(stream.event_time, stream.probability, given_laws(stream))
    return DirectStream(work.stream, reading, meanings, tuple(several))
