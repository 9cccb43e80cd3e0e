"""Where the retained rows of streams lie: files of the state, of which nothing is on the driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from punctual.clock import Micros
from punctual.plan.row_query import RowWindow
from punctual.runtime.operators.merge_rows import MergeRows, MergeWork
from punctual.runtime.operators.window_rows import RetainedFile, WindowOrder
from punctual.schedule.due import BEGINNING
from punctual.store.manifest import Section
from punctual.store.products import Produced, RetainedRows

SMALL_BYTES = 4 << 20
"""Files below this are merged with others when batches are compacted; those above are named where they lie."""

Merge = Callable[[MergeRows], list[Produced]]


@dataclass(frozen=True, slots=True)
class _Held:
    """A section of rows."""

    section: Section
    product: RetainedRows
    file: RetainedFile


class RetainedFiles:
    """Sections of retained rows by stream, for streams that row queries read.

    ``meanings`` has these streams, in lower case, and what their columns mean.
    """

    def __init__(self, meanings: Mapping[str, str], directory: str) -> None:
        self._meanings = meanings
        self._directory = directory
        self._held: dict[str, list[_Held]] = {name: [] for name in meanings}
        self._horizons: dict[str, Micros] = dict.fromkeys(meanings, BEGINNING)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return any(self._held.values())

    def add(self, section: Section) -> None:
        """A committed section."""
        product = section.product
        assert isinstance(product, RetainedRows)
        if self._meanings.get(product.stream) == product.meaning:
            path = f"{self._directory}/{section.file}"
            least, greatest = product.least, product.greatest
            file = RetainedFile(path, section.offset, section.length, least, greatest, section.crc)
            self._held[product.stream].append(_Held(section, product, file))

    def window(self, window: RowWindow, at: Micros) -> WindowOrder:
        """The rows of a window that ends at an instant."""
        after = at - window.range_us
        held = self._held[window.stream.lower()]
        files = tuple(one.file for one in held if one.file.greatest > after and one.file.least <= at)
        return WindowOrder(files, after, at)

    def drop(self, horizons: Mapping[str, Micros]) -> None:
        """Forget files whose rows are all at or before the horizon of their stream."""
        for name, before in horizons.items():
            self._held[name] = [one for one in self._held[name] if one.file.greatest > before]
            self._horizons[name] = before

    def export(self, folder: Callable[[], str], merge: Merge) -> list[Produced]:
        """All files for a base: small ones merged into new files of the folder, others where they lie."""
        found: list[Produced] = []
        works: list[MergeWork] = []
        for name, held in self._held.items():
            small = [one for one in held if one.section.length < SMALL_BYTES]
            if len(small) > 1:
                files = tuple(one.file for one in small)
                works.append(MergeWork(name, files, self._horizons[name], folder()))
            kept = held if len(small) < 2 else [one for one in held if one.section.length >= SMALL_BYTES]
            found += [Produced(one.product, one.section.rows, one.file.path) for one in kept]
        for merged in merge(MergeRows(tuple(works))) if works else ():
            rows = merged.product
            assert isinstance(rows, RetainedRows)
            product = RetainedRows(rows.stream, rows.least, rows.greatest, self._meanings[rows.stream])
            found.append(replace(merged, product=product))
        return found
