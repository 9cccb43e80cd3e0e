"""Which groups should run together, when blocks of groups run at their own bounds.

Hybrid scheduling partitions the groups; a block runs at its fastest member's bound and costs its dearest member, and
of blocks that are due together only the dearest runs. Conservative (every group a block) and aggressive (one block)
are two of the partitions.

Up to :data:`MOST_PARTITIONED` groups all partitions are tried. Above that, groups first join those that they can join
for nothing (the combination rule), which leaves a handful of random ones; where it leaves more, the two blocks whose
union saves most are united until no union saves anything. References: tests/papers/golab.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

from punctual.estimate.dearest_due import Multiples, rate_of_dearest_due
from punctual.share.cadence.groups import Block, Group, by_bound, combined, together

MOST_PARTITIONED = 8
Blocks = tuple[Block, ...]


def hybrid_blocks(groups: Sequence[Group]) -> Blocks:
    """The blocks with the least cost per unit; of equally cheap ones, the most blocks.

    >>> [block.members for block in hybrid_blocks([Group(2, 9), Group(3, 14), Group(5, 29)])]
    [(0, 1), (2,)]
    """
    blocks = by_bound(groups)
    if len(blocks) > MOST_PARTITIONED:
        blocks = combined(groups)
    multiples = Multiples(block.bound for block in blocks)
    if len(blocks) > MOST_PARTITIONED:
        return _united(blocks, multiples)
    return min(_partitions(blocks), key=lambda chosen: (_rate(chosen, multiples), -len(chosen)))


def _rate(blocks: Blocks, multiples: Multiples) -> Fraction:
    return rate_of_dearest_due([(block.bound, block.cost) for block in blocks], multiples)


def _partitions(blocks: Blocks) -> Iterator[Blocks]:
    """Every set partition: the first block joins one of each partition of the rest, or stays alone."""
    if not blocks:
        yield ()
        return
    first, rest = blocks[0], blocks[1:]
    for partition in _partitions(rest):
        yield (first, *partition)
        for place, block in enumerate(partition):
            yield (*partition[:place], together((first, block)), *partition[place + 1 :])


def _united(blocks: Blocks, multiples: Multiples) -> Blocks:
    rate = _rate(blocks, multiples)
    while len(blocks) > 1:
        unions = (
            (*(block for block in blocks if block not in pair), together(pair)) for pair in combinations(blocks, 2)
        )
        united = min(unions, key=lambda chosen: _rate(chosen, multiples))
        if _rate(united, multiples) >= rate:
            break
        blocks, rate = united, _rate(united, multiples)
    return blocks
