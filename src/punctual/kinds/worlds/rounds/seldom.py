"""What rounds may miss: values that are seldom drawn, and much rests on.

Where there are such values an expectation has an interval only from so many rounds on that they can be expected to have
come. What was drawn cannot tell: rounds that missed a value of one world in a thousand look as if nothing varied, and
to refuse what looks skewed would leave just these. But the laws of the rows are known.
"""

from __future__ import annotations

import numpy as np

from punctual.kinds.worlds.rounds.needed_rounds import MOST_ROUNDS
from punctual.kinds.worlds.simulate import GroupsInWorlds
from punctual.kinds.worlds.summaries import Seldom
from punctual.plan.world_expression import DrawnAttribute, WorldAggregate, WorldExpression, leaves
from punctual.plan.worlds import Called, Folded, Worlds

ROUNDS_PER_SQUARE = 6
"""Rounds for the square of a skewness: from there on 94 to 98 % of the intervals of lognormal and Pareto lists hold."""


def seldom(body: Worlds, groups: GroupsInWorlds) -> Seldom:
    """What rounds may miss of the groups of a window.

    By the skewness of the total of what an aggregate reads of a group, however it aggregates it; of several attributes
    the most skewed counts.
    """
    window = groups.rows_of_window
    name = groups.itself, "seldom"
    return window.shared.of(name, lambda: _seldom(body, groups), lambda _one: 9 * groups.groups)


def _seldom(body: Worlds, groups: GroupsInWorlds) -> Seldom:
    part, window = groups.everything, groups.rows_of_window
    attributes = range(len(window.attributes))
    numbers = [one for one in attributes if window.attributes[one].certain.kind in ("number", "whole")]
    others = frozenset(attributes) - frozenset(numbers)
    varies = np.bincount(part.group, window.uncertain(others)[part.rows], groups.groups) > 0
    least = {number: np.zeros(groups.groups) for number in attributes}
    for number in numbers:
        _mean, variance, third = (np.nan_to_num(moment) for moment in window.moments(number, part.rows))
        variances = np.bincount(part.group, variance, groups.groups)
        thirds = np.bincount(part.group, np.abs(third), groups.groups)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            square = np.where(variances > 0.0, (thirds / variances) ** 2 / variances, 0.0)
        least[number] = ROUNDS_PER_SQUARE * square
        varies |= variances > 0.0
    of_aggregates = [
        [least[leaf.number] for one in _read(folded) for leaf in leaves(one) if isinstance(leaf, DrawnAttribute)]
        for folded in body.aggregates
    ]
    nothing = np.zeros(groups.groups)
    return Seldom(tuple(np.max([nothing, *several], axis=0) for several in of_aggregates), varies)


def rounds_for_tails(body: Worlds, missed: Seldom) -> int:
    """From how many rounds on all expectations have intervals, if their result rows are always there."""
    of = [summed.of for summed in body.summaries if summed.summary == "EXPECTED"]
    read = {leaf.number for one in of for leaf in leaves(one) if isinstance(leaf, WorldAggregate)}
    most = max((missed.least_rounds[number].max(initial=0.0) for number in read), default=0.0)
    return int(min(np.ceil(most), MOST_ROUNDS + 1))


def _read(aggregate: Folded | Called) -> list[WorldExpression]:
    """What an aggregate is over, and when."""
    over = (aggregate.argument,) if isinstance(aggregate, Folded) else aggregate.arguments
    return [one for one in (*over, aggregate.where) if one is not None]
