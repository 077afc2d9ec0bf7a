"""Writing, adding and reducing elements at index tensors."""
from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backend.arrays import Number
from ...backend.cast import numpy_cast
from ...backend.errors import not_for, wrong_type
from ...backend.table import kernel
from ...core.dtype import bfloat16, float16, int64
from ...core.formats import contiguous_format
from ...core.modes import grad_set_to
from ...core.one_device import OneDevice
from ...core.tensor_base import TensorBase, array_of, is_tracked, tensor_of
from ...core.warned import warn_once
from ...tape.apply import of_sizes
from ...tape.composite import record, refuse
from ...tape.in_place import change
from ...tape.saved_values import watch
from ...tape.ways import in_arrays
from .._autocast import WIDEST_ON_CPU, WIDEST_ON_DEVICES
from .._dispatch import call, finish_exactly, python_number, type_word, wrap_dim
from .._in_place import in_place_form
from .._named import node_called
from .._numbers import fitting, refuse_tracked
from .._operation import operation
from ..shape import views
from ..shape.join import cat
from ._index_checks import check_index_dim, check_range, index_tensor

_scatter = kernel("scatter")
_put, _select = kernel("put"), kernel("index_select")
_index_write = kernel("index_write")
_reduce = kernel("scatter_reduce")


def _checked(input: TensorBase, dim: int, index: TensorBase, source: TensorBase | None, name: str) -> tuple[int, Any, Any]:
    """Return the dimension, the index values, and the part of the source that the index covers, after torch's checks."""
    shape = input._ms_shape
    dim = wrap_dim(dim, len(shape))
    positions = index_tensor(index, name, text=f"{name}(): Expected dtype int32/int64 for index")
    own = positions._ms_shape
    if source is not None and source._ms_dtype is not input._ms_dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    if 0 in own:
        return dim, positions, source
    if max(len(own), 1) != max(len(shape), 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    other = None if source is None else source._ms_shape
    if other is not None and max(len(other), 1) != max(len(own), 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    wide = shape or (1,)
    for d, length in enumerate(own):
        if (d != dim and length > wide[d]) or (other is not None and other and length > other[d]):
            text = f"Expected index {list(own)} to be no larger than self {list(shape)} apart from dimension {dim}"
            if other is not None:
                text += f" and to be no larger size than src {list(other)}"
            raise RuntimeError(text)
    check_index_dim(positions, dim, shape)
    if other is not None:
        for d in range(len(own)):
            if other and own[d] != other[d]:
                source = views.slice_dim(source, d, 0, own[d], 1)
    if source is not None and source._ms_shape != own:
        source = views.reshape(source, own)
    return dim, positions, source


def _refuse_kind(input: TensorBase, kernel_name: str) -> None:
    """Raise torch's error for dtypes that no kernel of the CPU writes. Beside an Ascend MindSpore's would be called, which fail late."""
    name = input._ms_dtype.name
    if (name in ("uint16", "uint32", "uint64") or name == "bool" and kernel_name.endswith("mean")) and in_arrays(input):
        raise not_for(kernel_name, name)


@operation(numpy_names=True, reads_while_it_writes=True, arguments_first=True, writes_some=True, one_device=OneDevice("scatter_src"))
def scatter(
    input: TensorBase, dim: int, index: TensorBase, src: TensorBase | float | None = None, *, value: Number | None = None,
    reduce: str | None = None, out: TensorBase | None = None
) -> TensorBase:
    """Return a copy with ``src`` (a tensor or a number) written along ``dim`` at ``index``; for repeated indices, the last write wins."""
    return _written_along(input, dim, index, src, value, reduce, out, "scatter")


@functools.wraps(scatter)
def _scatter_in_place(
    input: TensorBase, dim: int, index: TensorBase, src: TensorBase | complex | None = None, *, value: Any = None,
    reduce: str | None = None, out: TensorBase | None = None
) -> TensorBase:
    return _written_along(input, dim, index, src, value, reduce, out, "scatter_")


def _written_along(
    input: TensorBase, dim: int, index: TensorBase, src: TensorBase | Number | None, value: Any, reduce: str | None,
    out: TensorBase | None, name: str
) -> TensorBase:
    if src is None:
        src = value
    if src is None:
        raise wrong_type("scatter() missing 1 required positional arguments: \"src\"")
    if reduce is not None and isinstance(src, TensorBase):
        warn_once(
            "The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future PyTorch release. Use "
            "torch.scatter_reduce instead for more reduction options."
        )
    if reduce is not None and reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    source = src if isinstance(src, TensorBase) else None
    dim, positions, source = _checked(input, dim, index, source, "scatter")
    if source is None:
        source = input.new_full(positions._ms_shape, fitting(python_number(src), input._ms_dtype))
    if 0 in positions._ms_shape:
        return finish_exactly(_as_it_is(input, src), out)
    _refuse_kind(input, "scatter_gather_tensor_cpu" if isinstance(src, TensorBase) else "scatter_gather_scalar_cpu")
    if reduce is None and not isinstance(src, TensorBase):
        return finish_exactly(_with_number(input, source, dim, positions), out)
    if reduce is None:
        return finish_exactly(_scattered(input, dim, positions, source, "none"), out)
    if out is not None:
        return finish_exactly(_combined(input, dim, positions, source, reduce), out)
    # torch has a gradient for scatter_reduce, but not for this older function.
    with grad_set_to(False):
        found = _combined(input, dim, positions, source, reduce)
    error = RuntimeError(f"derivative for aten::{name} is not implemented")
    return refuse("NotImplemented", "scatter", input, found, error, src if isinstance(src, TensorBase) else None)


def _as_it_is(input: Any, source: Any) -> TensorBase:
    """Return a copy of the input, for a call without indices. If the source requires grad, the copy depends on it in the autograd graph, as
    in torch."""
    copy = input.clone(memory_format=contiguous_format)
    if not (isinstance(source, TensorBase) and is_tracked(source)):
        return copy
    return views.reshape(cat((views.reshape(copy, (-1,)), views.reshape(source, (-1,))[:0])), input._ms_shape)


def _combined(input: TensorBase, dim: int, positions: TensorBase, source: TensorBase, reduce: str) -> TensorBase:
    if reduce == "multiply":
        return _reduced(input, dim, positions, source, "prod", True)
    return _scattered(input, dim, positions, source, "add")


@node_called("ScatterBackward1")
def _with_number(input: TensorBase, source: TensorBase, dim: int, positions: TensorBase) -> TensorBase:
    return _scattered(input, dim, positions, source, "none")


def _scattered(input: TensorBase, dim: int, positions: TensorBase, source: TensorBase, how: str) -> TensorBase:
    if input._ms_shape and change(input, "scatter", source, dim, positions, how):
        return input
    found = call(_scatter, (input, source), dim, positions, how, label="ScatterAddBackward0" if how == "add" else "ScatterBackward0")
    return _without_indices(found, source) if how == "add" else found


def _without_indices(found: TensorBase, source: TensorBase) -> TensorBase:
    """Return ``found``, the result of ``index_add``; if the source does not require grad, it is marked so that backward does not need the
    indices and may run twice, as in torch."""
    return found if is_tracked(source) else of_sizes(found)


def _reduced(input: TensorBase, dim: int, positions: TensorBase, source: TensorBase, how: str, include_self: bool) -> TensorBase:
    return call(_reduce, (input, source), dim, positions, how, include_self)


@operation(numpy_names=True, autocast=WIDEST_ON_DEVICES, reads_while_it_writes=True, arguments_first=True, one_device=OneDevice())
def scatter_add(input: TensorBase, dim: int, index: TensorBase, src: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return a copy with ``src`` added along ``dim`` at ``index``."""
    dim, positions, source = _checked(input, dim, index, src, "scatter")
    if 0 in positions._ms_shape:
        return finish_exactly(_as_it_is(input, src), out)
    _refuse_kind(input, "scatter_gather_tensor_cpu")
    return finish_exactly(_scattered(input, dim, positions, source, "add"), out)


_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")
_OF_REDUCTIONS = {name: f"_reduce_{name}" for name in _REDUCTIONS[2:]}


@operation(numpy_names=True, reads_while_it_writes=True, arguments_first=True, one_device=OneDevice("scatter_reduce_two"))
@node_called("ScatterReduceBackward0")
def scatter_reduce(
    input: TensorBase, dim: int, index: TensorBase, src: TensorBase, reduce: str, *, include_self: bool = True,
    out: TensorBase | None = None
) -> TensorBase:
    """Return a copy with ``src`` reduced along ``dim`` at ``index`` by "sum", "prod", "mean", "amax" or "amin"."""
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if reduce in ("amax", "amin") and input._ms_dtype.is_complex:
        raise not_for(f"scatter_gather_tensor_cpu_reduce_{reduce}", input._ms_dtype.name)
    if reduce == "sum" and include_self:
        found = scatter_add(input, dim, index, src, out=out)
        return watch(found, input, index, src, found)
    dim, positions, source = _checked(input, dim, index, src, "scatter")
    if 0 in positions._ms_shape:
        return finish_exactly(_as_it_is(input, src), out)
    if not include_self and input._ms_dtype.name != "bool":
        _refuse_kind(input, "scatter_reduce_exclude_input_init")
    _refuse_kind(input, f"scatter_gather_tensor_cpu{_OF_REDUCTIONS.get(reduce, '')}")
    return finish_exactly(_reduced(input, dim, positions, source, reduce, include_self), out)


def put_flat(input: TensorBase, index: TensorBase, source: TensorBase, accumulate: bool) -> TensorBase:
    """Return a copy with ``source`` written (or accumulated) at flat indices."""
    if change(input, "put", source, index, accumulate):
        return input
    return call(_put, (input, source), index, accumulate)


def _checked_rows(name: str, input: TensorBase, dim: int, index: TensorBase, source: TensorBase) -> tuple[int, Any]:
    """Return the dimension and the indices (int64) of ``index_add`` and ``index_reduce``, after torch's checks."""
    shape, other = input._ms_shape, source._ms_shape
    dim = wrap_dim(dim, len(shape))
    positions = index_tensor(
        index, name, text=f"{name}_(): Expected dtype int32/int64 for index but got: {type_word(index._ms_dtype)}"
    )
    if len(positions._ms_shape) > 1:
        raise IndexError(
            f"{name}_(): Index is supposed to be a vector, but got dim: {len(positions._ms_shape)} with type: "
            f"{type_word(index._ms_dtype)} and size: {list(positions._ms_shape)}"
        )
    if source._ms_dtype is not input._ms_dtype:
        raise RuntimeError(
            f"{name}_(): self ({type_word(input._ms_dtype)}) and source ({type_word(source._ms_dtype)}) must have the same scalar type"
        )
    count, given = other[dim] if dim < len(other) else 1, math.prod(positions._ms_shape)
    if not other and given != 1:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if given != count:
        raise RuntimeError(
            f"{name}_(): Number of indices ({given}) should be equal to source.size(dim): ({count}), for dim: {dim}"
        )
    if len(shape) != len(other) or shape[:dim] + shape[dim + 1 :] != other[:dim] + other[dim + 1 :]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(shape)} source.shape = {list(other)}"
        )
    return dim, positions


@operation(numpy_names=True, reads_while_it_writes=True, arguments_first=True, one_device=OneDevice())
def index_add(
    input: TensorBase, dim: int, index: TensorBase, source: TensorBase, *, alpha: complex = 1, out: TensorBase | None = None
) -> TensorBase:
    """Return a copy with ``alpha * source`` added to the slices ``index`` of a dimension."""
    refuse_tracked(alpha)
    dim, positions = _checked_rows("index_add", input, dim, index, source)
    shape = input._ms_shape
    if 0 in shape and len(shape) > 1:
        # As in torch, indices are not checked.
        with grad_set_to(False):
            copy = input.clone(memory_format=contiguous_format)
        parts, sizes = ((input, source), (source._ms_shape, dim)) if is_tracked(source) else ((input,), ())
        return finish_exactly(record("IndexAddBackward0", _nothing_added, parts, (copy,), *sizes, needed=(), kept=())[0], out)
    size = shape[dim] if shape else 1
    check_range(
        positions, 0, size,
        lambda wrong: RuntimeError(f"index {wrong} is out of bounds for dimension {dim} with size {size}")
        if len(shape) > 1 else IndexError("index out of range in self"),
    )
    if not isinstance(alpha, (int, float, bool)) or alpha != 1 or alpha is True:
        if input._ms_dtype in (float16, bfloat16) and shape and in_arrays(input):
            return finish_exactly(_added_in_steps(input, dim, positions, source, alpha), out)
        found = _index_written(input, dim, positions, source * alpha, True)
        return finish_exactly(watch(found, source) if is_tracked(source) else found, out)
    return finish_exactly(_index_written(input, dim, positions, source, True), out)


def _nothing_added(
    gradients: Sequence[TensorBase], outputs: Sequence[Any], inputs: Sequence[TensorBase], shape: tuple[int, ...] = (), dim: int = 0
) -> tuple[Any, ...]:
    if len(inputs) == 1:
        return (gradients[0],)
    if not gradients[0]._ms_shape[dim] and shape[dim]:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    return gradients[0], gradients[0].new_zeros(shape)


def _added_in_steps(input: Any, dim: int, positions: TensorBase, source: TensorBase, alpha: Any) -> TensorBase:
    """Run ``index_add`` in half precision with a factor: torch rounds the factor, each product and each sum."""
    shape = input._ms_shape
    places = np.arange(math.prod(shape)).reshape(shape).take(array_of(positions).reshape(-1), dim)
    with grad_set_to(False):
        factor = tensor_of(numpy_cast(np.array(float(alpha)), input._ms_dtype.np))
        found = call(_put, (input, source * factor), tensor_of(places), True)
    return record("IndexAddBackward0", _added_slope, (input, source), (found,), dim, positions, alpha, needed=(), kept=())[0]


def _added_slope(
    gradients: Sequence[TensorBase], outputs: Sequence[Any], inputs: Sequence[TensorBase], dim: int, positions: TensorBase, alpha: complex
) -> tuple[Any, Any]:
    return gradients[0], call(_select, (gradients[0],), dim, positions) * alpha


def _index_written(input: TensorBase, dim: int, positions: TensorBase, source: TensorBase, accumulate: bool) -> TensorBase:
    if not positions._ms_shape:
        positions = views.reshape(positions, (1,))

    if input._ms_shape and change(input, "index_write", source, dim, positions, accumulate):
        return input
    label = "IndexAddBackward0" if accumulate else "IndexCopyBackward0"
    found = watch(call(_index_write, (input, source), dim, positions, accumulate, label=label), source if is_tracked(source) else None)
    return _without_indices(found, source) if accumulate else found


@operation(numpy_names=True, autocast=WIDEST_ON_CPU, reads_while_it_writes=True, writes_some=True, one_device=OneDevice())
def index_copy(input: TensorBase, dim: int, index: TensorBase, source: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return a copy with the slices ``index`` of a dimension replaced by those of ``source``."""
    shape, other = input._ms_shape, source._ms_shape
    dim = wrap_dim(dim, len(shape))
    if len(index._ms_shape) > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {len(index._ms_shape)})")
    count = math.prod(index._ms_shape)
    if not other and count != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {count})")
    if len(shape) != len(other) and shape and other:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({len(other)}), destination dimensionality ({len(shape)})"
        )
    if index._ms_dtype is not int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {type_word(index._ms_dtype)}")
    if source._ms_dtype is not input._ms_dtype:
        raise RuntimeError(
            f"index_copy_(): self and source expected to have the same dtype, but got (self) {type_word(input._ms_dtype)} and "
            f"(source) {type_word(source._ms_dtype)}"
        )
    mine, theirs = shape[:dim] + shape[dim + 1 :], other[:dim] + other[dim + 1 :]
    if mine != theirs:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, mine))} at dimension {dim} and source slice shape: {' '.join(map(str, theirs))} at dimension 0."
        )
    if other and count != other[dim]:
        raise IndexError(f"index_copy_(): Number of indices ({count}) should be equal to source.size(dim) ({other[dim]})")
    size = shape[dim] if shape else 1
    check_range(
        index, 0, size,
        lambda wrong: IndexError(f"index_copy_(): index {wrong} is out of bounds for dimension {dim} with size {size}"),
    )
    if shape and not other:
        source = views.reshape(source, (1,))
    return finish_exactly(_index_written(input, dim, index, source, False), out)


@operation(numpy_names=True, reads_while_it_writes=True, arguments_first=True, one_device=OneDevice())
@node_called("IndexReduceBackward0")
def index_reduce(
    input: TensorBase, dim: int, index: TensorBase, source: TensorBase, reduce: str, *, include_self: bool = True,
    out: TensorBase | None = None
) -> TensorBase:
    """Return a copy with the slices of ``source`` reduced into the slices ``index`` by "prod", "mean", "amax" or "amin"."""
    if reduce not in _REDUCTIONS[1:]:
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    warn_once("index_reduce() is in beta and the API may change at any time.")
    dim, positions = _checked_rows("index_reduce", input, dim, index, source)
    shape, other = input._ms_shape, source._ms_shape
    if input._ms_dtype.is_complex:
        raise not_for("index_func_", input._ms_dtype.name)
    check_range(positions, 0, shape[dim] if shape else 1, lambda _: IndexError("index out of range in self"))
    index = cast_index(index)
    if other:
        index = views.expand(views.reshape(index, (1,) * dim + (other[dim],) + (1,) * (len(other) - dim - 1)), other)
    else:
        index = views.reshape(index, ())
    return scatter_reduce(input, dim, index, source, reduce, include_self=include_self, out=out)


def cast_index(index: TensorBase) -> TensorBase:
    """Return an index tensor as int64."""
    return index if index._ms_dtype is int64 else index.to(int64)


NAMED_METHODS = {
    "scatter_": in_place_form(_scatter_in_place, "scatter_"),
}
