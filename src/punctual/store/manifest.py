"""What one committed batch (or the base of all older ones) consists of.

A manifest names every file of its batch with length and checksum; a file that no manifest names is not
part of the state. Frozen values; their JSON form is what stands on disk.
"""

from __future__ import annotations

from dataclasses import dataclass

from punctual.store.sealed import JSON


@dataclass(frozen=True, slots=True)
class Section:
    """A run of bytes that belongs to one unit.

    Attributes
    ----------
    unit : str
        Whose bytes they are; several sections of a batch may name the same unit.
    file : str
        Relative to the state directory.
    offset, length : int
        Where in the file; inline sections begin at multiples of eight.
    crc : int
        CRC32 of the bytes.
    cells : int
        How many cells of panes the section holds, for estimates of size.
    """

    unit: str
    file: str
    offset: int
    length: int
    crc: int
    cells: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """A committed batch: what its writer wrote about it, its sections, its dead letters."""

    batch: int
    body: JSON
    sections: tuple[Section, ...]
    dead: str | None

    def to_json(self) -> JSON:
        return {
            "batch": self.batch,
            "body": self.body,
            "sections": [[s.unit, s.file, s.offset, s.length, s.crc, s.cells] for s in self.sections],
            "dead": self.dead,
        }

    @staticmethod
    def from_json(value: JSON) -> Manifest:
        sections = tuple(Section(*section) for section in value["sections"])
        return Manifest(value["batch"], value["body"], sections, value["dead"])

    def files(self) -> set[str]:
        """Every file that this manifest keeps alive, relative to the state directory."""
        return {section.file for section in self.sections} | ({self.dead} if self.dead else set())
