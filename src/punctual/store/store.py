"""The state of one program in one directory.

Model
-----
Rows arrive in *batches* 0, 1, 2, ... A batch is planned, run and committed; its commit is the rename of
its manifest and nothing else. Compaction replaces all batches through some number by a *base*. What is
in the state is the newest base and the manifests after it, with the files that they name.

Layout (``docs/state.md`` describes it for users)
-------------------------------------------------
::

    punctual.json              format version, identity, number of shards
    punctual.lock              who runs it
    program/<number>.json      the program as it stands
    batches/<batch>.plan.json  slices of a batch, before it runs
    batches/<batch>.bin        its inline sections, each at a multiple of eight
    batches/<batch>.json       its manifest
    base/<batch>.bin, .json    the same for all batches through that number
    incoming/<batch>/...       files that Spark tasks wrote; those that a manifest names stay
    dead/<batch>-<crc>.jsonl   dead letters, kept until the user removes them
    journal/, answers/         logs of records
    sinks/<sink>.json          how far a sink has got
    displayed/rankings.json    answers that are no longer in the log and that the next ones depend on
    feeds/<stream>/            rows fed from Python

Invariants
----------
- A file is durable, contents and name, before a manifest that names it is renamed into place.
- A file that a visible manifest names is never written again.
- What no manifest names is garbage: removed at open, and after a rebase where its batch is committed.
- One process owns the directory (``lock.py``); a mutex lets one thread commit while another reads.

A commit is one data file and one manifest however many units there are: four syncs, two more with
dead letters, one more for each file of a task and one for their folder.
"""

from __future__ import annotations

import base64
import contextlib
import threading
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import orjson
import pyarrow as pa

from punctual.errors import InternalError, StateError
from punctual.ports.storage import TEMPORARY, Bytes, Files, file_name, tells_disk_full, write_whole
from punctual.store.identity import IDENTITY_FILE, Identity, read_identity, write_identity
from punctual.store.manifest import Manifest, Section
from punctual.store.records import RecordLog
from punctual.store.sealed import JSON, corrupt, read_sealed, seal

SectionBytes = tuple[str, bytes | pa.Buffer | str, int]
"""Unit, its bytes (or the path of a file under the state that holds them), cells."""

_PADDING = bytes(8)
_PLAN = ".plan.json"
DISPLAYED = "displayed/rankings.json"
_MAPPED_FILES = 256


class Store:
    """An open state directory; ``Store.open`` makes one."""

    def __init__(self, directory: str, files: Files, identity: Identity, *, readonly: bool) -> None:
        self.directory = directory
        self.identity = identity
        self._files = files
        self._readonly = readonly
        self._mutex = threading.RLock()
        self._mapped: dict[str, pa.Buffer] = {}
        self._unfinished = False  # a commit failed half-way in this process
        self._base, self._manifests = self._load()
        self.journal = RecordLog(files, f"{directory}/journal", readonly=readonly)
        self.answers = RecordLog(files, f"{directory}/answers", readonly=readonly)

    @staticmethod
    @tells_disk_full
    def open(
        directory: str,
        files: Files,
        *,
        identity: str = "",
        shards: int = 16,
        fresh: bool = True,
        readonly: bool = False,
    ) -> Store:
        """Open a state, or make one in a missing or empty directory.

        Parameters
        ----------
        directory : str
            Absolute path.
        identity : str
            A new state's identifier, such as a random hexadecimal number.
        shards : int
            A new state's number of shards; an old one keeps its own (``store.identity.shards``).
        fresh : bool
            Whether a new state may be made; otherwise a missing one is ``state.missing``.
        readonly : bool
            Look into a state that another process may own: nothing is made, cut or removed.
        """
        found = read_identity(files, directory)
        if found is None:
            if readonly or not fresh:
                raise StateError(
                    "state.missing",
                    f'directory "{directory}" holds no state',
                    hint="name the directory that was given to punctual run after --state",
                )
            if not identity:
                raise InternalError("a new state needs an identity")
            found = Identity(identity, shards)
            write_identity(files, directory, found)
        if readonly:
            return _look(directory, files, found)
        store = Store(directory, files, found, readonly=False)
        for folder in ("program", "batches", "base", "incoming", "dead", "sinks", "feeds"):
            files.make_folder(f"{directory}/{folder}")
        store.garbage()
        return store

    def close(self) -> None:
        """Close the logs; all that was acknowledged is durable already."""
        self.journal.close()
        self.answers.close()

    # -- batches ---------------------------------------------------------------------------------

    def base(self) -> Manifest | None:
        """What stands for all batches through ``base().batch``."""
        return self._base

    def manifests(self) -> list[Manifest]:
        """The batches after the base, in order."""
        return list(self._manifests)

    def next_batch(self) -> int:
        """The number of the batch to commit next."""
        if self._manifests:
            return self._manifests[-1].batch + 1
        return self._base.batch + 1 if self._base else 0

    @tells_disk_full
    def write_plan(self, batch: int, body: JSON) -> None:
        """Fix what a batch will read; after a crash it is run again with the same plan."""
        with self._writing():
            write_whole(self._files, self._path(f"batches/{batch:012d}{_PLAN}"), seal({"body": body}))

    def read_plan(self, batch: int) -> JSON | None:
        """The plan of a batch that is not committed; None when there is none."""
        return self._read_body(f"batches/{batch:012d}{_PLAN}")

    @tells_disk_full
    def incoming(self, batch: int) -> str:
        """The folder for files that tasks write for a batch, created; absolute."""
        folder = self._path(f"incoming/{batch:012d}")
        self._files.make_folder(folder)
        return folder

    @tells_disk_full
    def commit(
        self, batch: int, body: JSON, sections: Sequence[SectionBytes], dead: bytes | None = None
    ) -> Manifest:
        """Make a batch part of the state; it is when this returns, and not at all when this raises a full disk.

        ``dead`` is JSON lines, one object a dead letter, each with its ``stream``.
        """
        with self._writing():
            if batch != self.next_batch():
                raise InternalError(f"batch {batch} was committed where batch {self.next_batch()} is next")
            manifest = self._write_manifest("batches", batch, body, sections, dead)
            self._manifests.append(manifest)
            return manifest

    @tells_disk_full
    def rebase(self, through: int, body: JSON, sections: Sequence[SectionBytes]) -> Manifest:
        """Let these sections stand for all batches through this one, then remove what they replace."""
        with self._writing():
            lowest = self._base.batch + 1 if self._base else 0
            if not lowest <= through < self.next_batch():
                raise InternalError(f"rebase through batch {through}, outside {lowest}..{self.next_batch() - 1}")
            manifest = self._write_manifest("base", through, body, sections, None)
            self._base = manifest
            self._manifests = [later for later in self._manifests if later.batch > through]
            self._mapped.clear()
            with contextlib.suppress(OSError):  # garbage does no harm, and goes at the next open
                self._collect(running=True)
            return manifest

    def read(self, section: Section) -> pa.Buffer:
        """The bytes of a section, mapped into memory and checked."""
        path = self._path(section.file)
        whole = self._map(section.file)
        if section.offset + section.length > whole.size:
            raise corrupt(path, "it is shorter than its manifest says")
        data = whole.slice(section.offset, section.length)
        if zlib.crc32(data) != section.crc:
            raise corrupt(path, f'the checksum of unit "{section.unit}" does not fit')
        return data

    @tells_disk_full
    def add_dead_letters(self, batch: int, dead: bytes) -> None:
        """More dead letters of a batch that is committed, found when its windows were answered; JSON lines."""
        with self._writing():
            if batch >= self.next_batch():
                raise InternalError(f"dead letters were added to batch {batch}, which is not committed")
            path = self._path(f"dead/{_dead_name(batch, dead)}")
            if self._files.size(path) is None:
                write_whole(self._files, path, dead)

    def garbage(self) -> None:
        """Remove what no manifest names. Only while no task writes: at open."""
        with self._writing():
            self._collect(running=False)

    def dead_letters(self, stream: str | None = None) -> Iterator[dict[str, Any]]:
        """Dead letters of all committed batches (of one stream), oldest first."""
        for name in self._files.listing(self._path("dead")):
            if not name.endswith(TEMPORARY) and _number(name) < self.next_batch():
                letters = self._letters(name)
                yield from (letter for letter in letters if stream is None or letter.get("stream") == stream)

    def added_letters(self) -> Iterator[dict[str, Any]]:
        """Dead letters that were added to batches after the base, after their commit."""
        after = -1 if self._base is None else self._base.batch
        named = {manifest.dead for manifest in self._manifests}
        for name in self._files.listing(self._path("dead")):
            if name.endswith(TEMPORARY) or f"dead/{name}" in named:
                continue
            if after < _number(name) < self.next_batch():
                yield from self._letters(name)

    # -- what else a program leaves ----------------------------------------------------------------

    @tells_disk_full
    def save_program(self, number: int, body: JSON) -> None:
        """Replace the program by a later version of it; numbers only grow."""
        with self._writing():
            former = self._program_numbers()
            if former and number < former[-1]:
                raise InternalError(f"program {number} was saved after program {former[-1]}")
            write_whole(self._files, self._path(f"program/{number:012d}.json"), seal({"body": body}))
            for old in self._program_numbers()[:-1]:
                self._files.remove(self._path(f"program/{old:012d}.json"))

    def program(self) -> tuple[int, JSON] | None:
        """The newest program and its number."""
        numbers = self._program_numbers()
        body = self._read_body(f"program/{numbers[-1]:012d}.json") if numbers else None
        return None if body is None else (numbers[-1], body)

    @tells_disk_full
    def save_sink_state(self, name: str, state: JSON) -> None:
        """Remember how far a sink has got (what its ``checkpoint`` returned)."""
        with self._writing():
            write_whole(self._files, self._path(f"sinks/{file_name(name)}.json"), seal({"body": state}))

    def sink_state(self, name: str) -> JSON | None:
        """What was last saved for a sink."""
        return self._read_body(f"sinks/{file_name(name)}.json")

    @tells_disk_full
    def save_displayed(self, answers: bytes) -> None:
        """Keep the last answers of some queries beyond the answer log."""
        with self._writing():
            self._files.make_folder(self._path("displayed"))
            body = {"answers": base64.b64encode(answers).decode()}
            write_whole(self._files, self._path(DISPLAYED), seal({"body": body}))

    def displayed(self) -> bytes | None:
        """What was last saved of them."""
        body = self._read_body(DISPLAYED)
        return None if body is None else base64.b64decode(body["answers"])

    @tells_disk_full
    def feed_folder(self, stream: str) -> str:
        """The folder where rows fed to a stream are landed, created; absolute."""
        folder = self._path(f"feeds/{file_name(stream)}")
        self._files.make_folder(folder)
        return folder

    # -- inside --------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        if self._readonly:
            raise InternalError(f"state {self.directory} was opened for looking only")
        with self._mutex:
            yield

    def _path(self, name: str) -> str:
        return f"{self.directory}/{name}"

    def _read_body(self, name: str) -> JSON | None:
        value = read_sealed(self._files, self._path(name))
        return None if value is None else value["body"]

    def _letters(self, name: str) -> Iterator[dict[str, Any]]:
        path = self._path(f"dead/{name}")
        text = self._files.read(path)
        if name != _dead_name(_number(name), text):
            raise corrupt(path, "the checksum in its name does not fit")
        return map(orjson.loads, text.splitlines())

    def _program_numbers(self) -> list[int]:
        names = self._files.listing(self._path("program"))
        return [_number(name) for name in names if not name.endswith(TEMPORARY)]

    def _map(self, name: str) -> pa.Buffer:
        with self._mutex:
            mapped = self._mapped.get(name)
            if mapped is None:
                if len(self._mapped) >= _MAPPED_FILES:  # the system limits mappings; readers keep theirs alive
                    self._mapped.clear()
                mapped = self._mapped[name] = self._files.map(self._path(name))
            return mapped

    def _load(self) -> tuple[Manifest | None, list[Manifest]]:
        bases = [name for name in self._files.listing(self._path("base")) if name.endswith(".json")]
        base = self._load_manifest(f"base/{bases[-1]}") if bases else None
        following = base.batch + 1 if base else 0
        manifests: list[Manifest] = []
        for name in self._files.listing(self._path("batches")):
            if not name.endswith(".json") or name.endswith(_PLAN) or _number(name) < following:
                continue
            if _number(name) != following + len(manifests):
                raise corrupt(self._path(f"batches/{following + len(manifests):012d}.json"), "it is missing")
            manifests.append(self._load_manifest(f"batches/{name}"))
        return base, manifests

    def _load_manifest(self, name: str) -> Manifest:
        value = read_sealed(self._files, self._path(name))
        if value is None or value["batch"] != _number(name.partition("/")[2]):
            raise corrupt(self._path(name), "it is not the manifest of its batch")
        manifest = Manifest.from_json(value)
        for file in sorted({section.file for section in manifest.sections}):
            if self._files.size(self._path(file)) is None:
                raise corrupt(self._path(file), "it is missing")
        return manifest

    def _write_manifest(
        self, folder: str, batch: int, body: JSON, sections: Sequence[SectionBytes], dead: bytes | None
    ) -> Manifest:
        if self._unfinished:  # its manifest may stand on disk, and its data file may be written again
            self._collect(running=True)
        self._unfinished = True
        placed = self._place(f"{folder}/{batch:012d}.bin", sections)
        dead_file = f"dead/{_dead_name(batch, dead)}" if dead else None
        if dead and dead_file:
            self._files.write_new(self._path(dead_file), [dead])
        manifest = Manifest(batch, body, placed, dead_file)
        for file_folder in sorted({name.rpartition("/")[0] for name in manifest.files()}):
            self._files.sync_folder(self._path(file_folder))
        write_whole(self._files, self._path(f"{folder}/{batch:012d}.json"), seal(manifest.to_json()))
        self._unfinished = False
        return manifest

    def _place(self, inline_file: str, sections: Sequence[SectionBytes]) -> tuple[Section, ...]:
        """Write inline sections into one file, make the files of tasks durable; where all of them are."""
        placed: list[Section] = []
        parts: list[Bytes] = []
        offset = 0
        for unit, data, cells in sections:
            if isinstance(data, str):
                placed.append(self._adopt(unit, data, cells))
                continue
            length = memoryview(data).nbytes
            placed.append(Section(unit, inline_file, offset, length, zlib.crc32(data), cells))
            padding = -length % 8
            parts += [data, _PADDING[:padding]]
            offset += length + padding
        if parts:
            self._files.write_new(self._path(inline_file), [b"".join(parts)])
        return tuple(placed)

    def _adopt(self, unit: str, path: str, cells: int) -> Section:
        file = path.removeprefix(self.directory + "/")
        if file.startswith("/"):
            raise InternalError(f"file {path} of unit {unit} is outside state {self.directory}")
        self._files.sync(self._path(file))
        data = self._files.map(self._path(file))
        return Section(unit, file, 0, data.size, zlib.crc32(data), cells)

    def _collect(self, *, running: bool) -> None:
        """Remove files that nothing names; while running, files of batches still to come are left alone."""
        following = self.next_batch()
        named = {f"batches/{manifest.batch:012d}.json" for manifest in self._manifests}
        named |= {f"base/{self._base.batch:012d}.json"} if self._base else set()
        for manifest in (*self._manifests, *([self._base] if self._base else [])):
            named |= manifest.files()
        for folder in ("batches", "base"):
            lost = [
                name
                for name in self._files.listing(self._path(folder))
                if f"{folder}/{name}" not in named and not (name.endswith(_PLAN) and _number(name) >= following)
            ]
            manifests = [name for name in lost if name.endswith(".json")]
            for name in manifests:
                self._files.remove(self._path(f"{folder}/{name}"))
            if manifests:  # no manifest may outlive, even by a crash, what it names
                self._files.sync_folder(self._path(folder))
            for name in lost:
                self._files.remove(self._path(f"{folder}/{name}"))
        for name in self._files.listing(self._path("incoming")):
            if not running or _number(name) < following:
                self._clear(f"incoming/{name}", named)
        for name in self._files.listing(self._path("dead")):
            if _number(name) >= following:
                self._files.remove(self._path(f"dead/{name}"))
        if not running:
            self._files.remove(self._path(IDENTITY_FILE + TEMPORARY))
            for old in self._program_numbers()[:-1]:
                self._files.remove(self._path(f"program/{old:012d}.json"))
            for folder in ("program", "sinks", "displayed"):
                for name in self._files.listing(self._path(folder)):
                    if name.endswith(TEMPORARY):
                        self._files.remove(self._path(f"{folder}/{name}"))

    def _clear(self, folder: str, named: set[str]) -> None:
        for name in self._files.listing(self._path(folder)):
            inner = f"{folder}/{name}"
            if self._files.is_folder(self._path(inner)):
                self._clear(inner, named)
            elif inner not in named:
                self._files.remove(self._path(inner))
        if not self._files.listing(self._path(folder)):
            self._files.remove_folder(self._path(folder))


def _look(directory: str, files: Files, identity: Identity) -> Store:
    """Open for looking; the owner may remove files meanwhile, so a few tries are made."""
    for _attempt in range(4):
        with contextlib.suppress(StateError, FileNotFoundError):
            return Store(directory, files, identity, readonly=True)
    return Store(directory, files, identity, readonly=True)


def _number(name: str) -> int:
    """The number that the name of a file begins with."""
    return int(name[:12])


def _dead_name(batch: int, text: bytes) -> str:
    return f"{batch:012d}-{zlib.crc32(text):08x}.jsonl"
