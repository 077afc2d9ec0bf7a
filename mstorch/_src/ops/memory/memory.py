"""Methods of Tensor for its memory, device and autograd state, most of them rarely used."""
from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...backend.arrays import Array, Number
from ...backend.cast import numpy_cast
from ...backend.errors import wrong_type
from ...backend.geometry import flat_index
from ...backend.streams import keep_for
from ...core import device as devices
from ...core.above import above
from ...core.call_forms import combination
from ...core.device import device
from ...core.dlpack import CPU, capsule_of
from ...core.dtype import dtype, int16
from ...core.formats import channels_last, channels_last_3d, contiguous_format, memory_format
from ...core.public_names import IN_PYTHON
from ...core.size import Size
from ...core.strides import overlaps
from ...core.tensor_base import TensorBase, is_tracked, put_array, strides_of
from ...core.tensor_base import array_of as memory_of
from ...core.warned import warn
from ...core.writable import check_history, refuse_inference
from ...tape.moving import beside
from ...tape.ways import ways
from ...tape.writes import review
from .._deprecated import warn_of_storage
from .._dispatch import cpp_word, shape_args, type_word
from .._forms import Forms
from .._operation import operation
from ..shape import views
from .copying import is_contiguous
from .creation import empty
from .from_data import array_of, made
from .grad_dtype import grad_dtype

if TYPE_CHECKING:
    from ....storage import TypedStorage, UntypedStorage, _LegacyStorageMeta


def untyped_storage(self: TensorBase) -> UntypedStorage:
    """Return the tensor's memory as an UntypedStorage that shares it."""
    return above.storages.untyped_storage(self)


def storage(self: TensorBase) -> TypedStorage:
    """Return the tensor's memory as a TypedStorage of its dtype that shares it."""
    warn_of_storage()
    return above.storages.typed_storage(self)


def _typed_storage(self: TensorBase) -> Any:
    """Return ``storage()`` without a warning, for torch's own code and packages."""
    return above.storages.typed_storage(self)


def storage_type(self: TensorBase) -> _LegacyStorageMeta:
    """Return the class of the tensor's storage: ``FloatStorage`` for float32."""
    return getattr(above.storages, f"{type_word(self._ms_dtype)}Storage", above.storages.TypedStorage)


def is_shared(self: TensorBase) -> bool:
    """Return whether the memory is shared between processes."""
    return untyped_storage(self).is_shared()


def share_memory_(self: TensorBase) -> TensorBase:
    """Move the memory to shared memory, so that processes that receive the tensor share it; return the tensor."""
    untyped_storage(self).share_memory_()
    return self


def is_pinned(self: TensorBase, device: device | str | int | None = None) -> bool:
    """Return False: memory is never page-locked."""
    return False


def pin_memory(self: Any, device: int | str | device | None = None) -> TensorBase:
    """Return the tensor in page-locked memory. Raise RuntimeError without an accelerator."""
    if not devices.accelerator_is():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return self


def const_data_ptr(self: Any) -> int:
    """Return the address of the first element (CPU)."""
    return self.data_ptr()


def dim_order(self: TensorBase, *, ambiguity_check: bool | list[memory_format] = False) -> tuple[int, ...]:
    """Return the dimensions from the outermost to the innermost in memory.

    ``ambiguity_check`` raises RuntimeError if other orders are possible: True, or a list of memory formats to distinguish.
    """
    formats = ambiguity_check
    if not isinstance(formats, bool) and (
        not isinstance(formats, list) or not all(isinstance(item, memory_format) for item in formats)
    ):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    shape, strides = self._ms_shape, strides_of(self)
    if formats is not False:
        if formats is True:
            ambiguous = _several_orders(shape, strides)
        else:
            ambiguous = sum(is_contiguous(self, memory_format=item) for item in formats if _has_rank(item, len(shape))) != 1
        if ambiguous:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
            )
    order = list(range(len(shape)))
    for i in range(1, len(order)):
        j = i
        while j and 0 < strides[order[j - 1]] < strides[order[j]]:
            order[j - 1], order[j] = order[j], order[j - 1]
            j -= 1
    return tuple(order)


def _has_rank(item: Any, rank: int) -> bool:
    return item is contiguous_format or (item is channels_last and rank == 4) or (item is channels_last_3d and rank == 5)


def _several_orders(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    return any(length == 1 for length in shape) or len(set(strides)) != len(strides)


def _deprecated(name: str) -> None:
    warn(f"non-inplace {name} is deprecated")


def resize(self: TensorBase, *sizes: int) -> TensorBase:
    """Return the elements reshaped. Deprecated in torch in favour of ``reshape``."""
    _deprecated("resize")
    return _resized(self, shape_args(sizes))


def resize_as(self: Any, tensor: Any) -> TensorBase:
    """Return the elements in the shape of ``tensor``. Deprecated in torch."""
    _deprecated("resize_as")
    return _resized(self, tensor._ms_shape)


def _resized(self: TensorBase, wanted: tuple[int, ...]) -> TensorBase:
    own = self._ms_shape
    if math.prod(wanted) != self.numel():
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, wanted))} ({math.prod(wanted)} elements in total), but the given tensor "
            f"has a size of {'x'.join(map(str, own))} ({self.numel()} elements). autograd's resize can only change the shape of a "
            "given tensor, while preserving the number of elements. "
        )
    return views.reshape(self.contiguous(), wanted)


def expect_dtype(kind: dtype, given: TensorBase) -> None:
    """Raise torch's TypeError unless a tensor passed to a legacy constructor has the dtype."""
    if given._ms_dtype is not kind:
        text = (
            "TensorOptions(dtype={}, device=cpu, layout=Strided, requires_grad=false (default), pinned_memory=false (default), "
            "memory_format=(nullopt))"
        )
        raise TypeError(f"expected {text.format(cpp_word(kind))} (got {text.format(cpp_word(given._ms_dtype))})")


def new(self: TensorBase, *args: Any, device: device | str | int | None = None, **named: Any) -> TensorBase:
    """Return a tensor of the same dtype: of a size, of the values in a sequence, of a storage, or empty. Old form of ``new_*``."""
    if named:
        if args or len(named) > 1 or not named.keys() <= {"size", "data", "other", "storage"}:
            raise TypeError(combination("new", args, named, ()))
        args = (Size(named["size"]),) if "size" in named else tuple(named.values())
    devices.resolve(device)
    if len(args) == 1 and isinstance(args[0], TensorBase):
        if device is not None:
            raise RuntimeError(
                "Legacy tensor new of the form tensor.new(tensor, device=device) is not supported.  Use torch.as_tensor(...) instead."
            )
        expect_dtype(self._ms_dtype, args[0])
        return views.alias(args[0])
    if len(args) == 1 and hasattr(args[0], "untyped"):
        return above.storages.tensor_over(args[0], self._ms_dtype)
    if len(args) == 1 and not isinstance(args[0], (int, Size)):
        return beside(made(array_of(args[0], self._ms_dtype)), self)
    return empty(*(args or (0,)), dtype=self._ms_dtype, device=self.device)


def _integer(value: Number | str | None, kind: dtype) -> int:
    """Return a number converted to an integer dtype; as in torch, an unsigned dtype also accepts negative numbers down to minus its
    maximum.
    """
    if isinstance(value, (str, complex)) or value is None:
        raise wrong_type(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    found, limits = int(value), np.iinfo(kind.np)
    if not -(1 << 63) <= found < 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    if not (limits.min or -limits.max) <= found <= limits.max:
        raise RuntimeError(f"value cannot be converted to type {kind.name} without overflow")
    return found


def _elementwise(self: TensorBase, name: str, function: Callable[..., Any], others: tuple[Any, ...]) -> TensorBase:
    if is_tracked(self) or any(is_tracked(other) for other in others):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    for place, other in zip(("other",) if len(others) == 1 else ("x", "y"), others):
        if not isinstance(other, TensorBase):
            raise TypeError(f"{name}(): argument '{place}' (position 1) must be Tensor, not {type(other).__name__}")
        if other._ms_dtype is not self._ms_dtype:
            raise TypeError(f"{name}: expected {self.type()} for '{place}' (got {other.type()})")
    shape = self._ms_shape
    columns = [views.expand(other, shape).flatten().tolist() if shape else [other.item()] for other in (self, *others)]
    if self._ms_stride is not None and overlaps(shape, self._ms_stride):
        array = _one_after_another(self, function, columns)
    else:
        array = _as_elements([function(*row) for row in zip(*columns)], self._ms_dtype).reshape(shape)
    # As in torch, overlapping elements are not checked and the version is not incremented.
    version = self._ms_counter.version
    put_array(self, array)
    self._ms_counter.version = version
    return self


def _one_after_another(self: TensorBase, function: Callable[..., Any], columns: list[list[Any]]) -> Array:
    """Return the elements after calls in order, each of which reads what the one before has written to the same memory."""
    assert self._ms_stride is not None
    places = flat_index(self._ms_shape, self._ms_stride, 0).reshape(-1).tolist()
    memory = dict(zip(places, columns[0]))
    for place, rest in zip(places, zip(*columns[1:]) if columns[1:] else itertools.repeat(())):
        memory[place] = _as_elements([function(memory[place], *rest)], self._ms_dtype).tolist()[0]
    return _as_elements([memory[place] for place in places], self._ms_dtype).reshape(self._ms_shape)


def _as_elements(values: list[Any], kind: dtype) -> Array:
    """Return numbers that a Python function returned as an array of a dtype."""
    if kind.is_integral:
        values = [bool(value) if kind.category == 0 else _integer(value, kind) for value in values]
    else:
        values = [complex(value) if kind.is_complex else _real(value) for value in values]
    plain = {0: np.bool_, 1: np.int64, 2: np.float64, 3: np.complex128}[kind.category]
    return numpy_cast(np.array(values, plain), kind.np)


def _real(value: Number | str | bytes) -> float:
    if isinstance(value, (str, bytes, complex)):
        raise wrong_type(f"must be real number, not {type(value).__name__}")
    return float(value)


def apply_(self: TensorBase, callable: Callable[[Any], Any]) -> TensorBase:
    """Replace each element by the result of a Python function; return the tensor. Slow."""
    return _elementwise(self, "apply_", callable, ())


def map_(self: TensorBase, other: TensorBase, callable: Callable[[Any, Any], Any]) -> TensorBase:
    """Replace each element by the result of a Python function, called with the element and that of ``other``; return the tensor. Slow."""
    return _elementwise(self, "map_", callable, (other,))


def map2_(self: TensorBase, x: TensorBase, y: TensorBase, callable: Callable[[Any, Any, Any], Any]) -> TensorBase:
    """Replace each element by the result of a Python function, called with the element and those of ``x`` and ``y``; return the tensor.
    Slow.
    """
    return _elementwise(self, "map2_", callable, (x, y))


def module_load(self: Any, other: TensorBase, assign: bool = False) -> TensorBase:
    """Return the tensor that replaces this one in ``load_state_dict``: ``other``, detached, if ``assign``; else this tensor after the
    values of ``other`` were copied into it."""
    return other.detach() if assign else self.copy_(other).detach()


def as_strided_(input: TensorBase, size: tuple[int, ...], stride: tuple[int, ...], storage_offset: int | None = None) -> TensorBase:
    """Change the tensor's size, strides and storage offset in place; return the tensor."""
    refuse_inference(input)
    check_history(input)
    review(input, views.as_strided(input, size, stride, storage_offset))
    return input


def _used_by(self: Any, s: Any) -> bool:
    if not hasattr(s, "_native"):
        raise wrong_type(f"record_stream(): argument 's' (position 1) must be Stream, not {type(s).__name__}")
    keep_for(self._ms_storage, self._ms_storage.base, s._native)
    return True


@ways(device=_used_by)
def record_stream(self: Any, s: Any) -> None:
    """Keep a device's memory, once the tensor is freed, from work that starts before that which the stream ``s`` has by then.

    Raise NotImplementedError for a tensor of the CPU."""
    raise NotImplementedError("Could not run 'aten::record_stream' with arguments from the 'CPU' backend.")


def reinforce(self: Any, reward: Any) -> None:
    """Raise RuntimeError: removed from torch."""
    raise RuntimeError(
        "reinforce() was removed.\nUse torch.distributions instead.\n"
        "See https://pytorch.org/docs/main/distributions.html\n\n"
        "Instead of:\n\nprobs = policy_network(state)\naction = probs.multinomial()\nnext_state, reward = env.step(action)\n"
        "action.reinforce(reward)\naction.backward()\n\nUse:\n\nprobs = policy_network(state)\n"
        "# NOTE: categorical is equivalent to what used to be called multinomial\n"
        "m = torch.distributions.Categorical(probs)\naction = m.sample()\nnext_state, reward = env.step(action)\n"
        "loss = -m.log_prob(action) * reward\nloss.backward()\n"
    )


def not_here(name: str, reason: str = "the tensor is not quantized") -> Callable[..., Any]:
    """Return a method that raises NotImplementedError for this reason."""

    def method(self: TensorBase, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the 'CPU' backend.")

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = f"Raise NotImplementedError: {reason}."
    return method


def _no_device(name: str, error: type[Exception], text: str) -> Callable[..., Any]:
    def method(
        self: TensorBase, device: device | str | int | None = None, non_blocking: bool = False, memory_format: memory_format | None = None
    ) -> Any:
        raise error(text)

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = f"Raise {error.__name__}: there is no such device."
    return method


@operation(forms=Forms({"input": "tensor", "tensors": "tensor"}))
def dequantize(tensor: TensorBase | Sequence[TensorBase]) -> TensorBase:
    """Return the tensor itself, which is not quantized. Quantized tensors have their own implementation."""
    if not isinstance(tensor, TensorBase):
        raise NotImplementedError("Could not run 'aten::dequantize.tensors' with arguments from the 'CPU' backend.")
    return tensor.float()


def is_distributed(input: TensorBase) -> bool:
    """Return False: distribution is not a property of a tensor."""
    return False


def is_inference(input: Any) -> bool:
    """Return whether the tensor was created in inference mode."""
    return input.is_inference()


def get_device(input: Any) -> int:
    """Return the index of the tensor's device, -1 on the CPU."""
    return input.get_device()


def int_repr(input: TensorBase) -> TensorBase:
    """Raise NotImplementedError: the tensor is not quantized."""
    return not_here("int_repr")(input)


def _volatile(self: Any) -> bool:
    warn("volatile was removed (Variable.volatile is always False)")
    return False


def _set_volatile(self: Any, value: Any = None) -> None:
    warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")


def _false(self: TensorBase) -> bool:
    return False


def _none(self: TensorBase) -> None:
    return None


def dlpack(
    self: TensorBase, *, stream: Any = -1, max_version: tuple[int, int] | None = None, dl_device: Any = None, copy: bool | None = None
) -> Any:
    """Return a DLPack capsule over the tensor's memory, or over a copy."""
    if is_tracked(self):
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if stream is not None and not isinstance(stream, int):
        raise TypeError("stream must be ``int`` or ``none``")
    if stream not in (-1, None):
        raise AssertionError("stream should be None on cpu.")
    if dl_device is not None and tuple(dl_device) != dlpack_device(self):
        raise BufferError("memory of another device would have to be copied")
    source = self.clone() if copy else self
    if self._ms_dtype.name == "bfloat16":
        return capsule_of(memory_of(views.view(source, int16)), bfloat16=True)
    return capsule_of(memory_of(source))


def dlpack_device(self: TensorBase) -> tuple[int, int]:
    """Return DLPack's (device type, index): (1, 0), the CPU."""
    return CPU, 0


def to_dlpack(tensor: TensorBase) -> Any:
    """Return a DLPack capsule over the tensor's memory."""
    return dlpack(tensor)


NAMED_METHODS = {
    "_typed_storage": _typed_storage,
    **{name: not_here(name) for name in IN_PYTHON["Tensor"] if name.startswith(("q_", "qscheme"))},
    "__dlpack__": dlpack,
    "__dlpack_device__": dlpack_device,
    "ipu": _no_device("ipu", RuntimeError, "PyTorch is not linked with support for ipu devices"),
    "xpu": _no_device("xpu", AssertionError, "Torch not compiled with XPU enabled"),
    "mtia": _no_device("mtia", AssertionError, "Torch not compiled with MTIA enabled. Ensure you have `import "
                       "mtia.host_runtime.torch_mtia.dynamic_library` in your python src file and include "
                       "`//mtia/host_runtime/torch_mtia:torch_mtia` as your target dependency!"),
}  # fmt: skip
PROPERTIES = {
    "name": _none, "volatile": property(_volatile, _set_volatile, _set_volatile), "grad_dtype": grad_dtype,
    **dict.fromkeys(("is_ipu", "is_xpu", "is_maia", "is_mtia", "is_vulkan", "is_xla", "is_mps"), _false),
}  # fmt: skip
