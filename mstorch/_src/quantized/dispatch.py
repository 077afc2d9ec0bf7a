"""Dispatch of public calls with quantized tensors: functions that have a quantized form run it, all others raise an error that names them.

Views and data movement keep the integers. Operations on values run on the dequantized values, or on the integers if their order suffices.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._tensor import Tensor
from ..backend.arrays import Number
from ..core import determinism
from ..core.declared import declared
from ..core.dtype import dtype, float32, qint8
from ..core.formats import memory_format
from ..core.overriding import MAPPERS, Property, public_name
from ..core.second_names import aliases_of
from ..core.tensor_base import TensorBase, auto_of
from ..ops.elementwise import activation, compare, elementwise, math
from ..ops.memory import copying, creation
from ..ops.shape import join, views
from . import tensor as base
from .making import empty_quantized, refuse
from .tensor import (
    INTEGERS,
    Quantizer,
    dequantize,
    integers_for,
    integers_of,
    is_quantized,
    per_tensor_affine,
    quantized,
    same_quantizer,
)

# Queries of metadata.
_SAYINGS = frozenset("""
    size dim ndimension numel nelement stride storage_offset element_size is_contiguous is_floating_point is_complex is_signed
    is_conj is_neg is_inference is_same_size get_device dim_order is_tensor has_names resolve_conj resolve_neg __len__ __hash__
    __iter__ __dir__ __format__ __copy__ __deepcopy__ __reduce_ex__ __repr__ __bool__ is_nonzero item tolist numpy __array__ shape
    ndim dtype itemsize nbytes device layout requires_grad is_leaf grad_fn grad _version output_nr retains_grad names is_cpu
    is_cuda is_meta is_sparse is_quantized requires_grad_ clone detach data is_distributed is_shared is_pinned register_hook
    _is_view _base is_npu is_mps is_xla is_mkldnn is_nested is_xpu __setstate__ __setattr__ __class__
""".split())
_OF_MEMORY = frozenset("data_ptr untyped_storage share_memory_ is_set_to".split())
# Views and copies of whole elements: the integers move, the quantizer is the same.
_MOVING = frozenset("""
    __getitem__ alias as_strided atleast_1d atleast_2d atleast_3d chunk contiguous cpu cuda npu diagonal expand expand_as flatten flip
    index_select movedim moveaxis narrow permute ravel repeat repeat_interleave reshape reshape_as select split split_with_sizes squeeze
    swapaxes swapdims T mT t tensor_split transpose unbind unflatten unfold unsqueeze view view_as take_along_dim gather pixel_shuffle
    pixel_unshuffle channel_shuffle max_pool1d max_pool2d max_pool3d topk sort cummax max min amax amin kthvalue median
    maximum minimum
""".split())
# Views that keep per-channel scales; for other views torch raises an error about strides.
_KEEPS_ORDER_OF_MEMORY = frozenset("contiguous cpu cuda npu flatten ravel reshape view clone".split())
_NO_STRIDES = "Setting strides is possible only on uniformly quantized tensor"
_FUNCTIONS = {"sigmoid": math.sigmoid, "tanh": math.tanh, "hardsigmoid": activation.hardsigmoid}
_FIXED = {"sigmoid": (1 / 256, 0, -128), "tanh": (2 / 256, 128, 0), "hardsigmoid": (1 / 256, 0, -128)}


FORMS: dict[str, Callable[..., Any]] = {}
"""Functions and methods of quantized tensors, by name."""


def _form(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that declares a function as the form of the function or method ``name``, and of torch's aliases of it."""
    return declared(FORMS, name, *aliases_of(name))


def take(public: Callable[..., Any], function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Dispatch a public call; return NotImplemented if none of the operands is a quantized tensor."""
    if not (_has(args) or kwargs and _has(kwargs.values())):
        return NotImplemented
    owner = getattr(public, "__self__", None)
    name = owner.__name__ if isinstance(owner, Property) else public_name(public)
    first = args[0] if args else next(iter(kwargs.values()))
    if name in FORMS:
        return FORMS[name](*args, **kwargs)
    if not is_quantized(first) and not isinstance(first, (list, tuple)):
        return _with_plain_first(name, first, args)
    if name in _SAYINGS:
        return function(*args, **kwargs)
    if name in _OF_MEMORY:
        return function(integers_of(first), *args[1:], **kwargs)
    if name in _MOVING:
        return _moved(name, function, first, args, kwargs)
    if name in _POOLED:
        return _computed(function, first, args, kwargs)
    bare = name.strip("_")
    if bare in compare.OPERATORS and len(args) == 2:
        return compare.OPERATORS[bare](*[dequantize(item) if is_quantized(item) else item for item in args])
    return refuse(name)


# Functions that torch computes on quantized tensors, with the input's quantizer; it rejects others by name.
_POOLED = frozenset(
    "avg_pool2d avg_pool3d adaptive_avg_pool2d adaptive_avg_pool3d mean upsample_nearest2d upsample_bilinear2d leaky_relu elu hardswish "
    "interpolate upsample clamp clip hardtanh pad masked_fill dropout".split()
)


def _has(values: Any) -> bool:
    return any(is_quantized(value) or (value.__class__ in (list, tuple) and _has(value)) for value in values)


def _with_plain_first(name: str, first: Tensor, args: tuple[Any, ...]) -> Any:
    if name in ("copy_", "data") and isinstance(first, TensorBase):
        raise RuntimeError(
            "Copying from quantized Tensor to non-quantized Tensor is not allowed, please use dequantize to get a float Tensor from a "
            "quantized Tensor"
        )
    other = next((item for item in args if is_quantized(item)), None)
    if isinstance(first, TensorBase) and other is not None and name.strip("_") in ("add", "sub", "mul", "div", "truediv"):
        raise RuntimeError(
            "promoteTypes with quantized numbers is not handled yet; figure out what the correct rules should be, offending types: "
            f"{first._ms_dtype} {other._ms_dtype}"
        )
    return refuse(name)


def _moved(name: str, function: Callable[..., Any], first: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if isinstance(first, (list, tuple)):
        return refuse(name)
    own = first._quantizer
    others = [_integers_beside(first, item) for item in args[1:]]
    named = {key: _integers_beside(first, item) for key, item in kwargs.items()}
    if own.axis is not None:
        return _moved_channels(name, function, first, others, named)
    return _requantized_results(function(integers_of(first), *others, **named), first, own)


def _integers_beside(first: Any, item: Any) -> Any:
    if not is_quantized(item):
        return item
    if item._ms_dtype is not first._ms_dtype or not same_quantizer(item._quantizer, first._quantizer):
        raise RuntimeError("Both inputs must be quantized with the same shcale and zero_point.")
    return integers_of(item)


def _requantized_results(found: Any, first: Tensor, own: Quantizer) -> Any:
    """Return the results with tensors of the quantized integer dtype converted to quantized tensors, by the quantizer ``own``. Tensors of
    other dtypes, such as indices, are unchanged."""
    if isinstance(found, TensorBase):
        if found._ms_dtype is not INTEGERS[first._ms_dtype]:
            return found
        same = found._ms_storage is first._ms_storage and found._ms_shape == first._ms_shape and found._ms_stride == first._ms_stride
        return first if same and found._ms_offset == first._ms_offset else _as_view(quantized(found, own), first)
    if hasattr(found, "_fields"):
        return type(found)(*[_requantized_results(item, first, own) for item in found])
    if hasattr(found, "n_sequence_fields"):  # a result with named fields, of torch.return_types
        return type(found)([_requantized_results(item, first, own) for item in found])
    return type(found)(_requantized_results(item, first, own) for item in found)


def _as_view(found: Any, first: Tensor) -> Any:
    """Return a quantized tensor, marked as a view of ``first`` (or of its base) if it shares the memory."""
    if found._ms_storage is first._ms_storage:
        base = None if first._ms_auto is None else first._ms_auto.base
        auto_of(found).base = first if base is None else base
    return found


def _moved_channels(name: str, function: Callable[..., Any], first: Any, others: list[Any], named: dict[str, Any]) -> Tensor:
    """Return a view (select, slice, transpose, …) of a per-channel quantized tensor; its quantizer's ``axis`` follows the channels."""
    own, rank = first._quantizer, len(first._ms_shape)
    if name in ("select", "__getitem__") and len(others) == (2 if name == "select" else 1) and isinstance(others[-1], int):
        dim = others[0] % rank if name == "select" else 0
        found = function(integers_of(first), *others)
        place = others[-1]
        if dim == own.axis:
            return quantized(found, Quantizer(per_tensor_affine, float(own.scale[place]), int(own.point[place])))
        return quantized(found, own._replace(axis=own.axis - (dim < own.axis)))
    if name == "__getitem__" and isinstance(others[0], tuple) and all(isinstance(part, int) or part == slice(None) for part in others[0]):
        chosen: Any = first
        for dim, part in reversed(list(enumerate(others[0]))):
            chosen = chosen if isinstance(part, slice) else _moved("select", views.select, chosen, (chosen, dim, part), {})
        return chosen
    if name == "unsqueeze" and others:
        dim = others[0] % (rank + 1)
        return quantized(function(integers_of(first), *others), own._replace(axis=own.axis + (dim <= own.axis)))
    if name in _KEEPS_ORDER_OF_MEMORY:
        found = function(integers_of(first), *others, **named)
        channels = first._ms_shape[own.axis]
        if own.axis < len(found._ms_shape) and found._ms_shape[own.axis] == channels:
            return _requantized_results(found, first, own)
        if own.axis >= len(found._ms_shape):
            raise RuntimeError(
                f"Channel axis out of range in per channel affine dequantization. Got:{own.axis} Expected: [0, {len(found._ms_shape)})"
            )
        raise RuntimeError(f"length of scales must equal to channel, expected {found._ms_shape[own.axis]} got, {channels}")
    raise RuntimeError(_NO_STRIDES)


def _computed(function: Callable[..., Any], first: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Compute on the dequantized values and requantize with the same scale and zero point."""
    if first._quantizer.axis is not None:
        return refuse(function.__name__)
    found = function(dequantize(first), *args[1:], **kwargs)
    return requantized(found, first)


def requantized(values: Any, like: Any) -> Tensor:
    """Return float values quantized like another tensor."""
    return quantized(integers_for(values, like._quantizer, like._ms_dtype), like._quantizer)


@_form("relu")
def _relu(input: Any, inplace: bool = False) -> Tensor:
    if inplace:
        return _relu_(input)
    own = input._quantizer
    if own.axis is not None:
        return refuse("relu")
    return quantized(compare.clamp_min(integers_of(input), own.point), own)


@_form("relu_")
def _relu_(input: Tensor) -> Tensor:
    return _assign(input, integers_of(_relu(input)))


def _assign(target: Tensor, integers: Tensor) -> Tensor:
    copying.copy_(integers_of(target), integers)
    return target


@_form("copy_")
def _copy_(self: Any, other: Any, non_blocking: bool = False) -> Tensor:
    if not is_quantized(self):
        return _with_plain_first("copy_", self, (self, other))
    if is_quantized(other):
        if other._ms_dtype is not self._ms_dtype:
            raise RuntimeError("Expected self.scalar_type() == src.scalar_type() to be true, but got false.")
        self._quantizer = other._quantizer
        return _assign(self, integers_of(other))
    if other._ms_dtype is not float32:
        raise RuntimeError("Quantized copy only works with kFloat as source Tensor")
    return _assign(self, integers_for(other.expand(self._ms_shape), self._quantizer, self._ms_dtype))


@_form("fill_")
def _fill_(self: Any, value: Number) -> Tensor:
    from_value = copying.to(elementwise.add(elementwise.mul(dequantize(self), 0.0), value), float32)
    return _assign(self, integers_for(from_value, self._quantizer, self._ms_dtype))


def _fixed(name: str) -> Callable[..., Any]:
    scale, unsigned, signed = _FIXED[name]

    def function(input: Tensor, inplace: bool = False) -> Any:
        made = Quantizer(per_tensor_affine, scale, signed if input._ms_dtype is qint8 else unsigned)
        found = _FUNCTIONS[name](dequantize(input))
        return quantized(integers_for(found, made, input._ms_dtype), made)

    return function


@_form("cat")
def _cat(tensors: Any, dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    if not all(map(is_quantized, tensors)) or len({item._ms_dtype for item in tensors}) > 1:
        raise RuntimeError("All dtypes must be the same.")
    first = tensors[0]
    if any(item._quantizer.axis is not None for item in tensors):
        raise RuntimeError("cat: expected per tensor affine tensors")
    if all(same_quantizer(item._quantizer, first._quantizer) for item in tensors):
        return quantized(join.cat([integers_of(item) for item in tensors], dim), first._quantizer)
    return requantized(join.cat([dequantize(item) for item in tensors], dim), first)


@_form("stack")
def _stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    rank = len(tensors[0]._ms_shape) + 1
    return _cat([_moved("unsqueeze", views.unsqueeze, item, (item, dim % rank), {}) for item in tensors], dim % rank)


@_form("dequantize")
def _dequantize(tensor: Tensor | None = None, **given: Any) -> Any:
    tensor = next(iter(given.values())) if tensor is None else tensor
    if isinstance(tensor, (list, tuple)):
        return tuple(dequantize(item) for item in tensor)
    return dequantize(tensor)


def _of_tensor(part: str, shown: Callable[[Any], Any]) -> Callable[..., Any]:
    def function(self: Any) -> Any:
        if self._quantizer.axis is not None:
            raise RuntimeError(
                "Expected quantizer->qscheme() == kPerTensorAffine to be true, but got false.  (Could this error message be improved?  If "
                "so, please report an enhancement request to PyTorch.)"
            )
        return shown(getattr(self._quantizer, part))

    return function


def _of_channels(part: str) -> Callable[..., Any]:
    def function(self: Any) -> Any:
        if self._quantizer.axis is None:
            raise RuntimeError(
                "Expected quantizer->qscheme() == kPerChannelAffine || quantizer->qscheme() == kPerChannelAffineFloatQParams to be true, "
                "but got false.  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
            )
        return getattr(self._quantizer, part)

    return function


@_form("equal")
def _equal(self: Any, other: Any) -> bool:
    if not (is_quantized(self) and is_quantized(other)):
        return False
    if self._ms_dtype is not other._ms_dtype or not same_quantizer(self._quantizer, other._quantizer):
        return False
    return bool(compare.equal(integers_of(self), integers_of(other)))


@_form("to")
def _to(self: Any, *args: Any, **kwargs: Any) -> Any:
    if not is_quantized(self):
        return refuse("to")
    wanted = [item for item in (*args, *kwargs.values()) if isinstance(item, dtype)]
    for kind in wanted:
        if kind not in INTEGERS:
            raise RuntimeError("Creation of quantized tensor requires quantized dtype like torch.quint8")
        if kind is not self._ms_dtype:
            raise RuntimeError("Expected self.scalar_type() == src.scalar_type() to be true, but got false.")
    rest = [item for item in args if not isinstance(item, (dtype, TensorBase))]
    named = {key: item for key, item in kwargs.items() if not isinstance(item, (dtype, TensorBase))}
    own = self._quantizer
    found = copying.to(integers_of(self), *rest, **named) if rest or named else integers_of(self)
    if own.axis is not None and found.device != self.device:
        own = own._replace(scale=own.scale.to(found.device), point=own.point.to(found.device))
    return _requantized_results(found, self, own)


def _conversion(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("Creation of quantized tensor requires quantized dtype like torch.quint8")


@_form("isclose")
@_form("allclose")
def _isclose(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("isclose is not supported for quantized inputs.")


@_form("empty_like")
def _empty_like(input: Any, *, dtype: dtype | None = None, **options: Any) -> Tensor:
    return quantized(creation.empty_like(integers_of(input), **options), input._quantizer)


@_form("ones_like")
def _ones_like(input: Tensor, **options: Any) -> Tensor:
    return _fill_(_empty_like(input, **options), 1)


@_form("new_empty")
def _new_empty(self: Any, *size: int, **options: Any) -> Tensor:
    made = integers_of(self).new_empty(*size, **options)
    return quantized(made, self._quantizer if self._quantizer.axis is None else Quantizer(per_tensor_affine, 1.0, 0))


@_form("resize_")
def _resize_(self: Any, *sizes: Any, memory_format: memory_format | None = None) -> Tensor:
    """Resize a per-tensor quantized tensor in place; return the tensor."""
    if self._quantizer.axis is not None:
        raise NotImplementedError("Can only resize quantized tensors with per-tensor schemes!")
    determinism.refuse("quantized_resize_cpu_")
    integers = integers_of(self)
    integers.resize_(*sizes)
    for part in ("_ms_storage", "_ms_shape", "_ms_stride", "_ms_offset"):
        setattr(self, part, getattr(integers, part))
    self._ms_array = self._ms_raw = self._ms_at = None
    return self


@_form("type")
def _type(self: Tensor, dtype: dtype | None = None, **options: Any) -> Any:
    return f"torch.quantized.{base.WORDS[self._ms_dtype.name]}Tensor" if dtype is None else _to(self, dtype)


for _word in copying.CONVERSIONS:
    _form(_word)(_conversion)
for _name in _FIXED:
    _form(_name)(_fixed(_name))
_form("int_repr")(lambda self: copying.clone(integers_of(self)))
_form("qscheme")(lambda self: self._quantizer.scheme)
_form("q_scale")(_of_tensor("scale", float))
_form("q_zero_point")(_of_tensor("point", int))
_form("q_per_channel_scales")(_of_channels("scale"))
_form("q_per_channel_zero_points")(_of_channels("point"))
_form("q_per_channel_axis")(_of_channels("axis"))
_form("empty_quantized")(empty_quantized)
_form("clone")(lambda input, **options: input.clone(**options))
_form("detach")(lambda input: input.detach())
MAPPERS.append(take)
