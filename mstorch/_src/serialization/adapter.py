"""The parts of tensors and storages that files hold, and tensors and storages rebuilt from these parts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mstorch._src.backend import binding
from mstorch._src.core import device as devices
from mstorch._src.core import dtype as dtypes
from mstorch._src.core import formats, tensor_base
from mstorch._src.core.above import above
from mstorch._src.core.cuda_names import meant
from mstorch._src.core.mirrors import Mirror
from mstorch._src.core.overriding import dispatches
from mstorch._src.core.storage import Counter
from mstorch._src.namespace.process import qscheme
from mstorch._src.ops.memory import from_data, subclasses
from mstorch._src.quantized import tensor as quantized_base
from mstorch._src.serialization.loaded import ITEMSIZE, LoadedStorage
from mstorch._src.serialization.options import LOCAL
from mstorch._src.sparse import base as sparse_base
from mstorch._src.tape.mirrored import CLASSES, can_be_lazy, signs_of, with_signs
from mstorch._tensor import Tensor
from mstorch.storage import TypedStorage, UntypedStorage, typed_storage

from ..backend.arrays import Array

_QUANTIZED = frozenset(("qint8", "qint32", "quint8", "quint4x2", "quint2x4"))


def dtype_classes() -> set[type]:
    """Return the classes of dtypes: mstorch.dtype, and the class of dtypes that MindSpore lacks."""
    return {type(kind) for kind in (*dtypes.DTYPES, *dtypes.LACKING)}


def is_exact_tensor(obj: Any) -> bool:
    """Return whether an object is a tensor of no subclass."""
    return type(obj) in CLASSES


def dtype_of(name: str) -> dtypes.dtype:
    """Return the dtype of a torch name. Raise NotImplementedError for one that mstorch lacks."""
    try:
        return dtypes.by_name(name)
    except KeyError:
        raise NotImplementedError(f"mstorch: there is no torch.{name}") from None


def is_readable(name: str) -> bool:
    """Return whether there are storages of a dtype: of all but the quantized ones."""
    return name not in _QUANTIZED


def dtype_name(dtype: Any) -> str:
    """Return torch's name of a dtype, without "torch.". Raise TypeError for other objects."""
    if not isinstance(dtype, dtypes.dtype):
        raise TypeError(f"expected a dtype, got {type(dtype)}")
    return dtype.name


def device_count(kind: str) -> int:
    """Return the number of available devices of a type."""
    here = devices.current()
    if here.type != meant(kind):
        return 0
    return max(1, binding.count())


def sparse_parts(tensor: Any) -> tuple[Any, ...]:
    """Return the saved parts of a sparse tensor, as in torch: its layout, and its indices, values, size (and whether it is coalesced)."""
    parts = (*tensor._index, tensor._values_part.detach(), tensor.shape)
    return tensor.layout, (*parts, tensor._coalesced) if tensor.is_sparse else parts


def build_sparse(kind: str | formats.layout, parts: tuple[Any, ...]) -> Tensor:
    """Rebuild a sparse tensor from its saved parts; its indices are checked when they are used."""
    if not isinstance(kind, formats.layout):
        raise RuntimeError(f"a sparse tensor in the file has {type(kind).__name__} for its layout")
    count = 1 if repr(kind) == "torch.sparse_coo" else 2
    known = kind in sparse_base.WORDS and len(parts) in (count + 2, count + 3)
    if not known or not all(isinstance(part, Tensor) for part in parts[: count + 1]):
        raise RuntimeError(f"a sparse tensor in the file has no such parts as one of {kind!s:.100}")
    size = parts[count + 1]
    if not isinstance(size, (tuple, list)) or not all(type(length) is int for length in size):
        raise RuntimeError("a sparse tensor in the file has a size that is no tuple of integers")
    coalesced = bool(parts[count + 2]) if len(parts) > count + 2 and parts[count + 2] is not None else count == 2
    index, values = parts[:count], parts[count]
    if any(not part.dtype.is_integral for part in index) or any(length < 0 for length in size) or not values.dim():
        raise RuntimeError("a sparse tensor in the file has indices that are no integers, a negative size or a single value")
    return sparse_base.sparse(kind, index, values, size, coalesced)


def nested_parts_of(tensor: Any) -> tuple[str, tuple[Any, ...]]:
    """Return the name of the function that rebuilds a nested tensor, and its arguments. Raise RuntimeError for a tensor that is not a leaf.
    """
    if not tensor.is_leaf:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support pickling")
    return "_rebuild_njt" if repr(tensor.layout) == "torch.jagged" else "_rebuild_nested_tensor", tensor.stored()


def build_strided_nested(buffer: Tensor, *tables: Tensor) -> Tensor:
    """Rebuild a strided nested tensor from its saved buffer and tables."""
    if not all(isinstance(part, Tensor) for part in (buffer, *tables)):
        raise RuntimeError("a nested tensor in the file is not made of tensors")
    return above.nested.strided.restored(buffer, *tables)


def build_jagged_nested(parts: dict[str, Any]) -> Tensor:
    """Rebuild a jagged nested tensor from its saved parts."""
    if not isinstance(parts, dict) or not isinstance(parts.get("values"), Tensor) or not isinstance(parts.get("offsets"), Tensor):
        raise RuntimeError("a nested tensor in the file is not made of tensors")
    return above.nested.nested_tensor._rebuild_njt(parts)


def quantizer_parts(tensor: Any) -> tuple[str, tuple[Any, ...]]:
    """Return torch's name of a quantized tensor's scheme, and the scheme's parameters.

    Per-channel parameters are floating if the zero points are.
    """
    own = tensor._quantizer
    return ("per_tensor_affine", (own.scale, own.point)) if own.axis is None else ("per_channel_affine", (own.scale, own.point, own.axis))


def build_quantized(integers: Tensor, dtype: str, parts: tuple[Any, ...], requires_grad: bool) -> Tensor:
    """Rebuild a quantized tensor from its saved integers and quantizer parameters."""
    if not isinstance(parts, tuple) or not parts or not isinstance(parts[0], qscheme):
        raise RuntimeError("a quantized tensor in the file has no quantizer")
    scheme, rest = parts[0], parts[1:]
    if scheme.name == "per_tensor_affine":
        if len(rest) != 2 or type(rest[0]) is not float or type(rest[1]) is not int:
            raise RuntimeError("a quantized tensor in the file has no scale and zero point that are numbers")
        return quantized_base.quantized(integers, quantized_base.Quantizer(scheme, rest[0], rest[1]), dtype_of(dtype))
    if scheme.name not in ("per_channel_affine", "per_channel_affine_float_qparams"):
        raise RuntimeError(f"Can't deserialize quantized tensor with qscheme {scheme}")
    if len(rest) != 3 or type(rest[2]) is not int or not 0 <= rest[2] < integers.dim():
        raise RuntimeError("a quantized tensor in the file has no channels that it is quantized by")
    shape = (integers.shape[rest[2]],)
    lists = [from_data.tensor(part) if isinstance(part, list) else part for part in rest[:2]]
    if not all(isinstance(part, Tensor) and tuple(part.shape) == shape for part in lists):
        raise RuntimeError("a quantized tensor in the file has other scales and zero points than channels")
    floating = lists[1].dtype.is_floating_point
    own = quantized_base.SCHEMES["per_channel_affine_float_qparams" if floating else "per_channel_affine"]
    kinds = ("float32", "float32") if floating else ("float64", "int64")
    # In the legacy format the bytes follow later; they are copied into the tensors that were already made.
    lists = [part.detach().to(dtype_of(kind)) for part, kind in zip(lists, kinds)]
    return quantized_base.quantized(integers, quantized_base.Quantizer(own, lists[0], lists[1], rest[2]), dtype_of(dtype))


def integers_name(dtype: str) -> str | None:
    """Return the integer dtype in which a quantized dtype is stored; None for a dtype that packs several numbers in a byte."""
    found = quantized_base.INTEGERS.get(dtype_of(dtype))
    return None if found is None else found.name


def layout(name: str) -> Any:
    """Return the layout of a name such as 'torch.strided'. Raise NotImplementedError for one that mstorch lacks."""
    found = getattr(formats, str(name).removeprefix("torch."), None)
    if found is None or type(found).__name__ != "layout":
        raise NotImplementedError(f"mstorch: there is no layout {name!s:.100}")
    return found


def is_own_method(method: Callable[..., Any]) -> bool:
    """Return True if a function or bound method is the attribute of class Tensor with the same name."""
    return getattr(Tensor, method.__name__, None) is method


# From a tensor


@dataclass
class TensorParts:
    """A tensor's description in a file: its storage's cell, shape and strides. ``array`` returns the cell's values."""

    cell: Any
    dtype_name: str
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    requires_grad: bool
    location: str
    array: Callable[[], Array]
    signs: dict[str, bool]  # "conj" and "neg", if the memory holds the conjugates or negatives


def tensor_parts(tensor: Tensor) -> TensorParts:
    """Return the TensorParts of a tensor."""
    cell = tensor._ms_storage.inner if isinstance(tensor._ms_storage, Mirror) else tensor._ms_storage
    return TensorParts(
        cell=cell,
        dtype_name=tensor.dtype.name,
        offset=tensor.storage_offset(),
        size=tuple(tensor.shape),
        stride=(*tensor.stride(),),
        requires_grad=bool(tensor.requires_grad),
        # Equal strings are one object, so that the pickle refers back to the first, as torch's does.
        location=sys.intern(str(tensor.device)),
        array=lambda: cell.memory,
        signs={name: True for name, on in zip(("conj", "neg"), signs_of(tensor)) if on},
    )


def cell_bytes(array: Array) -> Array:
    """Return a contiguous array's memory as bytes."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def has_default_reduce(tensor: Any) -> bool:
    """Return whether mstorch reduces a tensor for pickling; a subclass's own ``__reduce_ex__`` has precedence."""
    kind = type(tensor)
    if kind in CLASSES:
        return True
    base = above.Parameter if isinstance(tensor, above.Parameter) else Tensor
    return kind.__reduce_ex__ is base.__reduce_ex__


# Attributes that mstorch keeps in a tensor's __dict__; gradients and hooks are not saved, as in torch.
_OWN_ATTRIBUTES = frozenset({"_grad", "_hooks", "_post_hooks", "_retains_grad", "_inference", "_count", "_node_name", "_hooked"})


def is_reserved(name: str) -> bool:
    """Return whether an attribute name is reserved by the tensor class or its bookkeeping."""
    return name in _OWN_ATTRIBUTES or hasattr(Tensor, name)


def user_state(tensor: Tensor) -> dict[str, Any] | tuple[dict[Any, Any], dict[Any, Any]] | None:
    """Return the attributes that the user has set on a tensor; None if there are none."""
    kind = type(tensor)
    own = getattr(kind, "__getstate__", None)
    if own is not None and own is not getattr(object, "__getstate__", None):
        return own(tensor)
    found = {name: value for name, value in tensor.__dict__.items() if name not in _OWN_ATTRIBUTES}
    slots = subclasses.slots_of(tensor) if kind is not Tensor else {}
    return (found, slots) if slots else found or None


def keeps_elsewhere(tensor: Tensor) -> bool:
    """Return whether a tensor is a wrapper subclass: it has ``__torch_dispatch__`` and no memory of its own."""
    return subclasses.keeps_elsewhere(tensor) and dispatches(type(tensor))


def build_wrapper(
    kind: type, dtype: dtypes.dtype, size: tuple[int, ...], stride: tuple[int, ...], offset: int, device: devices.device,
    requires_grad: bool
) -> Tensor:
    """Rebuild a tensor of a wrapper subclass."""
    if not (isinstance(kind, type) and issubclass(kind, Tensor)):
        raise RuntimeError(f"a tensor in the file is of class {kind}, which is no subclass of Tensor")
    return Tensor._make_wrapper_subclass(
        kind, size, strides=stride, storage_offset=offset, dtype=dtype, device=device, requires_grad=requires_grad
    )


# To a tensor


def build_tensor(
    storage: LoadedStorage, dtype: str, offset: int, size: Sequence[int], stride: Sequence[int], requires_grad: bool
) -> Tensor:
    """Return a tensor that views a storage; tensors with the same storage and dtype share one base."""
    if storage.device_text == "meta":
        return _view_without_memory(storage, dtype, offset, size, stride, requires_grad)
    base = storage.bases.get(dtype)
    if base is None:
        base = storage.bases[dtype] = _base(storage, dtype, (storage.nbytes() // ITEMSIZE[dtype],))
    tensor = tensor_base.window(base._ms_storage, base._ms_dtype, size, tuple(stride), offset)
    # As in torch, the construction counts as one write, and tensors of one storage have separate version counters.
    tensor._ms_counter = Counter(1)
    return tensor.requires_grad_() if requires_grad else tensor


def _view_without_memory(
    storage: LoadedStorage, dtype: str, offset: int, size: Sequence[int], stride: Sequence[int], requires_grad: bool
) -> Tensor:
    base = storage.bases.get("")  # one for all dtypes
    if base is None:
        base = storage.bases[""] = tensor_base.meta_tensor((storage.nbytes(),), dtype_of("uint8"))
    tensor = tensor_base.window(base._ms_storage, dtype_of(dtype), tuple(size), tuple(stride), offset)
    tensor._ms_counter = Counter(1)
    return tensor.requires_grad_() if requires_grad else tensor


def build_signed(tensor: Tensor, conj: bool, neg: bool) -> Any:
    """Return a view of a rebuilt tensor with conjugate and negative bits; a copy if the bits must be resolved."""
    if can_be_lazy(tensor):
        return with_signs(tensor, conj, neg)
    if LOCAL.values_later:
        raise NotImplementedError("mstorch: conjugates in files of the legacy format cannot be loaded onto a device")
    found = tensor.detach().conj() if conj else tensor.detach()
    return (-found if neg else found).requires_grad_(tensor.requires_grad)


def public_storage(storage: LoadedStorage, dtype: str | None) -> Any:
    """Return a file's storage as a storage of the given dtype; as in torch, untyped bytes are uint8."""
    kind = dtype or "uint8"
    whole = build_tensor(storage, kind, 0, (storage.nbytes() // ITEMSIZE[kind],), (1,), False)
    return typed_storage(whole)


def storage_parts(storage: TypedStorage | UntypedStorage) -> tuple[Any, str, str, Callable[[], Array]]:
    """Return a storage's cell, its saved dtype ("" for untyped), its location tag, and a function that returns its bytes."""
    cell = storage.untyped()._cell
    kind = storage.dtype.name if hasattr(storage, "dtype") else ""
    return cell, kind, sys.intern(str(storage.device)), lambda: cell.memory


def _base(storage: LoadedStorage, dtype: str, size: tuple[int, ...]) -> Tensor:
    """Return a new tensor over all bytes of a storage; on the CPU without a copy."""
    kind = dtype_of(dtype).np
    data = storage.data
    # Archives of other tools may have unaligned records.
    if data.ctypes.data % kind.itemsize or not data.flags.c_contiguous:
        data = data.copy()
    tensor = from_data.made(data[: data.size // kind.itemsize * kind.itemsize].view(kind).reshape(size))
    return tensor if storage.device_text == "cpu" else tensor.to(device=storage.device)


def refresh(storage: LoadedStorage) -> None:
    """Copy the storage's bytes, which have been read since, into the tensors that were already made of the storage."""
    if storage.device_text == "meta":
        return
    for dtype, base in storage.bases.items():
        if storage.device_text == "cpu" and np.may_share_memory(base._ms_storage.memory, storage.data):
            continue  # the tensors are over these bytes
        base.detach().copy_(_base(LoadedStorage(storage.data.copy()), dtype, tuple(base.shape)))


def build_meta(dtype: str, size: Sequence[int], stride: Sequence[int], requires_grad: bool) -> Any:
    """Return a tensor on the meta device."""
    return tensor_base.meta_tensor(tuple(size), dtype_of(dtype), tuple(stride), requires_grad)


def as_class(tensor: Any, kind: type) -> Any:
    """Return a tensor converted to a subclass."""
    if type(tensor) is kind:
        return tensor
    if not isinstance(kind, type) or not issubclass(kind, Tensor):
        raise TypeError(f"{kind} is no class of tensors")
    return tensor.as_subclass(kind)
