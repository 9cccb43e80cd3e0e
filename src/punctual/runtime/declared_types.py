"""Types of declared columns as Arrow has them, from their text: those that Spark surely knows."""

from __future__ import annotations

import re

import pyarrow as pa

BOOLEAN, STRING, DATE = pa.bool_(), pa.string(), pa.date32()
TIMESTAMP, TIMESTAMP_NTZ = pa.timestamp("us", tz="UTC"), pa.timestamp("us")
SCALARS: dict[str, pa.DataType] = {
    "BOOLEAN": BOOLEAN, "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": pa.int64(),
    "FLOAT": pa.float32(), "DOUBLE": pa.float64(), "STRING": STRING, "BINARY": pa.binary(), "DATE": DATE,
    "TIMESTAMP": TIMESTAMP, "TIMESTAMP_NTZ": TIMESTAMP_NTZ,
}
DECIMAL = re.compile(r"DECIMAL\(([0-9]{1,2}),([0-9]{1,2})\)")
FIELD = re.compile(r"\s*([A-Za-z_][A-Za-z_0-9]*):\s*(.*)", re.DOTALL)


def declared_type(ddl: str) -> pa.DataType | None:
    """The type of a declared column; None where Spark must say what it is, or that it is none.

    >>> declared_type("DECIMAL(10,2)"), declared_type("STRUCT<x: ARRAY<INT>>"), declared_type("MAP<MAP<INT,INT>,INT>")
    (Decimal128Type(decimal128(10, 2)), StructType(struct<x: list<item: int32>>), None)
    """
    kind, bracket, inner = ddl.strip().partition("<")
    if not bracket:
        return _scalar(kind)
    if not inner.endswith(">"):
        return None
    parts = _split(inner[:-1])
    match kind:
        case "ARRAY" if len(parts) == 1:
            element = declared_type(parts[0])
            return None if element is None else pa.list_(element)
        case "MAP" if len(parts) == 2:
            key, value = _scalar(parts[0].strip()), declared_type(parts[1])
            return None if key is None or value is None else pa.map_(key, value)
        case "STRUCT":
            return _struct(parts)
    return None


def _scalar(text: str) -> pa.DataType | None:
    decimal = DECIMAL.fullmatch(text)
    if decimal is None:
        return SCALARS.get(text)
    precision, scale = int(decimal[1]), int(decimal[2])
    return pa.decimal128(precision, scale) if 1 <= precision <= 38 and scale <= precision else None


def _struct(parts: list[str]) -> pa.DataType | None:
    found: dict[str, pa.Field] = {}
    for part in parts:
        field = FIELD.fullmatch(part)
        kind = None if field is None else declared_type(field[2])
        if field is None or kind is None or field[1].lower() in found:
            return None
        found[field[1].lower()] = pa.field(field[1], kind)
    return pa.struct(list(found.values()))


def _split(text: str) -> list[str]:
    """What stands between the commas that are in no brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
