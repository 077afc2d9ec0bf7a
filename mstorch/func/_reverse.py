"""grad, grad_and_value, vjp and jacrev: reverse mode."""
from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._src.core.modes import modes
from .._src.core.tensor_base import TensorBase, is_tracked, tensor_of
from .._src.core.trees import TreeSpec, shown, tree_flatten, tree_unflatten
from .._src.ops.memory.creation import zeros
from .._src.tape.moving import beside
from .._tensor import Tensor
from ..autograd.graph import disable_saved_tensors_hooks
from ._batched import core, dressed_like, public
from ._levels import Level, aliases, entered_arguments, flat_tensors, one_hot, recording, seed_of

_NO_HOOKS = (
    "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use case."
)


def with_aux(name: str, output: Tensor, has_aux: bool) -> tuple[Any, Any]:
    """Split a function's result into output and aux if ``has_aux``; else return the result and None. Raise RuntimeError unless it is a pair
    whose aux holds tensors."""
    if not has_aux:
        return output, None
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    output, aux = output
    flat_tensors(aux, lambda leaf: RuntimeError(f"Expected tensors, got unsupported type {type(leaf)}"))
    return output, aux


def _value_and_grad(
    func: Callable[..., Any], argnums: Any, has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any, Any]:
    with recording((args, kwargs)) as mode, disable_saved_tensors_hooks(_NO_HOOKS):
        level, picked, inside = entered_arguments(argnums, args, mode.outer)
        output, aux = with_aux("grad_and_value(f)(*args)", func(*inside, **aliases(kwargs, mode.outer)), has_aux)
        if not isinstance(output, TensorBase):
            raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}")
        if output.dim() != 0:
            raise RuntimeError(
                "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        if output.is_complex():
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {output.dtype}")
        level.look_at([output])
        seed = dressed_like(output, beside(tensor_of(np.ones(core(output)._ms_shape, output._ms_dtype.np)), core(output)))
        gradients = level.wrapped(level.gradients([output], [seed]))
        spec = tree_flatten(picked)[1]
        return tree_unflatten(gradients, spec), level.left(output), level.left(aux)


def grad(func: Callable[..., Any], argnums: int = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of ``func``'s result, a 0-d tensor, with respect to its argument(s).

    ``argnums`` selects positional arguments (trees of tensors); a tuple gives a tuple of gradients. With ``has_aux``, ``func`` returns a
    pair and the result is (gradient, aux). Transforms nest.
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradients, _, aux = _value_and_grad(func, argnums, has_aux, args, kwargs)
        return (gradients, aux) if has_aux else gradients

    return wrapper


def grad_and_value(func: Callable[..., Any], argnums: int = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes ``grad(func, argnums)`` and the value; with ``has_aux`` the second is (value, aux)."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradients, value, aux = _value_and_grad(func, argnums, has_aux, args, kwargs)
        return gradients, ((value, aux) if has_aux else value)

    return wrapper


class Pull:
    """A function that has been run once, and can then compute gradients of the selected arguments for given output gradients."""

    def __init__(
        self, func: Callable[..., Any], argnums: int | tuple[int, ...], args: tuple[Any, ...], has_aux: bool,
        words: str = "vjp(f, *primals)", writes: bool = True
    ) -> None:
        with recording(args if writes else None) as mode:
            self.level, self.picked, inside = entered_arguments(argnums, args, mode.outer)
            output, self.aux = with_aux(words, func(*inside), has_aux)
            leaves = tree_flatten(output)[0]
            if not leaves or output is None:
                raise RuntimeError(f"{words}: Expected f to be a function that has non-empty output (got output = {leaves})")
            self.outputs, self.spec = flat_tensors(
                output,
                lambda leaf: RuntimeError(
                    f"{words}: expected f(*primals) to return only tensors, got unsupported type {type(leaf)}"
                ),
            )
            self.level.look_at(self.outputs)

    @property
    def output(self) -> Any:
        """The function's result, for the outer level."""
        return self.level.left(tree_unflatten(self.outputs, self.spec))

    def pull(self, seeds: list[Any], followed: bool) -> tuple[Tensor, ...]:
        """Return the gradients of the arguments for given gradients of the outputs."""
        with recording():
            found = self.level.wrapped(self.level.gradients(self.outputs, seeds, followed))
        return tree_unflatten(found, tree_flatten(self.picked)[1])


def _refuse_integers(outputs: Sequence[Tensor]) -> None:
    for output in outputs:
        if output.dtype.is_integral:
            raise RuntimeError(
                f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {output.dtype}"
            )


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return ``func(*primals)`` and a function that maps an output gradient to a tuple of argument gradients.

    With ``has_aux``, ``func`` returns a pair and aux is a third result. The function may be called repeatedly.
    """
    with disable_saved_tensors_hooks(_NO_HOOKS):
        pull = Pull(func, tuple(range(len(primals))) if primals else 0, primals, has_aux) if primals else _no_primals(func)
    _refuse_integers(pull.outputs)
    single = len(primals) == 1

    def pull_back(
        cotangents: Tensor | tuple[Tensor | tuple[Tensor, dict[Any, Any]], ...], retain_graph: bool = True, create_graph: bool | None = None
    ) -> tuple[Tensor, ...]:
        leaves, spec = flat_tensors(
            cotangents,
            lambda leaf: RuntimeError(f"vjp(f, *primals): expected cotangents to be tensors, got {type(leaf)}"),
        )
        if spec != pull.spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {shown(spec)}, primal output: {shown(pull.spec)}"
            )
        for leaf, output in zip(leaves, pull.outputs):
            if leaf.shape != output.shape:
                raise RuntimeError(
                    f"The size of the cotangent {tuple(leaf.shape)} must match the size of the output {tuple(output.shape)}"
                )
        outside = modes.grad if create_graph is None else create_graph
        followed = outside and (pull.level.followed or any(is_tracked(core(leaf)) for leaf in leaves))
        found = pull.pull([seed_of(leaf, output) for leaf, output in zip(leaves, pull.outputs)], followed)
        return found[:1] if single else found

    return (pull.output, pull_back, pull.level.left(pull.aux)) if has_aux else (pull.output, pull_back)


def _no_primals(func: Callable[..., Any]) -> Any:
    def ignoring(nothing: Any) -> Any:
        return func()

    return Pull(ignoring, (0,), ((),), False)


def jacobian_rows(pull: Pull) -> Any:
    """Return the Jacobian of each output with respect to the arguments, in the structure of both, computed row by row."""
    level: Level = pull.level
    inner: TreeSpec = tree_flatten(pull.picked)[1]
    trees = []
    with recording():
        for _number, output in enumerate(pull.outputs):
            rows: list[list[Any]] = [[] for _ in level.shapes]
            for index in range(output.numel()):
                seeds = one_hot(output, index)
                found = level.wrapped(level.gradients([output], [seeds]))
                for row, gradient in zip(rows, found):
                    row.append(gradient)
            blocks = []
            for row, own, kind in zip(rows, level.shapes, level.dtypes):
                shape = (*output.shape, *own)
                blocks.append(public("stack")(row).reshape(shape) if row else zeros(shape, dtype=kind))
            trees.append(tree_unflatten(blocks, inner))
    found = tree_unflatten(trees, pull.spec)
    return found if level.followed else level.left(found)


def check_real(name: str, tensors: Sequence[Tensor], what: str) -> None:
    for position, tensor in enumerate(tensors):
        if tensor.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened input idx: {position}"
            )


def jacobian(
    name: str, func: Callable[..., Any], argnums: int | tuple[int, int], has_aux: bool, args: tuple[Any, ...], words: str
) -> Any:
    """Return the Jacobian of ``func`` at ``args``, and aux if requested."""
    with disable_saved_tensors_hooks(_NO_HOOKS) if name == "jacrev" else contextlib.nullcontext():
        pull = Pull(func, argnums, args, has_aux, words)
    if name == "jacrev":
        _refuse_integers(pull.outputs)
    check_real(name, tree_flatten(pull.picked)[0], "inputs")
    check_real(name, pull.outputs, "outputs")
    found = jacobian_rows(pull)
    return (found, pull.level.left(pull.aux)) if has_aux else found


def jacrev(
    func: Callable[..., Any], argnums: int | tuple[int, int] = 0, *, has_aux: bool = False, chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """Return a function that computes the Jacobian of ``func`` in reverse mode: for each output, a tensor of shape ``output.shape +
    arg.shape``.

    It runs one backward per output element; ``chunk_size`` limits memory in torch and has no effect in mstorch.
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        return jacobian("jacrev", func, argnums, has_aux, args, "vjp(f, *primals)")

    return wrapper
