"""Elementwise operations on sparse tensors: functions that preserve zero run on the values, sums on the union of the indices."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._tensor import Tensor
from ..backend.arrays import Array, Number
from ..backend.errors import not_for
from ..core.dtype import bool_, dtype, float16
from ..core.formats import memory_format, sparse_coo, sparse_csr
from ..core.modes import modes
from ..core.promotion import can_cast
from ..core.second_names import operation_of
from ..core.sparse_parts import is_sparse
from ..core.tensor_base import TensorBase, is_meta, is_tracked
from ..core.writable import check_writable
from ..ops._dispatch import broadcast_shape, finish, is_number, result_dtype, type_word
from ..ops._operation import record_of
from ..ops._public import functions
from ..ops.elementwise import complex_views, elementwise
from ..ops.shape.join import cat
from .base import BY_ROWS, WORDS, host, index_tensor, layout_word, like, replace, sparse
from .convert import to_dense, to_sparse_coo
from .coo import added, coalesce, flat, taken
from .forms import FUNCTION_FORMS, METHOD_FORMS, form
from .gradients import values_at, where_of
from .nodes import record

_LINEAR = ("neg", "negative", "positive", "conj_physical")


def _takes_coalesced(name: str) -> bool:
    """Return whether torch rejects an in-place zero-preserving operation on uncoalesced tensors."""
    function = functions().get(name)
    if function is None or not record_of(function).keeps_zero or name in _LINEAR:
        return False
    return name != "square" and not name.startswith(("is", "signbit"))  # operations with bool results, and a composed one


def stored(found: Tensor, out: Tensor | None, checked: bool = True) -> Any:
    """Return the result, copied to ``out`` if given; unless ``checked``, in any dtype."""
    if out is None or not is_sparse(out) or not is_sparse(found):
        return finish(found, out)
    if checked and not can_cast(found._ms_dtype, out._ms_dtype):
        raise RuntimeError(f"result type {type_word(found._ms_dtype)} can't be cast to the desired output type {type_word(out._ms_dtype)}")
    return replace(out, found if found._ms_dtype is out._ms_dtype else found.to(out._ms_dtype))


def unary(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the sparse form of a zero-preserving operation."""

    def apply(input: Any, *args: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        if name in _LINEAR:
            found = record(
                name.title().replace("ative", ""), (input,), lambda: like(input, function(input._values_part)),
                lambda gradient: (function(gradient) if not is_sparse(gradient) else apply(gradient),),
            )  # fmt: skip
            return stored(found, out)
        source = input if input._layout is not sparse_coo else coalesce(input)
        return stored(like(source, function(source._values_part, *args, **kwargs)), out)

    apply.__name__ = name
    return apply


@form("conj")
def conj(input: Any) -> Any:
    """Return the conjugate, computed at once; a real tensor itself."""
    return unary("conj_physical", complex_views.conj_physical)(input) if input._ms_dtype.is_complex else input


def in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the in-place form of a sparse operation."""

    def apply(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _takes_coalesced(function.__name__) and is_sparse(self) and self._layout is sparse_coo and not self._coalesced:
            raise RuntimeError(f"{operation_of(function.__name__)}_ requires coalesced input")
        found = function(_as_it_was(self), *args, **kwargs)
        lossy = not can_cast(found._ms_dtype, self._ms_dtype)
        if lossy and (function in (add, sub) or function is mul and is_sparse(args[0])):
            word = "mul" if function is mul and is_sparse(self) else "add"
            words = type_word(found._ms_dtype), type_word(self._ms_dtype)
            raise RuntimeError("Can't convert result type {} to output {} in {} operation".format(*words, word))
        if not is_sparse(self):
            return self.copy_(to_dense(found))
        if not can_cast(found._ms_dtype, self._ms_dtype):
            raise RuntimeError(
                f"result type {type_word(found._ms_dtype)} can't be cast to the desired output type {type_word(self._ms_dtype)}"
            )
        if modes.grad and is_tracked(self) and self.is_leaf:
            check_writable(self)
        return replace(self, found if found._ms_dtype is self._ms_dtype else found.to(self._ms_dtype))

    return apply


def _as_it_was(tensor: Any) -> Tensor:
    """Return an alias of a sparse tensor with its autograd node, which keeps a result for backward before the tensor is modified in place.
    """
    if not is_sparse(tensor) or tensor._ms_node is None:
        return tensor
    kept = tensor.detach()
    kept._made_by(tensor._ms_node, tensor._ms_number)
    return kept


def _no_kernel(name: str, tensor: Any) -> NotImplementedError:
    word = WORDS[tensor._layout]
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{word}CPU' backend. There is no such kernel; to_dense() makes a "
        "strided tensor."
    )


@form("add")
def add(input: Tensor, other: Tensor, *, alpha: complex = 1, out: Tensor | None = None) -> Any:
    """Return ``input + alpha * other``; as in torch ``alpha * input + other`` if ``input`` is sparse in a layout other than COO and
    ``other`` dense.

    The sum of two sparse tensors is sparse, over the union of their indices; if one operand is dense, the sum is dense."""
    return _sum("Add", input, other, alpha, out)


def _sum(label: str, input: Tensor, other: Tensor, alpha: complex, out: Tensor | None) -> Tensor:
    def rule(gradient: Tensor) -> tuple[Any, Any]:
        return gradient, gradient if alpha.__class__ is int and alpha == 1 else gradient * alpha

    found = record(label, (input, other), lambda: _added(input, other, alpha), rule)
    return stored(found, out) if is_sparse(found) else finish(found, out)


def _added(input: Any, other: Any, alpha: Number) -> Tensor:
    if not is_sparse(other):
        if input._layout is not sparse_coo and isinstance(other, TensorBase):
            # As in torch, the sparse operand is multiplied by alpha.
            return to_dense(input) * alpha + other
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if alpha.__class__ is int and alpha == 1:
        scaled = other
    else:  # in the sum's dtype, so that a narrow dtype does not overflow
        kind = result_dtype_of(input, other)
        if kind is bool_ and is_sparse(input):
            raise not_for("cadd_sparse", "bool")
        alpha = bool(alpha) if kind is bool_ else alpha
        scaled = mul(other if other._ms_dtype is kind else other.to(kind), alpha)
    if not is_sparse(input):
        own = tuple(input.shape) if isinstance(input, TensorBase) else ()
        if own != other._size:
            raise RuntimeError(
                f"add: expected 'self' and 'other' to have same size, but self has size {list(own)} while other has size "
                f"{list(other._size)} (FYI: dense-sparse addition does not currently support broadcasting)"
            )
        return _add_to_dense(input, scaled)
    if input._layout is not sparse_coo and input._size != other._size:
        raise RuntimeError(
            f"torch.add: Expected input tensors to have the same shape, but got tensor `self` with shape {list(input._size)} and tensor "
            f"`other` with shape {list(other._size)}"
        )
    if input._size != other._size:
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(input._size)} != {list(other._size)}"
        )
    kind = result_dtype_of(input, other)
    if input.is_meta:
        return like(input, input._kept.to(kind))
    if kind in (bool_, float16) and input._layout is other._layout is sparse_coo:
        raise not_for("cadd_sparse", kind.name)
    if input._layout is not other._layout and sparse_coo not in (input._layout, other._layout):
        column = next(WORDS[one] for one in (input._layout, other._layout) if one not in BY_ROWS)
        raise RuntimeError(f"crow_indices expected sparse row compressed tensor layout but got {column}")
    if input._layout is not other._layout:
        raise RuntimeError("add: sparse tensors of different layouts cannot be added; convert one with to_sparse()")
    return (_union if input._layout is sparse_coo else _add_compressed)(input, scaled, kind)


@form("result_type", FUNCTION_FORMS)
def result_dtype_of(*tensors: Tensor) -> dtype:
    """Return the promoted dtype of sparse (and dense) tensors."""
    return result_dtype([_probe(tensor) for tensor in tensors])


def _probe(value: Any) -> Tensor:
    return value._values_part.new_zeros((1,)) if is_sparse(value) else value


def _add_to_dense(dense: Any, other: Any) -> Tensor:
    where, values = where_of(other)
    count = where.shape[0]
    kind = result_dtype_of(dense, other)
    rows = dense.to(kind).reshape((math.prod(other._size[:count]), *other._size[count:]))
    if values.numel():
        rows = rows.index_add(0, index_tensor(flat(where, other._size)), values.to(kind))
    else:
        rows = rows * 1
    return rows.reshape(other._size)


def _union(input: Any, other: Any, kind: dtype) -> Tensor:
    if input.sparse_dim() != other.sparse_dim():
        if not input._nnz() or not other._nnz():
            left = input if input._nnz() else other
            return like(left, left._values_part.to(kind))
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same density, but 'self' has {input.sparse_dim()} sparse dimensions while 'other' "
            f"has {other.sparse_dim()} sparse dimensions"
        )
    where = np.concatenate([host(input._index[0]), host(other._index[0])], 1)
    values = cat([input._values_part.to(kind), other._values_part.to(kind)])
    both = sparse(sparse_coo, (index_tensor(where),), values, input._size)
    if input._coalesced and other._coalesced:
        return coalesce(both)
    places = flat(where, input._size)
    mine, theirs = np.split(places, [input._nnz()])
    if mine.shape == theirs.shape and (mine == theirs).all():
        return sparse(sparse_coo, input._index, input._values_part.to(kind) + other._values_part.to(kind), input._size)
    if not ((np.diff(mine) >= 0).all() and (np.diff(theirs) >= 0).all()):
        first, group = _merged(mine.tolist(), theirs.tolist())
    else:
        # torch merges sorted operands: the n-th of equal indices in one with the n-th in the other.
        turns = np.concatenate([np.arange(part.size) - np.searchsorted(part, part) for part in (mine, theirs)])
        keys = places * (turns.max(initial=0) + 1) + turns
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    merged = added(values, group.reshape(-1), first.size)
    return sparse(sparse_coo, (index_tensor(where[:, first]),), merged, input._size)


def _merged(mine: list[int], theirs: list[int]) -> tuple[Array, Array]:
    """Merge two lists of places, of which one is not sorted, as torch does: the smaller of the two next places comes next, and equal ones
    become one. Return where each element of the result comes from in both lists together, and the element that each place goes to."""
    first, group = [], [0] * (len(mine) + len(theirs))
    here = there = 0
    while here < len(mine) or there < len(theirs):
        left = mine[here] if here < len(mine) else math.inf
        right = theirs[there] if there < len(theirs) else math.inf
        first.append(here if left <= right else len(mine) + there)
        if left <= right:
            group[here] = len(first) - 1
            here += 1
        if right <= left:
            group[len(mine) + there] = len(first) - 1
            there += 1
    return np.array(first, np.int64), np.array(group, np.int64)


def _add_compressed(input: Any, other: Any, kind: dtype) -> Tensor:
    if all((host(a).shape == host(b).shape and (host(a) == host(b)).all()) for a, b in zip(input._index, other._index)):
        return like(input, input._values_part.to(kind) + other._values_part.to(kind))
    total = coalesce(_union(to_sparse_coo(input), to_sparse_coo(other), kind))
    if input._layout in (BY_ROWS[1],):
        raise _no_kernel("add.Tensor", input)
    return total.to_sparse(layout=input._layout)


@form("sub")
def sub(input: Any, other: Any, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``input - alpha * other``; at least one of the two is sparse."""
    elementwise.check_subtraction(*(_probe(part) if is_sparse(part) else part for part in (input, other)))
    for tensor in (input, other):
        if is_sparse(tensor) and tensor._layout is not sparse_coo:
            raise RuntimeError(f"unsupported tensor layout: {WORDS[tensor._layout]}")
    return _sum("Sub", input, other, -alpha, out)


@form("mul")
def mul(input: Any, other: Any, *, out: Tensor | None = None) -> Tensor:
    """Return the product, at the indices of the sparse factor (or the intersection, if both are sparse)."""
    factors = (input, other)
    if not is_sparse(input):
        input, other = other, input
    if is_number(other) or (not is_sparse(other) and other.dim() == 0):
        return stored(_scaled(input, other), out, checked=False)
    if is_sparse(other):
        if result_dtype_of(input, other) is bool_ and input._size == other._size and input._size:
            raise not_for("mul_out_sparse", "bool")
        if not input._size or not other._size:
            number, rest = (input, other) if not input._size else (other, input)
            return stored(_scaled(rest, to_dense(number)), out, checked=False)
        if input._size != other._size:
            raise RuntimeError("mul: expected 'self' and 'other' to have same sizes when they are sparse")
        _check_layouts(input, other)
    elif tuple(other.shape) != input._size:
        return stored(_mul_spread(input, other), out)
    found = record("Mul", factors, lambda: _multiplied(input, other), _factors, factors)
    return stored(found, out)


def _check_layouts(input: Any, other: Any) -> None:
    """Raise torch's error for a product of two layouts, unless the first factor is CSR."""
    if input._layout is not other._layout and input._layout is not sparse_csr:
        raise RuntimeError("Expected result Tensor to be of format CSR")


def _factors(gradient: Tensor, first: Tensor, second: Tensor) -> tuple[Any, Any]:
    """Return the gradients of a product's factors."""
    return gradient * _conjugated(second), gradient * _conjugated(first)


def _conjugated(value: Tensor | complex) -> Tensor | Number:
    if not isinstance(value, TensorBase) or not value._ms_dtype.is_complex:
        return value.conjugate() if isinstance(value, complex) else value
    operand: Any = value
    return like(operand, operand._values_part.conj_physical()) if is_sparse(operand) else operand.conj()


def _operands(input: Tensor, other: Tensor | float) -> tuple[Any, ...]:
    """Return the operands that the gradient of a product or quotient with a 0-d tensor ``other`` needs; the sparse tensor only if ``other``
    requires grad. None for a Python number."""
    if not isinstance(other, TensorBase):
        return ()
    return (other, input) if is_tracked(other) else (other,)


def _scaled(input: Any, other: Tensor | float) -> Tensor:
    def rule(gradient: Tensor, factor: Tensor | Number = other, own: Tensor | None = None) -> tuple[Any, Any]:
        return gradient * _conjugated(factor), None if own is None else (gradient * _conjugated(own)).sum()

    return record("Mul", (input, other), lambda: like(input, input._values_part * other), rule, _operands(input, other))


def _multiplied(input: Any, other: Any) -> Tensor:
    if not is_sparse(other):
        return like(input, input._values_part * values_at(other, input))
    if input._layout is not sparse_coo:
        both = _multiplied(coalesce(to_sparse_coo(input)), coalesce(to_sparse_coo(other)))
        return both.to_sparse(layout=input._layout)
    if not (input._coalesced and other._coalesced):  # as in torch, the result has the indices of an uncoalesced operand
        loose, settled = (input, other) if other._coalesced else (other, coalesce(input))
        return like(loose, loose._values_part * values_at(settled, loose))
    first, second = input, other
    shared = np.intersect1d(flat(host(first._index[0]), first._size), flat(host(second._index[0]), second._size))
    mine = np.searchsorted(flat(host(first._index[0]), first._size), shared)
    at = sparse(sparse_coo, (index_tensor(host(first._index[0])[:, mine]),), taken(first._values_part, mine), first._size, True)
    return like(at, at._values_part * values_at(second, at))


def _mul_spread(input: Any, dense: Tensor) -> Tensor:
    """Return the product with a dense tensor that broadcasts with ``input``. Raise if ``input`` would have to be broadcast and is not COO.
    """
    shape = broadcast_shape(input._size, tuple(dense.shape))
    if shape != input._size:
        if input._layout is not sparse_coo:
            raise _no_kernel("mul.Tensor", input)
        whole = to_dense(input).expand(shape)
        return (whole * dense).to_sparse(input.sparse_dim() + len(shape) - input.dim())
    return like(input, input._values_part * values_at(dense.expand(shape), input))


@form("div")
def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Tensor | None = None) -> Tensor:
    """Return the quotient by a number."""
    if not is_sparse(input):
        raise _no_kernel("reciprocal", other)
    if input._layout is not sparse_coo:
        raise RuntimeError(f"unsupported tensor layout: {WORDS[input._layout]}")
    if is_sparse(other) or (isinstance(other, TensorBase) and other.dim()):
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor "
            f"(got shape {list(other.shape)} for divisor)"
        )
    if rounding_mode is None:
        return stored(_divided(input, other), out)
    source = input if rounding_mode is None else coalesce(input)
    return stored(like(source, elementwise.div(source._values_part, other, rounding_mode=rounding_mode)), out)


def _divided(input: Any, other: Any) -> Tensor:
    def rule(gradient: Tensor, divisor: Tensor | int = other, own: Tensor | None = None) -> tuple[Any, Any]:
        quotient = gradient / _conjugated(divisor)
        return quotient, None if own is None else -(quotient * _conjugated(own / divisor)).sum()

    return record("Div", (input, other), lambda: like(input, elementwise.div(input._values_part, other)), rule, _operands(input, other))


@form("floor_divide")
def floor_divide(input: Tensor, other: Any, *, out: Tensor | None = None) -> Tensor:
    """Return the quotient by a number, rounded down."""
    if is_sparse(input) and (is_sparse(other) or (isinstance(other, TensorBase) and other.dim())):
        raise RuntimeError(
            "Sparse floor division requires a scalar or zero-dim dense tensor divisor "
            + (f"(got shape {list(other.shape)} for divisor)" if other.dim() else "(got a sparse divisor)")
        )
    return div(input, other, rounding_mode="floor", out=out)


@form("pow")
def pow(input: Any, exponent: Number, *, out: Tensor | None = None) -> Tensor:
    """Return a power of each specified element."""
    if not is_sparse(input) or not is_number(exponent) or input._layout is not sparse_coo:
        raise _no_kernel("pow.Tensor_Tensor", input if is_sparse(input) else exponent)
    if exponent == 0:
        raise RuntimeError("pow: exponent cannot be zero on sparse tensor")
    source = coalesce(input)
    return stored(like(source, elementwise.pow(source._values_part, exponent)), out)


def _same_places(label: str, input: Tensor, values: Tensor, index: tuple[Tensor, ...] | None = None) -> Tensor:
    """Return a sparse tensor of ``values`` at the indices of ``input`` (or at ``index``); the gradient is passed on unchanged."""
    return record(label, (input,), lambda: like(input, values, index), lambda gradient: (gradient,))


def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the tensor with another dtype or on another device; self if nothing changes."""
    converted = self._kept.to(*args, **kwargs)
    if is_meta(converted) and not is_meta(self._kept):
        return _without_elements(self, converted)
    return self if converted is self._kept else _same_places("ToCopy", self, converted)


def _without_elements(input: Any, values: Tensor) -> Tensor:
    """Return a sparse tensor of the same size without specified elements, on the device of ``values``: the result of a move to the meta
    device."""
    coo = input._layout is sparse_coo
    batch = 0 if coo else input._index[0].dim() - 1
    *first, last = input._index
    index = [*(part.to(values.device) for part in first), last.to(values.device)[..., :0]]
    return sparse(input._layout, index, values.narrow(batch, 0, 0), input._size, True)


def conversion(name: str) -> Callable[..., Any]:
    """Return a conversion method such as ``double()``."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Tensor:
        converted = getattr(self._kept, name)()
        return self if converted is self._kept else _same_places("ToCopy", self, converted)

    method.__name__ = name
    return method


@form("clone")
def clone(input: Any, *, memory_format: memory_format | None = None) -> Any:
    """Return a copy."""
    return _same_places("Clone", input, input._kept.clone(), tuple(part.clone() for part in input._index))


@form("copy_", METHOD_FORMS)
def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Copy another sparse tensor's elements in place."""
    if layout_word(self) in _COMPRESSED or layout_word(src) in _COMPRESSED:
        _check_copy(self, src)
    if not is_sparse(self) or not is_sparse(src):
        raise RuntimeError(
            f"copy_() between dense and sparse Tensors is not implemented! Found self type = {_type(self)} and src type = "
            f"{_type(src)}"
        )
    if layout_word(self) in _COMPRESSED:
        # As in torch, the target keeps its size.
        index = tuple(part.clone() for part in src._index)
        return replace(self, sparse(self._layout, index, src._values_part.to(self._ms_dtype).clone(), self._size, True))
    if self._size != src._size:
        self.sparse_resize_(src._size, src.sparse_dim(), src.dense_dim())  # raises if the target cannot be resized to this
    return replace(self, clone(src) if src._ms_dtype is self._ms_dtype else clone(src).to(self._ms_dtype))


_COMPRESSED = ("SparseCsr", "SparseCsc", "SparseBsr", "SparseBsc")


def _check_copy(self: Any, src: Any) -> None:
    """Raise torch's error unless two compressed tensors agree in layout and number of elements."""
    if layout_word(self) != layout_word(src):
        raise RuntimeError(
            "torch.copy_: copy of sparse compressed tensors having different layouts is not supported. self layout is "
            f"{layout_word(self)} and src layout is {layout_word(src)}"
        )
    if self._nnz() != src._nnz():
        raise RuntimeError(
            "torch.copy_: only sparse compressed tensors with the same number of specified elements are supported."
        )
    place = 0 if self._layout in BY_ROWS else 1
    own, other = (tensor._size[tensor._index[0].dim() - 1 + place] for tensor in (self, src))
    if own != other:
        raise RuntimeError(
            f"torch.copy_: expected shapes of self and src to match along dimension {place} for {layout_word(self)} layout but the "
            f"corresponding dimensions of self and src are {own} and {other}, respectively."
        )
    if layout_word(self) in ("SparseBsr", "SparseBsc"):
        own, other = (list(tensor._values_part.shape[tensor._index[0].dim() :][:2]) for tensor in (self, src))
        if own != other:
            raise RuntimeError(
                "torch.copy_: copy of sparse compressed tensors having different block sizes is not supported. self and src block "
                f"sizes are {own} and {other}, respectively."
            )


def _type(tensor: Tensor) -> str:
    word = {"float32": "Float", "float64": "Double"}.get(tensor._ms_dtype.name, type_word(tensor._ms_dtype))
    return f"torch.{'sparse.' if is_sparse(tensor) else ''}{word}Tensor"
