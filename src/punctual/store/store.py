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
    ledger/<number>-...        what batches and answers used
    closed.json                how far the state had come when it was last closed
    costs.json                 what was learned of costs; it may be lost
    warnings.json              contracts that cannot hold, as of the last run; it may be lost
    feeds/<stream>/            rows fed from Python

Invariants
----------
- A file is durable, contents and name, before a manifest that names it is renamed into place.
- A file that a visible manifest names is never written again.
- What no manifest names is garbage: removed at open, and after a rebase where its batch is committed.
- What is not ours by its name is never read and never removed (``layout.py``).
- Every file and every record says how far the state had come: what is missing is missed (``positions.py``).
- One process owns the directory (``lock.py``); a mutex lets one thread commit while another reads.

A commit is one data file and one manifest however many units there are: four syncs, two more with
dead letters, one more for each file of a task and one for their folder. A base may name files of the batches that it
replaces: they stay where they are and cost nothing.
"""

from __future__ import annotations

import contextlib
import threading
import zlib
from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec
import pyarrow as pa

from punctual.errors import InternalError, StateError, corrupt
from punctual.ports.storage import Bytes, Files, file_name, tells_disk_full
from punctual.store.codec import encode
from punctual.store.directory import Directory
from punctual.store.garbage import collect
from punctual.store.identity import Identity, read_identity, write_identity
from punctual.store.layout import CLOSED, PLAN, number, own
from punctual.store.ledger import LedgerFiles
from punctual.store.letters import DeadLetter, DeadLetters, letters_file, lines
from punctual.store.manifest import Manifest, Section
from punctual.store.noted import Noted
from punctual.store.outputs import Outputs
from punctual.store.positions import Positions
from punctual.store.products import Cells, Kept, LateCells, Produced, RetainedRows
from punctual.store.records import RecordLog
from punctual.store.saved_program import SavedProgram

T = TypeVar("T")
_PADDING = bytes(8)
_MAPPED_FILES = 256


class Store:
    """An open state directory; ``Store.open`` makes one.

    Bodies of plans, manifests and programs are the caller's values (:mod:`punctual.store.codec`): the type that was
    written is given again to read them.
    """

    def __init__(self, directory: str, files: Files, identity: Identity, *, readonly: bool) -> None:
        self.directory = directory
        self.identity = identity
        self._files = files
        self._kept = Directory(directory, files, readonly=readonly)
        self._mapping = threading.Lock()
        self._mapped: dict[str, pa.Buffer] = {}
        self._unfinished = False  # a commit failed half-way in this process
        self._base, self._manifests = self._load()
        self.program = SavedProgram(self._kept)
        self.letters = DeadLetters(self._kept)
        self.outputs = Outputs(self._kept)
        self.ledger = LedgerFiles(self._kept)
        self.costs = Noted(self._kept, "costs")
        self.warnings = Noted(self._kept, "warnings")
        self._look_for_witnesses()

    def _look_for_witnesses(self) -> None:
        """Read every file that vouches for others, and see that nothing is missing."""
        self.program.read(msgspec.Raw)
        for file in (self._plan_file(self.next_batch()), CLOSED):
            self._kept.read(file, msgspec.Raw)
        self._kept.loaded()

    @property
    def journal(self) -> RecordLog:
        """Decisions, in order."""
        return self._kept.journal

    @property
    def answers(self) -> RecordLog:
        """Answers, in order."""
        return self._kept.answers

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
        with store._kept.writing():
            store._collect(running=False)
        return store

    def close(self) -> None:
        """Close the logs; all that was acknowledged is durable already. The last records are vouched for here."""
        if not self._kept.readonly and self._kept.positions() != Positions():
            with contextlib.suppress(OSError), self._kept.writing():
                self._kept.write(CLOSED, {})
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
        return self._kept.batches

    @tells_disk_full
    def write_plan(self, batch: int, body: object) -> None:
        """Fix what a batch will read; after a crash it is run again with the same plan."""
        with self._kept.writing():
            self._kept.write(self._plan_file(batch), body)

    def read_plan(self, batch: int, kind: type[T]) -> T | None:
        """The plan of a batch that is not committed; None when there is none."""
        return self._kept.read(self._plan_file(batch), kind)

    @tells_disk_full
    def incoming(self, batch: int) -> str:
        """The folder for files that tasks write for a batch, created; absolute."""
        folder = self._path(f"incoming/{batch:012d}")
        self._files.make_folder(folder)
        return folder

    @tells_disk_full
    def commit(
        self, batch: int, body: object, produced: Sequence[Produced], dead: Sequence[DeadLetter] = ()
    ) -> Manifest:
        """Make a batch part of the state; it is when this returns, and not at all when this raises a full disk."""
        with self._kept.writing():
            if batch != self.next_batch():
                raise InternalError(f"batch {batch} was committed where batch {self.next_batch()} is next")
            manifest = self._write_manifest("batches", batch, body, produced, dead)
            self._manifests.append(manifest)
            self._kept.batches = batch + 1
            return manifest

    @tells_disk_full
    def rebase(self, through: int, body: object, produced: Sequence[Produced]) -> Manifest:
        """Let these sections stand for all batches through this one, then remove what they replace.

        A product whose data is the path of a file that one of those batches named is carried on: neither copied nor
        read.
        """
        with self._kept.writing():
            lowest = self._base.batch + 1 if self._base else 0
            if not lowest <= through < self.next_batch():
                raise InternalError(f"rebase through batch {through}, outside {lowest}..{self.next_batch() - 1}")
            manifest = self._write_manifest("base", through, body, produced, ())
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
            raise corrupt(path, f"the checksum of {section.product} does not fit")
        return data

    @tells_disk_full
    def feed_folder(self, stream: str) -> str:
        """The folder where rows fed to a stream are landed, created; absolute."""
        folder = self._path(f"feeds/{file_name(stream)}")
        self._files.make_folder(folder)
        return folder

    # -- inside --------------------------------------------------------------------------------------

    def _path(self, name: str) -> str:
        return self._kept.name(name)

    def _plan_file(self, batch: int) -> str:
        return f"batches/{batch:012d}{PLAN}"

    def _map(self, name: str) -> pa.Buffer:
        with self._mapping:
            mapped = self._mapped.get(name)
            if mapped is None:
                if len(self._mapped) >= _MAPPED_FILES:  # the system limits mappings; readers keep theirs alive
                    self._mapped.clear()
                mapped = self._mapped[name] = self._files.map(self._path(name))
            return mapped

    def _load(self) -> tuple[Manifest | None, list[Manifest]]:
        bases = [name for name in own(self._files, self.directory, "base") if name.endswith(".json")]
        base = self._load_manifest(f"base/{bases[-1]}") if bases else None
        following = base.batch + 1 if base else 0
        manifests: list[Manifest] = []
        for name in own(self._files, self.directory, "batches"):
            if not name.endswith(".json") or name.endswith(PLAN) or number(name) < following:
                continue
            if number(name) != following + len(manifests):
                raise corrupt(self._path(f"batches/{following + len(manifests):012d}.json"), "it is missing")
            manifests.append(self._load_manifest(f"batches/{name}"))
        self._kept.batches = following + len(manifests)
        return base, manifests

    def _load_manifest(self, name: str) -> Manifest:
        manifest = self._kept.read(name, Manifest)
        if manifest is None or manifest.batch != number(name.partition("/")[2]):
            raise corrupt(self._path(name), "it is not the manifest of its batch")
        for file in sorted({section.file for section in manifest.sections}):
            if self._files.size(self._path(file)) is None:
                raise corrupt(self._path(file), "it is missing")
            if self._files.is_folder(self._path(file)):
                raise corrupt(self._path(file), "it is a folder and should be a file")
        return manifest

    def _write_manifest(
        self, folder: str, batch: int, body: object, produced: Sequence[Produced], dead: Sequence[DeadLetter]
    ) -> Manifest:
        if self._unfinished:  # its manifest may stand on disk, and its data file may be written again
            self._collect(running=True)
        self._unfinished = True
        named = self._named()
        placed = self._place(f"{folder}/{batch:012d}.bin", produced, named)
        text = lines(dead)
        dead_file = letters_file(batch, text) if dead else None
        if dead_file:
            self._files.write_new(self._path(dead_file), [text])
        manifest = Manifest(batch, msgspec.Raw(encode(body)), placed, dead_file)
        for file_folder in sorted({name.rpartition("/")[0] for name in manifest.files() - named.keys()}):
            self._files.sync_folder(self._path(file_folder))
        self._kept.write(f"{folder}/{batch:012d}.json", manifest)
        self._unfinished = False
        return manifest

    def _named(self) -> dict[str, Section]:
        """Files that the state consists of, each by a section in it. They are durable, with their names."""
        everything = [*([self._base] if self._base else []), *self._manifests]
        return {section.file: section for manifest in everything for section in manifest.sections}

    def _place(
        self, inline_file: str, produced: Sequence[Produced], named: Mapping[str, Section]
    ) -> tuple[Section, ...]:
        """Write inline sections into one file, make the files of tasks durable; where all of them are."""
        placed: list[Section] = []
        parts: list[Bytes] = []
        offset = 0
        for one in produced:
            product = _kept(one)
            if isinstance(one.data, str):
                placed.append(self._adopt(product, one.data, one.rows, named))
                continue
            assert one.data is not None
            length = memoryview(one.data).nbytes
            placed.append(Section(product, inline_file, offset, length, zlib.crc32(one.data), one.rows))
            padding = -length % 8
            parts += [one.data, _PADDING[:padding]]
            offset += length + padding
        if parts:
            self._files.write_new(self._path(inline_file), [b"".join(parts)])
        return tuple(placed)

    def _adopt(self, product: Kept, path: str, rows: int, named: Mapping[str, Section]) -> Section:
        file = path.removeprefix(self.directory + "/")
        earlier = named.get(file)
        if earlier is not None and earlier.product == product:  # carried on as it was written, and not read
            return earlier
        if file.startswith("/"):
            raise InternalError(f"file {path} of {product} is outside state {self.directory}")
        self._files.sync(self._path(file))
        data = self._files.map(self._path(file))
        return Section(product, file, 0, data.size, zlib.crc32(data), rows)

    def _collect(self, *, running: bool) -> None:
        collect(self._kept, self._base, self._manifests, running=running)


def _kept(produced: Produced) -> Kept:
    if not isinstance(produced.product, Cells | LateCells | RetainedRows):
        raise InternalError(f"{produced.product} has no place among the sections of a manifest")
    return produced.product


def _look(directory: str, files: Files, identity: Identity) -> Store:
    """Open for looking; the owner may remove files meanwhile, so a few tries are made."""
    for _attempt in range(4):
        with contextlib.suppress(StateError, FileNotFoundError):
            return Store(directory, files, identity, readonly=True)
    return Store(directory, files, identity, readonly=True)
