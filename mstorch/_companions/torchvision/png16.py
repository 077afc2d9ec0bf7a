"""Pixels of PNG files with 16 bits a channel, which Pillow reduces to 8."""
from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}
_BROKEN = "Out of bound read in decode_png. Probably, the input image is corrupted"


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = 8
    while place + 8 <= len(data):
        length, kind = struct.unpack(">I4s", data[place : place + 8])
        yield kind, data[place + 8 : place + 8 + length]
        place += 12 + length


def channels(data: bytes) -> int:
    """Return the channels of a PNG with 16 bits for each; 0 for another file."""
    if len(data) < 33 or data[12:16] != b"IHDR" or data[24] != 16:
        return 0
    return _CHANNELS.get(data[25], 0)


def _paeth(row: list[int], above: list[int], step: int) -> list[int]:
    """Undo the filter that adds whichever of left, above and upper left is nearest to left + above - upper left."""
    for place in range(len(row)):
        left, corner = (row[place - step], above[place - step]) if place >= step else (0, 0)
        up = above[place]
        by_left, by_up, by_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
        near = left if by_left <= by_up and by_left <= by_corner else up if by_up <= by_corner else corner
        row[place] = (row[place] + near) & 255
    return row


def _mean(row: list[int], above: list[int], step: int) -> list[int]:
    for place in range(len(row)):
        left = row[place - step] if place >= step else 0
        row[place] = (row[place] + (left + above[place]) // 2) & 255
    return row


def _row(kind: int, row: Array, above: Array, step: int) -> Array:
    if kind == 0:
        return row
    if kind == 1:
        return np.cumsum(row.reshape(-1, step), 0, dtype=np.uint8).reshape(-1)
    if kind == 2:
        return row + above
    if kind in (3, 4):
        return np.array((_mean if kind == 3 else _paeth)(row.tolist(), above.tolist(), step), np.uint8)
    raise RuntimeError(f"bad adaptive filter value {kind} in a PNG")


def pixels(data: bytes) -> Array:
    """Return (height, width, channels) in uint16. Raise RuntimeError for a broken file, NotImplementedError for an interlaced one."""
    width, height, interlaced = *struct.unpack(">II", data[16:24]), data[28]
    if interlaced:
        raise NotImplementedError("mstorch: decode_png of an interlaced file of 16 bits is not here; save it without interlacing")
    count = channels(data)
    step = 2 * count
    try:
        lines = zlib.decompressobj().decompress(b"".join(content for kind, content in _chunks(data) if kind == b"IDAT"))
    except zlib.error as error:
        raise RuntimeError(_BROKEN) from error
    if len(lines) < height * (width * step + 1):
        raise RuntimeError(_BROKEN)
    filtered = np.frombuffer(lines, np.uint8)[: height * (width * step + 1)].reshape(height, -1)
    rows, above = [], np.zeros(width * step, np.uint8)
    for line in filtered:
        above = _row(int(line[0]), line[1:], above, step)
        rows.append(above)
    return np.stack(rows).view(">u2").astype(np.uint16).reshape(height, width, count)


def shown(image: Array, mode: str | None) -> Array:
    """Return pixels as gray ("L"), gray with alpha ("LA"), colours ("RGB") or both ("RGBA"); unchanged for None. Red weighs 0.2989
    in gray and green 0.587, as fractions of 32768: the numbers below are those that libpng makes of them."""
    if mode is None:
        return image
    colours, alpha = (image[..., :-1], image[..., -1:]) if image.shape[2] in (2, 4) else (image, np.full_like(image[..., :1], 65535))
    if mode.startswith("L") and colours.shape[2] == 3:
        red, green, blue = (colours[..., part : part + 1].astype(np.uint32) for part in range(3))
        colours = ((9794 * red + 19234 * green + 3740 * blue + 16384) >> 15).astype(np.uint16)
    elif mode.startswith("RGB") and colours.shape[2] == 1:
        colours = np.repeat(colours, 3, 2)
    return np.concatenate((colours, alpha), 2) if mode.endswith("A") else colours


__all__ = ["channels", "pixels", "shown"]
