"""torch._foreach_*: one operation per tensor of a list, as optimizers and gradient clipping use.

torch's names determine which of these exist. Each calls the operation's own function once per tensor, its in-place form the in-place
method, one tensor after another: later tensors see what was written to earlier ones. The in-place forms return the tensors.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..._tensor import Tensor
from ..backend.arrays import Number
from ..backend.errors import wrong_type
from ..core.built_in import written
from ..core.dtype import dtype
from ..core.formats import memory_format, preserve_format
from ..core.public_names import IN_PYTHON
from ..core.tensor_base import TensorBase
from ..ops import _public
from ..ops._dispatch import readable
from ..ops.reduce.vector_norm import vector_norm

_FUNCTIONS = _public.functions()
_COMPARING = {"clamp_max": "minimum", "clamp_min": "maximum"}  # torch's aliases


def _lists(first: Sequence[Any], *others: Any) -> None:
    """Raise torch's errors for mismatched lengths of the lists."""
    if not first:
        raise RuntimeError("Tensor list must have at least one tensor.")
    for other in others:
        if _is_list(other) and len(other) != len(first):
            if other and not isinstance(other[0], Tensor):
                raise RuntimeError("Tensor list must have same number of elements as scalar list.")
            raise RuntimeError(
                f"Tensor lists must have the same number of tensors, got {len(first)} and {len(other)}"
            )


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple))


def _one_per_tensor(value: Any, count: int) -> Sequence[Any]:
    """Return a list with one value per tensor; a single value is repeated."""
    return value if _is_list(value) else [value] * count


def _one(name: str, writes: bool) -> Callable[..., Any]:
    """Return the operation of one tensor; with ``writes``, its in-place form."""
    if not writes:
        return _FUNCTIONS[name]
    word = {"maximum": "clamp_min", "minimum": "clamp_max"}.get(name, name)  # there is no maximum_
    return getattr(Tensor, f"{word}_")


def _unary(name: str, writes: bool) -> Callable[..., Any]:
    operation = _one(name, writes)

    def plain(self: Sequence[Any]) -> tuple[Tensor, Tensor, Tensor]:
        _lists(self)
        return tuple(operation(tensor) for tensor in self)

    plain.__doc__ = f"Apply ``{name}`` to each tensor."
    return plain


def _binary(name: str, writes: bool) -> Callable[..., Any]:
    operation, clamp = _one(_COMPARING.get(name, name), writes), _one("clamp", writes)
    takes_tensors = name in ("maximum", "minimum", *_COMPARING)

    def apply(tensor: Any, other: Any, alpha: Number) -> Any:
        if takes_tensors and not isinstance(other, Tensor):
            limits = {"max": other} if name in ("clamp_max", "minimum") else {"min": other}
            return clamp(tensor, **limits)
        return operation(tensor, other) if alpha == 1 else operation(tensor, other, alpha=alpha)

    def plain(self: Any, other: Any = None, *, alpha: Number = 1, **named: Any) -> tuple[TensorBase, ...]:
        for word in ("scalar", "scalars", "exponent"):
            other = named.pop(word, other)
        if named:
            raise TypeError(f"_foreach_{name}() got an unexpected keyword argument '{next(iter(named))}'")
        if not _is_list(self):  # _foreach_pow(2, exponents)
            return tuple(operation(self, exponent) for exponent in other)
        _lists(self, other)
        if isinstance(other, Tensor):
            other = _number(name, other)
        return tuple(apply(tensor, value, alpha) for tensor, value in zip(self, _one_per_tensor(other, len(self))))

    plain.__doc__ = f"Apply ``{name}`` to each tensor and a number, a tensor, or an item of a list."
    return plain


def _number(name: str, tensor: Tensor) -> Tensor | Number:
    """Return a 0-d tensor as a number where torch reads its value: except for products, quotients, tracked tensors, and tensors on a
    device. Raise torch's errors for other tensors."""
    if name not in ("add", "mul", "div"):
        if tensor.dim() or tensor.requires_grad:
            raise wrong_type(f"_foreach_{name}() received an invalid combination of arguments - got (list, Tensor)")
        return tensor.item()
    if tensor.dim():
        raise RuntimeError(f"scalar tensor expected to be 0 dim but it has {tensor.dim()} dimensions and {tensor.numel()} elements.")
    return tensor if name != "add" or tensor.requires_grad or readable(tensor) is None else tensor.item()


def _pointwise(name: str, writes: bool) -> Callable[..., Any]:
    operation = _one(name, writes)

    def plain(
        self: Sequence[Any], tensor1: Sequence[Any], tensor2: Sequence[Any], value: Tensor | float | Sequence[float] = 1, *,
        scalars: Any = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        factors = value if scalars is None else scalars
        if isinstance(factors, Tensor):
            if factors.dim() != 1 or len(factors) != len(self):
                raise RuntimeError(
                    f"Expected length of scalars to match input of length {len(self)} but got {factors.numel()} instead."
                )
            factors = factors.tolist()
        _lists(self, tensor1, tensor2, factors)
        rows = zip(self, tensor1, tensor2, _one_per_tensor(factors, len(self)))
        return tuple(operation(tensor, one, two, value=factor) for tensor, one, two, factor in rows)

    plain.__doc__ = f"Apply ``{name}`` to the tensors of three lists, with a number or an item of a list as ``value``."
    return plain


def _lerp(name: str, writes: bool) -> Callable[..., Any]:
    operation = _one(name, writes)

    def plain(
        self: Sequence[Any], tensors1: Sequence[Any], weight: float | Sequence[Tensor | float] | None = None, *, weights: Any = None
    ) -> Any:
        """Return ``lerp`` of the tensors of two lists, by one weight or by one per tensor."""
        factors = weight if weights is None else weights
        _lists(self, tensors1, factors)
        return tuple(operation(a, b, w) for a, b, w in zip(self, tensors1, _one_per_tensor(factors, len(self))))

    return plain


def _foreach_norm(self: Sequence[Any], ord: complex = 2, dtype: dtype | None = None) -> Any:
    """Return the vector norm of each tensor."""
    _lists(self)
    return tuple(vector_norm(tensor, ord, dtype=dtype) for tensor in self)


def _foreach_powsum(self: Sequence[Any], ord: complex = 2, dtype: dtype | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Return the sum of ``|x| ** ord`` over each tensor."""
    _lists(self)
    return tuple((tensor if dtype is None else tensor.to(dtype)).abs().pow(ord).sum() for tensor in self)


def _foreach_max(self: Sequence[Any]) -> Any:
    """Return the maximum of each tensor."""
    _lists(self)
    return tuple(tensor.max() for tensor in self)


def _foreach_mm(self: Sequence[Any], mat2: Sequence[Any]) -> tuple[Tensor, ...]:
    """Return the matrix products of the tensors of two lists."""
    _lists(self, mat2)
    return tuple(a.mm(b) for a, b in zip(self, mat2))


def _foreach_clone(self: Sequence[Any], *, memory_format: memory_format = preserve_format) -> tuple[Tensor, Tensor, Tensor]:
    """Return a clone of each tensor."""
    _lists(self)
    return tuple(tensor.clone(memory_format=memory_format) for tensor in self)


def _foreach_copy_(self: Sequence[Any], src: Sequence[Any], non_blocking: bool = False) -> Any:
    """Copy each tensor of ``src`` into the corresponding one of ``self``."""
    _lists(self, src)
    for tensor, other in zip(self, src):
        tensor.copy_(other)
    return self


def _foreach_zero_(self: Sequence[Any]) -> Any:
    """Set all elements of all tensors to 0."""
    _lists(self)
    for tensor in self:
        tensor.zero_()
    return self


def _in_place(name: str, writing: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that writes to the tensors of the first list as one that returns them."""

    def storing(self: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        writing(self, *args, **kwargs)
        return self

    storing.__doc__ = f"Apply ``_foreach_{name}`` in place; return the tensors."
    return storing


def _named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    return function


_OWN = (_foreach_norm, _foreach_powsum, _foreach_max, _foreach_mm, _foreach_clone, _foreach_copy_, _foreach_zero_)
_BY_OPERANDS = {1: _unary, 2: _binary, 3: _pointwise}


def _operands(name: str) -> int:
    """Return the number of required positional parameters of the function ``name`` of single tensors."""
    parameters = inspect.signature(inspect.unwrap(written(_FUNCTIONS[name]))).parameters.values()
    return sum(one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in parameters)


def _all() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {function.__name__: function for function in _OWN}
    names = {name.removeprefix("_foreach_") for name in IN_PYTHON[""] if name.startswith("_foreach_")}
    for name in sorted(name for name in names if f"{name}_" in names and f"_foreach_{name}" not in found and name not in ("copy", "zero")):
        form = _lerp if name == "lerp" else _BY_OPERANDS[_operands(name)]
        found |= {f"_foreach_{name}": form(name, False), f"_foreach_{name}_": _in_place(name, form(name, True))}
    return {name: _named(name, function) for name, function in found.items()}


FUNCTIONS = _all()
