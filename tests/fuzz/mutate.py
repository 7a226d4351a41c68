"""Ways to damage bytes: as a disk does it, as an editor does it, and as an enemy does it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

TOKEN = re.compile(rb"[-+.\w]+")
# Numbers at the borders of what readers can hold, and words that other programs write.
ODD_NUMBERS = [
    *(b"0", b"1", b"-1", b"2", b"7", b"00001", b"+5", b"1.", b".5", b".", b"e5", b"1e", b"--1"),
    *(b"127", b"128", b"255", b"256", b"65535", b"65536", b"1000000", b"100000000"),
    *(b"2147483646", b"2147483647", b"2147483648", b"4294967295", b"4294967296"),
    *(b"9223372036854775807", b"9223372036854775808", b"18446744073709551615"),
    *(b"18446744073709551616", b"-9223372036854775809", b"1" + b"0" * 40),
    *(b"1e999", b"-1e999", b"1e-999", b"1e38", b"3.4028235e38", b"3.5e38", b"1e-45", b"1e-46"),
    *(b"340282356779733661637539395458142568447.9", b"0.1e1", b"1E5", b"1e+5", b"16777217"),
    *(b"nan", b"NaN", b"inf", b"-inf", b"Infinity", b"?", b"None", b"true", b"1_0", b"0x10"),
    *(b"\xe0\xa5\xa7", b"9" * 5000, b"0." + b"0" * 5000 + b"1", b"1e" + b"9" * 30, b"0" * 5000),
    *(b"1e5000", b"1" * 400 + b"e-400", b"A" * 10_000),
]
BYTES = [
    bytes([byte]) for byte in b" \t\r\n\0,:;#%{}'\"\\@?-+.0123456789eEnq=<>&/\x0b\x0c\x1a\x85\xff"
]
PIECES = [
    *BYTES,
    *(
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\xfe\xff",
        b"\xc3\xa9",
        b"\xe9",
        b"\xed\xa0\x80",
        b"\xe2\x80\xa8",
    ),
    *(b"\r\n", b"\n\n", b"\n\n\n", b" \n", b"\r", b"  ", b"qid:3 ", b"qid", b"# note\n", b"0:0 "),
    *(b",,", b"::", b"0,", b",0", b" 0:1", b"{}", b"{0 1}", b"@data\n", b"@attribute x numeric\n"),
]
Draw = random.Random


def mutate(text: bytes, draw: Draw) -> bytes:
    """Return the text after one to four changes, most often one."""
    changes = 1
    while changes < 4 and draw.random() < 0.4:
        changes += 1
    for _ in range(changes):
        text = draw.choice(WAYS)(text, draw)
    return text


def damage(content: bytes, draw: Draw) -> bytes:
    """Return bytes of any file after changes that know nothing of what they mean."""
    for _ in range(draw.choice((1, 1, 1, 2, 5))):
        content = draw.choice(BLIND)(content, draw)
    return content


def _span(text: bytes, draw: Draw, longest: int = 40) -> tuple[int, int]:
    start = draw.randrange(len(text) + 1)
    return start, min(len(text), start + draw.randint(1, longest))


def flip(text: bytes, draw: Draw) -> bytes:
    if not text:
        return text
    at = draw.randrange(len(text))
    return text[:at] + bytes([text[at] ^ (1 << draw.randrange(8))]) + text[at + 1 :]


def put(text: bytes, draw: Draw) -> bytes:
    at = draw.randrange(len(text) + 1)
    return text[:at] + draw.choice(PIECES) + text[at:]


def overwrite(text: bytes, draw: Draw) -> bytes:
    at = draw.randrange(len(text) + 1)
    return text[:at] + bytes([draw.randrange(256)]) + text[at + 1 :]


def delete(text: bytes, draw: Draw) -> bytes:
    start, stop = _span(text, draw)
    return text[:start] + text[stop:]


def duplicate(text: bytes, draw: Draw) -> bytes:
    start, stop = _span(text, draw)
    return text[:stop] + text[start:stop] * draw.choice((1, 1, 2, 50)) + text[stop:]


def splice(text: bytes, draw: Draw) -> bytes:
    start, stop = _span(text, draw)
    at = draw.randrange(len(text) + 1)
    return text[:at] + text[start:stop] + text[at:]


def truncate(text: bytes, draw: Draw) -> bytes:
    return text[: draw.randrange(len(text) + 1)]


def behead(text: bytes, draw: Draw) -> bytes:
    return text[draw.randrange(len(text) + 1) :]


def odd_number(text: bytes, draw: Draw) -> bytes:
    found = list(TOKEN.finditer(text))
    if not found:
        return text
    token = draw.choice(found)
    return text[: token.start()] + draw.choice(ODD_NUMBERS) + text[token.end() :]


def swap_tokens(text: bytes, draw: Draw) -> bytes:
    found = list(TOKEN.finditer(text))
    if len(found) < 2:
        return text
    one, two = sorted(draw.sample(found, 2), key=lambda token: token.start())
    between = text[one.end() : two.start()]
    return text[: one.start()] + two.group() + between + one.group() + text[two.end() :]


def odd_head(text: bytes, draw: Draw) -> bytes:
    """Change a number of the first line, where formats announce their sizes."""
    head, line_end, rest = text.partition(b"\n")
    return odd_number(head, draw) + line_end + rest


def change_lines(text: bytes, draw: Draw) -> bytes:
    """Delete, repeat, move, join or blank a line."""
    lines = text.split(b"\n")
    at, to = draw.randrange(len(lines)), draw.randrange(len(lines))
    way = draw.randrange(6)
    if way == 0:
        del lines[at]
    elif way == 1:
        lines.insert(to, lines[at])
    elif way == 2:
        lines[at], lines[to] = lines[to], lines[at]
    elif way == 3:
        lines[at : at + 2] = [b" ".join(lines[at : at + 2])]
    elif way == 4:
        lines.insert(at, draw.choice((b"", b" ", b"\t", b"\r", b"#", b"%", b"# c")))
    else:
        lines[at] = draw.choice((b" ", b"", b"\r")) + lines[at]
    return b"\n".join(lines)


def change_line_ends(text: bytes, draw: Draw) -> bytes:
    way = draw.randrange(5)
    if way == 0:
        return text.replace(b"\n", b"\r\n")
    if way == 1:
        return text.replace(b"\n", b"\r")
    if way == 2:
        return text.rstrip(b"\n")
    if way == 3:
        return text + draw.choice((b"\n", b"\n\n\n", b" \n", b"\r\n", b"\n \n", b"\x1a"))
    return text.replace(b"\n", b"\n\n")


def encode_otherwise(text: bytes, draw: Draw) -> bytes:
    way = draw.randrange(4)
    if way == 0:
        return b"\xef\xbb\xbf" + text
    plain = text.decode("utf-8", "replace")
    if way == 1:
        return plain.encode("latin-1", "replace")
    return plain.encode(draw.choice(("utf-16", "utf-16-le", "utf-32", "cp037")), "replace")


BLIND: list[Callable[[bytes, Draw], bytes]] = [
    flip,
    overwrite,
    delete,
    duplicate,
    splice,
    truncate,
    behead,
]
WAYS: list[Callable[[bytes, Draw], bytes]] = [
    *(flip, put, put, overwrite, delete, duplicate, splice, truncate, behead),
    *(odd_number, odd_number, odd_number, swap_tokens, odd_head, odd_head),
    *(change_lines, change_lines, change_line_ends, encode_otherwise),
]
