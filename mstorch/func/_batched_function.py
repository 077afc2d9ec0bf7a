"""autograd under vmap: user-defined Functions, and gradients computed inside a mapped function."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._src.core.overriding import FUNCTION_TRANSFORMS, state
from .._src.core.tangents import LEVELS
from .._src.core.tensor_base import TensorBase, is_tracked, tensor_of
from .._src.core.trees import broadcast_to, tree_flatten, tree_map, tree_unflatten
from .._src.tape.moving import beside
from .._tensor import Tensor
from ..autograd.function import Function, FunctionCtx
from ._batched import (
    NO_BACKWARD,
    BatchedTensor,
    Map,
    Op,
    aligned,
    batched,
    core,
    dressed_like,
    innermost,
    is_of,
    outside,
    within,
)
from ._batched_alike import are_alike
from ._batched_layers import draw
from ._batched_loop import looped
from ._batched_rules import bound, ruled

_HOME = __name__.partition(".")[0]
_MORE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """Properties of the vmap passed to a Function's ``vmap`` staticmethod: batch size and randomness."""

    batch_size: int
    randomness: str


def apply_in_transform(cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run ``cls.apply`` under vmap. Return NotImplemented outside of vmap, and for the library's own Functions. Raise RuntimeError if a
    Function does not support transforms."""
    if cls.__module__.partition(".")[0] in (_HOME, "torch"):
        return NotImplemented  # the library's own calls on plain tensors
    if state.maps and state.maps[-1].older:
        return _by_older_vmap(cls, args, kwargs)
    if cls.setup_context is Function.setup_context:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the "
            f"setup_context staticmethod. {_MORE}"
        )
    if not state.maps:
        return NotImplemented
    name, own = cls.__name__, cls.vmap is not Function.vmap
    if cls.generate_vmap_rule and own:
        raise RuntimeError(
            f"You tried to vmap over {name}, but it has both generate_vmap_rule=True and an overridden vmap staticmethod. Please set "
            f"generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity. {_MORE}"
        )
    if not (cls.generate_vmap_rule or own):
        raise RuntimeError(
            f"You tried to vmap over {name}, but it does not have vmap support. Please override and implement the vmap staticmethod or "
            f"set generate_vmap_rule=True. {_MORE}"
        )
    given = inspect.signature(cls.forward).bind(*args, **kwargs)
    given.apply_defaults()
    if any(isinstance(value, TensorBase) for value in given.kwargs.values()):
        raise NotImplementedError(
            f"Run forward pass of {name} with kwarg-only Tensor args is not supported: kwarg-only Tensor args are not supported."
        )
    args = given.args
    map = innermost(args)
    if map is None:
        return NotImplemented
    with outside(map.depth):
        if are_alike(map, args):  # in torch the values are not batched: vmap does not see the Function
            return looped(Op(cls.apply, map, name), args, {})
        return _by_own_rule(cls, map, args) if own else _by_generated_rule(cls, map, args)


def _by_older_vmap(cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a Function whose operations are mapped one by one; slice by slice where there are tangents, which its ``jvp`` takes apart."""
    map = innermost(args) if LEVELS else None
    if map is None:
        return NotImplemented
    with outside(map.depth):
        return looped(Op(cls.apply, map, cls.__name__), args, kwargs)


FUNCTION_TRANSFORMS.append(apply_in_transform)


def _values(map: Map, tree: tuple[Tensor | float, ...]) -> tuple[Any, Any]:
    """Return a tree with batched tensors replaced by their values, and a tree of their batch dimensions (None for a leaf that is not
    batched).
    """
    return (
        tree_map(lambda leaf: leaf.value if is_of(leaf, map) else leaf, tree),
        tree_map(lambda leaf: leaf.bdim if is_of(leaf, map) else None, tree),
    )


def _tensors(map: Map, tree: tuple[Tensor | float, ...], dims: Sequence[Any]) -> Any:
    """Return a tree of values, batched along ``dims``."""
    leaves, spec = tree_flatten(tree)
    return tree_unflatten(
        [leaf if dim is None or not isinstance(leaf, TensorBase) else batched(leaf, dim, map) for leaf, dim in zip(leaves, dims)], spec
    )


def _by_own_rule(cls: type[Function], map: Map, args: tuple[Any, ...]) -> Any:
    return by_rule(cls.vmap, "the vmap staticmethod", map, args, {})


def by_rule(rule: Callable[..., Any], what: str, map: Map, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Return the result of a user's batching rule ``rule(info, in_dims, *args)``, with the batch dimensions that the rule returns."""
    values, dims = _values(map, args)
    found = rule(VmapInfo(map.size, map.randomness), dims, *values, **named)
    if not isinstance(found, tuple) or len(found) != 2:
        raise RuntimeError(
            f"Expected {what} to have two returns, an output and out_dims with pytree structure compatible with the "
            f"output. Got a {type(found)} instead"
        )
    output, out_dims = found
    spec = tree_flatten(output)[1]
    flat = broadcast_to(out_dims, spec, lambda leaf: leaf is None)
    if flat is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has structure {tree_flatten(out_dims)[1]} "
            f"but output has structure {spec}. {_MORE}"
        )
    return _tensors(map, output, flat)


class _Context:
    """The context passed to ``setup_context`` and ``backward`` of a Function: batched tensors are visible through it, and their values are
    saved.
    """

    def __init__(self, ctx: FunctionCtx | _Context, map: Map, dims: Sequence[Any] = ()) -> None:
        self.__dict__["_kept"] = (ctx, map, list(dims))

    def later(self, map: Map) -> _Context:
        """Return a copy of the context for the vmap of backward."""
        ctx, _, dims = self._kept
        made = _Context(ctx, map, dims)
        made.__dict__.update({name: value for name, value in self.__dict__.items() if name != "_kept"})
        return made

    def save_for_backward(self, *tensors: Any) -> None:
        """Save the values of batched tensors."""
        ctx, map, dims = self._kept
        dims[:] = [tensor.bdim if is_of(tensor, map) else None for tensor in tensors]
        ctx.save_for_backward(*(tensor.value if is_of(tensor, map) else tensor for tensor in tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        """Save tensors for ``jvp``, which runs in the same map."""
        self._kept[0].save_for_forward(*tensors)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The saved tensors as batched tensors. Within ``jvp``, the tensors of ``save_for_forward``, which are saved as batched tensors."""
        ctx, map, dims = self._kept
        return tuple(ctx.saved_tensors) if ctx._forward_now else _tensors(map, tuple(ctx.saved_tensors), dims)

    saved_variables = saved_tensors

    def mark_dirty(self, *args: Any) -> None:
        """Mark the inputs that were modified in place."""
        self._kept[0].mark_dirty(*(tensor.value if isinstance(tensor, BatchedTensor) else tensor for tensor in args))

    def mark_non_differentiable(self, *args: Any) -> None:
        """Mark the outputs that have no gradient."""
        self._kept[0].mark_non_differentiable(*(tensor.value if isinstance(tensor, BatchedTensor) else tensor for tensor in args))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_kept"][0], name)


def _by_generated_rule(cls: type[Function], map: Map, args: tuple[Any, ...]) -> Any:
    """Run a Function whose ``generate_vmap_rule`` is True: its methods run on batched tensors, inside of a Function of their values."""
    values, in_dims = _values(map, args)
    dims_in = tree_flatten(in_dims, lambda leaf: leaf is None)[0]
    shapes = [leaf._ms_shape if isinstance(leaf, TensorBase) else None for leaf in tree_flatten(args)[0]]
    dims_out: list[Any] = []
    inner: list[Any] = []  # the context that ``setup_context`` receives

    def forward(*given: Any) -> Any:
        with within(map):
            output = cls.forward(*_tensors(map, given, dims_in))
        found, dims = _values(map, output)
        dims_out[:] = tree_flatten(dims, lambda leaf: leaf is None)[0]
        return found

    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, float], output: tuple[Tensor, Tensor]) -> None:
        inner[:] = [_Context(ctx, map)]
        with within(map):
            cls.setup_context(inner[0], _tensors(map, inputs, dims_in), _tensors(map, output, dims_out))

    def backward(ctx: Any, *gradients: Tensor) -> Any:
        with Map(map.size, map.randomness, draw) as again:
            given = [
                gradient if gradient is None or dim is None else batched(gradient, dim, again) for gradient, dim in zip(gradients, dims_out)
            ]
            found = cls._mstorch_backward(inner[0].later(again), *given)
            found = found if isinstance(found, tuple) else (found,)
            fitted = [_fitted(gradient, shape) for gradient, shape in zip(found, shapes)]
        return tuple(_of_values(again, gradient, dim) for gradient, dim in zip(fitted, dims_in)) + found[len(fitted) :]

    def jvp(ctx: Any, *tangents: Any) -> Any:
        with within(map):
            given = [tangent if tangent is None or dim is None else batched(tangent, dim, map) for tangent, dim in zip(tangents, dims_in)]
            found = cls.jvp(inner[0], *given)
        found = found if isinstance(found, (tuple, list)) else (found,)
        return tuple(_of_values(map, tangent, dim) for tangent, dim in zip(found, dims_out)) + tuple(found[len(dims_out) :])

    methods = {"forward": forward, "setup_context": setup_context, "backward": backward, "jvp": jvp}
    generated: Any = type(f"Vmapped{cls.__name__}", (Function,), {
        "generate_vmap_rule": True, "__module__": cls.__module__, **{name: staticmethod(method) for name, method in methods.items()},
    })  # fmt: skip
    return _tensors(map, generated.apply(*values), dims_out)


def _fitted(gradient: Tensor | None, shape: tuple[int, ...] | None) -> Any:
    """Return a gradient reduced to the logical shape of the input."""
    return gradient if gradient is None or shape is None or gradient._ms_shape == shape else gradient.sum_to_size(shape)


def _of_values(map: Map, gradient: Any, dim: int | None) -> Tensor | None:
    """Return the gradient of the value of an input: with its batch dimension at ``dim``, or summed over the batch if the input is not
    batched (None)."""
    if gradient is None:
        return None
    if is_of(gradient, map):
        if dim is None:
            return gradient.value.sum(gradient.bdim)
        return gradient.value.movedim(gradient.bdim, dim)
    if dim is None:
        return gradient
    shape = gradient._ms_shape
    return gradient.unsqueeze(dim).expand(*shape[:dim], map.size, *shape[dim:])


# Gradients inside a mapped function


def _tuple(value: Tensor | None) -> tuple[Any, ...]:
    return () if value is None else (value,) if isinstance(value, TensorBase) else tuple(value)


@ruled("autograd.backward.backward autograd.backward")
def backward_inside(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Raise RuntimeError: backward cannot be called under vmap."""
    raise RuntimeError(NO_BACKWARD)


@ruled("autograd.backward.grad autograd.grad")
def grad_inside(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Tensor, ...]:
    """Return gradients under vmap; if outputs are not batched but their gradients are, one pass is run per slice."""
    given = bound(op, args, kwargs)
    outputs, inputs = _tuple(given.pop("input")), _tuple(given.pop("inputs"))
    seeds = _tuple(given.pop("grad_outputs", None))
    if innermost((*outputs, *inputs)) is None:
        keep = given.pop("retain_graph", None)
        given["retain_graph"] = True if op.map.size > 1 else keep
        return looped(op, (outputs, inputs, seeds or None), given)
    for number, output in enumerate(outputs):
        if not output.requires_grad:
            raise RuntimeError(f"element {number} of tensors does not require grad and does not have a grad_fn")
    if given.get("is_grads_batched") or given.get("materialize_grads"):
        raise NotImplementedError("mstorch: autograd.grad() of mapped tensors with batched or materialized gradients")
    if any(not is_tracked(core(tensor)) for tensor in inputs):
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    full = []
    for output, seed in zip(outputs, seeds or (None,) * len(outputs)):
        if seed is None:
            if output.numel() != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            full.append(beside(tensor_of(np.ones(core(output)._ms_shape, output._ms_dtype.np)), core(output)))
        else:
            full.append(core(aligned(seed, output)))
    found = op([core(output) for output in outputs], [core(tensor) for tensor in inputs], full, **given)
    return tuple(None if one is None else dressed_like(like, one) for one, like in zip(found, inputs))
