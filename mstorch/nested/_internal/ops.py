"""Operations on jagged nested tensors. Each function takes the public function that was called, and the arguments of the call.

Dimension ``d`` of the nested tensor is dimension ``d - 1`` of the values, in which the components are concatenated; so operations along
other dimensions run on the values of all components at once.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._src.core.dtype import finfo, iinfo
from ..._src.core.formats import layout
from ..._src.core.nested_parts import is_nested
from ..._src.core.overriding import public_name
from ..._src.core.tensor_base import TensorBase
from ..._src.ops._dispatch import wrap_dim
from ..._src.ops.layers.native import native_dropout
from ..._src.ops.memory import creation
from ..._tensor import Tensor
from ...nn import functional as F
from .nested_tensor import NestedTensor, of_values
from .padding import lengths_on_host, on_device, padded_positions, steps_within, with_host
from .sdpa import mask_of
from .taking import Forms, nested_among

Function = Callable[..., Any]
FORMS = Forms()
form = FORMS.enter


# Structure


def like(input: Any, values: Any, ragged_idx: int | None = None) -> Any:
    """Return a nested tensor of ``values`` with the lengths of ``input``."""
    place = input._ragged_idx if ragged_idx is None else ragged_idx
    found = of_values(values, input._offsets, input._lengths, place, input._metadata_cache)
    if values._ms_auto is not None and values._ms_auto.base is input._values:
        found.__dict__["_view_of"] = input
    return found


def wrapped(result: Any, input: Any, ragged_idx: int | None = None) -> Any:
    """Return the tensors of a result as nested tensors; return ``input`` itself if the operation wrote to its values."""
    if result is input._values:
        return input
    if isinstance(result, TensorBase):
        return like(input, result, ragged_idx)._move_offsets()
    if isinstance(result, (tuple, list)):
        return type(result)(wrapped(item, input, ragged_idx) for item in result)
    return result


def needs_plain(input: Tensor, name: str, argument: str = "self") -> None:
    """Raise ValueError for a nested tensor with gaps, or whose ragged dimension is not dimension 1."""
    if not isinstance(input, NestedTensor) or input._lengths is not None or input._ragged_idx != 1:
        raise ValueError(f"NestedTensor {name}({argument}: jt, ...): expected {argument} to be a contiguous jagged layout NestedTensor")


def inner(input: Any, dim: int, name: str, ragged: bool = False, more: int = 0) -> int:
    """Return the dimension of the values that corresponds to ``dim``. Raise RuntimeError for dimension 0, and for the ragged one unless
    ``ragged``.

    ``more``: additional dimensions of the result (``unsqueeze``)."""
    place = wrap_dim(dim, input.dim() + more)
    if place == input._ragged_idx and not ragged:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on ragged dim")
    if place == 0:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim=0")
    return place - 1


def matches(input: Any, size: Sequence[Any]) -> bool:
    """Return whether the leading sizes in ``size``, up to the ragged dimension, equal those of ``input``; -1 matches any."""
    own = input._size[: input._ragged_idx + 1]
    given = tuple(size)[: input._ragged_idx + 1]
    return len(own) == len(given) and all(one == other or isinstance(other, int) and other == -1 for one, other in zip(own, given))


# Padded


def padded_values(input: Any, padding: float, length: int) -> Tensor:
    """Return a dense tensor with ``length`` along the ragged dimension, padded; longer components are truncated."""
    place = input._ragged_idx - 1
    rows = input._values.movedim(place, 0) if place else input._values
    starts, lengths = lengths_on_host(input._offsets)[:-1], input.part_lengths()
    count = len(starts)
    if count and rows.shape[0] == count * length and (lengths == length).all() and (np.diff(starts) == length).all():
        found = rows.reshape(count, length, *rows.shape[1:])
    else:
        some = np.minimum(lengths, length)
        taken = np.repeat(starts, some) + steps_within(some)
        if len(taken) != rows.shape[0] or (taken != np.arange(len(taken))).any():
            rows = rows.index_select(0, on_device(taken, rows))
        if input._lengths is None:
            positions = padded_positions(input._offsets, length)
        else:
            positions = on_device(np.repeat(np.arange(count) * length, some) + steps_within(some), rows)
        base = creation.full((count * length, *rows.shape[1:]), padding, dtype=rows.dtype, device=rows.device)
        found = base.index_copy(0, positions, rows).reshape(count, length, *rows.shape[1:])
    return found.movedim(1, place + 1) if place else found


def from_padded(dense: Tensor, input: Any) -> Tensor:
    """Return the leading parts of a padded tensor's rows, with the lengths of ``input``, as a nested tensor."""
    place = input._ragged_idx
    rows = dense.movedim(place, 1) if place > 1 else dense
    lengths, width = lengths_on_host(input._offsets), rows.shape[1]
    some = np.diff(lengths)
    if len(some) and some.max() > width:
        number = int((some > width).argmax())
        raise RuntimeError(
            f"_padded_dense_to_jagged_forward(): found batch item of length {some[number]} when max length specified by padded input is "
            f"{width}"
        )
    flat = rows.reshape(-1, *rows.shape[2:])
    if some.sum() != flat.shape[0]:
        flat = flat.index_select(0, padded_positions(input._offsets, width))
    return like(input, flat.movedim(0, place - 1) if place > 1 else flat)


def longest(input: Any) -> int:
    """Return the maximum length if it is known, else an upper bound: the total length of all components."""
    known = input._maybe_max_seqlen
    return input._values.shape[input._ragged_idx - 1] if known is None else known


@form("to_padded_tensor", "nested_to_padded_tensor")
def to_padded_tensor(public: Function, input: Any, padding: float, output_size: Any = None, out: Tensor | None = None) -> Tensor:
    """Return a dense tensor of all components, padded with ``padding``."""
    if input._lengths is not None:
        raise RuntimeError("to_padded_tensor(): not supported for nested tensors with holes")
    if output_size is not None:
        length = output_size[input._ragged_idx]
    else:
        length = input._values.shape[0] if input._maybe_max_seqlen is None else input._maybe_max_seqlen
    return padded_values(input, padding, length)


# Elementwise operations


def pointwise(lead: Tensor, public: Function, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Run an elementwise operation on the values."""
    for item in args:
        if getattr(type(item), "is_symbolic_number", False):
            raise RuntimeError(f"NestedTensor {name}: invalid argument {item}")

    def elements(item: Any) -> Tensor | float:
        if is_nested(item):
            if not matches(lead, item._size):
                raise _mismatch(name, args, lead, item)
            return item._values
        if isinstance(item, TensorBase) and item.dim():
            return _aligned_operand(item, lead, name, args)
        return item

    values = [elements(item) for item in args], {key: elements(item) for key, item in kwargs.items()}
    return wrapped(public(*values[0], **values[1]), lead)


def _mismatch(name: str, args: Sequence[Any], lead: Any, other: Any) -> RuntimeError:
    operands: list[Any] = [item for item in args if isinstance(item, TensorBase)]
    shapes = [item._size if is_nested(item) else item.shape for item in operands]
    one, two = shapes[:2] if len(shapes) > 1 else (lead._size, other.shape)
    return RuntimeError(f"cannot call binary pointwise function {name}.Tensor with inputs of shapes {one} and {two}")


def _aligned_operand(dense: Any, lead: Any, name: str, args: Sequence[Any]) -> Any:
    """Return a plain operand in a shape that broadcasts against the nested tensor's values. Raise torch's error if it does not broadcast.
    """
    if dense.dim() > lead.dim():
        raise NotImplementedError("NYI: broadcasting NT with T with larger dim")
    small = dense
    while small.dim() and small.shape[0] == 1:
        small = small.squeeze(0)
    if lead.dim() >= small.dim() + 2:
        return small
    if dense.dim() != lead.dim() or dense.shape[0] != lead._size[0]:
        raise _mismatch(name, args, lead, dense)
    place = lead._ragged_idx
    if dense.shape[place] != 1:
        return from_padded(dense, lead)._values
    rows = dense.movedim(place, 1).squeeze(1) if place > 1 else dense.squeeze(1)
    lengths = np.diff(lengths_on_host(lead._offsets))
    return rows.index_select(0, on_device(np.repeat(np.arange(len(lengths)), lengths), rows)).movedim(0, place - 1)


NestedTensor.pointwise = pointwise  # type: ignore[attr-defined]
NestedTensor.FORMS = FORMS


@form("where")
def where(public: Function, condition: Tensor, input: Tensor | None = None, other: Tensor | None = None, **named: Any) -> Tensor:
    """Select between elements of two operands."""
    input, other = named.get("input", named.get("self", input)), named.get("other", other)
    lead = next(nested_among((condition, input, other)))
    return pointwise(lead, public, "where", (condition, input, other), {})


@form("zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like")
def made_like(public: Function, input: Tensor, *args: Any, layout: layout | None = None, **named: Any) -> Tensor:
    """Return the result of a factory (``zeros_like``) for the values, as a nested tensor with the same lengths."""
    return like(input, public(input._values, *args, **named))._move_offsets()


@form("copy_")
def copy_(public: Function, input: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Copy elements from another nested tensor whose components have the same shapes."""
    if not isinstance(src, NestedTensor) or not isinstance(input, NestedTensor):
        raise ValueError(
            "NestedTensor copy_(self: jt_all, src: jt_all, non_blocking: any?): expected src to be a jagged layout NestedTensor"
        )
    if input._size == src._size:
        input._values.copy_(src._values)
        return input
    pairs = list(zip(input.unbind(), src.unbind()))
    if len(input) != len(src) or any(one.shape != other.shape for one, other in pairs):
        raise RuntimeError(f"copy_(): expected compatible input and src shapes, but got: {input.shape} and {src.shape}")
    for one, other in pairs:
        one.copy_(other)
    return input


@form("apply_")
def apply_(public: Function, input: Any, function: Any) -> Any:
    """Apply a Python function to each element, in place."""
    input._values.detach().apply_(function)
    return input


@form("new_empty", "new_zeros", "new_ones", "new_full")
def new_tensor(public: Function, input: Tensor, size: int, *args: Any, **named: Any) -> Any:
    """Return an empty plain tensor of the same dtype."""
    if not isinstance(size, (tuple, list)) or len(size):
        raise RuntimeError("new_empty() not supported for NJT with shape != ()")
    return public(input._values, size, *args, **named)


@form("equal")
def equal(public: Function, input: Any, other: Any) -> bool:
    """Return whether both have the same lengths and elements."""
    return is_nested(input) and is_nested(other) and input._size == other._size and public(input._values, other._values)


# Along dimensions

_SMALLEST, _LARGEST = object(), object()
_NEUTRAL: dict[str, Any] = {
    "sum": 0, "mean": 0, "prod": 1, "any": False, "all": True,
    **dict.fromkeys(("amax", "max", "argmax"), _SMALLEST), **dict.fromkeys(("amin", "min", "argmin"), _LARGEST),
}  # fmt: skip


def _padding_of(name: str, input: Tensor) -> float:
    found = _NEUTRAL[name]
    if found is not _SMALLEST and found is not _LARGEST:
        return found
    if input._ms_dtype.name == "bool":
        return found is _LARGEST
    limits = finfo(input._ms_dtype) if not input._ms_dtype.is_integral else iinfo(input._ms_dtype)
    return limits.max if found is _LARGEST else limits.min


@form(*_NEUTRAL)
def reduced(public: Function, input: Any, dim: Any = None, keepdim: bool = False, **named: Any) -> Any:
    """Reduce over everything, over the ragged dimension (to a plain tensor), or over other dimensions."""
    name = public_name(public)
    if isinstance(dim, TensorBase) or "other" in named:
        other = named.get("other", dim)
        return pointwise(next(nested_among((input, other))), public, name, (input, other), {})
    dim, keepdim = named.pop("axis", dim), named.pop("keepdims", keepdim)
    values, ragged_dim = input._values, input._ragged_idx
    if dim is None or isinstance(dim, (tuple, list)) and not len(dim):
        result = public(values, **named)
        return result.unsqueeze(ragged_dim) if keepdim else result
    several = isinstance(dim, (tuple, list))
    dims = [wrap_dim(one, input.dim()) for one in (dim if several else [dim])]
    batch, ragged = 0 in dims, ragged_dim in dims
    _check_reduced_dims(name, input, dims)
    if ragged and not batch:
        return _along_parts(public, name, input, keepdim, named)
    # In the values, batch and ragged dimension are one, and the others come one place earlier.
    places = tuple(dict.fromkeys((ragged_dim if one == 0 else one) - 1 for one in dims))
    result = public(values, places if several else places[0], keepdim, **named)
    if ragged:
        return _each(lambda item: item.unsqueeze(0), result) if keepdim else result
    before = 0 if keepdim else sum(place < ragged_dim - 1 for place in places)
    return wrapped(result, input, ragged_dim - before)


def _check_reduced_dims(name: str, input: Any, dims: list[int]) -> None:
    """Raise for dimensions over which a nested tensor cannot be reduced together."""
    batch, ragged = 0 in dims, input._ragged_idx in dims
    if ragged and input._lengths is not None:
        raise RuntimeError(f"{name}(): reducing across the ragged dimension is not supported for non-contiguous nested tensors with holes")
    if batch and not ragged:
        raise RuntimeError(
            f"{name}(): reducing along the batch dimension but not the ragged dimension is not supported for nested tensors"
        )
    if ragged and not batch and any(one != input._ragged_idx for one in dims):
        if name == "mean":
            raise AssertionError("Cannot reduce on both ragged and non-batch dimensions without also reducing on batch")
        raise RuntimeError(f"{name}(): reducing along a ragged and non-batch dimension is not supported for nested tensors")


def _each(function: Function, found: Tensor) -> Tensor:
    return type(found)(map(function, found)) if isinstance(found, (tuple, list)) else function(found)


def _along_parts(public: Function, name: str, input: Any, keepdim: bool, named: dict[str, Any]) -> Tensor:
    dense = to_padded_tensor(public, input, _padding_of(name, input))
    place = input._ragged_idx
    if name != "mean":
        return public(dense, place, keepdim, **named)
    found = dense.sum(place, True, **named)
    found = found / input.row_lengths().reshape(-1, *(1,) * (found.dim() - 1))
    return found if keepdim else found.squeeze(place)


@form("softmax", "log_softmax")
def softmax(public: Function, input: Any, dim: Any = None, *rest: Any, **named: Any) -> Tensor:
    """Apply softmax within each component, or along another dimension."""
    name = public_name(public)
    if isinstance(dim, tuple):
        raise RuntimeError(f"{name}(): not supported for dimensions of type 'tuple' for NestedTensor")
    place = wrap_dim(dim, input.dim())
    if place == 0:
        raise RuntimeError(f"{name}(): not supported when reducing across the batch dimension for NestedTensor")
    if place != input._ragged_idx:
        return like(input, public(input._values, place - 1, *rest, **named))
    if name == "log_softmax":
        raise RuntimeError("log_softmax(): not supported when reducing along the ragged dimension for NestedTensor")
    if place > 1:
        raise RuntimeError("softmax(): not supported when reducing along the ragged dimension for ragged_idx > 1 for NestedTensor")
    if input._lengths is not None:
        raise RuntimeError(
            "softmax(): not supported where lengths is not None if reducing across the ragged dimension for NestedTensor"
        )
    return from_padded(public(padded_values(input, -np.inf, input._max_seqlen), 1, *rest, **named), input)


@form("layer_norm")
def layer_norm(
    public: Function, input: Any, normalized_shape: tuple[int, ...], weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5, *rest: Any
) -> Tensor:
    """Apply layer normalization, also over whole components."""
    if input.dim() <= 2:
        raise RuntimeError("layer_norm(): not supported for NestedTensor objects with 2 or fewer dimensions")
    shape = list(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else [normalized_shape]
    if len(shape) == input.dim():
        raise RuntimeError("layer_norm(): not supported when normalizing over the batch dimension for NestedTensor")
    if input._size[input._ragged_idx] not in shape:
        return like(input, F.layer_norm(input._values, shape, weight, bias, eps))
    if input._lengths is not None:
        raise RuntimeError(
            "layer_norm(): not supported where lengths is not None if operating on the ragged dimension for NestedTensor"
        )
    dense = padded_values(input, 0.0, input._max_seqlen)
    rest_dims = tuple(range(1, dense.dim()))
    count = (input.row_lengths() * (input._values[:1].numel() if input._values.shape[0] else 1)).reshape(-1, *(1,) * (dense.dim() - 1))
    mask = padded_values(like(input, creation.ones_like(input._values.detach())), 0.0, input._max_seqlen)
    centred = (dense - dense.sum(rest_dims, True) / count) * mask
    found = centred / (centred.square().sum(rest_dims, True) / count + eps).sqrt()
    return from_padded(found, input)


@form("rms_norm")
def rms_norm(
    public: Function, input: Any, normalized_shape: int | Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Apply RMS normalization over dimensions after the ragged one."""
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    if len(shape) > input.dim() - input._ragged_idx - 1:
        raise ValueError("rms_norm(): Normalization over the ragged dim not supported for nested tensors")
    return like(input, public(input._values, shape, weight, eps))


# Layers


@form("linear")
def linear(public: Function, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Apply a linear layer to the last dimension of all components at once."""
    needs_plain(input, "linear_default")
    return like(input, public(input._values, weight, bias))


@form("embedding")
def embedding(public: Function, input: Tensor, weight: Tensor, *rest: Any, **named: Any) -> Tensor:
    """Look up rows of a table by components of indices; the two may be passed in either order."""
    if not is_nested(input):
        input, weight = weight, input
        needs_plain(input, "embedding_default", "indices")
        return like(input, public(weight, input._values, *rest, **named))
    needs_plain(input, "embedding_default", "indices")
    return like(input, public(input._values, weight, *rest, **named))


@form("embedding_bag")
def embedding_bag(public: Function, input: Any, weight: Any, offsets: Any = None, *args: Any, **named: Any) -> Tensor:
    """Return sums, means or maxima of table rows, one per component of indices."""
    if offsets is not None:
        raise ValueError("embedding_bag(): offsets must be None when input is a nested tensor")
    if is_nested(named.get("per_sample_weights")):
        named["per_sample_weights"] = named["per_sample_weights"]._values
    named["include_last_offset"] = True
    return public(input._values, weight, input._offsets, *args, **named)


@form("conv1d", "conv2d", "conv3d")
def convolution(public: Function, input: Any, *args: Any, **named: Any) -> Any:
    """Apply a convolution to all components, along dimensions other than the ragged one."""
    needs_plain(input, "convolution_default", "input")
    return like(input, public(input._values, *args, **named))


@form("dropout")
def dropout(
    public: Function, input: Any, p: float = 0.5, train: bool = True, inplace: bool = False, *, training: bool | None = None
) -> Tensor:
    """Apply dropout to all components. Probabilities of 0 and 1 also draw random numbers."""
    trained = train if training is None else training
    if trained and not inplace and p in (0, 1):
        return like(input, native_dropout(input._values, p, True)[0])
    return input.pointwise(public, "dropout", (input, p, trained, *((True,) if inplace else ())), {})


@form("scaled_dot_product_attention")
def attention(
    public: Function, query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """Compute attention within each component: all at once, padded, with a mask of valid keys."""
    _check_attention(query, key, value, attn_mask)
    if min(item.dim() for item in (query, key, value)) > 3 and query._ragged_idx == 1:
        mask = attn_mask._values if is_nested(attn_mask) else attn_mask
        named = {"dropout_p": dropout_p, "is_causal": is_causal, "scale": scale}
        return like(query, public(query._values, key._values, value._values, attn_mask=mask, **named))
    lengths = key.part_lengths()
    width = _longest_part(key)
    dense = [padded_values(item, 0.0, _longest_part(item)) for item in (query, key, value)]
    mask = mask_of(lengths, dense[0], width, is_causal)
    found = public(*dense, attn_mask=mask, dropout_p=dropout_p, is_causal=is_causal and mask is None, scale=scale, enable_gqa=enable_gqa)
    return _unpadded_queries(found, query)


def _longest_part(input: Any) -> int:
    """Return the length of the longest component, at least 1."""
    lengths = input.part_lengths()
    return max(int(lengths.max()) if len(lengths) else 0, 1)


def _unpadded_queries(found: Tensor, query: Any) -> Tensor:
    if query._lengths is None:
        return from_padded(found, query)
    offsets = with_host(np.concatenate([[0], np.cumsum(lengths_on_host(query._lengths))]), query.device)
    return from_padded(found, of_values(query._values, offsets, None, query._ragged_idx))


def _check_attention(query: Any, key: Any, value: Any, mask: Any) -> None:
    three = (query, key, value)
    if not all(isinstance(item, NestedTensor) for item in three):
        told = ", ".join(f"{name}.is_nested: {is_nested(item)}" for name, item in zip(("query", "key", "and value"), three))
        raise ValueError(f"Expected query, key, and value to be nested tensors, but got {told} instead.")
    if not query.dtype == key.dtype == value.dtype:
        raise ValueError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype}, key.dtype: {key.dtype}, and "
            f"value.dtype: {value.dtype} instead."
        )
    if min(item.dim() for item in three) < 3:
        raise ValueError(
            f"Expected query, key, and value to all be at least 3 dimensional, but got query.dim: {query.dim()}, key.dim: {key.dim()} "
            f"and value.dim: {value.dim()} instead."
        )
    if not query._ragged_idx == key._ragged_idx == value._ragged_idx:
        raise ValueError(
            f"Expected query, key, and value to all be ragged on the same dimension, but got ragged dims {query._ragged_idx}, "
            f"{key._ragged_idx}, and {value._ragged_idx}, respectively."
        )
    if mask is not None:
        raise ValueError("Masks are not yet supported!")


@form("share_memory_")
def share_memory_(public: Function, input: Any) -> Any:
    """Move values and offsets to shared memory."""
    for part in (input._values, input._offsets, input._lengths):
        if part is not None:
            part.share_memory_()
    return input


@form("is_shared")
def is_shared(public: Function, input: Any) -> bool:
    """Return whether values and offsets are in shared memory."""
    return bool(input._values.is_shared() and input._offsets.is_shared())


@form("masked_select")
def masked_select(public: Function, input: Any, mask: Any) -> Tensor:
    """Return the elements of each component where a mask is True."""
    if input.dim() > 2:
        raise RuntimeError("masked_select only support 2-D selections currently")
    if input.shape != mask.shape:
        raise RuntimeError(f"Mask with shape {mask.shape} is not compatible with input's shape {input.shape}")
    values = input._values.masked_select(mask._values)
    counts = F.pad(mask._values.cumsum(0), (1, 0))
    return of_values(values, counts[input._offsets], input._lengths, input._ragged_idx)
