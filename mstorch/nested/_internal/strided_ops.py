"""Operations on nested tensors of the strided layout. Each takes the public function that was called, and its arguments."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._core.formats import contiguous_format, preserve_format
from ..._core.nested_parts import is_nested
from ..._core.tensor_base import TensorBase
from ..._ops import join
from ..._ops._dispatch import wrap_dim
from ...nn import functional as F
from .keys import read
from .padding import padded
from .sdpa import attend
from .strided import StridedNested, by_part, in_buffer, length_of, of_parts, parts, same_places, viewed
from .taking import is_pointwise, nested_among

Function = Callable[..., Any]
FORMS: dict[str, Function] = {}
_FEATURE = (
    "{0}(): For nested tensors, {1} not supported at the moment if you need this feature, please open an issue on github describing "
    "your use case."
)


def form(*names: str) -> Callable[[Function], Function]:
    """Enter a function as the form of operations."""

    def enter(function: Function) -> Function:
        FORMS.update(dict.fromkeys(names, function))
        return function

    return enter


def needs_rows(input: Any, text: str) -> None:
    """RuntimeError for a nested tensor whose parts do not lie one after the other in rows."""
    if not input.is_contiguous():
        raise RuntimeError(text)


def wrapped(result: Any, lead: Any) -> Any:
    """A result on elements as a nested tensor of the structure of ``lead``; ``lead`` itself where its elements were written."""
    if result is lead._values:
        return lead
    if isinstance(result, TensorBase):
        return lead._like(result)
    return type(result)(wrapped(item, lead) for item in result) if isinstance(result, (tuple, list)) else result


def pointwise(lead: Any, public: Function, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An operation on each element, computed on the buffer."""
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
        lead = lead.contiguous()

    def elements(item: Any) -> Any:
        if is_nested(item):
            return item._values if same_places(lead, item) else item.contiguous()._values
        return [elements(one) for one in item] if item.__class__ in (list, tuple) and any(nested_among(item)) else item

    return wrapped(public(*map(elements, args), **{key: elements(item) for key, item in kwargs.items()}), lead)


# What reads or makes elements wherever they stand.
_ANY_PLACES = frozenset("""
    bfloat16 bool byte cdouble cfloat char double float half int long short zero_ fill_ positive dropout dropout_ masked_fill
""".split())


def _check_pair(name: str, one: Any, other: Any) -> None:
    words = ["nested" if is_nested(item) else "non-nested" for item in (one, other)]
    if words[0] != words[1] and not any(not is_nested(item) and item.dim() == 0 for item in (one, other)):
        raise RuntimeError(f"Expected both self and other to be nested, but got a {words[0]} self and {words[1]} other")


@form("zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "randint_like")
def made_like(
    public: Function, input: Any, *args: Any, memory_format: Any = None, layout: Any = None, requires_grad: bool = False, **named: Any
) -> Any:
    """Other values of the same sizes."""
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
def clone(public: Function, input: Any, *, memory_format: Any = None) -> Any:
    """A copy; without gaps if ``memory_format`` asks for rows."""
    if memory_format not in (None, preserve_format, contiguous_format):
        raise RuntimeError(
            "Nested tensor clone supports Preserve and Contiguous memory formats, called clone with memory format: "
            f"{_FORMAT_NAMES[repr(memory_format)]}"
        )
    if memory_format is contiguous_format and not input.is_contiguous():
        return of_parts(parts(input))
    return input._like(input._values.clone())


StridedNested.pointwise = pointwise  # type: ignore[attr-defined]
StridedNested.FORMS = FORMS  # type: ignore[attr-defined]


# Sizes alone


@form("transpose")
def transpose(public: Function, input: Any, dim0: int, dim1: int) -> Any:
    """Two dimensions of the parts exchanged: a view."""
    one, other = wrap_dim(dim0, input.dim()), wrap_dim(dim1, input.dim())
    if one == other:
        return input
    if not one or not other:
        raise RuntimeError("Nested tensor dimension 0 cannot be transposed")
    order = list(range(input.dim() - 1))
    order[one - 1], order[other - 1] = other - 1, one - 1
    return viewed(input, input._sizes[:, order], input._steps[:, order])


@form("mT of a tensor")
def matrix_transpose(public: Function, input: Any) -> Any:
    """The last two dimensions exchanged."""
    return transpose(public, input, -2, -1)


@form("squeeze")
def squeeze(public: Function, input: Any, dim: Any = None) -> Any:
    """A dimension of length 1 removed: a view."""
    if dim is None:
        raise RuntimeError(
            "squeeze(): For nested tensors, squeeze without the dim argument is not supported at the moment, however you can use "
            "squeeze(Tensor self, int dim) instead if you need this feature, please open an issue on github describing your use case."
        )
    place = wrap_dim(dim, input.dim())
    if place == 0:
        raise RuntimeError(_FEATURE.format("squeeze", "squeezing dimension 0 is"))
    if length_of(input, place) != 1:
        return input
    if input.dim() == 2:
        raise RuntimeError(_FEATURE.format("squeeze", "squeezing a nested tensor of singleton tensors is").replace(" if you", ", if you"))
    return viewed(input, np.delete(input._sizes, place - 1, 1), np.delete(input._steps, place - 1, 1))


@form("unsqueeze")
def unsqueeze(public: Function, input: Any, dim: int) -> Any:
    """A dimension of length 1 inserted: a view."""
    place = wrap_dim(dim, input.dim() + 1)
    if place == 0:
        raise RuntimeError(_FEATURE.format("unsqueeze", "unsqueezing dimension 0 is"))
    sizes, steps = input._sizes, input._steps
    step = sizes[:, place - 1] * steps[:, place - 1] if place - 1 < sizes.shape[1] else np.ones(len(sizes), np.int64)
    return viewed(input, np.insert(sizes, place - 1, 1, 1), np.insert(steps, place - 1, step, 1))


def _reshaped_sizes(input: Any, shape: Sequence[int], name: str) -> np.ndarray:
    """The sizes of parts of a proposed shape, in which -1 stands for a part's own length."""
    if not shape:
        raise RuntimeError("shape '[]' is invalid for a nested tensor")
    if not len(input._sizes):
        raise RuntimeError("empty nested tensor cannot be reshaped")
    if shape[0] != len(input._sizes):
        raise RuntimeError(f"{name}: For now nested {name} cannot change or infer the implicit batch dimension")
    wanted = list(shape[1:])
    old = input._sizes.shape[1]
    if len(wanted) > old and wanted[:old].count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if -1 in wanted[old:]:
        raise RuntimeError("only one dimension can be inferred" if wanted[old:].count(-1) > 1 else "nested tensor does not infer shape")
    for length in wanted:
        if length < -1:
            raise RuntimeError(f"invalid shape dimension {length}")
    rows = [[size[i] if length == -1 else length for i, length in enumerate(wanted)] for size in input._sizes.tolist()]
    sizes = np.array(rows, np.int64).reshape(len(rows), len(wanted))
    for own, new in zip(input._sizes.prod(1), sizes.prod(1)):
        if own != new:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {own}")
    return sizes


def _lengths(shape: tuple[Any, ...]) -> list[int]:
    first = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    return [int(length) for length in first]


@form("view")
def view(public: Function, input: Any, *shape: Any) -> Any:
    """The parts in other shapes, a view. RuntimeError where that needs a copy."""
    sizes = _reshaped_sizes(input, _lengths(shape), "view")
    steps = []
    for part, size in zip(parts(input), sizes.tolist()):
        try:
            steps.append(part.detach().view(size).stride())
        except RuntimeError:
            raise RuntimeError(
                "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
                "subspaces). Use .reshape(...) instead."
            ) from None
    return viewed(input, sizes, np.array(steps, np.int64).reshape(sizes.shape))


@form("reshape")
def reshape(public: Function, input: Any, *shape: Any) -> Any:
    """The parts in other shapes, a copy where a view cannot be."""
    _reshaped_sizes(input, _lengths(shape), "reshape")
    try:
        return view(public, input, *shape)
    except RuntimeError:
        return view(public, of_parts(parts(input)), *shape)


# Parts


@form("select")
def select(public: Function, input: Any, dim: int, index: int) -> Any:
    """A part, or in each part what stands at an index: a view."""
    place, count = wrap_dim(dim, input.dim()), len(input._sizes)
    if place == 0:
        if not count:
            raise IndexError("You can only select when the NT is not empty.")
        if not -count <= index < count:
            raise IndexError(f"index {index} is out of bounds for dimension 0 with size {count}")
        return parts(input)[index]
    lengths = input._sizes[:, place - 1]
    for number, length in enumerate(lengths.tolist()):
        if not -length <= index < length:
            raise IndexError(
                f"index {index} is out of bounds for dimension {place - 1} of the {number}th constituent tensor with size {length}"
            )
    at = np.where(index < 0, lengths + index, index)
    starts = input._starts + at * input._steps[:, place - 1]
    return viewed(input, np.delete(input._sizes, place - 1, 1), np.delete(input._steps, place - 1, 1), starts)


@form("__getitem__")
def getitem(public: Function, input: Any, key: Any) -> Any:
    """Numbers, ``None`` and the dots; slices only of a part."""
    return read(input, key, _no_slice)


def _no_slice(input: Any, dim: int, key: slice) -> Any:
    raise NotImplementedError(
        "Could not run 'aten::slice.Tensor' with arguments from the 'NestedTensorCPU' backend: a nested tensor takes numbers"
    )


@form("narrow")
def narrow(public: Function, input: Any, dim: int, start: int, length: int) -> Any:
    """Some of the parts: a view."""
    if wrap_dim(dim, input.dim()) != 0:
        raise RuntimeError(f"narrow(): only dim=0 supported for nested tensors, but got: {dim}")
    count = len(input._sizes)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative")
    if not -count <= start <= count:
        raise RuntimeError(f"start out of range (expected to be in range of [{-count}, {count}], but got {start})")
    start = start + count if start < 0 else start
    if start + length > count:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({count}).")
    needs_rows(input, "narrow(): only contiguous nested tensors supported")
    some = slice(start, start + length)
    begin = int(input._starts[start]) if start < count else 0
    window = input._values.narrow(0, begin, int(input._sizes[some].prod(1).sum()))
    found = in_buffer(window, input._sizes[some], input._steps[some], input._starts[some] - begin)
    found.__dict__["_view_of"] = input
    return found


def _split_last(input: Any, lengths: Sequence[int]) -> list[Any]:
    found, begin = [], 0
    for length in lengths:
        sizes = input._sizes.copy()
        sizes[:, -1] = length
        found.append(viewed(input, sizes, input._steps, input._starts + begin * input._steps[:, -1]))
        begin += length
    return found


@form("chunk")
def chunk(public: Function, input: Any, chunks: int, dim: int = 0) -> Any:
    """The last dimension in equal pieces: views."""
    if wrap_dim(dim, input.dim()) != input.dim() - 1:
        raise RuntimeError("Chunk for nested tensors is currently only supported for the last dimension.")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    needs_rows(input, "chunk expects `self` to be contiguous.")
    last = _last_length(input)
    if last % chunks:
        raise RuntimeError(
            "Chunk for nested tensors is only supported for nested tensors with trailing dimension divisible by chunks, got: "
            f"{last} % {chunks} != 0"
        )
    return tuple(_split_last(input, [last // chunks] * chunks))


@form("split_with_sizes", "split")
def split_with_sizes(public: Function, input: Any, split_sizes: Any, dim: int = 0) -> Any:
    """The last dimension in pieces: views."""
    if wrap_dim(dim, input.dim()) != input.dim() - 1:
        raise RuntimeError("split_with_sizes for nested tensors is currently only supported for the last dimension.")
    if isinstance(split_sizes, int) or public.__name__ == "split":
        raise NotImplementedError("Could not run 'aten::split.Tensor' with arguments from the 'NestedTensorCPU' backend.")
    if not len(split_sizes):
        raise RuntimeError("split_with_sizes expects number of splits to be greater than 0, got: 0")
    needs_rows(input, "split_with_sizes expects `self` to be contiguous.")
    last = _last_length(input)
    if sum(split_sizes) != last:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {last} (input tensor's size at dimension {input.dim() - 1}), but got "
            f"split_sizes={list(split_sizes)}"
        )
    return _split_last(input, split_sizes)


def _last_length(input: Any) -> int:
    length = length_of(input, input.dim() - 1)
    if length is None:
        column = input._sizes[:, -1]
        number = int((column != column[0]).argmax())
        raise RuntimeError(
            "Expected all tensors in nested tensor to have the same trailing dimension, instead last dimension equals: "
            f"{column[number]}"
        )
    return length


@form("cat")
def cat(public: Function, tensors: Sequence[Any], dim: int = 0, *, out: Any = None) -> Any:
    """Parts one after the other, or each part joined to that of the others."""
    first = next(nested_among(tensors))
    place = wrap_dim(dim, first.dim())
    for tensor in tensors:
        if not is_nested(tensor):
            raise RuntimeError(
                "Expected each tensor in given list to be nested." if place == 0
                else "cat(): expected each tensor in given list to be nested"
            )
        needs_rows(
            tensor, "Expected each tensor in given list to be contiguous." if place == 0
            else "cat(): only contiguous nested tensors are supported",
        )  # fmt: skip
    if place == 0:
        full = [tensor for tensor in tensors if len(tensor._sizes)]
        if not full:
            return first
        return in_buffer(join.cat([tensor._values for tensor in full]), np.concatenate([tensor._sizes for tensor in full]))
    for tensor in tensors[1:]:
        if not np.array_equal(np.delete(tensor._sizes, place - 1, 1), np.delete(first._sizes, place - 1, 1)):
            raise RuntimeError("cat(): expected all nested tensors to have matching ragged structures outside of the concatenated dim")
    return by_part(lambda *row: join.cat(row, place - 1), *tensors)


# Along a dimension


def rows_of(input: Any, rank: int = 1) -> Any:
    """The elements as rows of the last ``rank`` dimensions, where all parts have those in common; else None."""
    tail = input._sizes[:, input._sizes.shape[1] - rank :]
    if not len(tail) or tail.shape[1] < rank or not (tail == tail[0]).all() or not input.is_contiguous():
        return None
    lengths = tail[0].tolist()
    return input._values.reshape(int(input._sizes[:, : input._sizes.shape[1] - rank].prod(1).sum()), *lengths)


@form("sum")
def summed(public: Function, input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum along the last dimension, which stays with length 1."""
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
def softmax(public: Function, input: Any, dim: int, *rest: Any, **named: Any) -> Any:
    """softmax along a dimension of the parts."""
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
    public: Function, input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *rest: Any
) -> Any:
    """Layer normalisation over trailing dimensions that all parts have in common."""
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
def linear(public: Function, input: Any, weight: Any, bias: Any = None) -> Any:
    """The layer on the last dimension of all parts at once."""
    if is_nested(weight):
        raise RuntimeError("Linear does not support nested weight when input is a nested tensor.")
    needs_rows(input, "for now linear only supports contiguous nested tensor")
    if input.dim() != 3 or weight.dim() != 2:
        raise RuntimeError(
            f"Linear requires nested_tensor.dim == 3 and dense_matrix.dim == 2. Nested tensor dim: {input.dim()}. Dense tensor dim: "
            f"{weight.dim()}"
        )
    last = _last_length(input)
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
    """Rows of a table, for parts of one dimension of numbers of rows."""
    if is_nested(weight):
        raise RuntimeError("NestedTensor weight not supported for embedding")
    sizes = np.concatenate([input._sizes, np.full((len(input._sizes), 1), weight.shape[1])], 1)
    return in_buffer(public(input.contiguous()._values, weight, *rest, **named).reshape(-1), sizes)


# Products


@form("bmm")
def bmm(public: Function, input: Any, mat2: Any, *, out: Any = None) -> Any:
    """Products of matrices, part by part."""
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


def _as_nested(input: Any) -> Any:
    return input if is_nested(input) else of_parts(input.unbind(0))


@form("matmul", "__matmul__", "__rmatmul__")
def matmul(public: Function, input: Any, other: Any, *, out: Any = None) -> Any:
    """Products of matrices, part by part; with a plain matrix, of all parts at once."""
    if public.__name__ == "__rmatmul__":
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
    public: Function, query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """Attention within each part."""
    if attn_mask is not None:
        raise RuntimeError(
            "scaled_dot_product_attention: Nested tensors for query / key / value are not supported when an explicit attn_mask is set"
        )
    if is_causal:
        raise RuntimeError(
            "scaled_dot_product_attention: Nested tensors for query / key / value are not supported when is_causal=True"
        )
    operands = [_as_nested(item).contiguous() for item in (query, key, value)]
    found, sizes = attend(*[x._values for x in operands], *[x._sizes for x in operands], dropout_p, False, scale)
    return in_buffer(found, sizes)


# To others


@form("to_padded_tensor", "nested_to_padded_tensor")
def to_padded_tensor(public: Function, input: Any, padding: float, output_size: Any = None, out: Any = None) -> Any:
    """One tensor of all parts, the rest filled with ``padding``."""
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
    found = padded(input._values, input._sizes, outer, padding)
    if output_size is not None and output_size[0] > len(input._sizes):
        more = found.new_full((output_size[0] - len(input._sizes), *outer), padding)
        found = join.cat([found, more])
    return found


@form("copy_")
def copy_(public: Function, input: Any, src: Any, non_blocking: bool = False) -> Any:
    """Elements of another nested tensor of the same sizes."""
    if not is_nested(src) or not is_nested(input) or not input.is_same_size(src):
        raise RuntimeError("copy_ only supports tensors that are the same size for Nested implementations")
    input._values.copy_(input._seed(src), non_blocking)
    return input
