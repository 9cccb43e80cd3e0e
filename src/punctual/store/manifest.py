"""What one committed batch (or the base of all older ones) consists of.

A manifest names every file of its batch with length and checksum; a file that no manifest names is not
part of the state. Frozen values; their JSON form is what stands on disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import msgspec

from punctual.store.products import Kept
from punctual.store.sealed import typed

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Section:
    """A run of bytes that holds one product.

    Attributes
    ----------
    product : Kept
        What the bytes are; several sections of a batch may have the same product.
    file : str
        Relative to the state directory.
    offset, length : int
        Where in the file; inline sections begin at multiples of eight.
    crc : int
        CRC32 of the bytes.
    rows : int
        How many rows (cells of panes) the section holds, for estimates of size.
    """

    product: Kept
    file: str
    offset: int
    length: int
    crc: int
    rows: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """A committed batch: what its writer says about it, its sections, its file of dead letters."""

    batch: int
    body: msgspec.Raw
    sections: tuple[Section, ...]
    dead: str | None = None

    def read(self, kind: type[T]) -> T:
        """What its writer says about it, as a value of the type that was written."""
        return typed(self.body, f"manifest of batch {self.batch}", kind)

    def files(self) -> set[str]:
        """Every file that this manifest keeps alive, relative to the state directory."""
        return {section.file for section in self.sections} | ({self.dead} if self.dead else set())
