"""Lines of JSON that were good until something changed, for tests that ask Spark about them."""

from __future__ import annotations

import random
from collections.abc import Iterator

GOOD = [
    b'{"ts":"2012-04-21T09:20:00.123Z","sym":"ABC","px":12.34,"qty":100}',
    b'{ "qty" : 5, "x" : [1, 2, {"y" : "}"}], "sym" : "\\u00e9\\n" }',
    b'{\'qty\':5,"sym":\'x"y\',"px":NaN}',
    b'{"qty":1,"qty":2,"sym":[1,{"a":"b"}],"px":"Infinity"}',
    b'{"sym":{"a":[1,2.5],"b":null},"ts":1334999999,"x":"\\ud83d\\ude00"}',
    b'{"ts":"2012-04-21","sym":null,"px":-1e-3,"qty":-7,"x":true}',
]
TOKENS = [
    b'"', b"'", b"{", b"}", b"[", b"]", b",", b":", b"\\", b" ", b"-", b".", b"e", b"0", b"1", b"NaN", b"null", b"tru",
    b"true", b"\\u00e9", b"\\ud800", b"\\q", b"\xc3", b"\xff", b"\xed\xa0\x80", b"\x01", b"/", b"#", b'"qty":7',
    b'"sym":"q"', b'"qty"', b'"ts":"2012-04-21"', b"[1,2]", b'{"a":1}', b"\t", b"01", b"1.", b"1e", b"+1", b"-Inf",
]  # fmt: skip
BASE64 = ["=", "==", "\\u003d", "\\n", "\\t", " ", "\\u0041", "-", "_", "\\", "\\q", "\t", "\\/"]


def broken_lines(rng: random.Random, count: int) -> Iterator[bytes]:
    """Good lines in which bytes and tokens were added, lost, changed or copied; none is blank."""
    made = 0
    while made < count:
        line = bytearray(rng.choice(GOOD))
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            at, what = rng.randrange(len(line) + 1), rng.random()
            if what < 0.3:
                line[at:at] = rng.choice(TOKENS)
            elif what < 0.5:
                del line[at : at + rng.choice((1, 1, 2, 5))]
            elif what < 0.65:
                line[at : at + 1] = rng.choice(TOKENS)
            elif what < 0.75:
                line[at : at + 1] = bytes([rng.randrange(256)])
            else:
                copied = line[at : at + rng.randint(1, 15)]
                to = rng.randrange(len(line) + 1)
                line[to:to] = copied
        if line.strip(b" \t\r\n") and not set(line) & set(b"\r\n"):
            made += 1
            yield bytes(line)


def numbers(rng: random.Random, count: int) -> Iterator[bytes]:
    """Numbers of many lengths, some of them in quotes."""
    for _ in range(count):
        digits = "".join(rng.choices("0123456789", k=rng.choice((1, 2, 3, 5, 9, 10, 16, 17, 18, 19, 20, 25, 38, 39))))
        text = rng.choice(("", "-")) + (digits.lstrip("0") or "0")
        if rng.random() < 0.6:
            text += "." + "".join(rng.choices("0123456789", k=rng.choice((1, 2, 3, 6, 9, 17, 18, 19, 30))))
        if rng.random() < 0.4:
            exponent = rng.choice((0, 1, 2, 5, 10, 22, 23, 30, 38, 45, 300, 310, 320, 330))
            text += rng.choice("eE") + rng.choice(("", "+", "-")) + str(exponent)
        yield (f'"{text}"' if rng.random() < 0.15 else text).encode()


def times(rng: random.Random, count: int) -> Iterator[bytes]:
    """Times and what is nearly one, in quotes; all have a day."""
    for _ in range(count):
        year = rng.choice((0, 1, 99, 1582, 1900, 1969, 1970, 2012, 2013, 9999, 12345))
        text = f"{year:04d}-{rng.randint(0, 13):02d}-{rng.randint(0, 32):02d}"
        text += rng.choice("TTT ") + f"{rng.randint(0, 24):02d}:{rng.randint(0, 60):02d}:{rng.randint(0, 60):02d}"
        text += rng.choice(("", "." + "".join(rng.choices("0123456789", k=rng.randint(1, 10)))))
        text += rng.choice(
            ("", "Z", "+01:00", "-0330", "+5", " UTC", "GMT+2", "-18:00", "-02:30", "+17:59", "+1:2", " PST")
        )
        if rng.random() < 0.4:
            at = rng.randrange(4, len(text))
            changed = rng.choice(("", "0", "-", ":", " ", "T", "9", ".", "+", "Z"))
            text = text[:at] + changed + text[at + rng.randint(0, 1) :]
        yield f'"{text}"'.encode()


def binaries(rng: random.Random, count: int) -> Iterator[bytes]:
    """Lines with bytes in base64, or nearly, before and after other fields."""
    for _ in range(count):
        text = "".join(rng.choices("ABCDwxyz0189+/", k=rng.choice((0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16))))
        for chance in (0.5, 0.3):
            if rng.random() < chance:
                at = rng.choice((len(text), rng.randrange(len(text) + 1)))
                text = text[:at] + rng.choice(BASE64) + text[at:]
        yield (
            rng.choice(('{"y":"%s","i":1,"s":"x"}', '{"i":1,"y":"%s"}', "{'y':'%s','i':1}"))
            .replace("%s", text)
            .encode()
        )


def strings(rng: random.Random, count: int) -> Iterator[bytes]:
    """Strings of characters of every width, some of them escaped."""
    parts = [
        "a",
        "é",
        "日",
        "😀",
        "\\n",
        "\\\\",
        "\\/",
        '\\"',
        "\\u00e9",
        "\\u65e5",
        "\\ud83d\\ude00",
        "\\u0000",
        "\\b\\f\\r\\t",
    ]
    for _ in range(count):
        yield f'"{"".join(rng.choices(parts, k=rng.randint(0, 9)))}"'.encode()
