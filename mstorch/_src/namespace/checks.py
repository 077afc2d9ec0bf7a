"""torch's assertion functions, which raise if a condition does not hold."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...overrides import handle_torch_function, has_torch_function_unary
from ..core.dtype import bool_
from ..core.overriding import for_maps
from ..core.tensor_base import TensorBase
from ..core.warned import warn
from ..ops.memory.from_data import tensor

_FAILED = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an enhancement request to "
    "PyTorch.)"
)
Message = Callable[[], Any] | None


def _assert(condition: TensorBase | bool, message: str) -> None:
    """Raise AssertionError unless the condition, a bool or a one-element tensor, is true."""
    if not isinstance(condition, TensorBase) and has_torch_function_unary(condition):
        return handle_torch_function(_assert, (condition,), condition, message)
    assert condition, message
    return None


def _of_bools(input: TensorBase) -> TensorBase:
    if input._ms_dtype is not bool_:
        raise RuntimeError("self.scalar_type() == at::kBool INTERNAL ASSERT FAILED")
    return input


@for_maps
def _is_all_true(input: TensorBase) -> TensorBase:
    """Return whether all elements of a bool tensor are true; under ``vmap``, whether they are in all slices."""
    return _of_bools(input).all()


@for_maps
def _is_any_true(input: Any) -> Any:
    """Return whether any element of a bool tensor is true; under ``vmap``, whether one is in any slice."""
    return _of_bools(input).any()


def _assert_async(input: TensorBase, assert_msg: str | None = None) -> None:
    """Raise RuntimeError unless the one-element tensor is true."""
    if not bool(input):
        raise RuntimeError("Expected Tensor with single nonzero value, but got zero" if assert_msg is None else assert_msg)


def _check_with(error_type: type[Exception], cond: TensorBase | int, message: Message = None) -> None:
    """Raise ``error_type`` with the text of ``message()`` unless ``cond`` is true."""
    if not isinstance(cond, bool):
        if isinstance(cond, TensorBase):
            raise TypeError(
                "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert that all "
                "elements are true."
            )
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type(_FAILED)
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _check(cond: TensorBase | int, message: Message = None) -> None:
    """Raise RuntimeError unless ``cond`` is true."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: int, message: Message = None) -> None:
    """Raise IndexError unless ``cond`` is true."""
    _check_with(IndexError, cond, message)


def _check_value(cond: int, message: Message = None) -> None:
    """Raise ValueError unless ``cond`` is true."""
    _check_with(ValueError, cond, message)


def _check_type(cond: int, message: Message = None) -> None:
    """Raise TypeError unless ``cond`` is true."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: int, message: Message = None) -> None:
    """Raise NotImplementedError unless ``cond`` is true."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    """Raise RuntimeError unless the number is a valid length, at most ``max``."""
    warn(
        "_check_is_size will be removed in a future PyTorch release along with guard_size_oblivious.     Use _check(i >= 0) instead.",
        FutureWarning,
    )
    _check_with(RuntimeError, bool(i >= 0), message)
    if max is not None:
        _check_with(RuntimeError, bool(i <= max), message)


def _check_tensor_all_with(error_type: type[Exception], cond: TensorBase | bool, message: Message = None) -> None:
    """Raise ``error_type`` unless all elements of a bool tensor are true."""
    if not isinstance(cond, TensorBase):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype.name != "bool":
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all().item()), message)


def _check_tensor_all(cond: TensorBase | bool, message: Message = None) -> None:
    """Raise RuntimeError unless all elements of a bool tensor are true."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _shape_as_tensor(self: TensorBase) -> TensorBase:
    """Return the shape as an int64 tensor."""
    return tensor(list(self.shape))


def _has_compatible_shallow_copy_type(input: Any, from_: Any) -> bool:
    """Return whether ``input.data = from_`` is allowed: both tensors are strided and have memory, or both have the same other layout or
    device type."""
    return _kind(input) == _kind(from_)


def _kind(tensor: Any) -> tuple[str, bool]:
    return str(tensor.layout), tensor.is_meta
