"""Answers that somebody cancelled while they were made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from punctual.ports.answers import AnswerBlock, Answers
from punctual.schedule.stages.endings import Ending


def without_ended(answers: Answers, endings: Sequence[Ending]) -> Answers:
    """The answers of a pass without those that are to come no more."""
    queries = {one.query for one in endings}
    gone = {number: _ended(block, endings) for number, block in enumerate(answers) if block.query in queries}
    if not any(some.any() for some in gone.values()):
        return answers
    blocks = (
        AnswerBlock(block.query, block.table.filter(pa.array(~gone[number]))) if number in gone else block
        for number, block in enumerate(answers)
    )
    return Answers.of([block for block in blocks if block.count])


def _ended(block: AnswerBlock, endings: Sequence[Ending]) -> NDArray[np.bool_]:
    at, number = block.table["at"].to_numpy(), block.table["number"].to_numpy()
    gone = np.zeros(at.size, np.bool_)
    for one in endings:
        if one.query == block.query:
            gone |= one.ends(at, number)
    return gone
