"""dtypes, promotion, devices and sizes are torch's."""
from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch as real_torch

import mstorch

pytestmark = pytest.mark.core

NAMES = (
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128"
).split()


@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name: str) -> None:
    want, got = getattr(real_torch, name), getattr(mstorch, name)
    assert repr(want) == repr(got) == str(got)
    for attribute in ("itemsize", "is_floating_point", "is_complex", "is_signed"):
        assert getattr(want, attribute) == getattr(got, attribute)
    assert pickle.loads(pickle.dumps(got)) is got and copy.deepcopy(got) is got and {got: 1}[got] == 1


def test_aliases() -> None:
    for alias, name in {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32",
                        "short": "int16", "cfloat": "complex64", "cdouble": "complex128"}.items():  # fmt: skip
        assert getattr(mstorch, alias) is getattr(mstorch, name)


@pytest.mark.parametrize("name", [n for n in NAMES if "float" in n or "complex" in n])
def test_finfo(name: str) -> None:
    want, got = real_torch.finfo(getattr(real_torch, name)), mstorch.finfo(getattr(mstorch, name))
    for attribute in "bits eps max min tiny smallest_normal resolution dtype".split():
        assert getattr(want, attribute) == getattr(got, attribute), attribute


@pytest.mark.parametrize("name", [n for n in NAMES if "int" in n])
def test_iinfo(name: str) -> None:
    want, got = real_torch.iinfo(getattr(real_torch, name)), mstorch.iinfo(getattr(mstorch, name))
    assert repr(want) == repr(got)
    assert (want.bits, want.min, want.max, want.dtype) == (got.bits, got.min, got.max, got.dtype)


def test_info_errors(both: Callable[..., Any]) -> None:
    both(lambda torch: torch.finfo(torch.int32), message="requires a floating point input type")
    both(lambda torch: torch.iinfo(torch.float32), message="requires an integer input type")


@pytest.mark.parametrize(("first", "second"), list(itertools.product(NAMES, NAMES)))
def test_promote_types(first: str, second: str) -> None:
    try:
        want = str(real_torch.promote_types(getattr(real_torch, first), getattr(real_torch, second)))
    except RuntimeError:
        with pytest.raises(RuntimeError):
            mstorch.promote_types(getattr(mstorch, first), getattr(mstorch, second))
        return
    assert str(mstorch.promote_types(getattr(mstorch, first), getattr(mstorch, second))) == want
    assert mstorch.can_cast(getattr(mstorch, first), getattr(mstorch, second)) == real_torch.can_cast(
        getattr(real_torch, first), getattr(real_torch, second)
    )


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("uint16", "uint32", "uint64")])
@pytest.mark.parametrize("other", ["True", "2", "2.5", "2j", "torch.tensor(3)", "torch.tensor(2.5)",
                                   "torch.tensor(2.5, dtype=torch.float64)", "torch.tensor([2.5])", "torch.tensor(True)"])  # fmt: skip
@pytest.mark.parametrize("shape", [(), (2,)])
def test_result_type(both: Callable[..., Any], name: str, other: str, shape: tuple[int, ...]) -> None:
    if name == "float16" and other == "2j":
        pytest.skip("complex32, which MindSpore cannot hold")
    both(lambda torch: torch.result_type(torch.zeros(shape, dtype=getattr(torch, name)), eval(other, {"torch": torch})))


def test_default_dtype() -> None:
    try:
        mstorch.set_default_dtype(mstorch.float64)
        assert mstorch.tensor(1.5).dtype is mstorch.float64 and mstorch.zeros(1).dtype is mstorch.float64
        assert (mstorch.tensor([1, 2]) * 1.5).dtype is mstorch.float64
    finally:
        mstorch.set_default_dtype(mstorch.float32)
    with pytest.raises(TypeError, match="only floating-point types are supported as the default type"):
        mstorch.set_default_dtype(mstorch.int32)


@pytest.mark.parametrize("text", ["cpu", "cuda", "cuda:0", "cuda:1", "cpu:0", "meta", "mps"])
def test_devices(text: str) -> None:
    want, got = real_torch.device(text), mstorch.device(text)
    assert (repr(want), str(want), want.type, want.index) == (repr(got), str(got), got.type, got.index)
    assert got == mstorch.device(got) and hash(got) == hash(mstorch.device(text))
    assert pickle.loads(pickle.dumps(got)) == got


@pytest.mark.parametrize("text", ["cudaa", "cuda:", "cuda:-1", "cuda:01", "cuda:x", "", "cuda:0:1"])
def test_device_errors(text: str) -> None:
    with pytest.raises(RuntimeError):
        real_torch.device(text)
    with pytest.raises(RuntimeError):
        mstorch.device(text)


def test_a_device_that_is_not_there(both: Callable[..., Any]) -> None:
    if mstorch.device("cpu") != mstorch.zeros(1).device:
        pytest.skip("an accelerator is there")
    both(lambda torch: torch.zeros(2, device="cuda"), message="Torch not compiled with CUDA enabled")
    both(lambda torch: torch.zeros(2).cuda(), message="Torch not compiled with CUDA enabled")
    both(lambda torch: torch.zeros(2).to("cuda:0"), message="Torch not compiled with CUDA enabled")


def test_size(both: Callable[..., Any]) -> None:
    def body(torch: Any) -> Any:
        size = torch.zeros(2, 3, 4).shape
        parts = [size, size[0], size[1:], size + (5,), (1,) + size, size * 2, size.numel(), torch.Size([1]), torch.Size()]
        return [str(part) for part in parts], [type(part).__name__ for part in parts], size == (2, 3, 4), list(size)

    both(body)
    both(lambda torch: torch.Size([1.5]), message="torch.Size() takes an iterable of 'int'")
    size = mstorch.Size([2, 3])
    assert pickle.loads(pickle.dumps(size)) == size and type(copy.copy(size)) is mstorch.Size


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", NAMES)
def test_conversions(both: Callable[..., Any], source: str, target: str) -> None:
    def body(torch: Any) -> Any:
        values = torch.tensor([0, 1, 2, 100]).to(getattr(torch, source))
        return values.to(getattr(torch, target))

    both(body)


def test_conversions_of_nan_and_out_of_range(both: Callable[..., Any]) -> None:
    for name in ("int32", "int64", "uint8", "bool", "float16", "bfloat16"):
        both(lambda torch, name=name: torch.tensor([float("nan"), float("inf"), -1.5, 300.7]).to(getattr(torch, name)))


def test_named_conversions(both: Callable[..., Any]) -> None:
    for name in "float double half bfloat16 int long short char byte bool".split():
        both(lambda torch, name=name: getattr(torch.tensor([0, 1, 2]), name)())
    both(lambda torch: torch.tensor([1.5]).type(torch.int32))
    both(lambda torch: torch.tensor([1.5]).type("torch.DoubleTensor"))
    both(lambda torch: [torch.zeros(1, dtype=getattr(torch, n)).type() for n in ("float32", "int64", "bool", "float16")])
    both(lambda torch: torch.tensor([1.5]).type_as(torch.tensor([1])))


@pytest.mark.on_the_cpu
def test_to_returns_self_without_a_change() -> None:
    tensor = mstorch.zeros(2)
    assert tensor.to(mstorch.float32) is tensor and tensor.to("cpu") is tensor and tensor.float() is tensor
    assert tensor.to(mstorch.float32, copy=True) is not tensor and tensor.to(tensor) is tensor
    assert tensor.to(device="cpu", dtype=mstorch.float64).dtype is mstorch.float64


TYPED = ["3", "[1]", "None", "int", "len", "object()", "torch.ones(1).half()", "torch.nn.Linear", "torch.nn.Linear(1, 1)", "torch.nn.functional.relu",
         "torch.ones(1).to_sparse()", "torch.nn", "torch.optim.SGD"]  # fmt: skip


@pytest.mark.parametrize("value", TYPED)
def test_names_of_types(both, value):
    both(lambda torch: torch.typename(eval(value, {"torch": torch})))


def test_parts_of_a_narrowed_nested_tensor_are_a_tuple(both):
    def body(torch):
        made = torch.nested.narrow(torch.ones(2, 6), 1, torch.tensor([0, 1]), torch.tensor([2, 3]), layout=torch.jagged)
        return type(made.unbind()).__name__

    both(body)
