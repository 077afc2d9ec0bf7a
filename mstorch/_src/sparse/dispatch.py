"""Routing of public functions and methods to sparse forms.

Operations (``core/overriding.py``) run the sparse form of a function, if it has one, for a sparse tensor. A strided operation that reads a
sparse tensor raises ``SparseOperand`` before any other effect.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ... import autograd
from ..._tensor import OF_FAMILIES, Tensor
from ...autograd import graph
from ..core.device import device
from ..core.device import is_meta as is_meta_device
from ..core.dtype import dtype
from ..core.formats import layout, sparse_coo
from ..core.second_names import operation_of
from ..core.size import Size
from ..core.sparse_parts import is_sparse
from ..core.tensor_base import SparseOperand, TensorBase, is_tracked
from ..ops._forms import Forms, accepting, old_sum
from ..ops._operation import record_of
from ..ops._public import functions
from ..ops.memory.copying import CONVERSIONS, as_dtype
from ..tape.node import edge_of
from . import compressed, coo, elementwise, pieces, products, reduce, shape  # noqa: F401 - forms are declared as their files are loaded
from .base import WORDS, SparseTensor, layout_word, like
from .forms import COMMON, FORMS, FUNCTION_FORMS, METHOD_FORMS, form

Function = Callable[..., Any]


def _unary_forms() -> dict[str, Function]:
    return {
        name: elementwise.unary(name, function) for name, function in functions().items()
        if record_of(function).keeps_zero and not name.endswith("_")
    }  # fmt: skip


_UNARY = _unary_forms()


@form("empty_like", FUNCTION_FORMS)
def _empty_like(
    input: Any, *, dtype: dtype | None = None, layout: layout | None = None, requires_grad: bool = False, **options: Any
) -> Tensor:
    """Return a sparse tensor of the same size and layout; a compressed one keeps the indices, with uninitialized values."""
    place = options.get("device")
    if place is not None and is_meta_device(place) and layout in (None, input._layout):
        if input._layout is sparse_coo:
            return shape.zeros_like(input, dtype=dtype, device=place, requires_grad=requires_grad)
        values, index = input._kept.to(place, dtype), tuple(part.to(place) for part in input._index)
        return elementwise.like(input, values, index).requires_grad_(requires_grad)
    if input._layout is sparse_coo or options.get("memory_format") is not None:
        return shape.empty_like(input, dtype=dtype, layout=layout, requires_grad=requires_grad, **options)
    return pieces.empty_like_compressed(input, dtype or input._ms_dtype, layout, requires_grad)


FORMS.update({**_UNARY, **FORMS}, is_conj=lambda input: False, is_neg=lambda input: False)
FORMS.update(dict.fromkeys(("resolve_conj", "resolve_neg"), lambda input: input))
FUNCTION_FORMS.update(
    detach=lambda input: input.detach(), numel=lambda input: input.numel(), is_nonzero=lambda input: _is_nonzero(input)
)
_IN_PLACE = [name for name in FORMS if name in _UNARY or operation_of(name) in ("add", "sub", "mul", "div", "pow")]
METHOD_FORMS.update({
    **{f"{name}_": elementwise.in_place(FORMS[name]) for name in _IN_PLACE},
    **{f"__i{name}__": elementwise.in_place(FORMS[full]) for name, full in (
        ("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"),
    )},
})  # fmt: skip
# Sparse forms of functions of torch.nn.functional.
FUNCTIONAL_FORMS: dict[str, Function] = {
    "linear": products.linear, "relu": lambda input, inplace=False: input.relu_() if inplace else input.relu(),
}


def _of_sparse(name: str, function: Function) -> Function:
    """Return a method that raises NotImplementedError unless one of its first arguments is sparse."""

    def method(*args: Any, **kwargs: Any) -> Tensor:
        if not any(map(is_sparse, (*args[:2], *kwargs.values()))):  # a deprecated order of arguments begins with a number
            raise NotImplementedError(
                f"Could not run 'aten::{name}' with arguments from the 'CPU' backend. It takes a sparse tensor."
            )
        return function(*args, **kwargs)

    functools.update_wrapper(method, function)
    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    return method


def _only_sparse(*functions: Function) -> None:
    COMMON.update({function.__name__: _of_sparse(function.__name__, function) for function in functions})


_only_sparse(products.smm, accepting(products.sspaddmm, Forms(old=old_sum("mat1", "mat2"))))
_only_sparse(shape.sparse_resize_, shape.sparse_resize_and_clear_, shape.resize_as_sparse_)
COMMON["_coalesced_"] = _of_sparse("_coalesced_", coo.set_coalesced)


def _copied(name: str, method: str) -> Function:
    def function(input: Any, *, out: Tensor | None = None) -> TensorBase:
        if not is_sparse(input) or input._layout not in compressed.COMPRESSED:
            word = "SparseCPU" if is_sparse(input) else "CPU"
            raise NotImplementedError(f"Could not run 'aten::{name}' with arguments from the '{word}' backend.")
        found = COMMON[method](input)
        return found.clone() if out is None else out.resize_(found.shape).copy_(found)

    function.__name__ = name
    function.__doc__ = f"Return ``{method}()`` as a copy."
    return function


crow_indices_copy = _copied("crow_indices_copy", "crow_indices")
col_indices_copy = _copied("col_indices_copy", "col_indices")
ccol_indices_copy = _copied("ccol_indices_copy", "ccol_indices")
row_indices_copy = _copied("row_indices_copy", "row_indices")
indices_copy = _copied("indices_copy", "indices")
values_copy = _copied("values_copy", "values")
smm, sspaddmm, resize_as_sparse_ = COMMON["smm"], COMMON["sspaddmm"], COMMON["resize_as_sparse_"]
saddmm = sspaddmm
hspmm = hsmm = _of_sparse("hspmm", products.hspmm)


def aware(function: Function, form: Function) -> Function:
    """Wrap ``function`` to call ``form`` instead if it raises SparseOperand because an argument is sparse."""

    @functools.wraps(function)
    def either(*args: Any, **kwargs: Any) -> tuple[Tensor | None, ...] | None:
        try:
            return function(*args, **kwargs)
        except SparseOperand:
            if not _named_sparse(args, kwargs):
                raise
        return form(*args, **kwargs)

    return either


def _named_sparse(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return any(map(_holds_sparse, args)) or any(map(_holds_sparse, kwargs.values()))


def _holds_sparse(value: Tensor | list[Tensor] | tuple[Any, ...]) -> bool:
    return is_sparse(value) or (isinstance(value, (list, tuple)) and any(map(is_sparse, value)))


def _refusing(name: str) -> Function:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the '{WORDS[self._layout]}CPU' backend: it has no kernel for tensors "
            f"of layout {self._layout!r}; to_dense() makes a strided tensor of them."
        )

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = "Raise NotImplementedError: there is no such kernel for sparse tensors here, and often not in torch."
    return method


def _wrong(text: str) -> Function:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(text)

    return method


def _reflected(function: Function) -> Function:
    return lambda self, other: function(other, self)


_OPERATORS: dict[str, Function] = {
    "__add__": elementwise.add, "__radd__": lambda self, other: elementwise.add(other, self), "__sub__": elementwise.sub,
    "__rsub__": _reflected(elementwise.sub), "__mul__": elementwise.mul, "__rmul__": elementwise.mul,
    "__truediv__": elementwise.div, "__rtruediv__": _reflected(elementwise.div), "__floordiv__": elementwise.floor_divide,
    "__pow__": elementwise.pow, "__matmul__": products.matmul, "__rmatmul__": _reflected(products.matmul),
    "__neg__": FORMS["neg"], "__abs__": FORMS["abs"], "__pos__": FORMS["positive"],
    "__getitem__": shape.getitem, "__setitem__": shape.setitem,
}  # fmt: skip


def _is_nonzero(self: Tensor) -> bool:
    """Return whether the only element is nonzero."""
    return bool(self)


def _named(kind: str) -> dtype:
    """Return a dtype given as a dtype, a tensor type or a type's name; "torch.sparse." counts as "torch."."""
    return as_dtype(kind.replace("torch.sparse.", "torch.") if isinstance(kind, str) else kind)


def _new(self: Tensor, *args: Any, device: device | str | int | None = None) -> Tensor:
    """Return a sparse tensor of the same dtype: empty, of a size, or from indices and values."""
    if len(args) > 1 and isinstance(args[0], Tensor):
        return coo.sparse_coo_tensor(*args, dtype=self._ms_dtype, check_invariants=coo.is_checking())
    if len(args) == 1 and isinstance(args[0], (list, tuple)) and not isinstance(args[0], Size):
        raise TypeError(
            "SparseTensor.new(sequence) only accepts sizes.  Please use torch.sparse_coo_tensor() or construct a strided tensor and "
            "convert it to sparse via to_sparse."
        )
    size = args[0] if len(args) == 1 and not isinstance(args[0], int) else args or (0,)
    if not isinstance(size, (list, tuple)):
        raise TypeError(f"new() received an invalid combination of arguments - got ({type(size).__name__}), but expected one of:")
    return coo.nothing(size, self._ms_dtype, device=self.device)


def _kept_methods() -> dict[str, Function]:
    """Return, by name, the methods that sparse tensors have in place of those of strided ones: conversions, new tensors, resizing."""
    kept: dict[str, Function] = {name: elementwise.conversion(name) for name in CONVERSIONS}
    kept.update({name: elementwise.conversion(name) for name in ("cpu", "cuda", "npu")}, to=elementwise.to)
    kept["type_as"] = lambda self, other: self.to(other._ms_dtype)
    kept["new_zeros"] = kept["new_empty"] = lambda self, *size, dtype=None, device=None, **options: coo.nothing(
        size[0] if len(size) == 1 and not isinstance(size[0], int) else size, dtype or self._ms_dtype, device=device or self.device
    )
    kept["is_nonzero"] = _is_nonzero
    kept["new"] = _new
    kept["type"] = lambda self, dtype=None, non_blocking=False: (
        elementwise._type(self) if dtype is None else self.to(_named(dtype))
    )
    kept["resize_"] = shape.resize_
    kept["resize_as_"] = lambda self, the_template, memory_format=None: shape.resize_as_sparse_(self, the_template)
    kept["reshape"] = _wrong("reshape is not implemented for sparse tensors")
    kept["contiguous"] = _wrong("unsupported memory format option Contiguous")
    kept["new_tensor"] = lambda self, data, **options: self._values_part.new_tensor(data, **options)
    return kept


_KEPT = _kept_methods()
# Methods of strided tensors that accept a sparse operand, also as the first if they are called through the class.
STRIDED_METHOD_FORMS: dict[str, Function] = {**FORMS, **METHOD_FORMS, **_KEPT, "detach": lambda self: self.detach()}


def give_methods() -> None:
    """Set the methods of sparse tensors, and on strided tensors those that both layouts have or that accept a sparse operand."""
    own = dict(SparseTensor.__dict__)
    given = {**FORMS, **METHOD_FORMS, **COMMON, **_OPERATORS, **_KEPT}
    for name, function in given.items():
        if name not in own:
            setattr(SparseTensor, name, function)
    SparseTensor.T = property(lambda self: shape.transpose(self, 0, 1) if self.dim() == 2 else shape.t(self))  # type: ignore[assignment, method-assign]
    SparseTensor.mT = property(lambda self: shape.transpose(self, -2, -1))  # type: ignore[assignment, method-assign]
    SparseTensor.H = property(shape.turned)  # type: ignore[assignment, method-assign]
    SparseTensor.mH = property(lambda self: shape.adjoint(self, "mH"))  # type: ignore[assignment, method-assign]
    for name in OF_FAMILIES:
        if name not in own and name not in given and callable(getattr(Tensor, name, None)):
            setattr(SparseTensor, name, _refusing(name))
    for name, function in COMMON.items():
        setattr(Tensor, name, function)
    Tensor.sparse_dim = lambda self: 0  # type: ignore[method-assign]
    Tensor.dense_dim = lambda self: self.dim()  # type: ignore[method-assign, attr-defined]


def _grad(
    outputs: Tensor | Sequence[Tensor], inputs: Tensor | Sequence[Tensor], grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *args: Any, **kwargs: Any,
) -> tuple[Any, ...]:
    """Run ``autograd.grad`` with sparse inputs or outputs, by their edges."""
    wanted = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    roots, gradients = _roots(outputs, grad_outputs)
    return autograd.grad(roots, [_edge(tensor, "One of the differentiated Tensors") for tensor in wanted], gradients, *args, **kwargs)


def _edge(tensor: Tensor, who: str) -> Tensor | graph.GradientEdge:
    """Return a sparse tensor's GradientEdge; a strided tensor unchanged."""
    if not is_sparse(tensor):
        return tensor
    if not is_tracked(tensor):
        raise RuntimeError(f"{who} does not require grad" + (" and does not have a grad_fn" if who.startswith("element") else ""))
    return graph.GradientEdge(*edge_of(tensor))


def _roots(outputs: Tensor | Sequence[Tensor], gradients: Any) -> tuple[list[Any], list[Any]]:
    """Return the outputs, with sparse ones replaced by their gradient edges, and the gradients, which are checked for sparse outputs."""
    roots = (outputs,) if isinstance(outputs, Tensor) else tuple(outputs)
    gradients = (gradients,) if isinstance(gradients, Tensor) else tuple(gradients or [None] * len(roots))
    for number, (root, gradient) in enumerate(zip(roots, gradients)):
        if is_sparse(root):
            _check_gradient(root, gradient, number)
    return [_edge(root, f"element {number} of tensors") for number, root in enumerate(roots)], list(gradients)


def _check_gradient(root: Any, gradient: Any, number: int) -> None:
    """Raise torch's error for an invalid gradient of a sparse root."""
    if gradient is None:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if tuple(gradient.shape) != root._size:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{number}] has a shape of {gradient.shape} and output[{number}] has a shape of {root.shape}."
        )
    if is_sparse(gradient) and gradient._layout is not sparse_coo and gradient._layout is not root._layout:
        raise RuntimeError(
            f"invalid gradient at index {number} - expected layout {layout_word(root)} but got {layout_word(gradient)}"
        )


def _backward(tensors: Tensor, grad_tensors: Tensor | None = None, *args: Any, **kwargs: Any) -> None:
    """Run ``autograd.backward`` with sparse roots, by their edges."""
    autograd.backward(*_roots(tensors, grad_tensors), *args, **kwargs)


def install() -> None:
    """Make autograd's functions accept sparse tensors."""
    autograd.grad = aware(autograd.grad, _grad)
    autograd.backward = aware(autograd.backward, _backward)


give_methods()
__all__ = ["FORMS", "FUNCTIONAL_FORMS", "FUNCTION_FORMS", "STRIDED_METHOD_FORMS", "graph", "install", "like"]
