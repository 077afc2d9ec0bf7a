"""Storages in files, copies and pickles: they still share the memory of the tensors with them."""
from __future__ import annotations

import copy
import io
from typing import Any

import pytest
import torch as real_torch

import mstorch


def saved_by(library, value, zipped=True):
    file = io.BytesIO()
    library.save(value, file, _use_new_zipfile_serialization=zipped)
    return file


def loaded_by(library, file, weights_only):
    file.seek(0)
    return library.load(file, weights_only=weights_only)


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize(("writer", "reader"), [(mstorch, mstorch), (mstorch, real_torch), (real_torch, mstorch)])
def test_beside_their_tensors(writer, reader, weights_only, zipped):
    x = writer.arange(6.0)
    tensor, storage, part = loaded_by(reader, saved_by(writer, [x, x.storage(), x[2:4]], zipped), weights_only)
    tensor[3] = 9
    assert storage.tolist() == [0, 1, 2, 9, 4, 5] and part.tolist() == [2, 9]
    assert type(storage).__name__ == "TypedStorage" and str(storage.dtype) == "torch.float32"


@pytest.mark.parametrize("weights_only", [True, False])
def test_bytes(both, weights_only):
    def body(torch):
        found = loaded_by(torch, saved_by(torch, torch.arange(2.0).untyped_storage()), weights_only)
        return type(found).__name__, found.dtype, found.tolist()

    both(body)


def test_one_memory_as_two_dtypes(both):
    def body(torch):
        x = torch.arange(2.0)
        saved_by(torch, [x, x.untyped_storage()])

    both(body)


def test_copies_share_what_the_originals_share(both):
    def body(torch):
        x = torch.arange(3.0)
        tensor, storage, other = copy.deepcopy([x, x.storage(), x[1:]])
        tensor[1] = 7
        return storage.tolist(), other, x

    both(body)


def test_a_gradient_under_its_private_name(both):
    def body(torch):
        x = torch.ones(2, requires_grad=True)
        x._grad = torch.zeros(2)
        return x.grad, x._grad is x.grad, torch.ones(2)._grad

    both(body)


def test_storages_of_the_same_bytes_in_another_dtype_come_back_as_storages() -> None:
    for name in ("bfloat16", "float16", "complex32", "uint16", "float8_e5m2"):
        kind = getattr(mstorch, name)
        storage = mstorch.storage.TypedStorage(wrap_storage=mstorch.ones(4).untyped_storage(), dtype=kind, _internal=True)
        for weights_only in (True, False):
            file = io.BytesIO()
            mstorch.save([storage], file)
            file.seek(0)
            (found,) = mstorch.load(file, weights_only=weights_only)
            assert isinstance(found, mstorch.storage.TypedStorage), name
            assert found.untyped().tolist() == storage.untyped().tolist()


class _Watched(io.BytesIO):
    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.filled = 0

    def readinto(self, buffer: Any) -> int:
        """Fill at most 64 bytes, as sockets and pipes do."""
        count = super().readinto(memoryview(buffer)[:64])
        self.filled += count
        return count


def test_a_file_of_the_old_format_is_read_into_the_storage() -> None:
    x = mstorch.arange(100.0)
    file = io.BytesIO()
    mstorch.save(x, file, _use_new_zipfile_serialization=False)
    watched = _Watched(file.getvalue())
    assert mstorch.equal(mstorch.load(watched), x) and watched.filled >= 400
    with pytest.raises(RuntimeError, match="unexpected EOF"):
        mstorch.load(_Watched(file.getvalue()[:-8]))
