"""Jacobians by finite differences, backward and forward mode, as NumPy arrays (elements of the input, elements of the output)."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .._src.backend.arrays import Array
from .._src.core.above import above
from .._src.core.formats import legacy_contiguous_format, sparse_coo, strided
from .._src.core.overriding import dispatches
from .._src.core.tensor_base import TensorBase
from .._src.ops.memory.creation import zeros_like
from .._src.ops.memory.from_data import made
from .._tensor import Tensor
from . import forward_ad

_NONDETERMINISTIC = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different values, "
    "although analytical gradient matches numerical gradient.The tolerance for nondeterminism was {}.\n\n"
    "NOTE: If your op relies on non-deterministic operations i.e., it is listed here:\n"
    "https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html\nthis failure might be expected.\n"
)


class GradcheckError(RuntimeError):
    """Raised when a gradient differs from finite differences."""


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Return a tuple unchanged, a list as a tuple, and a single value as a 1-tuple."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def is_like(value: object) -> bool:
    """Return whether a value is a tensor or has ``__torch_function__``."""
    return isinstance(value, TensorBase) or hasattr(type(value), "__torch_function__")


def is_inexact(value: Tensor) -> bool:
    """Return whether a value is a tensor with a floating or complex dtype."""
    return is_like(value) and (value.is_floating_point() or value.is_complex())


def watched(inputs: Sequence[Any]) -> list[int]:
    """Return the positions of the inputs that require grad."""
    return [i for i, value in enumerate(inputs) if is_like(value) and value.requires_grad]


def array(tensor: Tensor) -> Array:
    """Return a copy of a tensor's elements as a flat array."""
    tensor = tensor.detach()
    if dispatches(type(tensor)):  # its class may hold the elements elsewhere, and answers for each of them
        flat = tensor.reshape(-1)
        return np.array([flat[number].item() for number in range(flat.numel())], tensor.dtype.np)
    tensor = tensor if tensor.layout == strided else tensor.to_dense()
    tensor = tensor.float() if tensor.dtype.name == "bfloat16" else tensor
    return np.array(tensor.resolve_conj().resolve_neg().cpu().numpy()).reshape(-1)


# Finite differences


def values(tensor: Tensor) -> Any:
    """Return the elements that gradcheck varies, as a tensor over the same memory without a graph: all of a strided tensor, the specified
    ones of a sparse one."""
    if tensor.layout == strided:
        return tensor.data
    return (tensor._values() if tensor.layout == sparse_coo else tensor.values()).data


def _elements(tensor: Tensor) -> Iterator[tuple[tuple[int, ...], int, Any]]:
    """Yield a tuple for each element that gradcheck varies: its index in ``values(tensor)``, its flat index in the tensor, and a view of
    the element."""
    memory = values(tensor)
    for place, number in zip(itertools.product(*map(range, memory.shape)), numbers_of(tensor)):
        yield place, int(number), memory[place]


def numbers_of(tensor: Tensor) -> Array:
    """Return the flat index in the tensor of each element of ``values(tensor)``."""
    memory = values(tensor)
    if tensor.layout == strided:
        numbers = np.arange(memory.numel())
    elif tensor.layout == sparse_coo:  # uncoalesced tensors may have repeated indices
        whole = np.arange(tensor.numel()).reshape(tuple(tensor.shape))
        numbers = whole[tuple(tensor._indices().numpy())].reshape(-1)
    else:
        # Ones at the specified elements of a sparse tensor show the order of its values.
        marked = tensor.detach().clone()
        values(marked).copy_(made(np.arange(1, memory.numel() + 1, dtype=np.float64).reshape(tuple(memory.shape))))
        order = array(marked).real
        numbers = np.zeros(memory.numel(), np.int64)
        numbers[order[order > 0].astype(np.int64) - 1] = np.flatnonzero(order > 0)
    return numbers


def _difference(fn: Callable[..., Any], inputs: Sequence[Any], entry: Tensor, step: float, eps: float, where: str) -> list[Array]:
    """Return the central difference quotient of each output, as flat arrays, when ``entry`` (a view of some input elements) moves by
    ``step``, a multiple of ``eps``."""
    before = entry.clone()
    ends = []
    for moved in (before - step, before + step):
        entry.copy_(moved)
        ends.append([((o.shape, o.dtype), array(o)) for o in as_tuple(fn(*inputs)) if is_inexact(o)])
    entry.copy_(before)
    for ((shape, dtype), _), ((other_shape, other_dtype), _) in zip(*ends):
        for what, one, other in (("shape", shape, other_shape), ("dtype", dtype, other_dtype)):
            if one != other:
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs are perturbed {where}by {eps}, but got: "
                    f"{what}s {one} and {other}."
                )
    return [(high - low) / (2 * eps) for (_, low), (_, high) in zip(*ends)]


def slopes(
    fn: Callable[..., Any], inputs: Sequence[Any], entry: Tensor, steps: Sequence[Any], eps: float, forward: bool, where: str = ""
) -> list[Array]:
    """Return the difference quotients of the outputs along a step; for complex inputs along a real and an imaginary step, combined as ``dx
    + 1j * dy``, torch's convention."""
    real = _difference(fn, inputs, entry, steps[0], eps, where)
    if len(steps) == 1:
        if not forward and any(np.iscomplexobj(slope) for slope in real):
            raise AssertionError("Expected ds_dx to be real-valued, not complex.")
        return real
    if any(np.iscomplexobj(slope) for slope in real):
        raise AssertionError("Expected ds_dx to be real-valued, not complex")
    return [dx + 1j * dy for dx, dy in zip(real, _difference(fn, inputs, entry, steps[1] * 1j, eps, where))]


def numerical(fn: Callable[..., Any], inputs: Sequence[Any], tensor: Tensor, eps: float, forward: bool = False) -> list[Array]:
    """Return the Jacobian of each output with respect to a tensor by finite differences; ``fn`` need not take it as an argument."""
    sizes: list[int] = [o.numel() for o in as_tuple(fn(*inputs)) if is_inexact(o)]
    rows: dict[int, list[Array]] = {}
    steps = (eps, eps) if tensor.is_complex() else (eps,)
    for place, number, entry in _elements(tensor):
        rows[number] = slopes(fn, inputs, entry, steps, eps, forward, f"on index {place} ")
    found = [np.zeros((tensor.numel(), size), complex if tensor.is_complex() else float) for size in sizes]
    for number, row in rows.items():
        for position, slope in enumerate(row):
            if np.iscomplexobj(slope) and not np.iscomplexobj(found[position]):
                found[position] = found[position].astype(complex)
            found[position][number] = slope
    return found


# Backward


def _rows(output: Tensor, leaves: Sequence[Any], seeds: Iterable[Any], count: int) -> tuple[list[Array], bool, bool]:
    """Return for each leaf the matrix of its gradients, one column per seed, and whether all gradients have the leaf's dtype, and its
    shape."""
    found = [np.zeros((leaf.numel(), count), complex if leaf.is_complex() else float) for leaf in leaves]
    types_ok = sizes_ok = True
    for number, seed in enumerate(seeds):
        gradients = above.autograd.grad(output, list(leaves), seed, retain_graph=True, allow_unused=True)
        for leaf, matrix, gradient in zip(leaves, found, gradients):
            if gradient is None:
                continue
            if gradient.shape != leaf.shape:
                sizes_ok = False
                continue
            types_ok = types_ok and gradient.dtype == leaf.dtype
            column = array(gradient)
            matrix[:, number] = column if np.iscomplexobj(matrix) else column.real
    return found, types_ok, sizes_ok


def _units(output: Tensor) -> Iterator[Any]:
    for number in range(output.numel()):
        seed = zeros_like(output.detach(), memory_format=legacy_contiguous_format)
        seed.view(-1)[number] = 1
        yield seed


def backward_twice(
    inputs: Sequence[Any], output: Tensor, nondet_tol: float, seed: Tensor | None = None
) -> tuple[list[Array], bool, bool, bool]:
    """Return the Jacobians of one output (or their products with a seed), whether two backward runs agree, and whether shapes and dtypes
    are right.
    """
    leaves = [inputs[i] for i in watched(inputs)]
    (first, types_ok, sizes_ok), (second, _, _) = (
        _rows(output, leaves, _units(output), output.numel()) if seed is None else _rows(output, leaves, [seed], 1) for _ in range(2)
    )
    alike = all(one.size == 0 or np.abs(one - other).max() <= nondet_tol for one, other in zip(first, second))
    return first, alike, sizes_ok, types_ok


def analytical(
    inputs: Sequence[Any], output: Tensor, nondet_tol: float, check_dtypes: bool, seed: Tensor | None = None
) -> list[Array]:
    """Return the Jacobians of one output by backward, or their products with a seed. Raise GradcheckError if backward is not deterministic
    or returns wrong types.
    """
    found, alike, sizes_ok, types_ok = backward_twice(inputs, output, nondet_tol, seed)
    if not types_ok and check_dtypes:
        raise GradcheckError("Gradient has dtype mismatch")
    if not sizes_ok:
        raise GradcheckError("Analytical gradient has incorrect size")
    if not alike:
        raise GradcheckError(_NONDETERMINISTIC.format(nondet_tol))
    return found


# Forward mode


def forward_slopes(
    fn: Callable[..., Any], inputs: Sequence[Any], position: int, tangent: Tensor, check_dtypes: bool = False
) -> list[Array]:
    """Return the directional derivatives of the outputs for a tangent of one input, by forward mode."""
    with forward_ad.dual_level():
        duals = [
            forward_ad.make_dual(x.detach(), tangent if i == position else zeros_like(x.detach())) if i in set(watched(inputs)) else x
            for i, x in enumerate(inputs)
        ]
        found = []
        for output in as_tuple(fn(*duals)):
            if not is_inexact(output):
                continue
            value, slope = forward_ad.unpack_dual(output)
            if check_dtypes and slope is not None and slope.is_complex() != value.is_complex():
                raise GradcheckError("Forward AD gradient has dtype mismatch.")
            found.append(np.zeros(value.numel()) if slope is None else array(slope))
    return found


def forward_jacobians(
    fn: Callable[..., Any], inputs: Sequence[Any], position: int, check_dtypes: bool = False
) -> list[Array]:
    """Return the Jacobian of each output with respect to one input, by forward mode."""
    rows = [forward_slopes(fn, inputs, position, unit, check_dtypes) for unit in _units(inputs[position])]
    return [np.stack(row) for row in zip(*rows)]
