"""The rebuild functions that torch's files call, under torch's names."""

from __future__ import annotations

import math
from typing import Any

from mstorch._src.core.above import above
from mstorch._src.core.device import device as device_class
from mstorch._src.core.strides import beyond_storage
from mstorch._src.ops.memory.from_data import from_numpy
from mstorch._src.serialization import adapter
from mstorch._src.serialization.loaded import ITEMSIZE, TypedRef, brief
from mstorch._src.serialization.options import LOCAL

from ..._tensor import Tensor

# Maximum number of bytes of an expanded tensor of a file.
_MAX_EXPANDED = 1 << 32


def _integers(values: tuple[int, ...], what: str) -> tuple[int, ...]:
    if not isinstance(values, (tuple, list)) or not all(type(value) is int for value in values):
        raise RuntimeError(f"the {what} of a tensor in the file is not a tuple of integers: {brief(values)}")
    return tuple(values)


def _check(
    ref: TypedRef, dtype_name: str, offset: int, size: tuple[int, ...], stride: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return size and stride as tuples of ints. Raise RuntimeError unless they are valid and the tensor lies within its storage: the
    numbers come from a file."""
    if type(ref) is not TypedRef:
        raise RuntimeError(f"a tensor in the file has no storage but {type(ref)}")
    size, stride = _integers(size, "size"), _integers(stride, "stride")
    if len(size) != len(stride):
        raise RuntimeError(f"unequal size length ({len(size)}) and stride length ({len(stride)})")
    if type(offset) is not int or offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if any(length < 0 for length in size) or any(step < 0 for step in stride):
        raise RuntimeError(f"a tensor in the file has a negative size or stride: {size}, {stride}")
    itemsize = ITEMSIZE[dtype_name]
    last = -1 if 0 in size else offset + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    if (last + 1) * itemsize > ref.storage.nbytes():
        raise beyond_storage(size, stride, offset, itemsize, ref.storage.nbytes())
    # With stride 0 a small file can claim any size. torch does not allocate those elements, but MindSpore does.
    if math.prod(size) * itemsize > max(ref.storage.nbytes(), _MAX_EXPANDED):
        raise RuntimeError(
            f"numel: integer multiplication overflow, or more than mstorch holds: sizes {list(size)}, strides {list(stride)} "
            f"on a storage of {ref.storage.nbytes()} bytes"
        )
    return size, stride


def _make(
    ref: TypedRef, dtype_name: str | None, offset: int, size: tuple[int, ...], stride: tuple[int, ...], requires_grad: bool,
    metadata: dict[Any, Any] | None
) -> Tensor:
    if dtype_name is None:
        dtype_name = "uint8"
    size, stride = _check(ref, dtype_name, offset, size, stride)
    if dtype_name.startswith("q"):
        raise RuntimeError(f"a tensor of torch.{dtype_name} in the file says nothing of how it is quantized")
    if metadata:
        if not isinstance(metadata, dict):
            raise RuntimeError(f"the metadata of a tensor in the file is {type(metadata)}, expected dict")
    try:
        made = adapter.build_tensor(ref.storage, dtype_name, offset, size, stride, bool(requires_grad))
    except (TypeError, ValueError) as error:
        # The file is valid here, so that this must not be reported as a malformed pickle.
        raise RuntimeError(f"a tensor of torch.{dtype_name} with size {list(size)} and stride {list(stride)} cannot be "
                           f"made on {ref.storage.device_text}: {error}") from error  # fmt: skip
    return adapter.build_signed(made, bool(metadata.get("conj")), bool(metadata.get("neg"))) if metadata else made


def strided(
    ref: TypedRef, dtype_name: str, offset: int, size: tuple[int, ...], stride: tuple[int, ...], requires_grad: bool
) -> Tensor:
    """Return a tensor over a file's storage. Raise RuntimeError unless it lies within the storage."""
    return _make(ref, dtype_name, offset, size, stride, requires_grad, None)


def _referred(storage: Any) -> TypedRef:
    """Return the reference behind an mstorch storage, or the argument itself."""
    return getattr(storage, "in_file", storage)


def _rebuild_tensor(storage, storage_offset, size, stride):
    """Rebuild a tensor from a storage."""
    storage = _referred(storage)
    return _make(storage, getattr(storage, "dtype_name", None), storage_offset, size, stride, False, None)


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    """Rebuild a tensor from a storage, with its ``requires_grad``; hooks are no longer saved and are ignored."""
    storage = _referred(storage)
    return _make(storage, getattr(storage, "dtype_name", None), storage_offset, size, stride, requires_grad, metadata)


def _rebuild_tensor_v3(storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None):
    """Rebuild a tensor from an untyped storage."""
    return _make(_referred(storage), adapter.dtype_name(dtype), storage_offset, size, stride, requires_grad, metadata)


def _rebuild_npu_tensor(storage, storage_offset, size, stride, requires_grad, backward_hooks, npu_storage_info):
    """Rebuild a tensor from a storage at its location, by default the CPU."""
    return _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks)


def _rebuild_parameter(data, requires_grad, backward_hooks):
    """Rebuild a Parameter from a tensor."""
    return above.Parameter(data, bool(requires_grad))


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    """Rebuild a Parameter from a tensor, with the attributes that the user had set on it."""
    return _set_state(above.Parameter(data, bool(requires_grad)), state)


def _rebuild_from_type_v2(func, new_type, args, state):
    """Rebuild a tensor subclass, or a tensor with user attributes."""
    if func is _rebuild_njt or func is above.nested.nested_tensor._rebuild_njt:
        return func(*args)  # its attributes are the constructor's arguments
    if func not in FUNCTIONS.values():
        raise RuntimeError(f"a tensor in the file is made by {brief(func)}, which makes no tensors")
    return _set_state(adapter.as_class(func(*args), new_type), state)


def _set_state(tensor: Tensor, state: Any) -> Tensor:
    custom = getattr(type(tensor), "__setstate__", None)
    if custom is not None and not adapter.is_own_method(custom):
        tensor.__setstate__(state)
        return tensor
    parts = state if isinstance(state, tuple) else (state, None)
    if len(parts) != 2:
        raise RuntimeError(f"Invalid serialized state: {brief(state)}")
    for attributes in parts:
        for name, value in (attributes or {}).items():
            # A tensor's geometry is in attributes too; a file that sets them could read any memory.
            if not isinstance(name, str) or adapter.is_reserved(name):
                raise RuntimeError(f"Invalid serialized state: a tensor's attribute cannot be named {brief(name)}")
            setattr(tensor, name, value)
    return tensor


def _rebuild_wrapper_subclass(cls, dtype, size, stride, storage_offset, layout, device, requires_grad):
    """Rebuild a tensor of a wrapper subclass."""
    geometry = _integers(size, "size"), _integers(stride, "stride"), storage_offset
    return adapter.build_wrapper(cls, dtype, *geometry, device, bool(requires_grad))


def _rebuild_sparse_tensor(layout, data):
    """Rebuild a sparse tensor from its indices, values and size."""
    return adapter.build_sparse(layout, tuple(data))


def _rebuild_qtensor(storage, storage_offset, size, stride, quantizer_params, requires_grad, backward_hooks):
    """Rebuild a quantized tensor from a storage of integers, with per-tensor or per-channel scale and zero point."""
    storage = _referred(storage)
    dtype_name = getattr(storage, "dtype_name", None)
    if dtype_name is None or not dtype_name.startswith("q"):
        raise RuntimeError(f"a quantized tensor in the file has a storage of {dtype_name}")
    integers = adapter.integers_name(dtype_name)
    if integers is None:
        raise NotImplementedError(f"mstorch: a tensor of torch.{dtype_name}, which packs several elements in a byte, cannot be loaded")
    made = _make(storage, integers, storage_offset, size, stride, False, None)
    return adapter.build_quantized(made, dtype_name, quantizer_params, bool(requires_grad))


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    """Rebuild a tensor on the meta device."""
    return adapter.build_meta(
        adapter.dtype_name(dtype), _integers(size, "size"), _integers(stride, "stride"), bool(requires_grad)
    )


def _rebuild_device_tensor_from_cpu_tensor(data, dtype, device, requires_grad):
    """Rebuild a tensor of a device without storages from its copy on the CPU."""
    return _on_device(data, dtype, device, requires_grad)


def _rebuild_device_tensor_from_numpy(data, dtype, device, requires_grad):
    """Rebuild a tensor of a device without storages from a NumPy array."""
    return _on_device(from_numpy(data), dtype, device, requires_grad)


def _on_device(data: Any, dtype: Any, device: Any, requires_grad: Any) -> Any:
    wanted = LOCAL.map_location
    if isinstance(wanted, dict):
        device = wanted.get(device, device)
    elif isinstance(wanted, str) or isinstance(wanted, device_class):
        device = str(wanted)
    elif wanted is not None:
        raise RuntimeError("Callable map_location not supported with a tensor of a device without storages")
    return data.to(device=device_class(device), dtype=dtype).requires_grad_(bool(requires_grad))


def _rebuild_nested_tensor(buffer, sizes, strides, storage_offsets):
    """Rebuild a strided nested tensor from its buffer and tables."""
    return adapter.build_strided_nested(buffer, sizes, strides, storage_offsets)


def _rebuild_njt(constructor_kwargs):
    """Rebuild a jagged nested tensor from its values, offsets and lengths."""
    return adapter.build_jagged_nested(constructor_kwargs)


class DimRange:
    """Annotation that torch's compiler attaches to tensors for a dimension; it has no effect."""

    __slots__ = ("noted",)

    def __setstate__(self, state: list[int | None]) -> None:
        self.noted = state


_NESTED = "torch.nested._internal.nested_tensor"
HOMES = {"_rebuild_from_type_v2": "torch._tensor", "_rebuild_njt": _NESTED}
"""torch's modules of the functions that are not in ``torch._utils``."""
CLASSES = {
    f"{_NESTED}.NestedTensor": lambda: above.nested.nested_tensor.NestedTensor, "torch._dynamo.decorators._DimRange": lambda: DimRange,
}  # fmt: skip
"""Functions that return a class, by the class's name in a file."""


FUNCTIONS = {
    function.__name__: function
    for function in (
        _rebuild_tensor,
        _rebuild_tensor_v2,
        _rebuild_tensor_v3,
        _rebuild_parameter,
        _rebuild_parameter_with_state,
        _rebuild_from_type_v2,
        _rebuild_meta_tensor_no_storage,
        _rebuild_device_tensor_from_cpu_tensor,
        _rebuild_device_tensor_from_numpy,
        _rebuild_sparse_tensor,
        _rebuild_qtensor,
        _rebuild_nested_tensor,
        _rebuild_njt,
        _rebuild_wrapper_subclass,
    )
}
# Files of torch_npu contain it; the last argument is a memory format, which the kernels choose.
OF_NPU = {"torch_npu.utils.storage": {"_rebuild_npu_tensor": _rebuild_npu_tensor}}
FUNCTIONS["_rebuild_xla_tensor"] = _rebuild_device_tensor_from_numpy
