"""Operations on strided nested tensors. Each function takes the public function that was called, and the arguments of the call."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._src.core.dtype import dtype
from ..._src.core.formats import contiguous_format, layout, memory_format, preserve_format
from ..._src.core.nested_parts import is_nested
from ..._src.core.overriding import public_name
from ..._src.core.tensor_base import TensorBase
from ..._src.ops._dispatch import wrap_dim
from ..._src.ops.shape import join
from ..._tensor import Tensor
from ...nn import functional as F
from .padding import padded
from .sdpa import attend
from .strided import StridedNested, by_part, in_buffer, last_length, length_of, of_parts, parts, same_places
from .taking import Forms, is_pointwise, nested_among

Function = Callable[..., Any]
FORMS = Forms()
form = FORMS.enter


def needs_rows(input: Tensor, text: str) -> None:
    """Raise RuntimeError unless a nested tensor is contiguous."""
    if not input.is_contiguous():
        raise RuntimeError(text)


def wrapped(result: Any, lead: Any) -> Any:
    """Return a result as a nested tensor with the structure of ``lead``; return ``lead`` itself if the operation wrote to its elements."""
    if result is lead._values:
        return lead
    if isinstance(result, TensorBase):
        return lead._like(result)
    return type(result)(wrapped(item, lead) for item in result) if isinstance(result, (tuple, list)) else result


def pointwise(lead: Any, public: Function, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Run an elementwise operation on the buffers, of packed copies if the components' positions differ."""
    pair = [item for item in args[:2] if isinstance(item, TensorBase)]
    if name == "eq" and len(pair) == 2 and is_nested(pair[1]):
        raise RuntimeError("eq does not support nested tensor as other value.")
    if name == "fill_" and len(pair) == 2 and pair[1].dim():
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {pair[1].dim()} dimensions.")
    if len(pair) == 2:
        _check_pair(name, *pair)
    if len(args) == 1 and name not in _ANY_PLACES and is_pointwise(name):
        needs_rows(lead, "NestedTensor must be contiguous to get buffer.")
    several = list(nested_among((*args, *kwargs.values())))
    for other in several:
        if not lead.is_same_size(other):
            raise RuntimeError(f"{name} does not support broadcasting when given a NestedTensor")
    if not all(same_places(lead, other) for other in several):
        if name.endswith("_") or name == "div":
            what = "offsets" if all(np.array_equal(lead._steps, other._steps) for other in several) else "strides"
            raise RuntimeError(f"{name} requires {what} to match when given NestedTensors")
        lead = lead._packed()

    def elements(item: Any) -> Any:
        if is_nested(item):
            return item._values if same_places(lead, item) else item._packed()._values
        return [elements(one) for one in item] if item.__class__ in (list, tuple) and any(nested_among(item)) else item

    return wrapped(public(*map(elements, args), **{key: elements(item) for key, item in kwargs.items()}), lead)


# Operations on all elements, in any order.
_ANY_PLACES = frozenset("""
    bfloat16 bool byte cdouble cfloat char double float half int long short zero_ fill_ positive dropout dropout_ masked_fill
""".split())


def _check_pair(name: str, one: Any, other: Any) -> None:
    words = ["nested" if is_nested(item) else "non-nested" for item in (one, other)]
    if words[0] != words[1] and not any(not is_nested(item) and item.dim() == 0 for item in (one, other)):
        raise RuntimeError(f"Expected both self and other to be nested, but got a {words[0]} self and {words[1]} other")


@form("zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like")
def made_like(
    public: Function, input: Any, *args: Any, memory_format: memory_format | None = None, layout: layout | None = None,
    requires_grad: bool = False,
    **named: Any
) -> Tensor:
    """Return a nested tensor of the same sizes whose values a factory such as ``zeros_like`` makes."""
    if memory_format not in (None, preserve_format, contiguous_format):
        raise RuntimeError(
            f"empty_like_nested only supports memory format Preserve or Contiguous, but got {_FORMAT_NAMES[repr(memory_format)]} instead."
        )
    values = input._values.detach()
    if memory_format is contiguous_format or values.numel() != input.numel():
        found = in_buffer(public(values.new_empty(input.numel()), *args, **named), input._sizes)
    else:
        found = input._like(public(values, *args, **named))
    return found.requires_grad_() if requires_grad else found


_FORMAT_NAMES = {"torch.channels_last": "ChannelsLast", "torch.channels_last_3d": "ChannelsLast3d"}


@form("clone")
def clone(public: Function, input: Any, *, memory_format: memory_format | None = None) -> Tensor:
    """Return a copy; without gaps if ``memory_format`` is contiguous."""
    if memory_format not in (None, preserve_format, contiguous_format):
        raise RuntimeError(
            "Nested tensor clone supports Preserve and Contiguous memory formats, called clone with memory format: "
            f"{_FORMAT_NAMES[repr(memory_format)]}"
        )
    if memory_format is contiguous_format and not input.is_contiguous():
        return of_parts(parts(input))
    return input._like(input._values.clone())


StridedNested.pointwise = pointwise  # type: ignore[attr-defined]
StridedNested.FORMS = FORMS


# Along a dimension


def rows_of(input: Any, rank: int = 1) -> Any:
    """Return all elements as a dense tensor (rows, *tail), where ``tail`` are the last ``rank`` sizes. Return None if these differ between
    components, or for a noncontiguous tensor."""
    tail = input._sizes[:, input._sizes.shape[1] - rank :]
    if not len(tail) or tail.shape[1] < rank or not (tail == tail[0]).all() or not input.is_contiguous():
        return None
    lengths = tail[0].tolist()
    return input._packed()._values.reshape(int(input._sizes[:, : input._sizes.shape[1] - rank].prod(1).sum()), *lengths)


@form("sum")
def summed(public: Function, input: Any, dim: int | None = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Tensor:
    """Sum along the last dimension, which is kept with length 1."""
    dims = [dim] if isinstance(dim, int) else list(dim or ())
    if dim is None:
        raise NotImplementedError("Could not run 'aten::sum' with arguments from the 'NestedTensorCPU' backend.")
    if len(dims) != 1:
        raise RuntimeError("NestedTensor only allows reduction of a single dimension for now.")
    place = wrap_dim(dims[0], input.dim())
    if place != input.dim() - 1:
        raise RuntimeError(f"NestedTensor can only be reduced across the last dimension for now got dimension {place} instead.")
    if not keepdim:
        raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    if dtype is not None:
        raise RuntimeError("NestedTensor does not support dtype argument for now.")
    needs_rows(input, "NestedTensor does not support reductions when the input is noncontiguous for now.")
    rows = rows_of(input)
    if rows is None:
        return by_part(lambda part: part.sum(-1, True), input)
    sizes = input._sizes.copy()
    sizes[:, -1] = 1
    return in_buffer(rows.sum(-1), sizes)


@form("softmax")
def softmax(public: Function, input: Any, dim: int, *rest: Any, **named: Any) -> Tensor:
    """Apply softmax along a dimension of the components."""
    if not len(input._sizes):
        return input.clone()
    place = wrap_dim(dim, input.dim())
    if place == 0:
        raise RuntimeError("Cannot apply softmax across nested dimension 0")
    rows = rows_of(input) if place == input.dim() - 1 else None
    if rows is None:
        return by_part(lambda part: public(part, place - 1, *rest, **named), input)
    return in_buffer(public(rows, -1, *rest, **named).reshape(-1), input._sizes)


@form("layer_norm")
def layer_norm(
    public: Function, input: Any, normalized_shape: tuple[int, ...], weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5, *rest: Any
) -> Tensor:
    """Apply layer normalization over trailing dimensions in which all components agree."""
    if weight is None or bias is None:
        raise ValueError("NestedTensor layer_norm requires weight and bias")
    if is_nested(weight) or is_nested(bias):
        raise RuntimeError("NestedTensor weight not supported for layer_norm")
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    needs_rows(input, "input must be contiguous")
    places = range(input.dim() - len(shape), input.dim())
    if len(shape) >= input.dim() or any(length_of(input, place) is None for place in places):
        raise RuntimeError("normalized_shape extends into irregular dimensions for the nested tensor")
    for number, (place, wanted) in enumerate(zip(places, shape)):
        if length_of(input, place) != wanted:
            raise RuntimeError(
                f"The shape at dimension {number} of normalized_shape ({wanted}) does not match the input ({length_of(input, place)})"
            )
    rows = rows_of(input, len(shape))
    return in_buffer(F.layer_norm(rows, shape, weight, bias, eps).reshape(-1), input._sizes)


@form("linear")
def linear(public: Function, input: Any, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Apply a linear layer to the last dimension of all components at once."""
    if is_nested(weight):
        raise RuntimeError("Linear does not support nested weight when input is a nested tensor.")
    needs_rows(input, "for now linear only supports contiguous nested tensor")
    if input.dim() != 3 or weight.dim() != 2:
        raise RuntimeError(
            f"Linear requires nested_tensor.dim == 3 and dense_matrix.dim == 2. Nested tensor dim: {input.dim()}. Dense tensor dim: "
            f"{weight.dim()}"
        )
    last = last_length(input)
    if last != weight.shape[1]:
        raise RuntimeError(
            "Shape mismatch for NestedTensor Linear: Expected input's (a nested tensor) 'last_dim' to equal 'weight.size(1), but got: "
            f"last_dim = {last}, and weight.size(1) = {weight.shape[1]}"
        )
    sizes = input._sizes.copy()
    sizes[:, -1] = weight.shape[0]
    return in_buffer(public(rows_of(input), weight, bias).reshape(-1), sizes)


@form("embedding")
def embedding(public: Function, input: Any, weight: Any, *rest: Any, **named: Any) -> Any:
    """Look up rows of a table by 1-d components of indices."""
    if is_nested(weight):
        raise RuntimeError("NestedTensor weight not supported for embedding")
    sizes = np.concatenate([input._sizes, np.full((len(input._sizes), 1), weight.shape[1])], 1)
    return in_buffer(public(input._packed()._values, weight, *rest, **named).reshape(-1), sizes)


# Products


@form("bmm")
def bmm(public: Function, input: Tensor, mat2: Tensor, *, out: Any = None) -> Tensor:
    """Multiply matrices component by component."""
    if input.dim() != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if mat2.dim() != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    one, other = _as_nested(input), _as_nested(mat2)
    if len(one._sizes) != len(other._sizes):
        raise RuntimeError(
            f"Expected size for the 1st dimension of batch2 tensor to be: {len(one._sizes)} but got: {len(other._sizes)}."
        )
    for number, (left, right) in enumerate(zip(one._sizes.tolist(), other._sizes.tolist())):
        if left[1] != right[0]:
            raise RuntimeError(
                f"{number}-th nested matrices in batch cannot be multiplied ({left[0]}x{left[1]} and {right[0]}x{right[1]})"
            )
    return by_part(lambda a, b: a.mm(b), one, other)


def _as_nested(input: Tensor) -> Any:
    return input if is_nested(input) else of_parts(input.unbind(0))


@form("matmul", "__matmul__", "__rmatmul__")
def matmul(public: Function, input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """Multiply matrices component by component, or all components by one plain matrix."""
    if public_name(public) == "__rmatmul__":
        input, other = other, input
    if is_nested(input) and not is_nested(other):
        rows = rows_of(input) if other.dim() == 2 else None
        if rows is None or rows.shape[1] != other.shape[0]:
            raise RuntimeError("Expected both to be nested, but got a nested self and non-nested other")
        sizes = input._sizes.copy()
        sizes[:, -1] = other.shape[1]
        return in_buffer(rows.mm(other).reshape(-1), sizes)
    if not is_nested(input):
        raise RuntimeError("Expected both to be nested, but got a non-nested self and nested other")
    for ordinal, item in (("1st", input), ("2nd", other)):
        if item.dim() < 3:
            raise RuntimeError(
                f"matmul: For nested tensors, only inputs with >= 3 dims are currently supported. {ordinal} input has rank: {item.dim()}"
            )
    if input.dim() != other.dim():
        raise RuntimeError("matmul: both inputs must have the same rank")
    if len(input._sizes) != len(other._sizes):
        raise RuntimeError(
            f"matmul: Expected size for the 1st dimension of 2nd input tensor to be: {len(input._sizes)} but got: {len(other._sizes)}."
        )
    for left, right in zip(input._sizes.tolist(), other._sizes.tolist()):
        if left[:-2] != right[:-2]:
            raise RuntimeError(
                "matmul: For nested tensors, batch dimensions must have the same sizes, no broadcasting is currently performed. Got batch "
                f"shapes for self {left[:-2]} and batch shapes for mat2 {right[:-2]}"
            )
        if left[-1] != right[-2]:
            raise RuntimeError(
                f"matmul: Nested tensors cannot be matrix multiplied, last dimension of self has sizes{left[-1]}second last dimension of "
                f"mat2 has sizes{right[-2]}"
            )
    return by_part(lambda a, b: a.matmul(b), input, other)


@form("scaled_dot_product_attention")
def attention(
    public: Function, query: Any, key: Any, value: Any, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """Compute attention within each component."""
    if attn_mask is not None:
        raise RuntimeError(
            "scaled_dot_product_attention: Nested tensors for query / key / value are not supported when an explicit attn_mask is set"
        )
    if is_causal:
        raise RuntimeError(
            "scaled_dot_product_attention: Nested tensors for query / key / value are not supported when is_causal=True"
        )
    operands = [_as_nested(item)._packed() for item in (query, key, value)]
    found, sizes = attend([item._values for item in operands], [item._sizes for item in operands], dropout_p, scale)
    return in_buffer(found, sizes)


# To others


@form("to_padded_tensor", "nested_to_padded_tensor")
def to_padded_tensor(
    public: Function, input: Any, padding: float, output_size: Sequence[int] | None = None, out: Tensor | None = None
) -> Tensor:
    """Return a dense tensor of all components, padded with ``padding``."""
    needs_rows(input, "for now to_padded_tensor only supports contiguous nested tensor")
    if not input._sizes.size:
        return input._values.clone().reshape((len(input._sizes),) if len(input._sizes) else (0,))
    if input.numel() == 0:
        raise RuntimeError("to_padded_tensor: at least one constituent tensor should have non-zero numel")
    outer = input._sizes.max(0).tolist()
    if output_size is not None:
        if len(output_size) != input.dim():
            raise RuntimeError("Length of output_size does not match NestedTensor dims. Broadcasting is not supported.")
        if output_size[0] < len(input._sizes) or any(given < own for given, own in zip(output_size[1:], outer)):
            raise RuntimeError("Value in output_size is less than NestedTensor padded size. Truncation is not supported.")
        outer = list(output_size[1:])
    found = padded(input._packed()._values, input._sizes, outer, padding)
    if output_size is not None and output_size[0] > len(input._sizes):
        more = found.new_full((output_size[0] - len(input._sizes), *outer), padding)
        found = join.cat([found, more])
    return found


@form("copy_")
def copy_(public: Function, input: Any, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Copy elements from another nested tensor of the same sizes."""
    if not is_nested(src) or not is_nested(input) or not input.is_same_size(src):
        raise RuntimeError("copy_ only supports tensors that are the same size for Nested implementations")
    input._values.copy_(input._seed(src), non_blocking)
    return input
