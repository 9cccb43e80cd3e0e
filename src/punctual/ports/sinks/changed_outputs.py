"""Outputs that are no longer what a state has written: mended from the log, or refused; never continued."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from punctual.errors import StateError
from punctual.ports.sinks.sink import SinkState, Written, foreign_file

Size = Callable[[str], int | None]
"""How many bytes the output of a query has; None where there is none."""


def resumed(
    state: SinkState,
    folder: str,
    oldest: int,
    size: Size,
    checksum: Callable[[str, int], int],
    is_ours: Callable[[str], bool],
) -> dict[str, Written] | None:
    """What every output is continued from; one that was changed begins anew. None: nothing of it is in this folder.

    Outputs may be longer than what was written: a crash leaves such, and they are cut. ``checksum`` is that of the
    first so many bytes of a query's output; ``is_ours`` says whether an output is known to be this state's. The log
    holds records from ``oldest`` on.

    Raises
    ------
    StateError
        ``sink.changed-file`` where an output was changed and the log no longer holds all of its answers,
        ``sink.foreign-file`` where somebody else's stands in its place. Nothing was touched then.
    """
    sizes = {query: size(query) for query in state.written}
    if state.folder != folder and not any(sizes.values()):
        return None
    found: dict[str, Written] = {}
    for query, written in state.written.items():
        length = sizes[query] or 0
        if length >= written.length and checksum(query, written.length) == written.crc:
            found[query] = written
        elif length and not is_ours(query):
            raise foreign_file(f"{folder}/{query}")
        elif written.after + 1 >= oldest:
            found[query] = replace(written, length=0, crc=0, through=written.after)
        else:
            raise _changed(query, folder, sizes[query], written.length)
    return found


def _changed(query: str, folder: str, size: int | None, length: int) -> StateError:
    if size is None:
        detail = "it is not there"
    elif size < length:
        detail = f"it has {size} bytes and should have at least {length}"
    else:
        detail = f"its first {length} bytes are not those that were written"
    return StateError(
        "sink.changed-file",
        f'the output of query "{query}" in "{folder}" is not what this state has written',
        detail=f"{detail}; the state no longer holds all of its answers, so it cannot be written again",
        hint="put it back as it was, or name a new folder after --out: it gets the answers that the state still holds",
    )
