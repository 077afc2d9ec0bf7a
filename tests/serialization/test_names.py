"""Files name mstorch's classes by torch's names."""

import io
import pickle
import types

import numpy as np
import pytest
import torch

import mstorch as ms
from mstorch._src.serialization import names, rebuild
from mstorch._src.serialization.file_storage import CLASS_OF_DTYPE, ITEMSIZE, STORAGE_CLASSES, UNTYPED_DTYPES
from tests.serialization.serialization_files import our_bytes, our_load, torch_bytes, torch_load, values

NN_CLASSES = {
    name: found.__module__
    for name, found in vars(torch.nn).items()
    if isinstance(found, type) and found.__module__.startswith(("torch.nn.modules", "torch.nn.parameter"))
}


def test_the_home_of_every_nn_class():
    known = {name: home for name, home in NN_CLASSES.items() if name != "LinearCrossEntropyOptions"}
    assert {name: names._HOME_OF[name] for name in known} == known


@pytest.mark.parametrize("name", ["Linear", "Conv2d", "Module", "Parameter", "LSTM", "CrossEntropyLoss"])
def test_a_class_gets_torchs_name_in_any_module(name):
    for module in ("mstorch.nn", "mstorch.nn.modules.anywhere", f"mstorch.nn._{name.lower()}"):
        assert names.torch_name(type(name, (), {"__module__": module})) == (NN_CLASSES[name], name)


def test_names_of_other_things():
    def function():
        """Stands for a public function that is defined in a private module."""

    function.__module__, function.__qualname__ = "mstorch._src.ops.elementwise.elementwise", "relu"
    assert names.torch_name(function) == ("torch", "relu")
    function.__module__ = "mstorch.nn.functional"
    assert names.torch_name(function) == ("torch.nn.functional", "relu")
    assert names.torch_name(ms.Tensor) == ("torch", "Tensor")
    assert names.torch_name(ms.Size) == ("torch", "Size")
    assert names.torch_name(ms.device) == ("torch", "device")
    assert names.torch_name(type("Adam", (), {"__module__": "mstorch.optim.adam"})) == ("torch.optim.adam", "Adam")
    assert names.torch_name(rebuild._rebuild_tensor_v2) == ("torch._utils", "_rebuild_tensor_v2")
    assert names.torch_name(rebuild._rebuild_from_type_v2) == ("torch._tensor", "_rebuild_from_type_v2")
    for foreign in (dict, pickle.loads, torch.Tensor, types.ModuleType("mstorch.x"), 5):
        assert names.torch_name(foreign) is None


@pytest.mark.parametrize("protocol", [2, 4])
def test_our_classes_are_written_as_torchs(protocol):
    linear = type("Linear", (), {"__module__": "mstorch.nn._linear"})
    optimiser = type("Adam", (), {"__module__": "mstorch.optim.adam"})
    data = our_bytes({"kinds": [linear, optimiser, ms.Tensor, dict, ms.float32]}, pickle_protocol=protocol)
    assert torch_load(data, weights_only=False) == {
        "kinds": [torch.nn.Linear, torch.optim.Adam, torch.Tensor, dict, torch.float32]
    }


def test_a_whole_module_goes_both_ways():
    if not hasattr(ms.nn, "Linear"):
        pytest.skip("mstorch.nn has no Linear")
    real = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    ours = our_load(torch_bytes(real), weights_only=False)
    assert type(ours[0]) is ms.nn.Linear
    assert values(ours[0].weight).tolist() == real[0].weight.tolist()
    assert tuple(ours(ms.from_numpy(np.ones((4, 3), np.float32))).shape) == (4, 2)
    back = torch_load(our_bytes(ours), weights_only=False)
    assert type(back[0]) is torch.nn.Linear
    x = torch.ones(4, 3)
    assert torch.equal(back(x), real(x))


def test_finding_by_torchs_name():
    assert names.find("torch", "Tensor") is ms.Tensor
    assert names.find("torch", "float32") is ms.float32
    assert names.find("torch._utils", "_rebuild_tensor_v2") is rebuild._rebuild_tensor_v2
    assert names.find("torch.tensor", "_rebuild_from_type_v2") is rebuild._rebuild_from_type_v2
    for module, name in [("torch", "no_such_thing"), ("torch.no.such", "thing"), ("torch", "Tensor.nothing")]:
        with pytest.raises(AttributeError, match=f"Can't get attribute '{name}' of torch's module '{module}'"):
            names.find(module, name)


def test_the_rebuild_functions_of_torch_are_known():
    theirs = {name for name in vars(torch._utils) if name.startswith("_rebuild_")}
    assert theirs <= set(rebuild.FUNCTIONS)


def test_the_dtypes_of_files():
    for name, dtype in STORAGE_CLASSES.items():
        assert getattr(torch, name).dtype is getattr(torch, dtype)
    for dtype, size in ITEMSIZE.items():
        assert getattr(torch, dtype).itemsize == size
    assert set(CLASS_OF_DTYPE) | set(UNTYPED_DTYPES) == set(ITEMSIZE)
    assert {str(dtype).removeprefix("torch.") for dtype in torch.storage._dtype_to_storage_type_map()} == set(
        CLASS_OF_DTYPE
    )


def test_a_whole_module_names_nothing_of_dill(monkeypatch):
    """MindSpore imports dill, which registers itself in Python's pickle table."""

    def intruder(pickler, obj):
        raise AssertionError("dill is asked")

    intruder.__module__ = "dill._dill"
    monkeypatch.setitem(pickle._Pickler.dispatch, type, intruder)
    file = io.BytesIO()
    net = ms.nn.Sequential(ms.nn.Linear(3, 2), ms.nn.Dropout())
    ms.save(net, file)
    assert b"dill" not in file.getvalue()
    file.seek(0)
    kinds = [ms.nn.Sequential, ms.nn.Linear, ms.nn.Dropout]
    with ms.serialization.safe_globals(kinds):
        assert isinstance(ms.load(file), ms.nn.Sequential)
    file.seek(0)
    assert isinstance(torch.load(file, weights_only=False), torch.nn.Sequential)
