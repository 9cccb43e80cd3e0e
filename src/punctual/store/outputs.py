"""What is remembered of answers on their way out: how far each sink has got, and what the log has forgotten."""

from __future__ import annotations

from dataclasses import dataclass

from punctual.errors import corrupt
from punctual.ports.sinks.sink import SinkState
from punctual.ports.storage import file_name, tells_disk_full
from punctual.store.directory import Directory

DISPLAYED = "displayed/rankings.json"


@dataclass(frozen=True, slots=True)
class _Displayed:
    """Encoded answers, and the number of this save."""

    number: int
    answers: bytes


class Outputs:
    """States of sinks, and last answers that the next ones depend on."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        found = directory.read(DISPLAYED, _Displayed)
        directory.displayed = 0 if found is None else found.number

    @tells_disk_full
    def save_sink(self, name: str, state: SinkState) -> None:
        """Remember how far a sink has got (what its ``checkpoint`` returned)."""
        with self._directory.writing():
            self._directory.write(f"sinks/{file_name(name)}.json", state)

    def sink(self, name: str) -> SinkState | None:
        """What was last saved for a sink; the log holds every record after that."""
        found = self._directory.read(f"sinks/{file_name(name)}.json", SinkState)
        oldest = self._directory.answers.first
        if found is not None and found.position + 1 < oldest:
            missing = f'sink "{name}" has records through {found.position}, and the oldest one here is {oldest}'
            raise corrupt(self._directory.name("answers"), f"it has lost what was durable: {missing}")
        return found

    @tells_disk_full
    def save_displayed(self, answers: bytes) -> None:
        """Keep the last answers of some queries beyond the answer log."""
        with self._directory.writing():
            self._directory.files.make_folder(self._directory.name("displayed"))
            number = self._directory.displayed + 1
            self._directory.write(DISPLAYED, _Displayed(number, answers))
            self._directory.displayed = number

    def displayed(self) -> bytes | None:
        """What was last saved of them."""
        found = self._directory.read(DISPLAYED, _Displayed)
        return None if found is None else found.answers
