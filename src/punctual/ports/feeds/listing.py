"""Which files a path names: a folder (not what is below it), a glob, or one file.

A folder may hold a hundred thousand files that were read long ago, so only names are looked at for those: one
``scandir``, one lookup per name, and a ``stat`` per file that is new.
"""

from __future__ import annotations

import errno
import glob
import os
import stat
from collections.abc import Container, Iterable, Iterator

from punctual.errors import FeedError
from punctual.ports.feeds.file_names import is_escaped, path_of, text_of
from punctual.ports.feeds.slices import FileRef


def absolute(path: str) -> str:
    """An absolute path; two slashes at its beginning mean no more than one."""
    return "/" + os.path.abspath(path).lstrip("/")


def list_files(path: str, seen: Container[str] = frozenset()) -> list[FileRef]:
    """Files of a path that are not seen yet, in the order (modification time, name).

    Names that start with ``_`` or ``.`` are ignored, as are files that vanish while one looks.

    Raises
    ------
    FeedError
        ``feed.missing-path`` when the folder or file is not there, ``feed.unreadable-path`` when it may not be read.
    """
    if is_escaped(text_of(path)):
        raise FeedError(
            "feed.unreadable-path", f'path "{text_of(path)}" is not UTF-8', hint="rename it: Spark opens no other names"
        )
    try:
        found = list(_refs(path, seen))
    except FileNotFoundError as problem:
        raise _missing(path) from problem
    except OSError as problem:
        raise FeedError(
            "feed.unreadable-path", f'path "{text_of(path)}" cannot be listed', detail=problem.strerror or str(problem)
        ) from problem
    found.sort(key=lambda ref: (ref.mtime_ns, ref.path))
    return found


def still_there(path: str, texts: Iterable[str]) -> set[str]:
    """Those of the files of a path that can still be found; a folder costs one look, however many they are."""
    if os.path.isdir(path):
        root = path.rstrip("/") + "/"
        with os.scandir(path) as entries:
            names = {text_of(root + entry.name) for entry in entries}
        return names.intersection(texts)
    return {text for text in texts if os.path.exists(path_of(text))}


def _refs(path: str, seen: Container[str]) -> Iterator[FileRef]:
    if os.path.isdir(path):
        root = path.rstrip("/") + "/"
        with os.scandir(path) as entries:
            new = [entry.name for entry in entries if entry.name[0] not in "_." and root + entry.name not in seen]
        candidates = [root + name for name in new]
    elif os.path.isfile(path):
        candidates = [path]
    elif glob.has_magic(path):
        if not os.path.isdir(_fixed_part(path)):
            raise FileNotFoundError(path)
        candidates = [match for match in glob.iglob(path) if os.path.basename(match)[:1] not in "_."]
    else:
        raise FileNotFoundError(path)
    for candidate in candidates:
        text = text_of(candidate)
        if text in seen:
            continue
        try:
            status = os.stat(candidate)
        except OSError as problem:
            if problem.errno in (errno.ENOENT, errno.ELOOP):  # gone by now, or a link that leads nowhere
                continue
            raise
        if stat.S_ISREG(status.st_mode):
            yield FileRef(text, status.st_size, status.st_mtime_ns)


def _fixed_part(pattern: str) -> str:
    """The folder before the first wildcard."""
    folder = os.path.dirname(pattern)
    while glob.has_magic(folder):
        folder = os.path.dirname(folder)
    return folder or "."


def _missing(path: str) -> FeedError:
    parent = os.path.dirname(path.rstrip("/"))
    there = "its parent folder exists" if os.path.isdir(parent) else f'folder "{text_of(parent)}" does not exist either'
    return FeedError(
        "feed.missing-path",
        f'path "{text_of(path)}" does not exist',
        detail=there,
        hint="a relative path is relative to the program file; what it names must be there before it is declared",
    )
