"""Kernels with gradients of their own: a node of MindSpore's autograd if an argument requires grad, else a plain call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mindspore import ops

from ...quiet import quiet
from .. import tape
from ..raw import MS_DTYPE, NAME_OF, NP_DTYPE, Raw, from_numpy, scalar
from .views import ops_reshape as _reshape
from .views import ops_total as _total

COMPLEX_MS = frozenset((MS_DTYPE["complex64"], MS_DTYPE["complex128"]))
FLOAT32 = MS_DTYPE["float32"]

prim_add = ops.Add()
prim_sub = ops.Sub()
prim_mul = ops.Mul()
prim_div = ops.RealDiv()
prim_neg = ops.Neg()
_conj = ops.Conj()
_real = ops.Real()
_imag = ops.Imag()
PARTS = {"complex64": "float32", "complex128": "float64"}
prim_select = ops.Select()
prim_equal = ops.Equal()
prim_less = ops.Less()
prim_not = ops.LogicalNot()
prim_and = ops.LogicalAnd()
prim_or = ops.LogicalOr()
_zeros_like = ops.ZerosLike()

Derivative = Callable[[Raw, Raw], Raw]


def is_complex(raw: Raw) -> bool:
    """Return whether the dtype is complex."""
    kind = raw.dtype
    return kind is not FLOAT32 and kind in COMPLEX_MS


def recorded(*args: Any) -> bool:
    """Return whether an argument requires grad in MindSpore's autograd and grad mode is on."""
    if tape.grad_mode.enabled:
        for arg in args:
            if isinstance(arg, Raw) and arg._requires_grad:
                return True
    return False


_CONSTANTS: dict[tuple[Any, Any], Raw] = {}


def constant(value: complex, like: Raw) -> Raw:
    """Return a cached 0-d raw tensor in the dtype of ``like``."""
    key = (repr(value), like.dtype)
    found = _CONSTANTS.get(key)
    if found is None or tape.tracing() is not None:
        found = _CONSTANTS[key] = scalar(value, NAME_OF[like.dtype])
    return found


def prim_conj(raw: Raw) -> Raw:
    """Return the conjugate; MindSpore's Conj rejects empty tensors."""
    return _conj(raw) if raw.size else from_numpy(raw.asnumpy().copy())


def real_part(raw: Raw) -> Raw:
    """Return the real part; MindSpore's Real rejects empty tensors."""
    return _real(raw) if raw.size else from_numpy(np.zeros(raw.shape, NP_DTYPE[PARTS[NAME_OF[raw.dtype]]]))


def imaginary_part(raw: Raw) -> Raw:
    """Return the imaginary part; MindSpore's Imag rejects empty tensors."""
    return _imag(raw) if raw.size else from_numpy(np.zeros(raw.shape, NP_DTYPE[PARTS[NAME_OF[raw.dtype]]]))


def zeros_like(raw: Raw) -> Raw:
    """Return zeros of the same shape and dtype."""
    return _zeros_like(raw) if raw.size else from_numpy(np.zeros(raw.shape, raw.asnumpy().dtype))


def sum_to(raw: Raw, shape: tuple[int, ...]) -> Raw:
    """Sum over broadcast dimensions to ``shape``, which gives the gradient of an operand of that shape."""
    own = tuple(raw.shape)
    if own == tuple(shape):
        return raw
    if raw.size == 0:
        return from_numpy(np.zeros(shape, raw.asnumpy().dtype))
    lead = len(own) - len(shape)
    axes = tuple(i for i in range(len(own)) if i < lead or (shape[i - lead] == 1 and own[i] != 1))
    return _reshape(_total(raw, axes), tuple(shape))


def node(
    name: str, forward: Callable[..., Raw], backward: Callable[..., Any], traced: Callable[..., Raw] | None = None
) -> Callable[..., Raw]:
    """Return a kernel ``forward(*args)`` whose gradient is ``backward(gradient, result, *args)``.

    ``backward`` returns a MindSpore tensor or None per argument, or a single value for the first; it uses differentiable operations.
    ``traced`` is the function to capture in place of the node by ``jit(capture_mode="trace")``.
    """

    def node_forward(ctx: tape.Function, *args: Any) -> Raw:
        result = forward(*args)
        ctx.places = tuple(i for i, arg in enumerate(args) if isinstance(arg, Raw))
        ctx.rest = tuple(None if isinstance(arg, Raw) else arg for arg in args)
        ctx.save_for_backward(result, *(args[i] for i in ctx.places))
        return result

    def node_backward(ctx: tape.Function, gradient: Raw) -> tuple[Raw | None, ...]:
        result, *raws = ctx.saved_tensors
        args = list(ctx.rest)
        for place, raw in zip(ctx.places, raws):
            args[place] = raw
        found = backward(gradient, result, *args)
        if not isinstance(found, tuple):
            found = (found,)
        return found + (None,) * (len(args) - len(found))

    apply = tape.eager_node(name, node_forward, node_backward)
    captured = forward if traced is None else traced

    def kernel(*args: Any) -> Raw:
        if tape.tracing() is not None:
            return captured(*args)
        return apply(*args) if recorded(*args) else forward(*args)

    kernel.__name__ = name
    return kernel


def _mul_backward(gradient: Raw, result: Raw, first: Raw, second: Raw) -> tuple[Raw, Raw]:
    return (
        sum_to(complex_mul(gradient, prim_conj(second)), first.shape),
        sum_to(complex_mul(gradient, prim_conj(first)), second.shape),
    )


# MindSpore 2.10: "For 'Mul', gradient not support for complex type currently."
complex_mul = node("MulBackward0", prim_mul, _mul_backward, prim_mul)


def mul(first: Raw, second: Raw) -> Raw:
    """Return the product, differentiable for complex numbers too."""
    return complex_mul(first, second) if is_complex(first) else prim_mul(first, second)


def _div_backward(gradient: Raw, result: Raw, first: Raw, second: Raw) -> tuple[Raw, Raw]:
    part = complex_div(gradient, prim_conj(second))
    return sum_to(part, first.shape), sum_to(prim_neg(complex_mul(part, prim_conj(result))), second.shape)


complex_div = node("DivBackward0", prim_div, _div_backward, prim_div)


def flat(name: str, forward: Callable[..., Raw]) -> Callable[..., Raw]:
    """Return a kernel whose gradient is zero, such as a step function; MindSpore returns None for the gradients of most of these."""

    def backward(gradient: Raw, result: Raw, *args: Any) -> tuple[Raw | None, ...]:
        return tuple(
            sum_to(zeros_like(gradient), arg.shape) if isinstance(arg, Raw) and arg.dtype == gradient.dtype else None
            for arg in args
        )

    return node(name, forward, backward, forward)


def chained(
    name: str, forward: Callable[[Raw], Raw], derivative: Derivative, traced: Any = None
) -> Callable[[Raw], Raw]:
    """Return a unary kernel with the gradient ``gradient * conj(derivative(x, result))``."""

    def backward(gradient: Raw, result: Raw, raw: Raw) -> Raw:
        local = derivative(raw, result)
        return mul(gradient, prim_conj(local) if is_complex(local) else local)

    return node(name, forward, backward, forward if traced is None else traced)


def through_numpy(function: Callable[..., Any]) -> Callable[..., Raw]:
    """Return a NumPy function as a function of raw tensors; the result keeps NumPy's dtype."""

    def forward(*raws: Raw) -> Raw:
        with quiet():
            return from_numpy(np.asarray(function(*(raw.asnumpy() for raw in raws)), order="C"))

    return forward
