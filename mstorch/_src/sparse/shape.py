"""Permuting, slicing and joining of sparse tensors."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._tensor import Tensor
from ..backend.arrays import Array
from ..core.device import device
from ..core.dtype import dtype
from ..core.formats import layout, memory_format, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from ..core.sparse_parts import is_sparse
from ..core.tensor_base import TensorBase, is_tracked
from ..ops._dispatch import shape_args, wrap_dim
from ..ops.memory.creation import zeros
from ..ops.memory.placing import expect_options
from ..ops.shape import join
from .base import BLOCKED, COMPRESSED, WORDS, host, index_tensor, layout_word, replace, sparse
from .compressed import block_of
from .convert import blocks_of, to_dense, to_sparse, to_sparse_coo
from .coo import coalesce, nothing, taken
from .elementwise import result_dtype_of
from .forms import FUNCTION_FORMS, METHOD_FORMS, form
from .nodes import record

_TURNED = {sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr}


@form("permute")
def permute(input: Any, *dims: int | Sequence[int]) -> Tensor:
    """Permute the dimensions, sparse ones among themselves and dense ones among themselves."""
    order = shape_args(dims)
    rank, count = input.dim(), input.sparse_dim()
    if len(order) != rank:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering "
            f"of dimensions i.e. input.dim() = {rank} is not equal to len(dims) = {len(order)}"
        )
    order = tuple(wrap_dim(dim, rank) for dim in order)
    if len(set(order)) != rank:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    if input._layout is not sparse_coo:
        raise NotImplementedError(f"permute has no kernel for tensors of layout {input._layout!r}: use transpose")
    if any(dim >= count for dim in order[:count]):
        raise RuntimeError(
            "permute(sparse_coo): transpositions between sparse and dense dimensions are not allowed.Only transpositions within "
            "sparse and dense dimensions are supported."
        )
    back = tuple(int(dim) for dim in np.argsort(order))
    return record("Permute", (input,), lambda: _permuted(input, order, count), lambda gradient: (gradient.permute(back),))


def _permuted(input: Any, order: tuple[int, ...], count: int) -> Tensor:
    rank = input.dim()
    where, values = input._index[0], input._values_part
    if order[:count] != tuple(range(count)):
        where = index_tensor(host(where)[list(order[:count])])
    if order[count:] != tuple(range(count, rank)):
        values = values.permute(0, *(dim - count + 1 for dim in order[count:]))
    kept = input._coalesced and order[:count] == tuple(range(count))
    return sparse(sparse_coo, (where,), values, [input._size[dim] for dim in order], kept)


@form("transpose")
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Transpose two dimensions; a compressed matrix changes to the other compressed layout."""
    rank = input.dim()
    dim0, dim1 = wrap_dim(dim0, rank), wrap_dim(dim1, rank)
    order = list(range(rank))
    order[dim0], order[dim1] = dim1, dim0
    if input._layout in COMPRESSED:
        if input.dense_dim():
            raise RuntimeError("transpose(): hybrid sparse compressed tensors with dense dimensions are not supported")
        if dim0 == dim1:
            return shown(input.detach(), input) if not is_tracked(input) else input
        batch = input._index[0].dim() - 1
        if (dim0 < batch) != (dim1 < batch):
            kinds = " and ".join(f"{dim}({'Batch' if dim < batch else 'Sparse'})" for dim in (dim0, dim1))
            raise RuntimeError(f"transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got {kinds}")
        found = record("Transpose", (input,), lambda: _turned(input, order, batch), lambda gradient: (gradient.transpose(dim0, dim1),))
        return found if is_tracked(input) else shown(found, input)
    count = input.sparse_dim()
    if (dim0 < count) != (dim1 < count):
        raise RuntimeError(f"transpose: exchanging a sparse with a dense dimension is not supported (dims {dim0} and {dim1})")
    if dim0 == dim1:
        return input
    return permute(input, order)


def shown(found: Any, input: Any) -> Any:
    """Return ``found``, marked as a view of ``input`` (or of its base), whose indices and values it shares."""
    base = input._ms_auto.base
    found._ms_auto.base = input if base is None else base
    return found


def _turned(input: Any, order: list[int], batch: int) -> Tensor:
    values, size = input._values_part, [input._size[dim] for dim in order]
    if order[batch:] == sorted(order[batch:]):  # dimensions of the batch
        places = [part.permute(*order[:batch], batch).contiguous() for part in input._index]
        return sparse(input._layout, places, values.permute(*order[:batch], *range(batch, values.dim())).contiguous(), size, True)
    if input._layout in BLOCKED:
        values = values.transpose(batch + 1, batch + 2)
    return sparse(_TURNED[input._layout], input._index, values, size, True)


@form("t")
def t(input: Any) -> Tensor:
    """Return the transposed matrix."""
    rank = input.dim()
    if rank > 2 and input._layout in COMPRESSED:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {rank}D")
    if rank > 2 or (input._layout is sparse_coo and input.sparse_dim() > 2):
        raise RuntimeError(f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {rank} dimensions")
    if input._layout is sparse_coo and input.dense_dim():
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {input.sparse_dim()} sparse and "
            f"{input.dense_dim()} dense dimensions"
        )
    return transpose(input, 0, 1) if rank == 2 else input


@form("adjoint")
def adjoint(input: Any, name: str = "adjoint()") -> Any:
    """Return the conjugate transpose of the last two dimensions. Raise torch's error, which mentions ``name``, for a vector."""
    if input.dim() < 2:
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got {input.dim()}-D tensor.")
    found = transpose(input, -2, -1)
    return found.conj_physical() if input._ms_dtype.is_complex else found


def turned(input: Any) -> Any:
    """Return the conjugate transpose of a matrix, ``tensor.H``. Raise torch's error for another number of dimensions."""
    rank = input.dim()
    if rank == 2:
        return adjoint(input)
    batches = " For batches of matrices, consider using tensor.mH" if rank > 2 else ""
    raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {rank}-D tensor.{batches}")


def _placed(label: str, inputs: tuple[Any, ...], compute: Callable[[], Any], back: Callable[[Any], tuple[Any, ...]]) -> Tensor:
    """Run ``compute()`` as one autograd node; ``back`` maps a strided gradient to the gradients of the inputs. For a sparse gradient, these
    are converted to the inputs' layouts."""

    def rule(gradient: Tensor) -> tuple[Any, ...]:
        found = back(to_dense(gradient))
        if not is_sparse(gradient):
            return found
        return tuple(
            to_sparse_coo(part, tensor.sparse_dim()) if tensor._layout is sparse_coo
            else to_sparse(part, layout=tensor._layout, blocksize=blocks_of(tensor), dense_dim=tensor.dense_dim())
            for part, tensor in zip(found, plain)
        )  # fmt: skip

    plain = [tensor.detach() for tensor in inputs]
    return record(label, inputs, compute, rule)


@form("unsqueeze")
def unsqueeze(input: Any, dim: int) -> Any:
    """Insert a dimension of length 1 at ``dim``."""
    dim = wrap_dim(dim, input.dim() + 1)
    if input._layout in COMPRESSED:
        raise RuntimeError(f"Sparse {WORDS[input._layout][6:].upper()} tensors do not have strides")
    return _placed("Unsqueeze", (input,), lambda: _unsqueezed(input, dim), lambda gradient: (gradient.squeeze(dim),))


def _unsqueezed(input: Tensor, dim: int) -> Tensor:
    source = to_sparse_coo(input)
    size = (*source._size[:dim], 1, *source._size[dim:])
    count = source.sparse_dim()
    if dim > count:
        return sparse(sparse_coo, source._index, source._values_part.unsqueeze(dim - count + 1), size, source._coalesced)
    where = np.insert(host(source._index[0]), dim, 0, axis=0)
    return sparse(sparse_coo, (index_tensor(where),), source._values_part, size)


def broadcast_to(self: Any, size: Any) -> Tensor:
    """Broadcast a COO tensor to ``size`` (``torch._sparse_broadcast_to``): its elements are repeated along dimensions of length 1 and along
    new leading dimensions."""
    if not is_sparse(self) or self._layout is not sparse_coo:
        word = f"{layout_word(self)}CPU" if is_sparse(self) else "CPU"
        raise NotImplementedError(f"Could not run 'aten::_sparse_broadcast_to' with arguments from the '{word}' backend.")
    size = tuple(int(length) for length in size)
    lead = len(size) - self.dim()
    if lead < 0:
        raise RuntimeError("the requested broadcast shape has fewer dimensions than the input")
    own = (0,) * lead + tuple(self._size)  # 0: new
    for dim, (before, after) in enumerate(zip(own, size)):
        if before not in (0, 1, after) or before == 0 and dim >= lead and after:
            raise RuntimeError(
                f"The input's length {before} at dimension {dim - lead} does not broadcast over the requested shape of length {after} "
                f"at dimension {dim}"
            )
    return record("NotImplemented", (self,), lambda: _repeated(self, own, size, lead), _no_rule)


def _no_rule(gradient: Tensor) -> Any:
    raise RuntimeError("derivative for aten::_sparse_broadcast_to is not implemented")


def _repeated(self: Any, own: tuple[int, ...], size: tuple[int, ...], lead: int) -> Tensor:
    count = lead + self.sparse_dim()
    where = np.concatenate((np.zeros((lead, self._nnz()), np.int64), host(self._index[0])))
    wider = [dim for dim in range(count) if dim < lead or own[dim] != size[dim]]
    kept = [dim for dim in range(count) if dim not in wider]
    values = self._values_part.expand(self._nnz(), *size[count:]).contiguous()
    steps = np.indices([size[dim] for dim in wider]).reshape(len(wider), -1) if wider else np.zeros((0, 1), np.int64)
    rows = np.repeat(np.arange(self._nnz()), steps.shape[1])
    found = where[:, rows]
    for dim, numbers in zip(wider, steps):
        found[dim] = np.tile(numbers, self._nnz())
    in_order = self._coalesced and (not wider or max(kept, default=-1) < min(wider))
    return sparse(sparse_coo, (index_tensor(found),), taken(values, rows), size, in_order)


@form("select")
def select(input: Any, dim: int, index: int) -> Any:
    """Select ``index`` along ``dim``; the result is dense if no sparse dimension is left."""
    if input._layout in COMPRESSED and input._index[0].dim() > 1 and wrap_dim(dim, input.dim()) >= input._index[0].dim() - 1:
        raise RuntimeError("select(): selecting sparse dimensions is not supported for batched sparse compressed tensors.")
    dim, at = wrap_dim(dim, input.dim()), int(index)
    length = input._size[dim]
    if not -length <= at < length:
        raise IndexError(f"select(): index {at} out of range for tensor of size {list(input._size)} at dimension {dim}")
    at += length if at < 0 else 0

    def back(gradient: Tensor) -> tuple[Any]:
        return (gradient.new_zeros(input._size).select_scatter(gradient, dim, at),)

    return _placed("Select", (input,), lambda: _selected(input, dim, at), back)


def _selected(input: Any, dim: int, at: int) -> Any:
    if input._layout in COMPRESSED and dim < input._index[0].dim() - 1:
        index, values = [part.select(dim, at) for part in input._index], input._values_part.select(dim, at)
        return sparse(input._layout, index, values, (*input._size[:dim], *input._size[dim + 1 :]), True)
    source = to_sparse_coo(input)
    size = (*source._size[:dim], *source._size[dim + 1 :])
    count = source.sparse_dim()
    if dim >= count:
        return sparse(sparse_coo, source._index, source._values_part.select(dim - count + 1, at), size, source._coalesced)
    where = host(source._index[0])
    rows = np.flatnonzero(where[dim] == at)
    values = taken(source._values_part, rows)
    if count == 1:
        return values.sum(0).to(input._ms_dtype)
    rest = np.delete(where, dim, axis=0)[:, rows]
    return sparse(sparse_coo, (index_tensor(rest),), values, size, source._coalesced)


@form("index_select")
def index_select(input: Any, dim: int, index: Tensor, *, out: Tensor | None = None) -> TensorBase:
    """Select several indices along a dimension."""
    dim = wrap_dim(dim, input.dim())
    wanted = host(index).astype(np.int64).reshape(-1)
    length = input._size[dim]
    if wanted.size and (wanted.min() < -length or wanted.max() >= length):
        raise IndexError(f"index_select(): index contains {wanted.max()} that is out of range for tensor of size {list(input._size)}")
    wanted = np.where(wanted < 0, wanted + length, wanted)

    def back(gradient: Tensor) -> tuple[Any]:
        return (gradient.new_zeros(input._size).index_add(dim, index_tensor(wanted, gradient), gradient),)

    return _placed("IndexSelect", (input,), lambda: _indexed(input, dim, wanted), back)


def _indexed(input: Tensor, dim: int, wanted: Array) -> Tensor:
    source = to_sparse_coo(input)
    size = (*source._size[:dim], wanted.size, *source._size[dim + 1 :])
    count = source.sparse_dim()
    if dim >= count:
        values = source._values_part.index_select(dim - count + 1, index_tensor(wanted))
        return sparse(sparse_coo, source._index, values, size, source._coalesced)
    where = host(source._index[0])
    order = np.argsort(where[dim], kind="stable")
    ends = [np.searchsorted(where[dim], wanted, side, sorter=order) for side in ("left", "right")]
    counts = ends[1] - ends[0]
    rows = order[np.arange(counts.sum()) + np.repeat(ends[0] - (counts.cumsum() - counts), counts)]
    picked = where[:, rows]
    picked[dim] = np.repeat(np.arange(wanted.size), counts)
    return sparse(sparse_coo, (index_tensor(picked),), taken(source._values_part, rows), size)


def getitem(self: Tensor, index: int | slice[Any, Any, Any] | tuple[Any, ...] | None) -> TensorBase:
    """Index by ints, None and full slices: ``tensor[i, :, j]``."""
    items = index if isinstance(index, tuple) else (index,)
    if Ellipsis in [item for item in items if item is None or item is Ellipsis or isinstance(item, (int, slice))]:
        place = [item is Ellipsis for item in items].index(True)
        given = sum(item is not None and item is not Ellipsis for item in items)
        items = (*items[:place], *([slice(None)] * (self.dim() - given)), *items[place + 1 :])
    found, dim = self, 0
    for item in items:
        if item is None:
            found = unsqueeze(found, dim) if is_sparse(found) else found.unsqueeze(dim)
            dim += 1
        elif isinstance(item, slice):
            if item not in (slice(None), slice(0, None), slice(None, None, 1)):
                raise NotImplementedError(
                    "Could not run 'aten::as_strided' with arguments from the 'SparseCPU' backend: a sparse tensor has no slices; "
                    "use index_select() or to_dense()"
                )
            dim += 1
        elif isinstance(item, int) and not isinstance(item, bool):
            if dim >= found.dim():
                raise IndexError(f"too many indices for tensor of dimension {self.dim()}")
            found = select(found, dim, item) if is_sparse(found) else found.select(dim, item)
        elif hasattr(item, "dim") and len(items) == 1 and item.dim() == 1 and item._ms_dtype.name == "int64":
            return index_select(self, 0, item)
        else:
            raise NotImplementedError(f"mstorch: a sparse tensor cannot be indexed with {type(item).__name__}; use to_dense()")
    return found


def setitem(self: Any, index: Any, value: Any) -> None:
    """Raise TypeError: elements of a sparse tensor cannot be assigned."""
    raise TypeError("Cannot assign to a sparse tensor")


@form("unbind")
def unbind(input: Any, dim: int = 0) -> tuple[Any, ...]:
    """Return the slices along a dimension."""
    return tuple(select(input, dim, position) for position in range(input.size(dim)))


@form("cat", FUNCTION_FORMS)
def cat(tensors: Any, dim: int = 0, *, out: Tensor | None = None) -> Any:
    """Concatenate COO tensors along a dimension."""
    tensors = tuple(tensors)
    if not all(is_sparse(tensor) for tensor in tensors):
        raise RuntimeError(
            f"Concatenating sparse tensors, but a dense tensor was found at position "
            f"{[is_sparse(tensor) for tensor in tensors].index(False)}."
        )
    along = wrap_dim(dim, tensors[0].dim())
    ends = np.cumsum([tensor._size[along] if along < tensor.dim() else 0 for tensor in tensors])

    def back(gradient: Tensor) -> tuple[Any, ...]:
        lengths = np.diff(ends, prepend=0)
        return tuple(gradient.narrow(along, int(end - length), int(length)) for end, length in zip(ends, lengths))

    return _placed("Cat", tensors, lambda: _joined(tensors, dim), back)


def _joined(tensors: tuple[Any, ...], dim: int) -> Tensor:
    """Return ``cat`` of sparse tensors: along a sparse dimension indices are shifted, along a dense one values are padded with zeros."""
    sources = [to_sparse_coo(tensor) for tensor in tensors]
    first = sources[0]
    rank, count = first.dim(), first.sparse_dim()
    dim = wrap_dim(dim, rank)
    for number, source in enumerate(sources):
        if source.dim() != rank:
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first._size)} (except in the concatenating dimension), but found "
                f"shape: {list(source._size)} at position {number}."
            )
        for other in range(rank):
            if other != dim and source._size[other] != first._size[other]:
                raise RuntimeError(
                    f"All tensors must have the same shape: {list(first._size)} (except in the concatenating dimension), but "
                    f"found shape: {list(source._size)} at position {number}."
                )
        if source.sparse_dim() != count:
            raise RuntimeError(
                f"All tensors must have the same sparse_dim and dense_dim: {count}, {rank - count}, but tensor at position {number} has "
                f"{source.sparse_dim()}, {source.dense_dim()}."
            )
    kind = result_dtype_of(*sources)
    values = [source._values_part.to(kind) for source in sources]
    size = (*first._size[:dim], sum(source._size[dim] for source in sources), *first._size[dim + 1 :])
    if dim >= count:
        wide = []
        for number, (source, value) in enumerate(zip(sources, values)):
            before = sum(s._size[dim] for s in sources[:number])
            after = size[dim] - before - source._size[dim]
            at = dim - count + 1
            pads = [value.new_zeros((*value.shape[:at], length, *value.shape[at + 1 :])) for length in (before, after)]
            wide.append(join.cat([pads[0], value, pads[1]], at))
        where = [host(source._index[0]) for source in sources]
        return sparse(sparse_coo, (index_tensor(np.concatenate(where, 1)),), join.cat(wide), size)
    shifted, before = [], 0
    for source in sources:
        places = host(source._index[0]).copy()
        places[dim] += before
        before += source._size[dim]
        shifted.append(places)
    return sparse(sparse_coo, (index_tensor(np.concatenate(shifted, 1)),), join.cat(values), size)


@form("stack", FUNCTION_FORMS)
def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Stack COO tensors of one size along a new dimension."""
    tensors = tuple(tensors)
    return cat([unsqueeze(tensor, wrap_dim(dim, tensor.dim() + 1)) for tensor in tensors], dim)


def resize_(self: Any, *sizes: int, memory_format: memory_format | None = None) -> Tensor:
    """Resize a CSR matrix in place: new rows are empty, removed rows drop their elements."""
    if self._layout is not sparse_csr:
        raise NotImplementedError(f"Could not run 'aten::resize_' with arguments from the '{WORDS[self._layout]}CPU' backend.")
    size = shape_args(sizes)
    if len(size) < 2:
        raise RuntimeError(f"torch.resize_: Only batched sparse CSR matrices are supported, but got size {list(size)}")
    rows, columns = self._size[-2:]
    if size[-1] < columns:
        raise RuntimeError(
            "torch.resize_: Resizing columns of sparse CSR tensors to a smaller value is not supported. The original number of "
            f"columns is {columns} while the requested new number of columns is {size[-1]}."
        )
    if size[:-2] != self._size[:-2]:
        raise NotImplementedError("mstorch: torch.resize_ keeps the batch dimensions of sparse CSR tensors")
    starts = host(self._index[0])
    kept = starts[..., : size[-2] + 1]
    grown = np.concatenate([kept, np.repeat(kept[..., -1:], max(size[-2] - rows, 0), -1)], -1)
    count = int(grown.reshape(-1, grown.shape[-1])[:, -1].max(initial=0))
    batch = self._index[0].dim() - 1
    part = (slice(None),) * batch + (slice(0, count),)
    index = self._index[0].new_tensor(grown), self._index[1][part]
    return replace(self, sparse(sparse_csr, index, self._values_part[part], size, True))


def empty_like(
    input: Any, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | int | None = None,
    requires_grad: bool = False, memory_format: memory_format | None = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return a tensor of the same size and layout without specified elements; strided zeros if ``layout`` is strided."""
    if memory_format is not None and layout is not strided:
        raise RuntimeError("memory format option is only supported by strided tensors")
    if layout is strided:
        return zeros(input._size, dtype=dtype or input._ms_dtype, requires_grad=requires_grad)
    return zeros_like(input, dtype=dtype, layout=layout, requires_grad=requires_grad)


@form("zeros_like", FUNCTION_FORMS)
def zeros_like(
    input: Any, *, dtype: dtype | None = None, layout: layout | None = None, device: device | str | int | None = None,
    requires_grad: bool = False, memory_format: memory_format | None = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Return a tensor of the same size and layout without specified elements."""
    kind = dtype or input._ms_dtype
    if input._layout is sparse_coo:
        return nothing(input._size, kind, input.sparse_dim(), input.device if device is None else device).requires_grad_(requires_grad)
    batch = input._index[0].dim() - 1
    values = input._values_part
    empty = values.new_zeros((*values.shape[:batch], 0, *values.shape[batch + 1 :]), dtype=kind, device=device)
    starts = index_tensor(np.zeros(tuple(input._index[0].shape)))
    plain = index_tensor(np.zeros((*input._index[1].shape[:-1], 0)))
    assert block_of(input._layout, values, batch)
    return sparse(input._layout, (starts, plain), empty, input._size, True).requires_grad_(requires_grad)


def coalesced(input: Any) -> Any:
    """Convert to the COO layout, and coalesce."""
    return coalesce(to_sparse_coo(input))


_INSTEAD = (
    "on a non-empty sparse tensor is not supported.\nYou could try the following options:\n1. If you need an empty sparse tensor of this "
    "size, call `x = torch.sparse_coo_tensor(size)`.\n2. If you need to resize this tensor, you have the following options:\n    1. For "
    "both sparse and dense dimensions, keep the number of them constant and the size of them non-shrinking, and then try the same call "
    "again.\n    2. Or, create a new sparse tensor with the correct indices and values from this sparse tensor."
)


def _refuse_resizing(self: Any, size: tuple[int, ...], sparse_dim: int, dense_dim: int) -> None:
    count = self.sparse_dim()
    for kind, before, after in (("sparse", count, sparse_dim), ("dense", self.dense_dim(), dense_dim)):
        if before != after:
            raise RuntimeError(f"changing the number of {kind} dimensions (from {before} to {after}) {_INSTEAD}")
    for kind, part in (("sparse", slice(0, count)), ("dense", slice(count, None))):
        held, wanted = list(self._size[part]), list(size[part])
        if any(new < old for new, old in zip(wanted, held)):
            raise RuntimeError(f"shrinking the size of {kind} dimensions (from {held} to {wanted}) {_INSTEAD}")


def sparse_resize_(self: Any, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """Resize the tensor in place. If it has specified elements, raise RuntimeError for a shorter dimension, or if ``sparse_dim`` or
    ``dense_dim`` is not its own."""
    _check_numbers(size, sparse_dim, dense_dim)
    size = tuple(size)
    if self._nnz():
        _refuse_resizing(self, size, sparse_dim, dense_dim)
    if not self._nnz():
        return replace(self, nothing(size, self._ms_dtype, sparse_dim, self.device))
    values = self._values_part
    if size[sparse_dim:] != self._size[sparse_dim:]:
        grown = values.new_zeros((values.shape[0], *size[sparse_dim:]))
        grown.view(-1)[: values.numel()] = values.reshape(-1)  # as in torch, the values keep their order in memory
        values = grown
    return replace(self, sparse(sparse_coo, self._index, values, size, self._coalesced))


def sparse_resize_and_clear_(self: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """Resize the tensor and remove all specified elements."""
    _check_numbers(size, sparse_dim, dense_dim)
    return replace(self, nothing(tuple(size), self._ms_dtype, sparse_dim, self.device))


def _check_numbers(size: tuple[int, int], sparse_dim: int, dense_dim: int) -> None:
    if sparse_dim + dense_dim != len(size):
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {sparse_dim}, "
            f"dense_dim = {dense_dim}"
        )


def resize_as_sparse_(input: Any, the_template: Any) -> Tensor:
    """Resize a sparse tensor to the size and numbers of dimensions of another."""
    pair = {"self": input, "src": the_template}
    if any(is_sparse(part) and part._layout in COMPRESSED for part in pair.values()):
        for name, part in pair.items():
            if not is_sparse(part) or part._layout not in COMPRESSED:
                raise RuntimeError(
                    f"resize_as_sparse_compressed_: {name}  expected sparse compressed tensor layout but got {layout_word(part)}"
                )
        return _resize_compressed(input, the_template)
    if not is_sparse(the_template):
        return sparse_resize_(input, the_template.shape, 0, the_template.dim())
    return sparse_resize_(input, the_template._size, the_template.sparse_dim(), the_template.dense_dim())


def _resize_compressed(input: Any, template: Any) -> Tensor:
    """Return a tensor with a template's size and indices, and zero values."""
    if input._layout is not template._layout:
        raise RuntimeError(
            "resize_as_sparse_compressed_tensor_: self and src must have the same layout, but got: self "
            f"({layout_word(input)}) and source ({layout_word(template)})"
        )
    index = tuple(
        part.to(own._ms_dtype) if own._ms_dtype is not part._ms_dtype else part.clone() for own, part in zip(input._index, template._index)
    )
    values = input._values_part.new_zeros(tuple(template._values_part.shape))
    return replace(input, sparse(input._layout, index, values, template._size, True))


@form("zeros", FUNCTION_FORMS)
@form("empty", FUNCTION_FORMS)
def zeros_into(*size: tuple[int, ...], out: Any, **options: Any) -> Tensor:
    """Implement ``torch.zeros`` and ``torch.empty`` with a sparse ``out``, which loses its elements."""
    expect_options(out, options.get("dtype"), options.get("layout"), options.get("device"))
    shape = shape_args(size) if size else tuple(options.pop("size"))
    wanted = options.pop("requires_grad", False)
    if out._layout is sparse_coo:
        found = sparse_resize_and_clear_(out, shape, len(shape), 0)
    elif out._layout in (sparse_csr, sparse_csc) and len(shape) == 2:
        rows = shape[0] if out._layout is sparse_csr else shape[1]
        index = index_tensor(np.zeros(rows + 1)), index_tensor(np.zeros(0))
        found = replace(out, sparse(out._layout, index, out._values_part.new_zeros((0,)), shape, True))
    else:
        raise NotImplementedError(f"mstorch: zeros(out=) takes no tensors of layout {out._layout!r}")
    return found.requires_grad_(True) if wanted else found


@form("zero_", METHOD_FORMS)
def zero_(self: Tensor) -> Tensor:
    """Remove all specified elements."""
    return replace(self, zeros_like(self))
