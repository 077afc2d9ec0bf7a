"""Checksums of large records, which threads compute."""
from __future__ import annotations

import io
import os
import zlib
from pathlib import Path
from typing import Any

import pytest

import mstorch
from mstorch._src.serialization import checksum

SIZES = (checksum.LARGE - 1, checksum.LARGE, checksum.LARGE + checksum.BLOCK + 17)


@pytest.mark.parametrize("size", (0, 1, 5, 70_001))
def test_parts_join_to_the_checksum_of_the_whole(size: int) -> None:
    data = os.urandom(size)
    for cut in (0, size // 3, size):
        assert checksum.joined(zlib.crc32(data[:cut]), zlib.crc32(data[cut:]), size - cut) == zlib.crc32(data)


@pytest.mark.parametrize("size", SIZES)
def test_files_and_objects_are_read_and_checked(size: int, tmp_path: Path) -> None:
    data, path = os.urandom(size), tmp_path / "data"
    path.write_bytes(b"head" + data)
    for file in (io.BytesIO(b"head" + data), path.open("rb"), path.open("rb", buffering=0)):
        with file:
            file.seek(4)
            filled = bytearray(size)
            found = checksum.fill(lambda view, file=file: file.readinto(view), filled, checksum.descriptor_of(file), 4)  # type: ignore[misc]
            assert found == zlib.crc32(data) and bytes(filled) == data
    if size >= checksum.LARGE:
        with path.open("rb") as file:
            assert checksum.fill(file.readinto, bytearray(size + 5), checksum.descriptor_of(file), 4) == -1  # the file ends before


@pytest.mark.parametrize("place", ("first", "last"))
def test_a_changed_byte_of_a_large_record_is_told(place: str, tmp_path: Path) -> None:
    path = tmp_path / "big.pt"
    tensor = mstorch.arange(3_000_000, dtype=mstorch.float32)
    mstorch.save(tensor, path)
    content = bytearray(path.read_bytes())
    at = content.index(tensor.numpy().tobytes()[-64:]) + 63 if place == "last" else content.index(tensor.numpy().tobytes()[:4096]) + 8
    for changed, source in ((0, path), (1, path), (1, "object")):
        content[at] ^= changed
        path.write_bytes(content)
        given: Any = path if source is path else io.BytesIO(content)
        if not changed:
            assert mstorch.equal(mstorch.load(given), tensor)
            continue
        with pytest.raises(RuntimeError, match="data/0: checksum mismatch"):
            mstorch.load(given)
        content[at] ^= changed
