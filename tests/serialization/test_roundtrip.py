"""Files go both ways between mstorch and real torch."""

import collections
import importlib
import inspect
import io
import json
import pickle
import pickletools
import struct
import sys
import zipfile

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mstorch as ms
from mstorch import serialization
from tests.serialization.serialization_files import (
    DTYPES,
    assert_same,
    bits,
    our_bytes,
    our_load,
    record,
    theirs,
    torch_bytes,
    torch_load,
    values,
)

SHAPES = [(), (1,), (7,), (3, 4), (0,), (0, 3), (2, 1, 3)]


def both_ways(real, **options):
    """Convert torch → mstorch → torch by files, comparing at each step; return mstorch's object."""
    ours = our_load(torch_bytes(real), **options)
    assert_same(ours, real)
    again = our_bytes(ours)
    back = torch_load(again, **options)
    assert_same(our_load(again, **options), back)
    assert_same(our_load(torch_bytes(back), **options), real)
    return ours


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_dtypes_and_shapes(name, shape):
    both_ways(theirs(name, shape))


@pytest.mark.parametrize("name", ["float32", "bfloat16", "bool", "complex64", "uint16", "int64"])
def test_views(name):
    base = theirs(name, (4, 6))
    both_ways([base.t(), base[1:3], base[:, ::2], base[2, 3], base[0].expand(3, 6), base, base[:0]])
    both_ways(base[1:3])
    both_ways(base.reshape(2, 2, 6).permute(2, 0, 1)[3:])


def test_sharing_is_kept():
    base = torch.arange(12.0).reshape(3, 4)
    data = torch_bytes({"whole": base, "row": base[1], "turned": base.t(), "other": torch.arange(12.0)})
    ours = our_load(data)
    ours["row"].copy_(ms.from_numpy(np.full(4, -1, np.float32)))
    assert values(ours["whole"])[1].tolist() == [-1.0] * 4
    assert values(ours["turned"])[:, 1].tolist() == [-1.0] * 4
    assert values(ours["other"])[4] == 4
    # The first occurrence may be a view.
    ours = our_load(torch_bytes([base[1], base]))
    ours[1].copy_(ms.from_numpy(np.zeros((3, 4), np.float32)))
    assert values(ours[0]).tolist() == [0.0] * 4
    back = torch_load(our_bytes(our_load(data)))
    back["row"][:] = 7
    assert back["whole"][1].tolist() == [7.0] * 4
    assert back["whole"].untyped_storage().data_ptr() == back["turned"].untyped_storage().data_ptr()


def test_a_view_saves_its_whole_storage_once():
    base = ms.from_numpy(np.arange(1000, dtype=np.float32))
    data = our_bytes([base.as_strided((3,), (1,), 5), base.as_strided((2, 2), (1, 9), 0)])
    names = zipfile.ZipFile(io.BytesIO(data)).namelist()
    assert [name for name in names if "data/" in name and ".data" not in name] == ["archive/data/0"]
    assert len(record(data, "data/0")) == 4000
    real = torch_load(data)
    assert real[0].untyped_storage().nbytes() == 4000
    assert real[0].storage_offset() == 5


def test_one_storage_under_two_dtypes_is_refused():
    words = "Cannot save multiple tensors or storages that view the same data as different types"
    real, ours = torch.ones(4), ms.from_numpy(np.ones(4, np.float32))
    for save, tree in ((torch_bytes, [real, real.view(torch.int32)]), (our_bytes, [ours, ours.view(ms.int32)])):
        with pytest.raises(RuntimeError, match=words):
            save(tree)
    assert_same(our_load(our_bytes(ours.view(ms.int16)[2:5])), torch_load(torch_bytes(real.view(torch.int16)[2:5])))


@pytest.mark.parametrize("options", [{}, {"_use_new_zipfile_serialization": False}])
def test_empty_storages_under_several_dtypes(options):
    def tree(library):
        x = library.zeros(0, 4)
        return [x, x.view(library.int32), x.view(library.uint8), x.view(library.complex64), x[:, 1:]]

    real, ours = io.BytesIO(), io.BytesIO()
    torch.save(tree(torch), real, **options)
    ms.save(tree(ms), ours, **options)
    assert_same(our_load(real.getvalue()), torch_load(ours.getvalue()))
    assert_same(our_load(ours.getvalue()), tree(torch))


class Holder:
    """A user's class that holds tensors."""

    def __init__(self, tensor):
        self.tensor = tensor
        self.pair = [tensor, 1]


def test_objects_of_the_users_classes():
    ours = our_load(torch_bytes(Holder(torch.arange(3.0))), weights_only=False)
    assert values(ours.tensor).tolist() == [0, 1, 2]
    assert ours.pair[0] is ours.tensor
    real = torch_load(our_bytes(ours), weights_only=False)
    assert real.tensor.tolist() == [0, 1, 2]
    assert real.pair[0] is real.tensor


def test_attributes_of_tensors():
    real = torch.ones(3)
    real.note = "kept"
    real.more = [1]
    data = torch_bytes({"a": real, "b": real})
    for weights_only in (True, False):
        ours = our_load(data, weights_only=weights_only)
        assert ours["a"] is ours["b"]
        assert (ours["a"].note, ours["a"].more) == ("kept", [1])
        back = torch_load(our_bytes(ours), weights_only=weights_only)["b"]
        assert (back.note, back.more, back.tolist()) == ("kept", [1], [1.0] * 3)
    parameter = torch.nn.Parameter(torch.zeros(2))
    parameter.note = "kept"
    ours = our_load(torch_bytes(parameter))
    assert isinstance(ours, ms.nn.Parameter)
    assert ours.note == "kept"
    assert torch_load(our_bytes(ours)).note == "kept"


def test_gradients_are_not_saved():
    ours = ms.from_numpy(np.ones(3, np.float32)).requires_grad_()
    (ours * ours).sum().backward()
    assert ours.grad is not None
    data = our_bytes(ours)
    assert data.count(b"_rebuild_tensor_v2") == 1
    assert b"_rebuild_from_type_v2" not in data
    assert our_load(data).grad is None
    assert_same(our_load(data), torch_load(data))
    assert torch_load(our_bytes(ours * 2)).requires_grad


class Mine(ms.Tensor):
    """A subclass of tensors."""


def test_subclasses_of_tensors():
    ours = ms.from_numpy(np.arange(4.0)).as_subclass(Mine)
    ours.note = "kept"
    data = our_bytes(ours)
    with pytest.raises(pickle.UnpicklingError, match=f"{Mine.__module__}.Mine"):
        our_load(data)
    again = our_load(data, weights_only=False)
    assert (type(again), again.note, values(again).tolist()) == (Mine, "kept", [0, 1, 2, 3])
    with serialization.safe_globals([Mine]):
        assert type(our_load(data)) is Mine


CONTAINERS = [
    {"a": 1, 2: [3.5, None, True], (1, "x"): {"deep": ((), [], {})}},
    collections.OrderedDict([("b", 1), ("a", [torch.ones(2)])]),
    {"bytes": b"\x00\xff", "array": bytearray(b"abc"), "complex": 1 + 2j, "big": 10**30, "negative": -(2**40)},
    {"set": {1, 2, 3}, "counter": collections.Counter("aabbb"), "none": None},
    {"size": torch.Size([2, 3]), "cpu": torch.device("cpu"), "cuda": torch.device("cuda", 1), "dtype": torch.bfloat16},
    {"dtypes": [torch.float32, torch.int64, torch.uint16, torch.bool]},
    ["ünïcode \U0001f600", "\n", "", "'", float("inf"), -0.0, 255, 256, 65536, -1],
]


@pytest.mark.parametrize("real", CONTAINERS, ids=range(len(CONTAINERS)))
def test_containers(real):
    both_ways(real)


def test_shared_and_recursive_containers():
    part = [torch.ones(1)]
    ours = our_load(torch_bytes({"one": part, "two": part}))
    assert ours["one"] is ours["two"]
    back = torch_load(our_bytes(ours))
    assert back["one"] is back["two"]
    circle = []
    circle.append(circle)
    ours = our_load(torch_bytes(circle))
    assert ours[0] is ours


def test_parameters():
    real = {"a": torch.nn.Parameter(torch.ones(2, 3)), "b": torch.nn.Parameter(torch.zeros(2), requires_grad=False)}
    ours = both_ways(real)
    assert isinstance(ours["a"], ms.nn.Parameter)
    tied = torch.nn.Parameter(torch.ones(3))
    ours = our_load(torch_bytes([tied, tied]))
    assert ours[0] is ours[1]


def test_leaf_tensors_keep_requires_grad():
    both_ways([torch.ones(2, requires_grad=True), torch.ones(2)])
    base = torch.ones(4)
    both_ways([base.requires_grad_(), base.detach()[1:]])


def test_state_dict_of_a_network():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.LSTM(4, 3))
    state = net.state_dict()
    ours = our_load(torch_bytes(state))
    assert_same(ours, state)
    assert ours._metadata == state._metadata
    net.load_state_dict(torch_load(our_bytes(ours)))


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop])
def test_state_dict_of_an_optimiser(kind):
    parameters = [torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(2, 2))]
    optimiser = kind(parameters, lr=0.1, **({"momentum": 0.9} if kind is torch.optim.SGD else {}))
    sum(p.sum() for p in parameters).backward()
    optimiser.step()
    checkpoint = {"optimiser": optimiser.state_dict(), "epoch": 3, "loss": 0.25}
    both_ways(checkpoint)
    optimiser.load_state_dict(torch_load(our_bytes(our_load(torch_bytes(checkpoint))))["optimiser"])


def test_only_the_full_unpickler_takes_these():
    real = {"default": collections.defaultdict(list, {"a": [1]}), "scalar": np.float64(3), "array": np.arange(3)}
    data = torch_bytes(real)
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global"):
        our_load(data)
    assert_same(our_load(data, weights_only=False), real)
    assert_same(torch_load(our_bytes(real), weights_only=False), real)


def test_numpy_with_safe_globals():
    multiarray = importlib.import_module("numpy._core.multiarray" if np.__version__[0] == "2" else "numpy.core.multiarray")
    real = {"scalar": np.float32(3), "array": np.arange(3.0), "scalar64": np.float64(1)}
    allowed = [
        multiarray.scalar, multiarray._reconstruct, np.ndarray, np.dtype, np.dtypes.Float64DType,
        np.dtypes.Float32DType,
    ]  # fmt: skip
    before = serialization.get_safe_globals()
    with serialization.safe_globals(allowed), torch.serialization.safe_globals(allowed):
        assert_same(our_load(torch_bytes(real)), torch_load(our_bytes(real)))
    assert set(serialization.get_safe_globals()) == set(before)


def test_conjugate_and_negative_bits():
    real = torch.randn(3, 2, dtype=torch.complex64)
    for legacy in (True, False):
        for tree in ([real.conj(), real.t().conj(), real], [real.conj().imag, real.imag]):
            ours = our_load(torch_bytes(tree, _use_new_zipfile_serialization=not legacy))
            again = torch_load(our_bytes(ours, _use_new_zipfile_serialization=not legacy))
            for one, other, back in zip(ours, tree, again, strict=True):
                assert (one.is_conj(), one.is_neg()) == (other.is_conj(), other.is_neg()) == (back.is_conj(), back.is_neg())
                assert one.untyped_storage().data_ptr() == ours[-1].untyped_storage().data_ptr()
                np.testing.assert_array_equal(values(one), bits(other))
                np.testing.assert_array_equal(bits(back), bits(other))


@pytest.mark.parametrize("weights_only", [True, False])
def test_legacy_format(weights_only):
    base = torch.arange(6.0).reshape(2, 3)
    real = {"a": base, "t": base.t(), "b": torch.ones(2).bfloat16(), "p": torch.nn.Parameter(base[0].clone()), "e": 1,
            "empty": torch.empty(0, 2), "flags": torch.tensor([True, False])}  # fmt: skip
    data = torch_bytes(real, _use_new_zipfile_serialization=False)
    ours = our_load(data, weights_only=weights_only)
    assert_same(ours, real)
    ours["a"].copy_(ms.from_numpy(np.zeros((2, 3), np.float32)))
    assert not values(ours["t"]).any()
    again = our_bytes(ours, _use_new_zipfile_serialization=False)
    assert torch_load(again, weights_only=weights_only)["t"].sum() == 0
    assert_same(our_load(again, weights_only=weights_only), torch_load(again, weights_only=weights_only))


def test_legacy_file_of_python_2_strings():
    head = [pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})]
    data = b"".join(head) + b"\x80\x02}U\x01aU\x02bcs." + pickle.dumps([], 2)
    assert our_load(data) == torch_load(data) == {"a": "bc"}
    assert our_load(data, weights_only=False, encoding="bytes") == {b"a": b"bc"}


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickle_protocols(protocol):
    ours = our_load(torch_bytes({"a": torch.arange(3), "size": torch.Size([1])}, pickle_protocol=protocol))
    data = our_bytes(ours | {"dtype": ms.float16}, pickle_protocol=protocol)
    real = torch_load(data, weights_only=False)
    assert real["dtype"] is torch.float16
    assert_same(our_load(data), real)
    assert_same(our_load(data, weights_only=False), real)


def test_the_pickle_is_torchs_own():
    base = torch.arange(6.0).reshape(2, 3)
    real = {"a": base, "t": base.t(), "u": torch.ones(2, dtype=torch.uint16), "p": torch.nn.Parameter(torch.ones(2)),
            "z": torch.tensor(3), "size": torch.Size([1, 2]), "place": torch.device("cpu"), "b": b"x"}  # fmt: skip
    for more in ({}, {"dtype": torch.float32}):
        data = torch_bytes(real | more)
        assert record(our_bytes(our_load(data)), "data.pkl") == record(data, "data.pkl")


def test_the_archive_has_torchs_layout(tmp_path):
    real = {"a": torch.arange(6.0), "e": torch.empty(0), "b": torch.ones(1000, dtype=torch.int8), "c": torch.tensor(1)}
    torch.save(real, tmp_path / "model.v1.pt")
    first = (tmp_path / "model.v1.pt").read_bytes()
    serialization.save(serialization.load(tmp_path / "model.v1.pt"), tmp_path / "model.v1.pt")
    second = (tmp_path / "model.v1.pt").read_bytes()
    # Only the digits of the serialization id may differ, and their checksum.
    assert len(first) == len(second)
    at = first.index(b"serialization_id")
    assert first[:at] == second[:at]
    entries = [zipfile.ZipFile(io.BytesIO(data)).infolist() for data in (first, second)]
    for one, other in zip(*entries, strict=True):
        assert (one.filename, one.header_offset, one.file_size, one.flag_bits) == (
            other.filename, other.header_offset, other.file_size, other.flag_bits)  # fmt: skip
        assert one.CRC == other.CRC or one.filename.endswith("serialization_id")
    assert all(name.startswith("model.v1/") for name in zipfile.ZipFile(io.BytesIO(second)).namelist())
    offsets = torch.utils.serialization.config.load
    offsets.calculate_storage_offsets = True
    try:
        assert torch.load(tmp_path / "model.v1.pt", mmap=True)["b"].sum() == 1000
    finally:
        offsets.calculate_storage_offsets = False


def test_alignment():
    ours = [ms.from_numpy(np.arange(count, dtype=np.int8)) for count in (1, 63, 64, 65, 1000)]
    data = our_bytes(ours)
    for count in (63, 64, 65, 1000):
        assert data.index(np.arange(count, dtype=np.int8).tobytes() + b"PK\x07\x08") % 64 == 0


@pytest.mark.parametrize("name", sorted(set(serialization.__all__) & set(torch.serialization.__all__)))
def test_signatures(name):
    mine, real = getattr(serialization, name), getattr(torch.serialization, name)
    assert isinstance(mine, type) == isinstance(real, type)
    if name in ("SourceChangeWarning", "LoadEndianness"):
        return
    one, other = inspect.signature(mine), inspect.signature(real)
    assert [(p.name, p.default, p.kind) for p in one.parameters.values()] == [
        (p.name, p.default, p.kind) for p in other.parameters.values()
    ]


def test_environment(monkeypatch):
    data = torch_bytes(collections.defaultdict(int))
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    for load in (torch_load, our_load):
        with pytest.warns(UserWarning, match="forcing weights_only=False"):
            assert load(data) == {}
        with pytest.raises(pickle.UnpicklingError):
            load(data, weights_only=True)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    for load in (torch_load, our_load):
        with pytest.raises(RuntimeError, match="but both were set"):
            load(data)
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    for load in (torch_load, our_load):
        with pytest.raises(pickle.UnpicklingError):
            load(data, weights_only=False)


def test_nothing_stays_in_sys_modules():
    before = set(sys.modules)
    our_bytes([ms.from_numpy(np.ones(2)), ms.Size([1])])
    assert {name for name in set(sys.modules) - before if "torch" in name} == set()


def test_other_pickle_modules():
    class Module:
        __name__ = "mine"
        Pickler, Unpickler, dumps, load = pickle._Pickler, pickle._Unpickler, pickle.dumps, staticmethod(pickle.load)

    ours = {"a": ms.from_numpy(np.arange(3.0)), "dtype": ms.int8}
    for legacy in (True, False):
        data = our_bytes(ours, pickle_module=Module, _use_new_zipfile_serialization=legacy)
        assert_same(our_load(data, pickle_module=Module), torch_load(data))


def test_dill():
    dill = pytest.importorskip("dill")
    ours = {"a": ms.from_numpy(np.arange(3.0)), "dtype": ms.int8, "function": lambda x: x + 1}
    data = our_bytes(ours, pickle_module=dill)
    for load in (torch_load, our_load):
        made = load(data, pickle_module=dill, weights_only=False)
        assert made["function"](1) == 2
        assert str(made["dtype"]) == "torch.int8"
        assert made["a"].tolist() == [0, 1, 2]


def test_safetensors_of_the_library(tmp_path):
    library = pytest.importorskip("safetensors.torch")
    real = {name: theirs(name, (2, 3)) for name in DTYPES if name != "complex128"}
    library.save_file(real, tmp_path / "a.safetensors")
    ours = serialization.load(tmp_path / "a.safetensors")
    real = torch.load(tmp_path / "a.safetensors")
    assert_same({name: ours[name] for name in real}, real)


def safetensors_file(path, entries, values):
    header = json.dumps(entries).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + values)
    return path


def test_safetensors(tmp_path):
    numbers = np.arange(6, dtype=np.float32)
    entries = {
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "b": {"dtype": "BF16", "shape": [2], "data_offsets": [24, 28]},
        "c": {"dtype": "I64", "shape": [], "data_offsets": [28, 36]},
        "d": {"dtype": "BOOL", "shape": [0, 2], "data_offsets": [36, 36]},
    }
    raw = numbers.tobytes() + b"\x80\x3f\x00\x40" + struct.pack("<q", 7)
    path = safetensors_file(tmp_path / "a.safetensors", entries, raw)
    for where in (None, "cpu", ms.device("cpu")):
        ours = serialization.load(path, map_location=where)
        real = {"a": torch.from_numpy(numbers).view(2, 3), "b": torch.tensor([1.0, 2.0]).bfloat16(), "c": torch.tensor(7),
                "d": torch.empty(0, 2, dtype=torch.bool)}  # fmt: skip
        assert_same(ours, real)
    for where in ({"cpu": "cpu"}, lambda storage, location: storage):
        with pytest.raises(RuntimeError, match="map_location is not supported"):
            serialization.load(path, map_location=where)
    for change in (
        {"shape": [2, 4]}, {"shape": [-2, -3]}, {"data_offsets": [0, 2**60]}, {"data_offsets": [-24, 0]}, {"dtype": "X9"},
        {"data_offsets": [0]}, {"shape": "ab"}, {"more": 1},
    ):  # fmt: skip
        safetensors_file(path, {"a": entries["a"] | change}, raw)
        with pytest.raises(RuntimeError, match="is no safetensors file"):
            serialization.load(path)
    for data in (b"", b"short", b"\xff" * 100, struct.pack("<Q", 4) + b"{]  ", struct.pack("<Q", 2) + b"[]"):
        path.write_bytes(data)
        with pytest.raises(RuntimeError, match="is no safetensors file"):
            serialization.load(path)


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(max_size=20)
    | st.complex_numbers(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner)
    | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(TREES)
def test_random_trees(tree):
    data = our_bytes(tree)
    assert record(data, "data.pkl") == record(torch_bytes(tree), "data.pkl")
    assert_same(our_load(data), tree)
    assert_same(our_load(torch_bytes(tree, pickle_protocol=4)), tree)


def test_opcodes_of_a_tensor_are_those_of_torch():
    ours, real = our_bytes(ms.from_numpy(np.ones((2, 2), np.float32))), torch_bytes(torch.ones(2, 2))
    assert [(opcode.name, argument) for opcode, argument, _ in pickletools.genops(record(ours, "data.pkl"))] == [
        (opcode.name, argument) for opcode, argument, _ in pickletools.genops(record(real, "data.pkl"))
    ]
