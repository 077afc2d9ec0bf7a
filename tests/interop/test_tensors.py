"""Tensors of either library as tensors of the other: shared memory, one autograd graph."""
from __future__ import annotations

import mindspore
import numpy as np
import pytest
from mindspore import ops

import mstorch as torch
from mstorch import interop


@pytest.mark.parametrize(
    "name", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
)
def test_dtypes_go_both_ways(name: str) -> None:
    kind = getattr(torch, name)
    tensor = torch.arange(6).reshape(2, 3).to(kind)
    raw = interop.to_mindspore(tensor)
    assert type(raw) is mindspore.Tensor and raw.shape == (2, 3)
    assert raw.dtype == getattr(mindspore, {"bool": "bool_"}.get(name, name))
    back = interop.from_mindspore(raw)
    assert back.dtype is kind and torch.equal(back, tensor)


def test_memory_is_shared() -> None:
    tensor = torch.zeros(4)
    raw = tensor.to_mindspore()
    assert raw.asnumpy().ctypes.data == tensor.data_ptr()
    raw.asnumpy()[1] = 5
    assert tensor.tolist() == [0, 5, 0, 0]
    assert torch.from_mindspore(raw).data_ptr() == tensor.data_ptr()


def test_the_tape_is_shared() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    middle = ops.square((x * 2).to_mindspore())
    torch.from_mindspore(middle).sum().backward()
    assert x.grad.tolist() == [8.0, 16.0, 24.0]


def test_a_function_of_torch_under_mindspores_grad() -> None:
    def function(raw: mindspore.Tensor) -> mindspore.Tensor:
        x = torch.from_mindspore(raw)
        y = x.clone()
        y[0] = y[1] * 3
        return (y**2).sum().to_mindspore()

    raw = mindspore.Tensor(np.array([1.0, 2.0, 3.0], np.float32))
    value, grad = mindspore.value_and_grad(function)(raw)
    assert float(value.asnumpy()) == 49.0 and grad.asnumpy().tolist() == [0.0, 40.0, 6.0]
    z = torch.ones(2, requires_grad=True)
    (z * 3).sum().backward()
    assert z.grad.tolist() == [3.0, 3.0], "torch's own training goes on after MindSpore's"


def test_views_and_scalars() -> None:
    base = torch.arange(6.0).reshape(2, 3)
    assert base.t().to_mindspore().asnumpy().tolist() == base.t().tolist()
    assert base[1, 2].to_mindspore().shape == ()
    parameter = mindspore.Parameter(np.ones(2, np.float32), name="w")
    assert torch.from_mindspore(parameter).requires_grad and not torch.from_mindspore(mindspore.Tensor(1.0)).requires_grad


def test_wrong_arguments() -> None:
    for value in (np.ones(2), [1.0], mindspore.Tensor(1.0)):
        with pytest.raises(TypeError, match="to_mindspore expects a torch.Tensor"):
            interop.to_mindspore(value)
    with pytest.raises(TypeError):
        interop.from_mindspore(np.ones(2))


def test_mindspore_is_not_patched() -> None:
    raw = mindspore.Tensor(np.ones(2, np.float32))
    assert not hasattr(raw, "_ms_storage") and type(raw + 1) is mindspore.Tensor
    assert mindspore.Tensor.__module__ == "mindspore.common.tensor"
