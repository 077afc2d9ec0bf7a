"""Helpers of the serialization tests: the same values in both libraries, and archives with a pickle of our own."""

import io
import struct
import zipfile

import numpy as np
import torch

import mstorch as ms
from mstorch import serialization

DTYPES = ["bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "bfloat16",
          "float32", "float64", "complex64", "complex128"]  # fmt: skip


def theirs(name, shape, seed=0):
    """Return a tensor of real torch with values that every dtype holds exactly."""
    whole = torch.from_numpy(np.random.default_rng(seed).integers(0, 100, shape))
    kind = getattr(torch, name)
    if kind.is_complex:
        return torch.complex(whole.double(), whole.double().flip(0) if whole.ndim else whole.double() + 1).to(kind)
    return whole.to(kind)


def bits(tensor):
    """Return a real torch tensor's values as a NumPy array; bfloat16 as float32."""
    tensor = tensor.detach()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor.resolve_conj().resolve_neg()).numpy()


def values(tensor):
    """Return the same for a tensor of mstorch."""
    tensor = tensor.detach()
    return np.asarray((tensor.float() if tensor.dtype.name == "bfloat16" else tensor.resolve_conj().resolve_neg()).numpy())


def assert_same(ours, real):
    """Assert that both trees are equal in types, values, dtypes and strides."""
    if isinstance(real, torch.Tensor):
        assert isinstance(ours, ms.Tensor), type(ours)
        assert type(ours).__name__ == type(real).__name__
        assert str(ours.dtype) == str(real.dtype)
        assert tuple(ours.shape) == tuple(real.shape)
        assert tuple(ours.stride()) == tuple(real.stride())
        assert ours.storage_offset() == real.storage_offset()
        assert ours.requires_grad == real.requires_grad
        np.testing.assert_array_equal(values(ours), bits(real))
    elif isinstance(real, (torch.dtype, torch.device, torch.Size)):
        assert str(ours) == str(real)
        assert type(ours).__name__ == type(real).__name__
    elif isinstance(real, dict):
        assert type(ours) is type(real)
        assert list(ours) == list(real)
        for key in real:
            assert_same(ours[key], real[key])
    elif isinstance(real, (list, tuple)):
        assert type(ours) is type(real)
        assert len(ours) == len(real)
        for one, other in zip(ours, real, strict=True):
            assert_same(one, other)
    elif isinstance(real, np.ndarray):
        assert type(ours) is type(real)
        np.testing.assert_array_equal(ours, real)
    else:
        assert type(ours) is type(real)
        assert ours == real


def torch_bytes(obj, **options):
    buffer = io.BytesIO()
    torch.save(obj, buffer, **options)
    return buffer.getvalue()


def our_bytes(obj, **options):
    buffer = io.BytesIO()
    serialization.save(obj, buffer, **options)
    return buffer.getvalue()


def torch_load(data, **options):
    return torch.load(io.BytesIO(data), **options)


def our_load(data, **options):
    return serialization.load(io.BytesIO(data), **options)


def record(data, name):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        prefix = archive.namelist()[0].split("/")[0]
        return archive.read(f"{prefix}/{name}")


def archive_with(pickle_bytes, storages=(), **records):
    """Return a well-formed archive around a given pickle."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", pickle_bytes)
        archive.writestr("archive/byteorder", records.get("byteorder", "little"))
        for key, data in enumerate(storages):
            archive.writestr(f"archive/data/{key}", data)
        archive.writestr("archive/version", records.get("version", "3\n"))
    return buffer.getvalue()


def text(value):
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


def number(value):
    return b"J" + struct.pack("<i", value)


def tensor_pickle(count=100, offset=0, size=(100,), stride=(1,), key="0", kind="torch\nFloatStorage", location="cpu"):
    """Return the pickle of one tensor, with any numbers."""
    storage = b"(" + text("storage") + b"c" + kind.encode() + b"\n" + text(key) + text(location) + number(count) + b"tQ"
    shape = b"(" + b"".join(map(number, size)) + b"t(" + b"".join(map(number, stride)) + b"t"
    hooks = b"\x89ccollections\nOrderedDict\n)R"
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + storage + number(offset) + shape + hooks + b"tR."
