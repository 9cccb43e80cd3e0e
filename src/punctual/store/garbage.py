"""Files of the state that nothing names any more. What is not ours is left alone."""

from __future__ import annotations

from collections.abc import Sequence

from punctual.ports.storage import TEMPORARY
from punctual.store.directory import Directory
from punctual.store.identity import IDENTITY_FILE
from punctual.store.layout import CLOSED, INCOMING, PLAN, TASK_FILE, half_written, number, own
from punctual.store.manifest import Manifest


def collect(directory: Directory, base: Manifest | None, manifests: Sequence[Manifest], *, running: bool) -> None:
    """Remove files that nothing names; while running, files of batches still to come are left alone."""
    following = directory.batches
    files = directory.files
    named = {f"batches/{manifest.batch:012d}.json" for manifest in manifests}
    named |= {f"base/{base.batch:012d}.json"} if base else set()
    for manifest in (*manifests, *([base] if base else [])):
        named |= manifest.files()
    for folder in ("batches", "base"):
        whole = [
            name
            for name in own(files, directory.path, folder)
            if f"{folder}/{name}" not in named and not (name.endswith(PLAN) and number(name) >= following)
        ]
        lost = [*whole, *half_written(files, directory.path, folder)]
        unnamed = [name for name in whole if name.endswith(".json")]
        for name in unnamed:
            files.remove(directory.name(f"{folder}/{name}"))
        if unnamed:  # no manifest may outlive, even by a crash, what it names
            files.sync_folder(directory.name(folder))
        for name in lost:
            files.remove(directory.name(f"{folder}/{name}"))
    for name in files.listing(directory.name("incoming")):
        if INCOMING.fullmatch(name) and (not running or int(name) < following):
            _clear(directory, f"incoming/{name}", named)
    for name in [*own(files, directory.path, "dead"), *half_written(files, directory.path, "dead")]:
        if number(name) >= following:
            files.remove(directory.name(f"dead/{name}"))
    if not running:
        _collect_at_open(directory)


def _collect_at_open(directory: Directory) -> None:
    files = directory.files
    for file in (IDENTITY_FILE, CLOSED):
        files.remove(directory.name(file + TEMPORARY))
    for old in own(files, directory.path, "program")[:-1]:
        files.remove(directory.name(f"program/{old}"))
    for folder in ("program", "sinks", "displayed", "ledger"):
        for name in half_written(files, directory.path, folder):
            files.remove(directory.name(f"{folder}/{name}"))


def _clear(directory: Directory, folder: str, named: set[str]) -> None:
    """Remove what tasks wrote and nothing names, and the folder when nothing is left in it."""
    files = directory.files
    for name in files.listing(directory.name(folder)):
        if TASK_FILE.fullmatch(name) and f"{folder}/{name}" not in named:
            files.remove(directory.name(f"{folder}/{name}"))
    if not files.listing(directory.name(folder)):
        files.remove_folder(directory.name(folder))
