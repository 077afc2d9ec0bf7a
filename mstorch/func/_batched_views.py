"""Batching rules of views, joins, and functions that create tensors like others."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._src.core.overriding import state
from .._src.core.tensor_base import TensorBase
from .._src.ops._dispatch import broadcast_shape
from .._src.ops.memory.subclasses import make_subclass
from .._tensor import Tensor
from ._batched import (
    NO_BRANCH,
    NO_ITEM,
    BatchedTensor,
    Op,
    as_batched,
    batched,
    front,
    is_of,
    outside,
    public,
    within,
    wrapped,
)
from ._batched_loop import by_slices, expanded, unmapped_error
from ._batched_rules import Arguments, bound, pointwise, pointwise_in_place, ruled, rules, shifted


def _sizes(given: Arguments, *names: str) -> tuple[int, ...]:
    """Return sizes that are passed one by one, as one sequence, or by name."""
    for name in (*names, "*"):
        if name in given:
            found = given.pop(name)
            if isinstance(found, (tuple, list)) and len(found) == 1 and isinstance(found[0], (tuple, list)):
                found = found[0]
            return tuple(found) if isinstance(found, (tuple, list)) else (found,)
    return ()


def _only_first(op: Op, given: Arguments) -> bool:
    """Return whether the first tensor is the only batched one."""
    return is_of(given["input"], op.map) and not any(isinstance(value, BatchedTensor) for name, value in given.items() if name != "input")


@ruled("reshape view Tensor.view view_copy")
def reshape(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Reshape each slice, or view it as another dtype."""
    given = bound(op, args, kwargs)
    tensor = given.pop("input")
    value = front(tensor)
    sizes = _sizes(given, "shape", "size", "shapes")
    if given or any(not isinstance(size, int) for size in sizes) or not sizes and "dtype" in kwargs:
        if not tensor._ms_shape:
            return by_slices(op, args, kwargs)
        return batched(op(value, *args[1:], **kwargs), 0, op.map)
    if -1 in sizes and 0 in value._ms_shape:
        return by_slices(op, args, kwargs)
    return batched(op(value, (op.map.size, *sizes)), 0, op.map)


@ruled("view_as reshape_as expand_as")
def shaped_as(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Reshape or expand to the logical shape of another tensor."""
    tensor, other = args
    form = op.name.removesuffix("_as")
    if not is_of(tensor, op.map):
        return getattr(tensor, form)(tuple(other._ms_shape))
    inner = _resized(op, tensor, form)
    return inner(tuple(other._ms_shape))


def _resized(op: Op, tensor: Any, form: str) -> Any:
    value = front(tensor)
    if form == "expand":
        return lambda sizes: batched(_expanded(value, sizes, op.map.size), 0, op.map)
    return lambda sizes: batched(getattr(value, form)((op.map.size, *sizes)), 0, op.map)


def _expanded(value: Tensor, sizes: Sequence[Any], count: int) -> Tensor:
    own = value._ms_shape[1:]
    if len(sizes) > len(own):
        value = value.reshape(count, *(1,) * (len(sizes) - len(own)), *own)
    return value.expand(count, *sizes)


@ruled("expand broadcast_to expand_copy")
def expand(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Expand each slice to a shape."""
    given = bound(op, args, kwargs)
    given.pop("implicit", None)
    tensor = given.pop("input")
    return batched(_expanded(front(tensor), _sizes(given, "size", "sizes"), op.map.size), 0, op.map)


@ruled("permute permute_copy")
def permute(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Permute the dimensions of each slice."""
    given = bound(op, args, kwargs)
    tensor = given.pop("input")
    dims = _sizes(given, "dims")
    rank = len(tensor._ms_shape)
    if len(dims) != rank:
        return by_slices(op, args, kwargs)
    return batched(front(tensor).permute(0, *(shifted(op, dim, rank) for dim in dims)), 0, op.map)


@ruled("unsqueeze unsqueeze_copy unsqueeze_")
def unsqueeze(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Insert a dimension of length 1."""
    given = bound(op, args, kwargs)
    tensor = given["input"]
    place = wrapped(given["dim"], len(tensor._ms_shape) + 1) + 1
    if op.name.endswith("_"):
        return _turned(tensor, front(tensor).unsqueeze_(place) if not tensor.bdim else front(tensor).unsqueeze(place))
    return batched(front(tensor).unsqueeze(place), 0, op.map)


def _turned(tensor: Any, value: Any) -> Any:
    tensor.value, tensor.bdim = value, 0
    return tensor


@ruled("squeeze squeeze_copy squeeze_")
def squeeze(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Remove dimensions of length 1: all of them, or those in ``dim``."""
    given = bound(op, args, kwargs)
    tensor = given.pop("input")
    shape = tensor._ms_shape
    named = given.get("dim", given.get("*"))
    if isinstance(named, tuple) and len(named) == 1 and isinstance(named[0], (tuple, list)):
        named = named[0]
    dims = range(len(shape)) if named is None else named if isinstance(named, (tuple, list)) else (named,)
    places = [place for place in (wrapped(dim, len(shape)) for dim in dims) if shape and shape[place] == 1]
    value = front(tensor)
    if places:
        value = value.squeeze(tuple(place + 1 for place in places))
    return _turned(tensor, value) if op.name.endswith("_") else batched(value if places else value.view(value._ms_shape), 0, op.map)


@ruled("t_ transpose_ swapaxes_ swapdims_")
def turned(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Transpose a batched tensor in place: compute the view out of place, and turn the tensor into that view."""
    tensor, *dims = args
    return _turned(tensor, front(getattr(tensor, op.name[:-1])(*dims, **kwargs)))


@ruled("t T H t_copy numpy_T")
def reversed_dims(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Reverse the order of the dimensions."""
    tensor = args[0]
    rank = len(tensor._ms_shape)
    if op.key.endswith("T.__get__") or rank < 2 or rank == 2:
        value = front(tensor).permute(0, *range(rank, 0, -1))
        return batched(value.conj() if ".H." in op.key else value, 0, op.map)
    return by_slices(op, args, kwargs)


@ruled("repeat tile")
def repeat(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Repeat each slice along its dimensions."""
    given = bound(op, args, kwargs)
    tensor = given.pop("input")
    times = _sizes(given, "repeats", "dims")
    value, rank = front(tensor), len(tensor._ms_shape)
    if len(times) < rank:
        if op.name != "tile":
            return by_slices(op, args, kwargs)
        times = (*(1,) * (rank - len(times)), *times)
    value = value.reshape(op.map.size, *(1,) * (len(times) - rank), *value._ms_shape[1:])
    return batched(value.repeat(1, *times), 0, op.map)


@ruled("repeat_interleave")
def repeat_interleave(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Repeat the elements."""
    given = bound(op, args, kwargs)
    tensor = given.pop("input")
    if not is_of(tensor, op.map) or isinstance(given.get("repeats"), BatchedTensor) or "repeats" not in given:
        return by_slices(op, args, kwargs)
    value, dim, rank = front(tensor), given.pop("dim", None), len(tensor._ms_shape)
    if dim is None or not rank:
        value, dim = value.reshape(op.map.size, -1) if op.map.size else value.flatten(1), 1
    else:
        dim = shifted(op, dim, rank)
    return batched(op(value, dim=dim, **given), 0, op.map)


@ruled("roll")
def roll(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Roll elements along dimensions; elements moved beyond the end re-enter at the front."""
    given = bound(op, args, kwargs)
    tensor = given.pop("input")
    value, dims, rank = front(tensor), given.get("dims"), len(tensor._ms_shape)
    if not rank:
        return by_slices(op, args, kwargs)
    if dims is None or isinstance(dims, (tuple, list)) and not dims:
        return batched(value.flatten(1).roll(given["shifts"], 1).reshape(value._ms_shape), 0, op.map)
    return batched(value.roll(given["shifts"], shifted(op, dims, rank)), 0, op.map)


@ruled("Tensor.flip flip fliplr flipud")
def flip(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Flip dimensions."""
    given = bound(op, args, kwargs)
    tensor = given.pop("input")
    dims = {"fliplr": (1,), "flipud": (0,)}.get(op.name) or _sizes(given, "dims")
    if not tensor._ms_shape:
        return by_slices(op, args, kwargs)
    return batched(front(tensor).flip(shifted(op, dims, len(tensor._ms_shape))), 0, op.map)


@ruled("clone")
def clone(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Copy; a memory format applies to each slice."""
    wanted = str(kwargs.get("memory_format"))
    if wanted in ("torch.channels_last", "torch.channels_last_3d"):
        raise RuntimeError("NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format torch.preserve_format or "
                           "torch.contiguous_format (got ChannelsLast)")  # fmt: skip
    if wanted == "torch.contiguous_format":
        return batched(op(front(args[0]), **kwargs), 0, op.map)
    return batched(op(args[0].value, **kwargs), args[0].bdim, op.map)


@ruled("fill fill_")
def fill(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Fill with a number, which may be batched."""
    given = bound(op, args, kwargs)
    target, value = given["input"], given["value"]
    in_place = op.name == "fill_"
    if in_place and not is_of(target, op.map):
        raise unmapped_error(op)
    if not is_of(value, op.map):
        found = op(target.value, value)
        return target if in_place else batched(found, target.bdim, op.map)
    if value._ms_shape:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {len(value._ms_shape)} dimensions.")
    with within(op.map):
        found = value.to(target._ms_dtype).expand(target._ms_shape)
        return target.copy_(found) if in_place else found.clone()


@ruled("contiguous")
def contiguous(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return each slice row-major."""
    if str(kwargs.get("memory_format", args[1:] and args[1])) in ("torch.channels_last", "torch.channels_last_3d"):
        raise RuntimeError("NYI: Tensor.contiguous(...) inside of vmap for memory_format other than torch.contiguous_format")
    return batched(front(args[0]).contiguous(), 0, op.map)


@ruled("view_as_real view_as_complex view_as_real_copy view_as_complex_copy diag_embed")
def in_front(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Run a function of the last dimensions, with the batch dimension moved to the front."""
    given = bound(op, args, kwargs)
    if not _only_first(op, given) or "dim1" in given or "dim2" in given or not given["input"]._ms_shape and op.name != "view_as_real":
        return by_slices(op, args, kwargs)
    return batched(op(front(given.pop("input")), **given), 0, op.map)


@ruled("trace")
def trace(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the trace of each slice."""
    if len(args[0]._ms_shape) != 2:
        return by_slices(op, args, kwargs)
    return args[0].diagonal().sum(-1) if not is_of(args[0], op.map) else batched(front(args[0]).diagonal(0, 1, 2).sum(-1), 0, op.map)


def _window(op: Op, value: Any, given: Arguments) -> Any:
    size, stride, offset = tuple(given["size"]), tuple(given["stride"]), given.get("storage_offset")
    offset = value.storage_offset() if offset is None else offset
    return value.as_strided((op.map.size, *size), (value.stride(0), *stride), offset)


@ruled("as_strided as_strided_copy")
def as_strided(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return a strided view of each slice."""
    given = bound(op, args, kwargs)
    found = _window(op, front(given["input"]), given)
    return batched(found if op.name == "as_strided" else found.clone(), 0, op.map)


@ruled("as_strided_scatter")
def as_strided_scatter(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Raise RuntimeError, as torch does."""
    raise RuntimeError(
        "Error: aten::as_strided_scatter requires special handling, and does not yet have a batching rule. Feel free to file a github "
        "issue!"
    )


@ruled("hsplit vsplit dsplit tensor_split")
def split_of_many(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Tensor, ...]:
    """Split along a dimension, by sizes or indices."""
    given = bound(op, args, kwargs)
    tensor = given.pop("input")
    names = ("indices_or_sections", "indices", "sections", "split_size_or_sections", "*")
    parts = next((given[name] for name in names if name in given), None)
    if not isinstance(parts, (int, tuple, list)) or not is_of(tensor, op.map):
        return by_slices(op, args, kwargs)
    if isinstance(parts, tuple) and len(parts) == 1 and isinstance(parts[0], (tuple, list)):
        parts = parts[0]
    rank = len(tensor._ms_shape)
    least = {"hsplit": 1, "vsplit": 2, "dsplit": 3}.get(op.name, 1)
    if rank < least:
        return by_slices(op, args, kwargs)
    dim = {"hsplit": min(1, rank - 1), "vsplit": 0, "dsplit": 2}.get(op.name, given.get("dim", 0))
    if op.name != "tensor_split" and isinstance(parts, int) and (parts == 0 or tensor._ms_shape[dim] % parts):
        return by_slices(op, args, kwargs)
    return as_batched(front(tensor).tensor_split(parts, shifted(op, dim, rank)), 0, op.map)


# Joins


def _list_of(op: Op, tensors: Sequence[Any]) -> list[Any]:
    return [expanded(tensor, op.map) for tensor in tensors]


@ruled("cat concat concatenate stack")
def join(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TensorBase:
    """Concatenate or stack along a dimension."""
    given = bound(op, args, kwargs)
    tensors = next((given.pop(name) for name in ("tensors", "input") if name in given), ())
    dim = given.pop("dim", 0)
    ranks = {len(tensor._ms_shape) for tensor in tensors}
    if given or len(ranks) != 1 or (ranks == {0} and op.name != "stack"):
        return by_slices(op, args, kwargs)
    rank = ranks.pop() + (op.name == "stack")
    return batched(op(_list_of(op, tensors), shifted(op, dim, rank)), 0, op.map)


@ruled("block_diag " + " ".join(f"{way}stack" for way in ("h", "v", "row_", "d", "column_")))
def joined_by_rank(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Run ``hstack`` or ``vstack``, whose dimension depends on the number of dimensions of the tensors; other calls are computed slice by
    slice."""
    tensors = args[0] if len(args) == 1 else args
    if kwargs or not isinstance(tensors, (tuple, list)) or op.name not in ("hstack", "vstack", "row_stack"):
        return by_slices(op, args, kwargs)
    ranks = {len(tensor._ms_shape) for tensor in tensors}
    if len(ranks) != 1 or min(ranks) < (1 if op.name == "hstack" else 2):
        return by_slices(op, args, kwargs)
    dim = (1 if ranks == {1} else 2) if op.name == "hstack" else 1
    return batched(public("cat")(_list_of(op, tensors), dim), 0, op.map)


# Tensors like others


@ruled("new_zeros new_ones new_empty new_full")
def new(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Create a tensor of the given size for each slice."""
    tensor, *rest = args
    if not is_of(tensor, op.map):
        return by_slices(op, args, kwargs)
    if op.name == "new_full":
        size, rest = (rest[0], rest[1:]) if rest else (kwargs.pop("size"), rest)
    elif rest:
        size, rest = (rest[0], rest[1:]) if isinstance(rest[0], (tuple, list)) else (rest, [])
    else:
        size = kwargs.pop("size", ())
    size = (size,) if isinstance(size, int) else tuple(size)
    return batched(op(tensor.value, (op.map.size, *size), *rest, **kwargs), 0, op.map)


@ruled("new_empty_strided empty_strided")
def new_strided(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Allocate a strided tensor for each slice."""
    tensor, size, stride, *rest = args
    span = 1 + sum((length - 1) * step for length, step in zip(size, stride)) if 0 not in size else 0
    return batched(op(tensor.value, (op.map.size, *size), (span, *stride), *rest, **kwargs), 0, op.map)


@ruled("one_hot nn.functional.one_hot")
def one_hot(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return one-hot vectors; ``num_classes`` is required, because it cannot be computed from the values under vmap."""
    given = bound(op, args, kwargs)
    if given.get("num_classes", -1) == -1:
        raise ValueError("Cannot infer num_classes from a batched tensor")
    return batched(op(front(given["input"]), given["num_classes"]), 0, op.map)


@ruled("bucketize searchsorted isin")
def sought(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run ``bucketize``, ``searchsorted`` or ``isin`` with unbatched boundaries or elements."""
    if len(args) != 2 or not all(isinstance(value, TensorBase) for value in args):
        return by_slices(op, args, kwargs)
    values, edges = (args[0], args[1]) if op.name != "searchsorted" else (args[1], args[0])
    odd = kwargs.get("sorter") is not None or kwargs.get("out") is not None or not is_of(values, op.map)
    if odd or isinstance(edges, BatchedTensor) or len(edges._ms_shape) != 1:
        return by_slices(op, args, kwargs)
    value = front(values)
    return batched(op(value, edges, **kwargs) if op.name != "searchsorted" else op(edges, value, **kwargs), 0, op.map)


@ruled("where Tensor.where")
def where(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Select between two tensors. With a condition alone, raise RuntimeError, because the shape of the result depends on values."""
    if len(args) + len(kwargs) == 1:
        raise RuntimeError(DYNAMIC.format("where"))
    return pointwise(op, args, kwargs)


DYNAMIC = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{}. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues if you need this feature."
)


@ruled("nonzero unique unique_consecutive _unique2")
def dynamic(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Raise torch's RuntimeError: under vmap a result whose shape depends on values is not possible."""
    if op.name == "nonzero" and state.levels <= op.map.levels and bound(op, args, kwargs).get("as_tuple"):
        raise RuntimeError("Batching rule not implemented for aten::nonzero_numpy. We could not generate a fallback.")
    raise RuntimeError(DYNAMIC.format({"unique": "_unique2"}.get(op.name, op.name)))


@ruled("masked_select")
def masked_select(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Raise RuntimeError for a batched mask."""
    given = bound(op, args, kwargs)
    mask, tensor = given["mask"], given["input"]
    if isinstance(mask, BatchedTensor):
        raise RuntimeError(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for each batch this "
            "would return a differently shaped Tensor. Please file an issue at https://github.com/pytorch/pytorch/issues if you need "
            "this feature."
        )
    shape = broadcast_shape(tensor._ms_shape, mask._ms_shape)
    return batched(_expanded(front(tensor), shape, op.map.size)[(slice(None), mask.expand(shape))], 0, op.map)


@ruled("masked_fill masked_fill_")
def masked_fill(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Fill with a number, or a one-element tensor, where a mask is True."""
    given = bound(op, args, kwargs)
    target, mask, value = given["input"], given["mask"], given["value"]
    in_place = op.name.endswith("_")
    if not isinstance(value, TensorBase):
        return (pointwise_in_place if in_place else pointwise)(op, (target, mask, value), {})
    if value._ms_shape:
        return by_slices(op, args, kwargs)
    if in_place and not is_of(target, op.map):
        raise unmapped_error(op)
    with within(op.map):
        found = value.to(target._ms_dtype).where(mask, target)
        return target.copy_(found) if in_place else found


@ruled("equal")
def equal(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Raise RuntimeError: the result would differ between slices."""
    raise RuntimeError("Batching rule not implemented for aten::equal. We could not generate a fallback.")


@ruled("allclose")
def allclose(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Raise RuntimeError: the result would differ between slices."""
    raise RuntimeError(
        "vmap over torch.allclose isn't supported yet. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this "
        "feature."
    )


rules("Tensor._make_subclass", lambda op, args, kwargs: make_subclass(*args, **kwargs))
rules("Tensor.__len__", lambda op, args, kwargs: len(args[0].value.select(args[0].bdim, 0)))


@ruled("full arange range")
def from_numbers(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Raise RuntimeError, as ``item()`` does: a batched tensor's values cannot become Python numbers."""
    raise RuntimeError(NO_ITEM)


@ruled("_src.namespace.checks._is_all_true _src.namespace.checks._is_any_true _is_all_true _is_any_true")
def whole_truth(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result for the values of all slices together (a bool), so that functions may branch on it."""
    return op(args[0].value)


@ruled("is_nonzero")
def is_nonzero(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Raise RuntimeError: the result would differ between slices."""
    raise RuntimeError(NO_BRANCH)


@ruled("resize_")
def resize(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Resize each slice."""
    given = bound(op, args, kwargs)
    return _resized_to(op, given.pop("input"), _sizes(given, "size", "sizes"))


def _resized_to(op: Op, tensor: Any, sizes: Sequence[Any]) -> Any:
    if tensor.bdim:
        raise NotImplementedError(f"mstorch: {op.name}() in vmap wants the mapped dimension in front")
    tensor.value.resize_((op.map.size, *sizes))
    return tensor


@ruled("detach_")
def detached(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Detach from the autograd graph."""
    return _turned_to(args[0], args[0].value.detach())


def _turned_to(tensor: Any, value: Any) -> Any:
    tensor.value = value
    return tensor


@ruled("resize_as_")
def resize_as(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Resize each slice to another tensor's size."""
    if not is_of(args[0], op.map):
        with outside(op.map.depth):
            return args[0].resize_(args[1]._ms_shape)
    return _resized_to(op, args[0], tuple(args[1]._ms_shape))


@ruled("set_ as_strided_ map_ map2_ apply_")
def unknown(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Raise NotImplementedError: the operation is not defined under vmap."""
    raise NotImplementedError(f"mstorch: Tensor.{op.name}() in vmap")
