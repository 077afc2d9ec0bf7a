"""Bytes of which hostile files are made: pickles, damage, archives, texts in the place of names."""
from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests import fuzz_checkpoints as fuzz

DEEP = 100_000
Files = Iterator[tuple[str, bytes]]

# Pickles that consume much time or memory without a call.
BOMBS = {
    "a far place in the memo": b"\x80\x02Nr\xff\xff\xff\x7f.", "bytes of 4 GB": b"\x80\x03B\xff\xff\xff\xffx.", "a text of 16 EB": b"\x80\x04\x8d" + b"\xff" * 8 + b"x.",
    "a bytearray of 64 GB": b"\x80\x05\x96" + struct.pack("<Q", 1 << 36) + b"x.", "a frame of 16 EB": b"\x80\x04\x95" + b"\xff" * 8 + b"N.",
    "deep lists": b"\x80\x02" + b"]" * DEEP + b"a" * (DEEP - 1) + b".", "deep tuples": b"\x80\x02)" + b"\x85" * DEEP + b".", "marks": b"\x80\x02" + b"(" * DEEP + b".",
    "doubled 60 times": b"\x80\x02K\x01" + b"2\x86" * 60 + b".", "doubled, as a key": b"\x80\x02}K\x01" + b"2\x86" * 60 + b"K\x01s.",
    "a long integer": b"\x80\x02\x8b" + struct.pack("<i", 1 << 30) + b"\xff.", "a decimal integer": b"I" + b"9" * 300_000 + b"\n.", "no end": b"\x80\x02K\x01",
    "a bytearray by its class": b"\x80\x02c__builtin__\nbytearray\nJ\x00\x00\x00\x7f\x85R.", "a range": b"\x80\x02c__builtin__\nrange\nJ\xff\xff\xff\x7f\x85R.",
    "doubled, called": b"\x80\x02K\x01" + b"2\x86" * 60 + b")R.", "an unknown opcode": b"\x80\x02\xff.", "nothing": b"", "zeros": bytes(4096),
}  # fmt: skip


def pickles(count: int) -> Files:
    """Return pickles with calls, spread over all names and ways, then those that consume too much."""
    calls = [(title, fuzz.record(data, "data.pkl")) for title, data, _ in fuzz.hostile() if "legacy" not in title]
    yield from calls[:: max(len(calls) // count, 1)]
    yield from BOMBS.items()


def damaged(data: bytes, count: int) -> Files:
    for number in range(count):
        yield f"damaged {number}", fuzz._damaged(data, np.random.default_rng((7, number)))


def zipped(members: dict[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", how) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


ZEROS = bytes(1 << 28)


# Texts that would be code, were they pasted into the source of a graph's function.
_CALL = "__import__('os').system('touch hostile.mark')"
CODES = (f"x=0, y={_CALL}", f'", 1) or {_CALL} #', f"a = 0\n    {_CALL}\n    b", f"a: {_CALL}", "aten.from_file.default", "aten.save.default", "__class__", "forward")


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the ways to the texts of nested containers; a key of a dict is a text too, at the end of its way in a one-element list."""
    if isinstance(value, str):
        yield way
    elif isinstance(value, dict):
        for key, item in value.items():
            yield (*way, [key])
            yield from places(item, (*way, key))
    elif isinstance(value, (list, tuple)):
        for place, item in enumerate(value):
            yield from places(item, (*way, place))


def replaced(value: Any, way: tuple[Any, ...], text: Any) -> Any:
    """Return nested containers with another text at a place."""
    if not way:
        return text
    step, *rest = way
    if isinstance(step, list):
        return {text if key == step[0] else key: item for key, item in value.items()}
    if isinstance(value, dict):
        return {**value, step: replaced(value[step], tuple(rest), text)}
    items = [*value[:step], replaced(value[step], tuple(rest), text), *value[step + 1 :]]
    return tuple(items) if isinstance(value, tuple) else items


def members_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
