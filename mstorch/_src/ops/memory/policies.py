"""Tensor subclasses whose sizes and strides are given by their ``__torch_dispatch__`` (``dispatch_sizes_strides_policy``)."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.above import above
from ...core.formats import contiguous_format
from ...core.size import Size
from ...core.tensor_base import TensorBase

_POLICY = "_sizes_strides_policy"
_OF_SIZES, _OF_BOTH = ("sizes",), ("sizes", "strides")
_given: set[type] = set()


def follow_policy(tensor: Any, policy: str | None) -> Any:
    """Make a tensor ask its ``__torch_dispatch__`` for its strides (policy "strides"), or for sizes and strides ("sizes"); return the
    tensor."""
    if policy is None:
        return tensor
    if policy not in _OF_BOTH:
        raise ValueError(f"Unknown sizes_strides_policy: {policy}; expected 'strides' or 'sizes'")
    tensor.__dict__[_POLICY] = policy
    _add_members(type(tensor))
    return tensor


def _add_members(cls: type) -> None:
    """Add the members that call ``__torch_dispatch__`` to a subclass, unless the subclass or a class between it and Tensor defines them."""
    if cls in _given:
        return
    _given.add(cls)
    kinds = cls.__mro__[: cls.__mro__.index(above.torch.Tensor)]
    for name, member in _MEMBERS.items():
        if not any(name in vars(kind) for kind in kinds):
            setattr(cls, name, member)


def _dispatched(tensor: Any, policies: tuple[str, ...], name: str, *args: Any, overload: str = "default") -> Any:
    """Return the result of the class's ``__torch_dispatch__`` for an operator. Return None if the result is NotImplemented, or if the
    tensor's policy is not in ``policies``."""
    if tensor.__dict__.get(_POLICY) not in policies:
        return None
    operator = getattr(getattr(above.torch.ops.aten, name), overload)
    found = type(tensor).__torch_dispatch__(operator, (type(tensor),), (tensor, *args), {})
    return None if found is NotImplemented else found


def _plain(name: str) -> Any:
    return getattr(above.torch.Tensor, name)


def _place(tensor: Any, dim: int) -> int:
    rank = tensor.dim()
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    return dim


def _size(self: TensorBase, dim: int | None = None) -> Any:
    """Return the size, or the length of one dimension, as the class's ``__torch_dispatch__`` answers."""
    if dim is not None:
        dim = _place(self, dim)
    found = _dispatched(self, _OF_SIZES, "sym_size")
    if found is None:
        return _plain("size")(self) if dim is None else _plain("size")(self, dim)
    return Size(found) if dim is None else found[dim]


def _stride(self: TensorBase, dim: int | None = None) -> Any:
    """Return the strides, or the stride of one dimension, as the class's ``__torch_dispatch__`` answers."""
    found = _dispatched(self, _OF_BOTH, "sym_stride")
    if found is None:
        return _plain("stride")(self) if dim is None else _plain("stride")(self, dim)
    return tuple(found) if dim is None else found[dim]


def _number(name: str, operator: str) -> Callable[..., Any]:
    def method(self: TensorBase) -> Any:
        found = _dispatched(self, _OF_SIZES, operator)
        return _plain(name)(self) if found is None else found

    method.__name__, method.__doc__ = name, f"Return what the class answers to ``aten.{operator}``."
    return method


def _is_contiguous(self: TensorBase, memory_format: Any = contiguous_format) -> Any:
    """Return whether the tensor is contiguous in a memory format, as its class's ``__torch_dispatch__`` answers."""
    if memory_format is contiguous_format:
        found = _dispatched(self, _OF_BOTH, "is_contiguous")
    else:
        found = _dispatched(self, _OF_BOTH, "is_contiguous", memory_format, overload="memory_format")
    return _plain("is_contiguous")(self, memory_format=memory_format) if found is None else found


def _length(self: Any) -> int:
    if not self.dim():
        raise TypeError("len() of a 0-d tensor")
    found = _dispatched(self, _OF_SIZES, "sym_size")
    return (_plain("size")(self) if found is None else found)[0]


_dim, _numel = _number("dim", "dim"), _number("numel", "sym_numel")
_MEMBERS: dict[str, Any] = {
    "size": _size, "shape": property(_size), "dim": _dim, "ndimension": _dim, "ndim": property(_dim), "numel": _numel,
    "nelement": _numel, "stride": _stride, "is_contiguous": _is_contiguous, "__len__": _length,
    "storage_offset": _number("storage_offset", "sym_storage_offset"),
}  # fmt: skip
