"""Every public Module class as Python's own tools see it, beside torch's: ``dir``, ``hasattr``, signatures, the metaclass.

``__mro__`` does show MindSpore's Cell, and ours behind Module: it is a field of the class, which no Python code can answer for where the
metaclass is torch's, ``type``. With one of our own (``test_another_metaclass_would_be_in_the_way``) ``class Net(nn.Module, abc.ABC)`` could not be.
"""
from __future__ import annotations

import abc
import importlib
import inspect
import typing
from collections.abc import Iterator
from typing import Any

import mindspore
import pytest
import torch

import mstorch

HOMES = (
    "nn", "nn.modules.container", "nn.modules.lazy", "nn.parallel", "nn.utils.parametrize", "nn.intrinsic", "nn.intrinsic.qat",
    "nn.intrinsic.quantized", "nn.intrinsic.quantized.dynamic", "nn.qat", "nn.qat.dynamic", "nn.quantizable", "nn.quantized", "nn.quantized.dynamic",
    "ao.nn.intrinsic", "ao.nn.intrinsic.qat", "ao.nn.intrinsic.quantized", "ao.nn.intrinsic.quantized.dynamic", "ao.nn.qat", "ao.nn.qat.dynamic",
    "ao.nn.quantizable", "ao.nn.quantized", "ao.nn.quantized.dynamic", "ao.quantization", "jit", "fx", "optim.swa_utils", "distributed.fsdp",
)  # fmt: skip
# Attributes of torch's classes for its script compiler, or for their own internals.
LACKING = {
    "ScriptModule": {
        "code", "code_with_constants", "forward_magic_method", "get_debug_state", "graph", "graph_for", "inlined_graph", "original_name", "save_to_buffer",
    },
    "DataParallel": {"gather", "parallel_apply", "replicate", "scatter"}, "GraphModule": {"to_folder"},
    "DistributedDataParallel": {"broadcast_buffers", "gather", "scatter", "to_kwargs"}, "FullyShardedDataParallel": {
        "flatten_sharded_optim_state_dict", "rekey_optim_state_dict", "scatter_full_optim_state_dict", "shard_full_optim_state_dict", "sharded_optim_state_dict",
    },
    "GRU": {"forward_impl", "forward_packed", "forward_tensor"}, "LSTM": {"forward_impl", "forward_packed", "forward_tensor"},
}  # fmt: skip
OUR_OWN_ARGUMENTS = {"RecursiveScriptModule", "TopLevelTracedModule", "TracedModule"}  # which torch.jit creates; torch's are its compiler's
OF_CELL = sorted({*dir(mindspore.nn.Cell), *vars(mindspore.nn.Cell())} - {*dir(torch.nn.Module()), *dir(torch.nn.Module)} - {"__bool__", "__del__"})
# Python calls these two by the class only; mstorch's replace those of Cell, which would return True for empty containers.


def classes() -> Iterator[tuple[str, type, type]]:
    """Return torch's Module classes and mstorch's of the same name, if both exist."""
    seen = set()
    for home in HOMES:
        theirs, ours = importlib.import_module(f"torch.{home}"), importlib.import_module(f"mstorch.{home}")
        for name, kind in sorted(vars(theirs).items()):
            if isinstance(kind, type) and issubclass(kind, torch.nn.Module) and kind not in seen:
                own = getattr(ours, name, None)
                if isinstance(own, type) and issubclass(own, mstorch.nn.Module):
                    seen.add(kind)
                    yield f"{home}.{name}", kind, own


CLASSES = list(classes())


def _public(names: Any) -> set[str]:
    return {name for name in names if not name.startswith("_") and name != "npu"}  # npu: torch_npu adds it to torch's


def _lacking(kind: type) -> set[str]:
    return {name for base in kind.__mro__ for name in LACKING.get(base.__name__, ())}


def test_the_classes_are_there() -> None:
    assert len(CLASSES) > 230
    assert {"nn.Linear", "nn.Sequential", "nn.quantized.Linear", "jit.ScriptModule", "fx.GraphModule", "nn.parallel.DistributedDataParallel"} <= {
        name for name, *_ in CLASSES
    }


@pytest.mark.parametrize("_, theirs, ours", CLASSES, ids=[name for name, *_ in CLASSES])
def test_names(_: str, theirs: type, ours: type) -> None:
    assert _public(dir(ours)) == _public(dir(theirs)) - _lacking(theirs)
    assert not [name for name in dir(ours) if name.startswith(("_mstorch_", "_pybind11_"))]
    # Python code can add such names to a class; mstorch's class has the names of Python's protocols that torch's has.
    assert {name for name in dir(ours) if name.startswith("__")} - {name for name in dir(theirs) if name.startswith("__")} <= (
        {"__bool__", "__contains__", "__getitem__", "__iter__", "__len__"} if issubclass(theirs, torch.jit.ScriptModule) else set()
    )
    assert not [name for name in OF_CELL if hasattr(ours, name) and not hasattr(theirs, name)]
    assert not set(OF_CELL) & set(dir(ours)) - set(dir(theirs))
    # A script's class belongs to torch's compiler, and DistributedDataParallel's base is abstract in torch.
    assert type(ours) is type(theirs) or issubclass(theirs, (torch.jit.ScriptModule, torch.nn.parallel.DistributedDataParallel))
    assert not [name for name, value in inspect.getmembers(ours) if name in OF_CELL and not hasattr(theirs, name)]


def _told(function: Any) -> Any:
    parameters = inspect.signature(function).parameters.values()
    return [(one.name, one.kind, getattr(one.default, "__name__", str(one.default))) for one in parameters]


@pytest.mark.parametrize("_, theirs, ours", CLASSES, ids=[name for name, *_ in CLASSES])
def test_signatures(_: str, theirs: Any, ours: Any) -> None:
    if theirs.__name__ not in OUR_OWN_ARGUMENTS:
        assert _told(ours) == _told(theirs)
        assert _told(ours.__init__) == _told(theirs.__init__)
    if not issubclass(theirs, torch.jit.ScriptModule):  # torch cannot return its class
        assert _told(ours.forward) == _told(theirs.forward)


def test_the_base() -> None:
    assert type(mstorch.nn.Module) is type
    assert mstorch.nn.Linear.__bases__ == (mstorch.nn.Module,)
    assert set(dir(mstorch.nn.Module)) - {"npu"} == {name for name in dir(torch.nn.Module) if not name.startswith("___")} - {"npu"}
    assert issubclass(mstorch.nn.Module, mindspore.nn.Cell)
    assert callable(mstorch.nn.Module.trainable_params)  # a user who writes a name of MindSpore's wants it


def test_classes_of_users_may_have_any_metaclass() -> None:
    class Own(type):
        pass

    class Net(mstorch.nn.Module, metaclass=Own):
        pass

    class Abstract(mstorch.nn.Module, abc.ABC):
        @abc.abstractmethod
        def extra(self) -> None: ...

    assert isinstance(Net(), mindspore.nn.Cell) and type(Abstract) is abc.ABCMeta
    with pytest.raises(TypeError, match="abstract"):
        Abstract()


def test_another_metaclass_would_be_in_the_way() -> None:
    class Telling(type):
        def __dir__(cls) -> list[str]:
            return []

    class Module(metaclass=Telling):
        pass

    with pytest.raises(TypeError, match="metaclass conflict"):
        type("Net", (Module, abc.ABC), {})
    with pytest.raises(TypeError, match="deallocator|layout"):
        mstorch.nn.Module.__bases__ = (object,)


@pytest.mark.parametrize("ask", [
    lambda kind: inspect.signature(kind.__init__), lambda kind: inspect.getfullargspec(kind.__init__), lambda kind: typing.get_type_hints(kind),
    lambda kind: inspect.getmembers(kind), inspect.classify_class_attrs, inspect.getdoc, lambda kind: [inspect.getattr_static(kind, name) for name in dir(kind)],
    lambda kind: [inspect.signature(value) for value in vars(kind).values() if inspect.isfunction(value)],
], ids=["signature", "arguments", "types", "members", "attributes", "text", "static", "functions"])  # fmt: skip
def test_who_walks_along_the_line_of_bases(ask: Any) -> None:
    for kind in mstorch.nn.Linear.__mro__:
        ask(kind)
