"""Checking gradients against differences."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.tensor_base import TensorBase
from .._ops.creation import zeros_like
from .._ops.from_data import made
from .backward import grad
from .grad_mode import enable_grad, no_grad


class GradcheckError(RuntimeError):
    """A gradient that differs from what differences say."""


def _tuple(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, TensorBase) else tuple(value)


def _outputs(func: Callable[..., Any], inputs: Sequence[Any]) -> list[Any]:
    return [o for o in _tuple(func(*inputs)) if isinstance(o, TensorBase) and o.is_floating_point()]


def _numerical(func: Callable[..., Any], inputs: Sequence[Any], position: int, eps: float) -> list[np.ndarray]:
    """Jacobians (elements of input by elements of output) from central differences."""
    tensor = inputs[position]
    columns: list[list[np.ndarray]] = []
    with no_grad():
        for index in np.ndindex(*tensor.shape):
            ends = []
            for step in (eps, -eps):
                values = tensor.detach().numpy().copy()
                values[index] += step
                moved = [made(values) if i == position else x for i, x in enumerate(inputs)]
                ends.append([o.detach().numpy().reshape(-1).copy() for o in _outputs(func, moved)])
            columns.append([(high - low) / (2 * eps) for high, low in zip(*ends)])
    return [np.stack(column) for column in zip(*columns)] if columns else []


def _analytical(output: Any, tensor: Any) -> np.ndarray:
    """The Jacobian (elements of input by elements of output) from backward."""
    columns = []
    for index in np.ndindex(*output.shape):
        seed = zeros_like(output.detach())
        seed[index] = 1
        (found,) = grad(output, tensor, seed, retain_graph=True, allow_unused=True)
        columns.append(np.zeros(tensor.numel()) if found is None else found.detach().numpy().reshape(-1).copy())
    return np.stack(columns, axis=1) if columns else np.zeros((tensor.numel(), 0))


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None,
) -> bool:  # fmt: skip
    """Whether backward's gradients of ``func`` agree with central differences; float64 inputs are needed in practice.

    ``fast_mode`` compares one projection of each Jacobian on random vectors instead of all its elements. Raises
    GradcheckError where they differ, also where two runs of backward differ by more than ``nondet_tol``, unless
    ``raise_exception`` is False. Differs from torch: real inputs only, neither batched nor forward-mode gradients, which
    raise NotImplementedError, and undefined gradients are not tried.
    """
    if check_batched_grad or check_batched_forward_grad or check_forward_ad:
        raise NotImplementedError("mstorch: gradcheck checks backward gradients only")
    inputs = _tuple(inputs)
    watched = [i for i, x in enumerate(inputs) if isinstance(x, TensorBase) and x.requires_grad]
    if not watched:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True."
        )
    if any(inputs[i].is_complex() for i in watched):
        raise NotImplementedError("mstorch: gradcheck takes real inputs only")
    try:
        if fast_mode:
            _check_projections(func, inputs, watched, eps, atol, rtol, nondet_tol)
        else:
            _check_jacobians(func, inputs, watched, eps, atol, rtol, nondet_tol)
        if check_grad_dtypes:
            _check_dtypes(func, inputs, watched)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_jacobians(
    func: Callable[..., Any], inputs: Sequence[Any], watched: Sequence[int], eps: float, atol: float, rtol: float, nondet: float
) -> None:
    outputs = _outputs(func, inputs)
    for position in watched:
        numerical = _numerical(func, inputs, position, eps)
        for number, output in enumerate(outputs):
            if inputs[position].numel() == 0 or output.numel() == 0:
                continue
            analytical = np.zeros_like(numerical[number])
            if output.requires_grad:
                analytical = _analytical(output, inputs[position])
                if not np.allclose(analytical, _analytical(output, inputs[position]), rtol=0, atol=nondet, equal_nan=True):
                    raise GradcheckError(f"Backward is not reentrant: it gave two gradients for input {position}")
            if not np.allclose(analytical, numerical[number], rtol=rtol, atol=atol):
                raise GradcheckError(
                    f"Jacobian mismatch for output {number} with respect to input {position},\n"
                    f"numerical:{numerical[number]}\nanalytical:{analytical}\n"
                )


def _check_projections(
    func: Callable[..., Any], inputs: Sequence[Any], watched: Sequence[int], eps: float, atol: float, rtol: float, nondet: float
) -> None:
    """u · (J v) from a difference along v against (u J) · v from backward, for unit vectors u and v."""
    random = np.random.RandomState(0)
    outputs = _outputs(func, inputs)
    for position in watched:
        tensor = inputs[position]
        if tensor.numel() == 0:
            continue
        along = _unit_vector(random, tensor)
        ends = []
        with no_grad():
            for step in (eps, -eps):
                moved = list(inputs)
                moved[position] = made(np.asarray(tensor.detach().numpy() + step * along))
                ends.append([o.detach().numpy().copy() for o in _outputs(func, moved)])
        for number, (output, high, low) in enumerate(zip(outputs, *ends)):
            if output.numel() == 0:
                continue
            seed = _unit_vector(random, output)
            numerical = float((seed * ((high - low) / (2 * eps))).sum())
            analytical = 0.0
            if output.requires_grad:
                analytical, again = (_projected(output, tensor, seed, along) for _ in range(2))
                if abs(analytical - again) > nondet:
                    raise GradcheckError(f"Backward is not reentrant: it gave two gradients for input {position}")
            # The tolerance of one element, seen through both projections.
            if not abs(analytical - numerical) <= atol * seed.sum() * along.sum() + rtol * abs(numerical):
                raise GradcheckError(
                    f"Jacobian mismatch in fast mode for output {number} with respect to input {position},\n"
                    f"numerical:{numerical}\nanalytical:{analytical}\n"
                )


def _unit_vector(random: np.random.RandomState, tensor: Any) -> np.ndarray:
    """Positive random numbers of norm 1 in the shape of a tensor."""
    drawn = np.asarray(random.uniform(0.1, 1.0, tuple(tensor.shape)), tensor.detach().numpy().dtype)
    return np.asarray(drawn / np.sqrt((drawn * drawn).sum()))


def _projected(output: Any, tensor: Any, seed: np.ndarray, along: np.ndarray) -> float:
    (found,) = grad(output, tensor, made(seed.copy()), retain_graph=True, allow_unused=True)
    return 0.0 if found is None else float((found.detach().numpy() * along).sum())


def _check_dtypes(func: Callable[..., Any], inputs: Sequence[Any], watched: Sequence[int]) -> None:
    for output in _outputs(func, inputs):
        for position in watched:
            if output.requires_grad:
                (found,) = grad(output.sum(), inputs[position], retain_graph=True, allow_unused=True)
                if found is not None and found.dtype is not inputs[position].dtype:
                    raise GradcheckError("Backward produced a gradient of another dtype than its input's")


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5,
    rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True, nondet_tol: float = 0.0,
    check_undefined_grad: bool = True, check_grad_dtypes: bool = False, check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True, fast_mode: bool = False, masked: bool = False,
) -> bool:  # fmt: skip
    """``gradcheck`` of the gradient itself, with respect to the inputs and to the gradient that it starts from."""
    if check_fwd_over_rev or not check_rev_over_rev:
        raise NotImplementedError("mstorch: gradgradcheck checks backward of backward only")
    inputs = _tuple(inputs)
    outputs = _outputs(func, inputs)
    if grad_outputs is None:
        random = np.random.RandomState(0)
        seeds = tuple(made(np.asarray(random.randn(*o.shape), o.detach().numpy().dtype)).requires_grad_() for o in outputs)
    else:
        seeds = _tuple(grad_outputs)
    count = len(inputs)

    def first(*values: Any) -> tuple[Any, ...]:
        given = values[:count]
        leaves = [x for x in given if isinstance(x, TensorBase) and x.requires_grad]
        found = grad(_outputs(func, given), leaves, values[count:], create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    def recorded(*values: Any) -> tuple[Any, ...]:
        with enable_grad():
            fresh = [
                v.detach().requires_grad_() if isinstance(o, TensorBase) and o.requires_grad and not v.requires_grad else v
                for v, o in zip(values, (*inputs, *seeds))
            ]
            return first(*fresh)

    return gradcheck(
        recorded, (*inputs, *seeds), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol, check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad, fast_mode=fast_mode,
    )  # fmt: skip
