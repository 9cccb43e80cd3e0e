"""Which names in a state directory are ours.

Everything else (``.DS_Store``, ``.nfs0001``, copies, backups of editors) is left alone: never read and never removed.
"""

from __future__ import annotations

import re

from punctual.errors import corrupt
from punctual.ports.storage import TEMPORARY, Files

PLAN = ".plan.json"
CLOSED = "closed.json"
LOGS = ("journal", "answers")
OWN = {
    "program": re.compile(r"[0-9]{12}\.json"),
    "batches": re.compile(r"[0-9]{12}\.(plan\.json|json|bin)"),
    "base": re.compile(r"[0-9]{12}\.(json|bin)"),
    "dead": re.compile(r"[0-9]{12}-[0-9a-f]{8}\.jsonl"),
    "journal": re.compile(r"[0-9]{20}\.log"),
    "answers": re.compile(r"[0-9]{20}\.log"),
    "sinks": re.compile(r".+\.json"),
    "displayed": re.compile(r"rankings\.json"),
    "ledger": re.compile(r"[0-9]{12}-[0-9]{20}-[0-9a-f]{8}\.parquet"),
}
"""Files that we make, by folder; each may also stand there with the ending of what is being written."""
INCOMING = re.compile(r"[0-9]{12}")
"""Folders in ``incoming``, one for each batch."""
TASK_FILE = re.compile(r"[0-9a-f]{32}\.arrow")
"""Files in them."""
FOLDERS = (*OWN, "incoming", "feeds")


def own(files: Files, directory: str, folder: str) -> list[str]:
    """Names of our whole files in a folder, sorted."""
    return [name for name in files.listing(f"{directory}/{folder}") if OWN[folder].fullmatch(name)]


def half_written(files: Files, directory: str, folder: str) -> list[str]:
    """Names of our files in a folder that a crash left before they were whole."""
    names = files.listing(f"{directory}/{folder}")
    return [n for n in names if n.endswith(TEMPORARY) and OWN[folder].fullmatch(n.removesuffix(TEMPORARY))]


def check_layout(files: Files, directory: str) -> None:
    """Refuse a file where a folder should be, and a folder where a file should be."""
    for folder in FOLDERS:
        path = f"{directory}/{folder}"
        if files.size(path) is not None and not files.is_folder(path):
            raise corrupt(path, "it is a file and should be a folder")
        for name in own(files, directory, folder) if folder in OWN else ():
            if files.is_folder(f"{path}/{name}"):
                raise corrupt(f"{path}/{name}", "it is a folder and should be a file")
    for name in files.listing(f"{directory}/incoming"):
        path = f"{directory}/incoming/{name}"
        if INCOMING.fullmatch(name) and not files.is_folder(path):
            raise corrupt(path, "it is a file and should be a folder")


def number(name: str) -> int:
    """The number that the name of one of our files begins with."""
    return int(name[:12])
