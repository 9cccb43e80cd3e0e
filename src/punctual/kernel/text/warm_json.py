"""Compile what reads JSON, into its cache: a few lines, with arrays like those of a scan."""

from __future__ import annotations

import numpy as np

from punctual.kernel.text import json_strings, json_tokens, json_values

_LINES = b'{"a":"2012-04-21T09:20:00.5Z","b":"x\\u00e9","c":-1.5,"d":7,"x":[{"y":null}]}\n{"d":true}\r\n'
_NAMES = b"abcd"


def warm_json() -> int:
    """Run every kernel; how many values were found."""
    data, names = np.frombuffer(_LINES, np.uint8), np.frombuffer(_NAMES, np.uint8)
    rows = json_tokens.count_breaks(data)
    shape = rows, len(_NAMES)
    kinds, starts, lengths = np.zeros(shape, np.uint8), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    first, last, doubts = np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.uint8)
    bounds, order = np.arange(len(_NAMES) + 1), np.full(json_tokens.REMEMBERED, -1, np.int64)
    json_tokens.walk_lines(data, names, bounds, order, True, kinds, starts, lengths, first, last, doubts)
    valid, places = np.zeros(rows, np.uint8), (data, kinds, starts, lengths)
    numbers, doubles = np.zeros(rows, np.int64), np.zeros(rows, np.float64)
    json_values.take_booleans(kinds, 3, np.zeros(rows, np.uint8), valid, doubts)
    json_values.take_integers(*places, 3, -128, 127, numbers, valid, doubts)
    json_values.take_doubles(*places, 2, doubles, valid, np.zeros(rows, np.uint8), doubts)
    json_values.narrow(doubles, valid, np.zeros(rows, np.float32), doubts)
    json_values.take_decimals(*places, 2, 10, 2, np.zeros((rows, 2), np.uint64), valid, doubts)
    json_values.take_dates(*places, 0, np.zeros(rows, np.int32), valid, doubts)
    json_values.take_times(*places, 0, True, numbers, valid, doubts)
    offsets, out = np.zeros(rows + 1, np.int32), np.zeros(data.size, np.uint8)
    json_strings.doubt_strings(*places, 1, doubts)
    json_strings.measure_strings(*places, 1, doubts, offsets, valid)
    json_strings.copy_strings(*places, 1, valid, offsets, out)
    json_strings.doubt_base64(*places, 1, doubts)
    json_strings.measure_base64(*places, 1, doubts, offsets, valid)
    json_strings.copy_base64(data, starts, 1, valid, offsets, out)
    return int(np.count_nonzero(kinds))
