"""Which files a path names: a folder (not what is below it), a glob, or one file.

A folder may hold a hundred thousand files that were read long ago, so only names are looked at for those: one
``scandir``, a set lookup a name, and a ``stat`` for each file that is new.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Container, Iterator

from punctual.errors import FeedError
from punctual.ports.feeds.slices import FileRef


def list_files(path: str, seen: Container[str] = frozenset()) -> list[FileRef]:
    """Files of a path that are not seen yet, in the order (modification time, name).

    Names that start with ``_`` or ``.`` are ignored, as are files that vanish while one looks.

    Raises
    ------
    FeedError
        ``feed.missing-path`` when the folder or file is not there, ``feed.unreadable-path`` when it may not be read.
    """
    try:
        found = list(_refs(path, seen))
    except FileNotFoundError as problem:
        raise _missing(path) from problem
    except OSError as problem:
        raise FeedError(
            "feed.unreadable-path", f'path "{path}" cannot be listed', detail=problem.strerror or str(problem)
        ) from problem
    found.sort(key=lambda ref: (ref.mtime_ns, ref.path))
    return found


def _refs(path: str, seen: Container[str]) -> Iterator[FileRef]:
    if os.path.isdir(path):
        root = path.rstrip("/") + "/"
        with os.scandir(path) as entries:
            new = [entry.name for entry in entries if entry.name[0] not in "_." and root + entry.name not in seen]
        candidates = [root + name for name in new]
    elif os.path.isfile(path):
        candidates = [path] if path not in seen else []
    elif glob.has_magic(path):
        if not os.path.isdir(_fixed_part(path)):
            raise FileNotFoundError(path)
        candidates = [
            match for match in glob.iglob(path) if os.path.basename(match)[:1] not in "_." and match not in seen
        ]
    else:
        raise FileNotFoundError(path)
    for candidate in candidates:
        try:
            status = os.stat(candidate)
        except FileNotFoundError:
            continue
        if os.path.isfile(candidate):
            yield FileRef(candidate, status.st_size, status.st_mtime_ns)


def _fixed_part(pattern: str) -> str:
    """The folder before the first wildcard."""
    folder = os.path.dirname(pattern)
    while glob.has_magic(folder):
        folder = os.path.dirname(folder)
    return folder or "."


def _missing(path: str) -> FeedError:
    parent = os.path.dirname(path.rstrip("/"))
    there = "its parent folder exists" if os.path.isdir(parent) else f'folder "{parent}" does not exist either'
    return FeedError(
        "feed.missing-path",
        f'path "{path}" does not exist',
        detail=there,
        hint="a relative path is relative to the program file; create the folder before the stream is declared",
    )
