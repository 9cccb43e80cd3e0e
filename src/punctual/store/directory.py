"""The files of a state: sealed ones, and the two logs. Each vouches for how far the state had come when it was written.

What files vouch for is checked once all of it is loaded (``loaded``), and from then on whenever a file is read. Who
only looks checks once: the owner goes on meanwhile.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from punctual.errors import InternalError, corrupt
from punctual.ports.storage import Files, write_whole
from punctual.store.layout import LOGS, check_layout
from punctual.store.positions import Positions
from punctual.store.records import RecordLog
from punctual.store.sealed import read_sealed, seal, typed

T = TypeVar("T")
_PLACES = {"displayed": "displayed/rankings.json"}


@dataclass(frozen=True, slots=True)
class _Envelope:
    """What a sealed file holds."""

    positions: Positions
    body: msgspec.Raw


class Directory:
    """A state directory; ``program``, ``batches`` and ``displayed`` are numbers that whoever writes those keeps."""

    def __init__(self, path: str, files: Files, *, readonly: bool) -> None:
        check_layout(files, path)
        self.path = path
        self.files = files
        self.readonly = readonly
        self.program = self.batches = self.displayed = 0
        self._mutex = threading.RLock()
        self._unchecked: list[tuple[str, Positions]] | None = []
        self.journal, self.answers = self._open_logs()

    def _open_logs(self) -> list[RecordLog]:
        logs = [
            RecordLog(self.files, self.name(log), readonly=self.readonly, positions=self.positions) for log in LOGS
        ]
        if self._unchecked is not None:
            self._unchecked += [(f"the last record of {name}/", log.vouched) for name, log in zip(LOGS, logs)]
        return logs

    def name(self, file: str) -> str:
        """The absolute path of a file of the state."""
        return f"{self.path}/{file}"

    def positions(self) -> Positions:
        """How far the state has come."""
        return Positions(self.program, self.batches, self.journal.position, self.answers.position, self.displayed)

    def loaded(self) -> None:
        """Everything that files vouch for was looked for: refuse a state that has lost some of it."""
        found, self._unchecked = self._unchecked or [], None
        if self.readonly:  # the owner may have appended since
            self.journal, self.answers = self._open_logs()
        for witness, vouched in found:
            self._check(witness, vouched)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """One thread at a time changes the state, and nobody who only looks."""
        if self.readonly:
            raise InternalError(f"state {self.path} was opened for looking only")
        with self._mutex:
            yield

    def write(self, file: str, body: object) -> None:
        """Put a file in place, sealed and vouching for all that the state holds."""
        write_whole(self.files, self.name(file), seal({"positions": self.positions(), "body": body}))

    def read(self, file: str, kind: type[T]) -> T | None:
        """What a file holds; None when there is no such file."""
        path = self.name(file)
        found = read_sealed(self.files, path, _Envelope)
        if found is None:
            return None
        if self._unchecked is not None:
            self._unchecked.append((file, found.positions))
        elif not self.readonly:
            self._check(file, found.positions)
        return typed(found.body, path, kind)

    def _check(self, witness: str, vouched: Positions) -> None:
        lack = self.positions().lacks(vouched)
        if lack is not None:
            what, wanted, here = lack
            missing = f"when {witness} was written it had come to number {wanted}, and now it ends at {here}"
            raise corrupt(self.name(_PLACES.get(what, what)), f"it has lost what was durable: {missing}")
