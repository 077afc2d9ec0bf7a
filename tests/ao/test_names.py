"""Names of quantization: old names are the same objects as new ones; a name that is not implemented raises an error that contains it."""
from __future__ import annotations

import importlib
import inspect
import warnings

import pytest
import torch as real_torch

import mstorch
from mstorch._src.unbuilt import is_unbuilt

pytestmark = pytest.mark.filterwarnings("ignore:torch.ao.quantization is deprecated")

OLD = {
    "torch.quantization": "torch.ao.quantization", "torch.quantization.observer": "torch.ao.quantization.observer",
    "torch.quantization.qconfig": "torch.ao.quantization.qconfig", "torch.quantization.fake_quantize": "torch.ao.quantization.fake_quantize",
    "torch.nn.quantized": "torch.ao.nn.quantized", "torch.nn.quantized.dynamic": "torch.ao.nn.quantized.dynamic",
    "torch.nn.qat": "torch.ao.nn.qat", "torch.nn.qat.dynamic": "torch.ao.nn.qat.dynamic", "torch.nn.intrinsic": "torch.ao.nn.intrinsic",
    "torch.nn.intrinsic.qat": "torch.ao.nn.intrinsic.qat", "torch.nn.intrinsic.quantized": "torch.ao.nn.intrinsic.quantized",
    "torch.nn.quantized.modules.linear": "torch.ao.nn.quantized.modules.linear", "torch.nn.quantizable": "torch.ao.nn.quantizable",
}  # fmt: skip


def ours(name: str) -> object:
    return importlib.import_module("mstorch" + name.removeprefix("torch"))


@pytest.mark.parametrize("old", OLD)
def test_old_names_are_the_same_objects(old: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = importlib.import_module(old)
    public = [name for name in getattr(theirs, "__all__", dir(theirs)) if not name.startswith("_")]
    for name in public:
        if inspect.ismodule(getattr(theirs, name, None)) or not hasattr(theirs, name):
            continue
        assert hasattr(ours(old), name), f"{old}.{name}"
        assert getattr(ours(old), name) is getattr(ours(OLD[old]), name), name


def test_names_of_torch_are_there() -> None:
    """Each public name of torch is implemented, or is a placeholder."""
    missing = []
    for module in set(OLD.values()):
        theirs = importlib.import_module(module)
        for name in getattr(theirs, "__all__", ()):
            if hasattr(theirs, name) and not hasattr(ours(module), name):
                missing.append(f"{module}.{name}")
    assert not missing


UNBUILT = ["QConfigMapping", "get_default_qconfig_mapping", "prepare_jit", "quantize_jit", "PerGroup"]


@pytest.mark.parametrize("name", UNBUILT)
def test_what_is_not_built_raises_by_name(name: str) -> None:
    found = getattr(mstorch.ao.quantization, name)
    assert is_unbuilt(found) and hasattr(real_torch.ao.quantization, name)
    with pytest.raises(NotImplementedError, match=name):
        found()


@pytest.mark.parametrize("name", ["prepare_fx", "convert_fx", "prepare_qat_fx", "fuse_fx"])
def test_graphs_are_not_quantized(name: str) -> None:
    for module in ("mstorch.ao.quantization.quantize_fx", "mstorch.quantization.quantize_fx"):
        with pytest.raises(NotImplementedError, match=name):
            getattr(importlib.import_module(module), name)(mstorch.nn.Linear(1, 1))


LAYERS = ["LayerNorm", "GroupNorm", "Embedding", "ELU", "ConvTranspose2d"]


@pytest.mark.parametrize("name", LAYERS)
def test_layers_that_are_not_built_raise_by_name(name: str) -> None:
    given = {"LayerNorm": (4,), "GroupNorm": (2, 4), "Embedding": (3, 4), "ELU": (), "ConvTranspose2d": (2, 2, 1)}[name]
    q = mstorch.ao.quantization
    model = mstorch.nn.Sequential(getattr(mstorch.nn, name)(*given)).eval()
    model.qconfig = q.default_qconfig
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        prepared = q.prepare(model)
        with pytest.raises(NotImplementedError, match=f"quantized.{name}|quantized.modules.{name}"):
            q.convert(prepared)


def test_layers_inside_of_layers_raise_by_name() -> None:
    for layer, name in ((mstorch.nn.LSTM(2, 2), "LSTM"), (mstorch.nn.MultiheadAttention(4, 2), "MultiheadAttention")):
        model = mstorch.nn.Sequential(layer)
        model.qconfig = mstorch.ao.quantization.default_qconfig
        with pytest.raises(NotImplementedError, match=f"quantizable.{name}"):
            mstorch.ao.quantization.prepare(model)


def test_embeddings_alone_raise_by_name() -> None:
    with pytest.raises(NotImplementedError, match="Embedding"):
        mstorch.ao.quantization.quantize_dynamic(mstorch.nn.Sequential(mstorch.nn.Embedding(3, 4)), dtype=mstorch.quint8)
    with pytest.raises(NotImplementedError, match="reference"):
        mstorch.ao.quantization.convert(mstorch.nn.Sequential(mstorch.nn.Linear(1, 1)), is_reference=True)
