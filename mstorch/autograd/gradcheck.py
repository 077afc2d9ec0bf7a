"""Checking gradients against finite differences."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._src.backend.arrays import Array
from .._src.core.above import above
from .._src.core.dtype import complex128, float64
from .._src.core.formats import legacy_contiguous_format, sparse_coo, strided
from .._src.core.tensor_base import TensorBase
from .._src.core.warned import warn
from .._src.ops.memory.creation import empty, zeros_like
from .._src.ops.memory.from_data import made
from .._src.ops.random.random import randn_like, uniform_
from .._src.ops.shape.join import stack
from .._src.tape.moving import beside
from .._tensor import Tensor
from . import forward_ad
from ._jacobians import (
    GradcheckError,
    analytical,
    array,
    as_tuple,
    backward_twice,
    forward_jacobians,
    forward_slopes,
    is_inexact,
    is_like,
    numbers_of,
    numerical,
    slopes,
    values,
    watched,
)
from ._mapped import check_batched_tangents
from .function import Function, FunctionCtx

__all__ = [
    "GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian", "get_numerical_jacobian_wrt_specific_input", "gradcheck",
    "gradgradcheck",
]  # fmt: skip

_FAST = (
    "\nThe above quantities relating the numerical and analytical jacobians are computed \nin fast mode. See: "
    "https://github.com/pytorch/pytorch/issues/53876 for more background \nabout fast mode. Below, we recompute numerical and "
    "analytical jacobians in slow mode:\n\nNumerical:\n {}\nAnalytical:\n{}\n\nThe max per-element difference (slow mode) is: {}.\n"
)
_SLOW_IS_FINE = (
    "Fast gradcheck failed but element-wise differences are small. This means that the\ntest might've passed in slow_mode!"
)
_NOTES = '"Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'


@dataclass
class _Settings:
    """The arguments of a gradient check."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_grad_dtypes: bool
    fast: bool


@dataclass
class _Part:
    """A function to check: the user's function, or the real or imaginary part of its complex outputs or inputs."""

    fn: Callable[..., Any]
    inputs: tuple[Any, ...]
    complex_places: tuple[int, ...] = ()
    imaginary: bool = False
    forward: bool = False

    def mismatch(self, output: int, position: int, want: Array | float, got: Array | float) -> str:
        """Return torch's message for a wrong Jacobian."""
        text = ""
        if (position if self.forward else output) in self.complex_places:
            element = "inputs" if self.forward else "outputs"
            text = f"While considering the {'imaginary' if self.imaginary else 'real'} part of complex {element} only, "
        mode = "computed with forward mode " if self.forward else ""
        return (
            f"{text}Jacobian {mode}mismatch for output {output} with respect to input {position},\n"
            f"numerical:{made(np.asarray(want))}\nanalytical:{made(np.asarray(got))}\n"
        )


def _differentiable(outputs: Tensor | tuple[Tensor, ...]) -> list[Any]:
    return [output for output in as_tuple(outputs) if output.requires_grad]


def gradcheck(
    func: Callable[..., Any], inputs: Tensor | Sequence[Tensor], *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None,
) -> bool:  # fmt: skip
    """Return whether the gradients of ``func`` agree with central differences; in practice this needs float64 or complex128 inputs.

    The inputs are modified in place for the differences, and restored. ``fast_mode`` compares one random projection of each Jacobian
    instead of all its elements. Raise GradcheckError if they differ, unless ``raise_exception`` is False. Differs from torch: only the
    specified elements of sparse inputs are varied.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    settings = _Settings(eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode)
    given = as_tuple(inputs)
    try:
        _check_inputs(given)
        result = func(*given)
        outputs = _differentiable(result)
        if any(isinstance(o, TensorBase) and o.layout != strided for o in outputs):
            raise ValueError(
                "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the output of fn for "
                "gradcheck."
            )
        if check_backward_ad:
            for part in _backward_parts(func, result, given, outputs):
                _check_part(part, settings)
        if check_forward_ad:
            for part in _forward_parts(func, given):
                _check_part(part, settings)
                if check_undefined_grad:
                    _check_undefined_tangents(part)
            if check_batched_forward_grad:
                check_batched_tangents(func, given)
        if check_backward_ad:
            if check_batched_grad:
                for number, output in enumerate(outputs):
                    _check_batched(given, output, number)
            _check_zero_gradients(outputs, given, bool(masked))
            if check_undefined_grad:
                _check_undefined(func, outputs, given)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_inputs(inputs: Sequence[Any]) -> None:
    positions = watched(inputs)
    for position in positions:
        tensor = inputs[position]
        if tensor.dtype not in (float64, complex128):
            warn(
                f"Input #{position} requires gradient and is not a double precision floating point or complex. This check will "
                "likely fail if all the inputs are not of double precision floating point or complex. ",
            )
        content = tensor if tensor.layout == strided else values(tensor)
        if not all(stride > 0 or size <= 1 for stride, size in zip(content.stride(), content.size())):
            raise RuntimeError(
                f"The {position}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to "
                "be able to compute the numerical gradients correctly. You should call .contiguous on the input before passing it "
                "to gradcheck."
            )
    if not positions:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )


# Complex outputs are checked by their real and imaginary parts, in forward mode also complex inputs.


def _backward_parts(
    func: Callable[..., Any], result: Tensor | tuple[Tensor, ...], inputs: tuple[Any, ...], outputs: list[Any]
) -> Iterator[_Part]:
    if not any(o.is_complex() for o in as_tuple(result)):
        yield _Part(func, inputs)
        return
    places = tuple(i for i, output in enumerate(outputs) if output.is_complex())
    for name in ("imag", "real"):

        def apart(*given: Any, name: str = name) -> tuple[Any, ...]:
            return tuple(getattr(o, name) if o.is_complex() else o for o in as_tuple(func(*given)))

        yield _Part(apart, inputs, places, name == "imag")


def _forward_parts(func: Callable[..., Any], inputs: tuple[Any, ...]) -> Iterator[_Part]:
    places = tuple(i for i, x in enumerate(inputs) if is_like(x) and x.is_complex())
    if not places:
        yield _Part(func, inputs, forward=True)
        return
    for name in ("imag", "real"):

        def whole(*given: Any, name: str = name) -> Any:
            joined = list(given)
            for i in places:
                # The other part keeps its value, so that the function gets complex inputs.
                joined[i] = given[i] + inputs[i].imag * 1j if name == "real" else inputs[i].real + given[i] * 1j
            return func(*joined)

        parts = tuple(getattr(x, name) if i in places else x for i, x in enumerate(inputs))
        yield _Part(whole, parts, places, name == "imag", True)


# One part


def _check_part(part: _Part, settings: _Settings) -> None:
    result = as_tuple(part.fn(*part.inputs))
    if not any(o.requires_grad for o in result):
        for position in watched(part.inputs):
            found = numerical(part.fn, part.inputs, part.inputs[position], settings.eps, part.forward)
            if any((jacobian != 0).any() for jacobian in found):
                raise GradcheckError("Numerical gradient for function expected to be zero")
        return
    if part.forward:
        _check_forward(part, settings)
    else:
        (_check_fast if settings.fast else _check_slow)(part, result, settings)


def _check_slow(part: _Part, result: tuple[Any, ...], settings: _Settings) -> None:
    wanted = [numerical(part.fn, part.inputs, part.inputs[i], settings.eps) for i in watched(part.inputs)]
    inexact = [o for o in result if is_inexact(o)]
    for number, output in enumerate(_differentiable(result)):
        place = next(i for i, o in enumerate(inexact) if o is output)
        for position, got in enumerate(analytical(part.inputs, output, settings.nondet_tol, settings.check_grad_dtypes)):
            want = wanted[position][place]
            if not np.allclose(got, want, rtol=settings.rtol, atol=settings.atol):
                raise GradcheckError(part.mismatch(number, position, want, got))


def _unit_vector(random: np.random.RandomState, count: int) -> Array:
    drawn = random.uniform(0, 1, count)
    return np.asarray(drawn / max(np.sqrt((drawn * drawn).sum()), 1e-300))


@dataclass
class _Direction:
    """A random direction of an input, with a second one for imaginary parts."""

    vectors: list[Array]
    total: float

    def steps(self, like: Tensor, factor: float) -> list[Any]:
        """Return the direction as tensors shaped like the values that it changes."""
        kind = like.real.dtype if like.is_complex() else like.dtype
        return [beside(made(vector * factor), like).to(kind).reshape(like.shape) for vector in self.vectors]


def _directions(part: _Part, random: np.random.RandomState) -> list[_Direction]:
    found = []
    for position in watched(part.inputs):
        tensor = part.inputs[position]
        vectors = [_unit_vector(random, values(tensor).numel()) for _ in range(2 if tensor.is_complex() else 1)]
        found.append(_Direction(vectors, float(sum(vector.sum() for vector in vectors))))
    return found


def _along(part: _Part, tensor: Tensor, direction: _Direction, settings: _Settings) -> list[Array]:
    memory = values(tensor)
    steps = direction.steps(memory, settings.eps)
    return slopes(part.fn, part.inputs, memory, steps, settings.eps, part.forward)


def _check_fast(part: _Part, result: tuple[Any, ...], settings: _Settings) -> None:
    """Compare v · (J u) from differences along u with (v J) · u from backward, for random unit vectors u and v."""
    random = np.random.RandomState(0)
    directions = _directions(part, random)
    leaves = [part.inputs[i] for i in watched(part.inputs)]
    inexact = [o for o in result if is_inexact(o)]
    wanted = [_along(part, leaf, direction, settings) for leaf, direction in zip(leaves, directions)]
    for number, output in enumerate(_differentiable(result)):
        place = next(i for i, o in enumerate(inexact) if o is output)
        vector = _unit_vector(random, output.numel())
        seed = beside(made(vector), output).to(output.dtype).reshape(output.shape)
        found = analytical(part.inputs, output, settings.nondet_tol, settings.check_grad_dtypes, seed)
        for position, (leaf, direction) in enumerate(zip(leaves, directions)):
            want = (vector * wanted[position][place]).sum()
            got = _projected(leaf, found[position][:, 0], direction)
            atol = settings.atol * direction.total * float(vector.sum())
            if not np.allclose(got, want, rtol=settings.rtol, atol=atol):
                text = part.mismatch(number, position, want, got)
                raise GradcheckError(text + _in_full(part, output, place, position, settings))


def _projected(leaf: Tensor, gradient: Array, direction: _Direction) -> Any:
    """Return the product of a leaf's flat gradient with a direction; the real and the imaginary part have a direction each."""
    if leaf.layout != strided:
        gradient = gradient[numbers_of(leaf)]
    if np.iscomplexobj(gradient):
        return gradient.real @ direction.vectors[0] + 1j * (gradient.imag @ direction.vectors[1])
    return gradient @ direction.vectors[0]


def _in_full(part: _Part, output: Any, place: int, position: int, settings: _Settings) -> str:
    """Return the comparison of the full Jacobians, as text, for an output and input for which fast mode found a difference."""
    index = watched(part.inputs)[position]
    want = numerical(part.fn, part.inputs, part.inputs[index], settings.eps, part.forward)[place]
    if part.forward:
        got = forward_jacobians(part.fn, part.inputs, index)[place]
    else:
        got = analytical(part.inputs, output, np.inf, False)[position]
    text = _FAST.format(made(want), made(got), np.abs(want - got).max())
    return text + (_SLOW_IS_FINE if np.allclose(got, want, rtol=settings.rtol, atol=settings.atol) else "")


def _check_forward(part: _Part, settings: _Settings) -> None:
    directions = _directions(part, np.random.RandomState(0))
    for order, (position, direction) in enumerate(zip(watched(part.inputs), directions)):
        tensor = part.inputs[position]
        if settings.fast:
            wanted = _along(part, tensor, direction, settings)
            (tangent,) = direction.steps(tensor, 1.0)
            found = forward_slopes(part.fn, part.inputs, position, tangent, settings.check_grad_dtypes)
            atol = settings.atol * direction.total
        else:
            wanted = numerical(part.fn, part.inputs, tensor, settings.eps, True)
            found = forward_jacobians(part.fn, part.inputs, position, settings.check_grad_dtypes)
            atol = settings.atol
        for number, (want, got) in enumerate(zip(wanted, found)):
            if not np.allclose(got, want, rtol=settings.rtol, atol=atol):
                text = part.mismatch(number, order, want, got)
                raise GradcheckError(text + (_in_full(part, None, number, order, settings) if settings.fast else ""))


def _check_undefined_tangents(part: _Part) -> None:
    """Check that an input without a tangent is treated as one with a zero tangent."""
    positions = watched(part.inputs)
    for missing in positions:
        with forward_ad.dual_level():
            duals = [
                forward_ad.make_dual(x.detach(), randn_like(x.detach())) if i in positions else x for i, x in enumerate(part.inputs)
            ]
            primal = part.inputs[missing].detach()
            ends = []
            for instead in (forward_ad.make_dual(primal, zeros_like(primal)), primal):
                duals[missing] = instead
                outputs = [o for o in as_tuple(part.fn(*duals)) if is_inexact(o)]
                ends.append([forward_ad.unpack_dual(o)[1] for o in outputs])
            for number, (one, other) in enumerate(zip(*ends)):
                if one is not None and other is not None and not np.allclose(array(one), array(other)):
                    raise GradcheckError(
                        "Mismatch in tangent values for output with index: ", number, " when input: ", primal,
                        " has an undefined tangent value. ", " Got: ", one, " but expected: ", other,
                    )  # fmt: skip


# Backward with batched, zero or undefined gradients


def _check_batched(inputs: Sequence[Any], output: Any, number: int) -> None:
    leaves = [inputs[i] for i in watched(inputs)]
    seeds = [randn_like(output.detach()) for _ in range(2)]
    one_by_one = [above.autograd.grad(output, leaves, seed, retain_graph=True, allow_unused=True) for seed in seeds]
    at_once = above.autograd.grad(output, leaves, stack(seeds), retain_graph=True, allow_unused=True, is_grads_batched=True)
    for position, got in enumerate(at_once):
        wanted = [row[position] for row in one_by_one]
        if got is None or wanted[0] is None:
            continue
        if not np.allclose(array(got), array(stack(wanted))):
            raise GradcheckError(
                f"For output {number} and input {position}:\n\ngradcheck or gradgradcheck failed while testing batched gradient "
                f"computation.\n\nGot:\n{got}\n\nExpected:\n{stack(wanted)}"
            )


def _check_zero_gradients(outputs: Sequence[Any], inputs: Sequence[Any], masked: bool) -> None:
    """Check that zero output gradients give zero gradients with the inputs' layout."""
    leaves = [inputs[i] for i in watched(inputs)]
    if not outputs:
        return
    seeds = [zeros_like(o.detach(), memory_format=legacy_contiguous_format) for o in outputs]
    for gradient, leaf in zip(above.autograd.grad(list(outputs), leaves, seeds, retain_graph=True, allow_unused=True), leaves):
        if gradient is None:
            continue
        if gradient.layout != strided and gradient.layout != leaf.layout:
            raise GradcheckError(f"grad is incorrect layout ({gradient.layout} is not {leaf.layout})")
        if gradient.layout == sparse_coo:
            for name in ("sparse_dim", "dense_dim"):
                got, want = getattr(gradient, name)(), getattr(leaf, name)()
                if got != want:
                    raise GradcheckError(f"grad is sparse tensor, but has incorrect {name} {got}, expected {want}")
        elements = array(gradient)
        if not (np.allclose(elements, 0) if masked else (elements == 0).all()):
            raise GradcheckError("backward not multiplied by grad_output")
        for name, got, want in (
            ("type", gradient.dtype, leaf.dtype), ("device", gradient.device, leaf.device), ("size", gradient.size(), leaf.size()),
        ):  # fmt: skip
            if got != want:
                raise GradcheckError(f"grad is incorrect {name}")


class Undefined(Function):
    """The identity, whose backward returns an undefined gradient."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor) -> Tensor:
        ctx.set_materialize_grads(False)
        return x.view_as(x)

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: Tensor) -> Any:
        return None


def _check_undefined(func: Callable[..., Any], outputs: Sequence[Any], inputs: tuple[Any, ...]) -> None:
    leaves = [inputs[i] for i in watched(inputs)]
    lost: list[set[int]] = [set(range(len(outputs)))]
    if len(outputs) > 1:
        lost += [{number} for number in range(len(outputs))]
    for numbers in lost:
        fresh = _differentiable(func(*inputs))
        ends = [Undefined.apply(o) if i in numbers else o for i, o in enumerate(fresh) if isinstance(o, TensorBase)]
        if not ends:
            continue
        seeds = [zeros_like(o.detach(), memory_format=legacy_contiguous_format) for o in ends]
        try:
            found = above.autograd.grad(ends, leaves, seeds, allow_unused=True)
        except RuntimeError as error:
            _warn_of_undefined()
            raise GradcheckError(
                f"Expected backward function to handle undefined output grads. Please look at {_NOTES}"
            ) from error
        if any(gradient is not None and (array(gradient) != 0).any() for gradient in found):
            _warn_of_undefined()
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are undefined or zero. Please look at " + _NOTES
            )


def _warn_of_undefined() -> None:
    warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break existing "
        'callers of this function. If this is true for you, you can call this function with "check_undefined_grad=False" to disable the '
        "feature",
    )


# Second derivatives


def gradgradcheck(
    func: Callable[..., Any], inputs: Tensor | Sequence[Tensor], grad_outputs: Tensor | Sequence[Tensor | None] | None = None, *,
    eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True,
    nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False, check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True, fast_mode: bool = False, masked: bool = False,
) -> bool:  # fmt: skip
    """Run ``gradcheck`` on the gradient itself, with respect to the inputs and the output gradients."""
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    given = as_tuple(inputs)
    if grad_outputs is None:
        outputs = _differentiable(func(*given))
        seeds = tuple(_seed(output, gen_non_contig_grad_outputs) for output in outputs)
    else:
        seeds = as_tuple(grad_outputs)
    count = len(given)
    leaves, starts = set(watched(given)), set(watched(seeds))

    def first(*arguments: Any) -> tuple[Any, ...]:
        # Finite differences and forward mode pass tensors that do not require grad.
        own = [x.requires_grad_() if i in leaves else x for i, x in enumerate(arguments[:count])]
        outputs = _differentiable(func(*own))
        ends = [x.requires_grad_() if i in starts else x for i, x in enumerate(arguments[count:])]
        found = above.autograd.grad(outputs, [own[i] for i in sorted(leaves)], ends, create_graph=True, allow_unused=True)
        return tuple(gradient for gradient in found if gradient is not None)

    return gradcheck(
        first, given + seeds, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
        fast_mode=fast_mode, check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, masked=masked,
    )  # fmt: skip


def _seed(output: Tensor, scattered: bool) -> Tensor:
    """Return a random output gradient in [-1, 1]; with ``scattered``, a noncontiguous one."""
    kind = output.dtype if is_inexact(output) else float64
    shape = tuple(output.shape)
    drawn = uniform_(empty((*shape, *((2,) if output.is_complex() else ())), dtype=kind.to_real(), device=output.device), -1, 1)
    drawn = drawn.view(kind).squeeze(-1) if output.is_complex() else drawn
    if scattered and drawn.numel() > 1:
        drawn = drawn.repeat_interleave(2, dim=-1)[..., ::2]
    return drawn.detach().requires_grad_()


# Functions that are older than gradcheck


def _iter_tensors(x: Any, only_requiring_grad: bool = False) -> Iterator[Any]:
    """Yield the tensors in nested sequences."""
    if is_like(x):
        if x.requires_grad or not only_requiring_grad:
            yield x
    elif isinstance(x, (list, tuple, set, dict)):
        for item in x:
            yield from _iter_tensors(item, only_requiring_grad)


def _get_numerical_jacobian(
    fn: Callable[..., Any], inputs: tuple[Tensor, Tensor], outputs: Any = None, target: Any = None, eps: float = 1e-3,
    is_forward_ad: bool = False
) -> list[tuple[Any, ...]]:
    """Return the Jacobians of all outputs by finite differences, for each tensor of ``target``, by default the inputs."""
    given = as_tuple(inputs)
    outputs = as_tuple(fn(*given)) if outputs is None else outputs
    if not is_forward_ad and any(o.is_complex() for o in outputs):
        raise ValueError(
            "Expected output to be non-complex. get_numerical_jacobian no longer supports functions that return complex outputs."
        )
    tensors = _iter_tensors(given if target is None else target, True)
    return [tuple(beside(made(found), tensor) for found in numerical(fn, given, tensor, eps, is_forward_ad)) for tensor in tensors]


def _deprecated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function to warn that torch deprecates it."""

    @functools.wraps(function)
    def warned(*args: Any, **kwargs: Any) -> tuple[Tensor | bool | tuple[Tensor, Tensor], ...]:
        warn(
            f"`{function.__name__}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will "
            "be removed in a future version of PyTorch. If you have a specific use for this or feature request for this to be a "
            "stable API, please file us an issue at https://github.com/pytorch/pytorch/issues/new",
            FutureWarning,
        )
        return function(*args, **kwargs)

    return warned


@_deprecated
def get_numerical_jacobian(
    fn: Callable[..., Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Return the Jacobians of the first output of ``fn(inputs)`` by finite differences."""
    if grad_out != 1.0:
        raise ValueError(
            "Expected grad_out to be 1.0. get_numerical_jacobian no longer supports values of grad_out != 1.0."
        )
    found = _get_numerical_jacobian(lambda *given: fn(given), inputs, None, target, eps)
    return tuple(jacobians[0] for jacobians in found)


@_deprecated
def get_analytical_jacobian(inputs: Any, output: Any, nondet_tol: float = 0.0, grad_out: float = 1.0) -> tuple[Any, ...]:
    """Return the Jacobians of an output by backward, and whether backward is deterministic and has the right shapes and dtypes."""
    if grad_out != 1.0:
        raise ValueError(
            "Expected grad_out to be 1.0. get_analytical_jacobian no longer supports values of grad_out != 1.0."
        )
    if output.is_complex():
        raise ValueError(
            "Expected output to be non-complex. get_analytical_jacobian no longer supports functions that return complex outputs."
        )
    found, *answers = backward_twice(list(_iter_tensors(inputs)), output, nondet_tol)
    return tuple(beside(made(jacobian), output) for jacobian in found), *answers


def get_numerical_jacobian_wrt_specific_input(
    fn: Callable[..., Any], input_idx: int, inputs: Any, outputs: Any, eps: float, input: Any = None, is_forward_ad: bool = False
) -> tuple[Any, ...]:
    """Return the Jacobians of all outputs with respect to one input, by finite differences."""
    tensor = inputs[input_idx] if input is None else input
    return tuple(beside(made(jacobian), tensor) for jacobian in numerical(fn, as_tuple(inputs), tensor, eps, is_forward_ad))
