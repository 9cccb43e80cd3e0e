"""Files of one format as rows on Spark: a look at them on the driver, then read plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from punctual.ports.feeds.csv_rows import inspect_csv
from punctual.ports.feeds.json_rows import inspect_json
from punctual.ports.feeds.parquet_rows import inspect_parquet
from punctual.ports.feeds.read_plan import Columns, Inspection, name_fault, read_plans
from punctual.ports.feeds.slices import FileRef
from punctual.scan.csv.settings import csv_settings
from punctual.scan.open_part import Reading
from punctual.scan.parts import Weighed
from punctual.scan.supported import why_spark_reads

Inspect = Callable[[Sequence[FileRef], Columns, Sequence[tuple[str, str]]], Inspection]
FORMATS: dict[str, Inspect] = {"JSON": inspect_json, "CSV": inspect_csv, "PARQUET": inspect_parquet}


class FileReader:
    """Reads files of one format.

    Parameters
    ----------
    columns : sequence of (name, type)
        Declared columns that are not derived, types as Spark's DDL.
    format : {"JSON", "CSV", "PARQUET"}
    options : sequence of (key, value)
        Passed on to Spark's reader.
    """

    def __init__(self, columns: Columns, format: str, options: Sequence[tuple[str, str]] = ()) -> None:  # noqa: A002
        self.columns = tuple(columns)
        self.reading = Reading(self.columns, csv_settings(options) if format.upper() == "CSV" else None)
        """How tasks read parts of the files."""
        self._is_scanned = why_spark_reads(format.upper(), columns, options) is None
        self._options = tuple(options)
        self._inspect = FORMATS[format.upper()]
        self._last: tuple[tuple[FileRef, ...], Inspection] | None = None

    def unreadable(self, files: Sequence[FileRef]) -> list[tuple[str, str]]:
        """Files that cannot be read at all, as far as their names, headers or footers tell, with the reason."""
        return list(self._inspection(files).unreadable)

    def parts(self, files: Sequence[FileRef]) -> Weighed | None:
        """The readable files cut into parts for tasks; None where Spark must read them: nested values, and what its
        options ask for."""
        return self._inspection(files).parts if self._is_scanned else None

    def read(self, spark: SparkSession, files: Sequence[FileRef]) -> DataFrame:
        """The rows of the readable files, read by Spark: declared columns and ours; runs no job."""
        return read_plans(spark, self._inspection(files).plans(), self.columns)

    def _inspection(self, files: Sequence[FileRef]) -> Inspection:
        """``unreadable`` and ``read`` of the same files look at them once."""
        wanted = tuple(files)
        if self._last is None or self._last[0] != wanted:
            faults = {ref.path: fault for ref in wanted if (fault := name_fault(ref.path)) is not None}
            found = self._inspect([ref for ref in wanted if ref.path not in faults], self.columns, self._options)
            self._last = wanted, replace(found, unreadable=(*faults.items(), *found.unreadable))
        return self._last[1]
