"""Faults of the state that a task met: a full disk, a file that is damaged or gone.

They are nobody's query and nobody's input, so nobody is stopped or set aside for them: the run ends before anything of
the batch or the pass counts, and the next one resumes. A task's error reaches us as text, which holds ours.
"""

from __future__ import annotations

import re

from punctual.errors import StateError, corrupt, disk_full

_CORRUPT = re.compile(r'\[state\.corrupt\] file "([^"\n]+)" is damaged: ([^\n]+)')
_FULL = re.compile(r'\[state\.disk-full\] no space is left (?:for file "([^"\n]+)")?')
_NO_SPACE = re.compile(r"No space left on device|Disk quota exceeded")


def state_fault(problem: Exception) -> StateError | None:
    """The fault of the state that a failure tells of, None where it tells of none.

    >>> state_fault(ValueError('StateError: [state.corrupt] file "/a" is damaged: it is missing\\n\\tat ...')).fact
    'file "/a" is damaged: it is missing'
    >>> state_fault(ValueError("java.io.IOException: No space left on device")).code
    'state.disk-full'
    """
    if isinstance(problem, StateError):
        return problem
    text = str(problem)
    damaged, full = _CORRUPT.search(text), _FULL.search(text)
    if damaged is not None:
        return corrupt(damaged[1], damaged[2])
    if full is not None:
        return disk_full(full[1])
    return disk_full(None) if _NO_SPACE.search(text) else None
