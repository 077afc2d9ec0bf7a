"""Sources and targets of files: paths, file objects, devices, mapped memory, byte orders."""

import io
import mmap
import pathlib
import pickle
import zipfile

import numpy as np
import pytest
import torch

import mstorch as ms
from mstorch import serialization
from tests.serialization.serialization_files import (
    assert_same,
    our_bytes,
    our_load,
    torch_bytes,
    torch_load,
    values,
)


@pytest.mark.parametrize("name, folder", [("a.pt", "a"), ("noext", "noext"), ("a.b.pt", "a.b"), ("é.pt", "archive")])
def test_archive_names(tmp_path, name, folder):
    serialization.save(1, tmp_path / name)
    torch.save(1, tmp_path / ("torch_" + name))
    assert zipfile.ZipFile(tmp_path / name).namelist()[0] == f"{folder}/data.pkl"
    assert torch.load(tmp_path / name) == 1
    assert serialization.load(tmp_path / ("torch_" + name)) == 1


def test_sources_and_targets(tmp_path):
    ours = {"a": ms.from_numpy(np.arange(5.0))}
    for target in (str(tmp_path / "a.pt"), tmp_path / "b.pt"):
        serialization.save(ours, target)
        assert_same(serialization.load(target), torch.load(target))
    with open(tmp_path / "c.pt", "wb", buffering=0) as file:
        serialization.save(ours, file)
    with open(tmp_path / "c.pt", "rb") as file:
        assert_same(serialization.load(file), torch.load(pathlib.Path(tmp_path / "c.pt")))

    class OnlyRead:
        """A file with only the methods that torch needs."""

        def __init__(self, data):
            inner = io.BytesIO(data)
            self.read, self.readline, self.seek, self.tell = inner.read, inner.readline, inner.seek, inner.tell
            self.seekable = inner.seekable

    for legacy in (True, False):
        data = our_bytes(ours, _use_new_zipfile_serialization=legacy)
        assert_same(serialization.load(OnlyRead(data)), torch_load(data))


def test_wrong_sources_and_targets(tmp_path):
    for library in (torch, serialization):
        with pytest.raises(AttributeError, match="'write' attribute"):
            library.save(1, 5)
        with pytest.raises(AttributeError, match="seekable"):
            library.load(5)
        with pytest.raises(FileNotFoundError):
            library.load(tmp_path / "missing.pt")
        with pytest.raises(RuntimeError, match="Parent directory .* does not exist"):
            library.save(1, tmp_path / "missing" / "a.pt")
        with pytest.raises(RuntimeError, match="Is a directory"):
            library.save(1, tmp_path)
        with pytest.raises(TypeError, match="string argument expected"):
            library.save(1, io.StringIO())
        with pytest.raises(RuntimeError, match="explicit pickle_module"):
            library.load(io.BytesIO(), weights_only=True, pickle_module=pickle)


@pytest.mark.parametrize(
    "where",
    ["cpu", {"cuda:1": "cpu"}, lambda storage, location: storage, lambda storage, location: storage.cpu(), b"cpu"],
)
def test_map_location(where):
    data = our_bytes(ms.from_numpy(np.arange(3.0))).replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:1")
    from tests.serialization.serialization_files import archive_with

    data = archive_with(record_of(data), [np.arange(3.0).tobytes()])
    for load in (torch_load, our_load):
        with pytest.raises(RuntimeError, match="torch.cuda.is_available"):
            load(data)
        with pytest.raises(RuntimeError, match="torch.cuda.is_available"):
            load(data, map_location=lambda storage, location: None)
        with pytest.raises(RuntimeError, match="don't know how to restore data location of .*tagged with elsewhere"):
            load(data, map_location="elsewhere")
        with pytest.raises(TypeError, match="not callable"):
            load(data, map_location=5)
    if not isinstance(where, bytes):
        assert_same(our_load(data, map_location=where), torch_load(data, map_location=where))
    assert our_load(data, map_location=ms.device("cpu")).device.type == "cpu"
    seen = []
    our_load(data, map_location=lambda storage, location: seen.append((storage.nbytes(), location)) or storage)
    assert seen == [(24, "cuda:1")]


def record_of(data):
    start = data.index(b"\x80\x02ctorch")
    return data[start : data.index(b"PK\x07\x08", start)]


def test_register_package():
    from mstorch._src.serialization import locations
    from tests.serialization.serialization_files import archive_with, tensor_pickle

    before = list(locations._registry)
    serialization.register_package(
        5, lambda storage: None, lambda storage, location: storage if location == "my" else None
    )
    try:
        data = archive_with(tensor_pickle(location="my"), [bytes(400)])
        assert tuple(our_load(data).shape) == (100,)
    finally:
        locations._registry[:] = before


def test_mmap(tmp_path):
    real = {"a": torch.arange(1000.0), "b": torch.arange(5)}
    torch.save(real, tmp_path / "a.pt")
    ours = serialization.load(tmp_path / "a.pt", mmap=True)
    assert_same(ours, real)
    ours["a"].copy_(ms.from_numpy(np.zeros(1000, np.float32)))
    assert_same(serialization.load(str(tmp_path / "a.pt")), real)
    shared = serialization.load(tmp_path / "a.pt", mmap=True)
    serialization.save({"a": ms.from_numpy(np.zeros(3))}, tmp_path / "a.pt")
    assert_same(shared, real)
    assert torch.load(tmp_path / "a.pt")["a"].tolist() == [0, 0, 0]
    with serialization.set_default_mmap_options(mmap.MAP_SHARED):
        assert serialization.get_default_mmap_options() == mmap.MAP_SHARED
        assert values(serialization.load(tmp_path / "a.pt", mmap=True)["a"]).tolist() == [0, 0, 0]
    assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    for library in (torch, serialization):
        with pytest.raises(ValueError, match="file path"), open(tmp_path / "a.pt", "rb") as file:
            library.load(file, mmap=True)
        (tmp_path / "l.pt").write_bytes(torch_bytes(1, _use_new_zipfile_serialization=False))
        with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
            library.load(tmp_path / "l.pt", mmap=True)


def test_byte_order():
    kinds = {"f": ("<f4", 7), "c": ("<c8", 7), "h": ("<i2", 7), "b": ("|u1", 7)}
    ours = {key: ms.from_numpy(np.arange(count).astype(kind)) for key, (kind, count) in kinds.items()}
    data = our_bytes(ours)
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("byteorder"):
                content = b"big"
            if "/data/" in name:
                kind = list(kinds.values())[int(name[-1])][0]
                content = np.frombuffer(content, kind).byteswap().tobytes()
            new.writestr(name, content)
    assert_same(our_load(buffer.getvalue()), torch_load(buffer.getvalue()))
    assert_same(our_load(buffer.getvalue()), torch_load(data))
    plain = our_bytes(ours, _disable_byteorder_record=True)
    assert b"byteorder" not in plain
    assert_same(our_load(plain), torch_load(data))
    serialization.set_default_load_endianness(serialization.LoadEndianness.BIG)
    try:
        assert values(our_load(plain)["h"])[1] == 256
    finally:
        serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError):
        serialization.set_default_load_endianness("big")


def test_skip_data():
    ours = ms.from_numpy(np.arange(1, 100.0))
    with serialization.skip_data():
        data = our_bytes(ours)
        with pytest.raises(RuntimeError, match="Cannot use skip_data"):
            our_bytes(ours, _use_new_zipfile_serialization=False)
    assert len(data) == len(our_bytes(ours))
    assert not torch_load(data).any()
    with serialization.skip_data():
        assert not values(our_load(our_bytes(ours))).any()


def test_checksums_can_be_left_out():
    ours = ms.from_numpy(np.arange(9.0))
    for library, write in ((serialization, lambda: our_bytes(ours)), (torch.serialization,
                                                                      lambda: torch_bytes(torch.arange(9.0)))):  # fmt: skip
        library.set_crc32_options(False)
        try:
            data = write()
        finally:
            library.set_crc32_options(True)
        assert values(our_load(data)).tolist() == torch_load(data).tolist()
