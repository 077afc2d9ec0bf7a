"""Checking gradients against differences."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.formats import strided
from .._core.tensor_base import TensorBase, strides_of
from .._ops.creation import zeros_like
from .._ops.from_data import made
from .._ops.join import stack
from .._tape.node import Node, bare_twin, edge_of
from . import forward_ad
from ._jacobians import Differences, as_tuple, by_backward, differentiable, elements_of, grad, of_elements


class GradcheckError(RuntimeError):
    """A gradient that differs from what differences say."""


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None,
) -> bool:  # fmt: skip
    """Whether the gradients of ``func`` agree with central differences; double precision is needed in practice.

    ``fast_mode`` compares one projection of each Jacobian on random vectors instead of all its elements. Raises
    GradcheckError where they differ, also where two runs of backward differ by more than ``nondet_tol``, unless
    ``raise_exception`` is False. Of sparse inputs the elements that are there are checked. Differs from torch:
    ``check_batched_forward_grad`` raises NotImplementedError.
    """
    if not (check_backward_ad or check_forward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    if check_batched_forward_grad:
        raise NotImplementedError("mstorch: gradcheck does not batch forward mode")
    check = _Check(func, as_tuple(inputs), eps, atol, rtol, nondet_tol, fast_mode)
    try:
        check.inputs_are_fit()
        check.outputs_are_fit()
        check.jacobians(check_backward_ad, check_forward_ad, check_grad_dtypes)
        if check.outputs and check_backward_ad:
            if check_batched_grad:
                check.batches()
            check.zeros_of_zeros()
            if check_undefined_grad:
                check.undefined()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


class _Check:
    """A function with inputs, and what its gradients are checked with."""

    def __init__(
        self, function: Callable[..., Any], inputs: tuple[Any, ...], eps: float, atol: float, rtol: float, nondet: float, fast: bool
    ) -> None:
        self.function, self.inputs = function, inputs
        self.eps, self.atol, self.rtol, self.nondet, self.fast = eps, atol, rtol, nondet, fast
        self.watched = [place for place, item in enumerate(inputs) if isinstance(item, TensorBase) and item.requires_grad]

    def inputs_are_fit(self) -> None:
        """Raise or warn where differences cannot tell anything."""
        for place in self.watched:
            tensor = self.inputs[place]
            if tensor._dtype.name not in ("float64", "complex128"):
                warnings.warn(
                    f"Input #{place} requires gradient and is not a double precision floating point or complex. This check will "
                    "likely fail if all the inputs are not of double precision floating point or complex. ", stacklevel=4,
                )  # fmt: skip
            if tensor.layout is strided and any(n > 1 and step == 0 for n, step in zip(tensor.shape, strides_of(tensor))):
                raise RuntimeError(
                    f"The {place}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to "
                    "be able to compute the numerical gradients correctly. You should call .contiguous on the input before passing "
                    "it to gradcheck."
                )
            tensor.retain_grad()
        if not self.watched:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of the them have requires_grad=True."
            )

    def outputs_are_fit(self) -> None:
        """Run the function; ValueError for outputs of another layout than the strided one."""
        result = self.function(*self.inputs)
        self.outputs = differentiable(result)
        self.complex = any(isinstance(item, TensorBase) and item.is_complex() for item in as_tuple(result))
        if any(output.layout is not strided for output in self.outputs):
            raise ValueError(
                "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the output of fn for "
                "gradcheck."
            )

    def jacobians(self, backward: bool, forward: bool, dtypes: bool) -> None:
        """Compare Jacobians; of complex outputs, those of their imaginary and real parts."""
        if not self.outputs:
            self._nothing_depends()
            return
        if backward and self.complex:
            for part, words in (("imag", "imaginary"), ("real", "real")):
                self._backward(_part_of(self.function, part), f"While considering the {words} part of complex outputs only, ", dtypes)
        elif backward:
            self._backward(self.function, "", dtypes)
        if forward:
            self._forward()

    def _nothing_depends(self) -> None:
        for place in self.watched:
            for jacobian in Differences(self.function, self.inputs, place, self.eps).jacobians():
                if np.abs(jacobian).max(initial=0) > self.eps:
                    raise GradcheckError("Numerical gradient for function expected to be zero")

    def _backward(self, function: Callable[..., Any], prefix: str, dtypes: bool) -> None:
        outputs = [item for item in as_tuple(function(*self.inputs)) if isinstance(item, TensorBase) and item._dtype.category >= 2]
        for output in outputs:
            if output.requires_grad and dtypes:
                self._check_dtypes(output)
        for place in self.watched:
            compare = self._compare_projections if self.fast else self._compare_elements
            compare(Differences(function, self.inputs, place, self.eps), outputs, prefix)

    def _compare_elements(self, differences: Differences, outputs: Sequence[Any], prefix: str) -> None:
        tensor = self.inputs[differences.position]
        numericals = differences.jacobians()
        for number, output in enumerate(outputs):
            if elements_of(tensor).size == 0 or output.numel() == 0:
                continue
            analytical = np.zeros_like(numericals[number])
            again = analytical
            if output.requires_grad:
                analytical, again = (by_backward(output, [tensor])[0] for _ in range(2))
            if not np.allclose(analytical, numericals[number], rtol=self.rtol, atol=self.atol):
                raise GradcheckError(_mismatch(prefix, "", number, differences.position, numericals[number], analytical))
            self._check_again(analytical, again)

    def _compare_projections(self, differences: Differences, outputs: Sequence[Any], prefix: str) -> None:
        """u · (J v) from a difference along v against (u J) · v from backward, for unit vectors u and v."""
        tensor = self.inputs[differences.position]
        memory = elements_of(tensor)
        if memory.size == 0:
            return
        random = np.random.RandomState(0)
        along = _unit_vector(random, memory)
        derivatives = differences.along(along)
        for number, output in enumerate(outputs):
            if output.numel() == 0:
                continue
            seed = _unit_vector(random, derivatives[number])
            numerical = float((seed * derivatives[number]).sum())
            analytical = again = 0.0
            if output.requires_grad:
                analytical, again = (_projected(output, tensor, seed, along) for _ in range(2))
            # The tolerance of one element, seen through both projections.
            if not abs(analytical - numerical) <= self.atol * np.abs(seed).sum() * np.abs(along).sum() + self.rtol * abs(numerical):
                raise GradcheckError(_mismatch(prefix, "", number, differences.position, numerical, analytical))
            self._check_again(np.asarray(analytical), np.asarray(again))

    def _check_again(self, first: np.ndarray, second: np.ndarray) -> None:
        if not np.allclose(first, second, rtol=0, atol=self.nondet, equal_nan=True):
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
                "values, although analytical gradient matches numerical gradient. The tolerance for nondeterminism was "
                f"{self.nondet}."
            )

    def _check_dtypes(self, output: Any) -> None:
        tensors = [self.inputs[place] for place in self.watched]
        found = grad(output, tensors, zeros_like(output.detach()), retain_graph=True, allow_unused=True)
        if any(item is not None and item._dtype is not tensor._dtype for item, tensor in zip(found, tensors)):
            raise GradcheckError("Gradient has dtype mismatch")

    def _forward(self) -> None:
        """Derivatives along each direction by forward mode."""
        parts = (("imaginary", 1j), ("real", 1)) if any(self.inputs[i].is_complex() for i in self.watched) else (("", 1),)
        for word, unit in parts:
            prefix = f"While considering the {word} part of complex inputs only, " if word else ""
            for place in self.watched:
                differences = Differences(self.function, self.inputs, place, self.eps)
                memory = elements_of(self.inputs[place])
                if unit == 1j and not np.iscomplexobj(memory):
                    continue
                for direction in self._directions(memory):
                    self._compare_forward(differences, direction * unit, prefix)

    def _directions(self, memory: np.ndarray) -> list[np.ndarray]:
        if self.fast:
            return [np.asarray(np.abs(_unit_vector(np.random.RandomState(0), memory)), memory.dtype)]
        found = []
        for index in np.ndindex(*memory.shape):
            direction = np.zeros(memory.shape, memory.dtype)
            direction[index] = 1
            found.append(direction)
        return found

    def _compare_forward(self, differences: Differences, direction: np.ndarray, prefix: str) -> None:
        numericals = differences.along(direction)
        with forward_ad.dual_level():
            place = differences.position
            dual = forward_ad.make_dual(self.inputs[place].detach(), made(np.asarray(direction)))
            given = [dual if i == place else x.detach() if i in self.watched else x for i, x in enumerate(self.inputs)]
            results = [o for o in as_tuple(self.function(*given)) if isinstance(o, TensorBase) and o._dtype.category >= 2]
            tangents = [forward_ad.unpack_dual(item).tangent for item in results]
        for number, (numerical, tangent) in enumerate(zip(numericals, tangents)):
            analytical = np.zeros_like(numerical) if tangent is None else tangent.detach().numpy()
            if not np.allclose(analytical, numerical, rtol=self.rtol, atol=self.atol):
                raise GradcheckError(_mismatch(prefix, "computed with forward mode ", number, place, numerical, analytical))

    def batches(self) -> None:
        """Compare a batch of gradients with each of them alone."""
        tensors = [self.inputs[place] for place in self.watched]
        random = np.random.RandomState(0)
        for output in self.outputs:
            seeds = [made(np.asarray(_unit_vector(random, output.detach().numpy()))) for _ in range(2)]
            alone = [grad(output, tensors, seed, retain_graph=True, allow_unused=True) for seed in seeds]
            try:
                batch = grad(output, tensors, stack(seeds), retain_graph=True, allow_unused=True, is_grads_batched=True)
            except RuntimeError as error:
                raise GradcheckError(f"{_BATCHED}{error}") from error
            for place, found in enumerate(batch):
                for row, single in enumerate(alone):
                    if found is not None and not np.allclose(found[row].detach().numpy(), single[place].detach().numpy()):
                        raise GradcheckError(f"{_BATCHED}they differ for input {self.watched[place]}")

    def zeros_of_zeros(self) -> None:
        """Raise unless gradients of zero give gradients of zero, of the inputs' layouts, shapes and dtypes."""
        tensors = [self.inputs[place] for place in self.watched]
        outputs = differentiable(self.function(*self.inputs))
        zeros = [zeros_like(output.detach()) for output in outputs]
        found = grad(outputs, tensors, zeros, allow_unused=True)
        for gradient, tensor in zip(found, tensors):
            if gradient is None:
                continue
            if gradient.layout is not tensor.layout:
                raise GradcheckError(f"grad is incorrect layout ({gradient.layout} is not {tensor.layout})")
            if gradient.is_sparse and gradient.sparse_dim() != tensor.sparse_dim():
                raise GradcheckError("grad is sparse tensor, but has incorrect sparse_dim"
                                     f" {gradient.sparse_dim()}, expected {tensor.sparse_dim()}")  # fmt: skip
            if np.any(elements_of(gradient)):
                raise GradcheckError("backward not multiplied by grad_output")
            for what in ("dtype", "device", "shape"):
                if getattr(gradient, what) != getattr(tensor, what):
                    raise GradcheckError(f"grad is incorrect {'size' if what == 'shape' else 'type' if what == 'dtype' else what}")

    def undefined(self) -> None:
        """Raise unless backward takes outputs without a gradient, all of them or one after the other."""
        count = len(differentiable(self.function(*self.inputs)))
        self._undefined(range(count))
        if count > 1:
            for place in range(count):
                self._undefined((place,))

    def _undefined(self, places: Sequence[int]) -> None:
        tensors = [self.inputs[place] for place in self.watched]
        outputs = differentiable(self.function(*self.inputs))
        outputs = [_without_gradient(item) if place in places else item for place, item in enumerate(outputs)]
        try:
            found = grad(outputs, tensors, [zeros_like(output.detach()) for output in outputs], allow_unused=True)
        except RuntimeError as error:
            warnings.warn(_NEW_CHECK, stacklevel=5)
            raise GradcheckError(f"Expected backward function to handle undefined output grads. {_NOTES}") from error
        if any(item is not None and np.any(elements_of(item)) for item in found):
            warnings.warn(_NEW_CHECK, stacklevel=5)
            raise GradcheckError(
                f"Expected all input grads to be undefined or zero when all output grads are undefined or zero. {_NOTES}"
            )


_BATCHED = "\ngradcheck or gradgradcheck failed while testing batched gradient computation: "
_NEW_CHECK = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break existing "
    'callers of this function. If this is true for you, you can call this function with "check_undefined_grad=False" to disable the '
    "feature"
)
_NOTES = 'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'


class _Nothing(Node):
    """The node of a tensor whose gradient gets lost."""

    __slots__ = ()

    label = "UndefinedGradBackward"

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Nothing."""
        return (None,)


def _without_gradient(tensor: Any) -> Any:
    shown = bare_twin(tensor)
    shown._node = _Nothing((edge_of(tensor),))
    return shown


def _part_of(function: Callable[..., Any], part: str) -> Callable[..., Any]:
    """The function with one part of its complex results."""

    def parts(*inputs: Any) -> tuple[Any, ...]:
        return tuple(
            getattr(item, part) if isinstance(item, TensorBase) and item.is_complex() else item for item in as_tuple(function(*inputs))
        )

    return parts


def _mismatch(prefix: str, mode: str, output: int, place: int, numerical: Any, analytical: Any) -> str:
    return (
        f"{prefix}Jacobian {mode}mismatch for output {output} with respect to input {place},\nnumerical:{numerical}\n"
        f"analytical:{analytical}\n"
    )


def _unit_vector(random: np.random.RandomState, like: np.ndarray) -> np.ndarray:
    """Random numbers of norm 1 in the shape and kind of an array, with positive parts."""
    drawn = random.uniform(0.1, 1.0, like.shape)
    if np.iscomplexobj(like):
        drawn = drawn + 1j * random.uniform(0.1, 1.0, like.shape)
    return np.asarray(drawn / np.sqrt((np.abs(drawn) ** 2).sum()), like.dtype)


def _projected(output: Any, tensor: Any, seed: np.ndarray, along: np.ndarray) -> float:
    (found,) = grad(output, tensor, made(np.asarray(seed).copy()), retain_graph=True, allow_unused=True)
    return float(np.real(np.conj(of_elements(found, tensor)) * along).sum())


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5,
    rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True, nondet_tol: float = 0.0,
    check_undefined_grad: bool = True, check_grad_dtypes: bool = False, check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True, fast_mode: bool = False, masked: bool = False,
) -> bool:  # fmt: skip
    """``gradcheck`` of the gradient itself, with respect to the inputs and to the gradient that it starts from."""
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    inputs = as_tuple(inputs)
    outputs = differentiable(func(*inputs))
    seeds = _seeds(outputs, gen_non_contig_grad_outputs) if grad_outputs is None else as_tuple(grad_outputs)
    count = len(inputs)

    def gradients(*values: Any) -> tuple[Any, ...]:
        given = tuple(
            item.detach().requires_grad_() if _lost(item, like) else item for item, like in zip(values[:count], inputs)
        )
        leaves = [item for item in given if isinstance(item, TensorBase) and item.requires_grad]
        found = grad(differentiable(func(*given)), leaves, values[count:], create_graph=True, allow_unused=True)
        return tuple(item for item in found if item is not None)

    return gradcheck(
        gradients, (*inputs, *seeds), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
        fast_mode=fast_mode, check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, masked=masked,
    )  # fmt: skip


def _lost(item: Any, like: Any) -> bool:
    """Whether forward mode has cut an input off that first gradients are taken of."""
    return isinstance(like, TensorBase) and like.requires_grad and not item.requires_grad


def _seeds(outputs: Sequence[Any], apart: bool) -> tuple[Any, ...]:
    random = np.random.RandomState(0)
    found = []
    for output in outputs:
        kind = output._dtype.np if output._dtype.category == 3 or output._dtype.name == "float64" else np.dtype(np.float64)
        drawn = random.randn(*output.shape) + (1j * random.randn(*output.shape) if output._dtype.category == 3 else 0)
        seed = made(np.asarray(drawn, kind)).to(output._dtype)
        if apart and seed.dim():
            seed = stack([seed, zeros_like(seed)], -1).select(-1, 0)
        found.append(seed.detach().requires_grad_())
    return tuple(found)


def get_numerical_jacobian(fn: Callable[..., Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0) -> Any:
    """Deprecated: the Jacobians of the first output of ``fn``, which takes its inputs as one tuple, by differences."""
    _warn_of_private("get_numerical_jacobian")
    _check_one("get_numerical_jacobian", grad_out)
    given = as_tuple(inputs)
    chosen = as_tuple(inputs if target is None else target)
    places = [place for place, item in enumerate(given) if any(item is wanted for wanted in chosen) and item.requires_grad]
    return tuple(
        made(Differences(lambda *values: fn(values), given, place, eps).jacobians()[0]) for place in places
    )


def get_analytical_jacobian(inputs: Any, output: Any, nondet_tol: float = 0.0, grad_out: float = 1.0) -> Any:
    """Deprecated: the Jacobians of an output by backward; whether it gives them twice; whether sizes and types are right."""
    _warn_of_private("get_analytical_jacobian")
    _check_one("get_analytical_jacobian", grad_out)
    watched = [item for item in as_tuple(inputs) if isinstance(item, TensorBase) and item.requires_grad]
    first, second = (by_backward(output, watched) for _ in range(2))
    alike = all(np.abs(one - other).max(initial=0) <= nondet_tol for one, other in zip(first, second))
    found = grad(output, watched, zeros_like(output.detach()), retain_graph=True, allow_unused=True)
    sizes = all(item is None or item.shape == tensor.shape for item, tensor in zip(found, watched))
    types = all(item is None or item._dtype is tensor._dtype for item, tensor in zip(found, watched))
    return tuple(made(item) for item in first), alike, sizes, types


def _warn_of_private(name: str) -> None:
    warnings.warn(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will be removed in a "
        "future version of PyTorch. If you have a specific use for this or feature request for this to be a stable API, please file "
        "us an issue at https://github.com/pytorch/pytorch/issues/new", FutureWarning, stacklevel=3,
    )  # fmt: skip


def _check_one(name: str, grad_out: float) -> None:
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")
