"""Archives by their records, and tensors that store their elements elsewhere."""
from __future__ import annotations

import copy
import importlib
import io
import sys

import pytest
import torch as real_torch

import mstorch

LIBRARIES = (real_torch, mstorch)


@pytest.mark.parametrize("kind", ["path", "file", "buffer"])
def test_records_are_written_and_read(kind, tmp_path):
    data = {"a": b"1203", "c/d": b"94589480984058"}
    for writing in LIBRARIES:
        for reading in LIBRARIES:
            path = str(tmp_path / "x.pt")
            target = path if kind == "path" else open(path, "w+b") if kind == "file" else io.BytesIO()
            with writing.serialization._open_zipfile_writer(target) as archive:
                for name, content in data.items():
                    archive.write_record(name, content, len(content))
                archive.write_record("byteorder", sys.byteorder, len(sys.byteorder))
                archive.write_record_metadata("room", 100)
            if kind != "path":
                target.seek(0)
            with reading.serialization._open_zipfile_reader(target) as archive:
                assert {name: archive.get_record(name) for name in data} == data
                assert archive.get_record("byteorder") == sys.byteorder.encode() and archive.has_record("a")
                assert archive.get_record("room") == bytes(100) and archive.get_record_offset("a") % 64 == 0
            if kind == "file":
                target.close()


class _Wrapped:
    def _wrap(self, torch):
        tree_map = importlib.import_module(f"{torch.__name__}.utils._pytree").tree_map

        class Held(torch.Tensor):
            __slots__ = ["held"]

            @staticmethod
            def __new__(cls, held):
                made = torch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype)
                made.held = held
                return made

            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
                args, kwargs = tree_map(lambda x: x.held if isinstance(x, cls) else x, (args, kwargs or {}))
                return tree_map(lambda x: cls(x) if isinstance(x, torch.Tensor) else x, func(*args, **kwargs))

            def __repr__(self):
                return f"Held({self.held.tolist()})"

        return Held


@pytest.mark.parametrize("torch", LIBRARIES, ids=lambda library: library.__name__)
def test_tensors_that_keep_their_elements_elsewhere_are_copied_and_saved(torch, monkeypatch):
    held = _Wrapped()._wrap(torch)
    held.__qualname__ = "Held"
    monkeypatch.setattr(sys.modules[__name__], "Held", held, raising=False)
    x = held(torch.arange(3.0))
    x.note = [1]
    copied = copy.deepcopy(x)
    assert type(copied) is held and copied.note == [1] and copied.note is not x.note and copied.held is not x.held
    file = io.BytesIO()
    torch.save({"x": x}, file)
    file.seek(0)
    with torch.serialization.safe_globals([held]):
        loaded = torch.load(file)["x"]
    assert type(loaded) is held and repr(loaded) == "Held([0.0, 1.0, 2.0])" and loaded.note == [1]
    parameter = torch.nn.Parameter(x)
    assert isinstance(parameter, torch.nn.Parameter) and type(parameter) is held and parameter.requires_grad
