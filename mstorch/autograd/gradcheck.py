"""Checking gradients against differences."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.tensor_base import TensorBase
from .._ops.creation import zeros_like
from .._ops.from_data import made
from .backward import grad
from .grad_mode import no_grad


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

    Raises GradcheckError where they differ, unless ``raise_exception`` is False. Differs from torch: real inputs only, and
    neither batched nor forward-mode gradients, which raise NotImplementedError.
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
        _check(func, inputs, watched, eps, atol, rtol, check_grad_dtypes)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check(
    func: Callable[..., Any], inputs: Sequence[Any], watched: Sequence[int], eps: float, atol: float, rtol: float, dtypes: bool
) -> None:
    outputs = _outputs(func, inputs)
    for position in watched:
        numerical = _numerical(func, inputs, position, eps)
        for number, output in enumerate(outputs):
            if inputs[position].numel() == 0 or output.numel() == 0:
                continue
            analytical = (
                _analytical(output, inputs[position]) if output.requires_grad else np.zeros_like(numerical[number])
            )
            if not np.allclose(analytical, numerical[number], rtol=rtol, atol=atol):
                raise GradcheckError(
                    f"Jacobian mismatch for output {number} with respect to input {position},\n"
                    f"numerical:{numerical[number]}\nanalytical:{analytical}\n"
                )
            if dtypes and output.requires_grad:
                (found,) = grad(output.sum(), inputs[position], retain_graph=True, allow_unused=True)
                if found is not None and found.dtype is not inputs[position].dtype:
                    raise GradcheckError("Backward produced a gradient of another dtype than its input's")


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5,
    rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True, nondet_tol: float = 0.0,
    check_undefined_grad: bool = True, check_grad_dtypes: bool = False, check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True, fast_mode: bool = False, masked: bool = False,
) -> bool:  # fmt: skip
    """``gradcheck`` of the gradient itself."""
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
        from .grad_mode import enable_grad

        with enable_grad():
            fresh = [
                v.detach().requires_grad_() if isinstance(o, TensorBase) and o.requires_grad and not v.requires_grad else v
                for v, o in zip(values, (*inputs, *seeds))
            ]
            return first(*fresh)

    return gradcheck(
        recorded, (*inputs, *seeds), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
    )  # fmt: skip
