"""Runs layers with expanded weights: forward as usual, backward once for the inputs and once for the weights' gradient of each sample."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ...._tensor import Tensor
from ....autograd.backward import grad
from ....autograd.function import Function, FunctionCtx
from ....autograd.grad_mode import enable_grad
from ....func import vjp, vmap
from ....utils._pytree import tree_flatten, tree_map_only, tree_unflatten
from .expanded_weights_impl import RUNNERS, ExpandedWeight
from .expanded_weights_utils import (
    check,
    original,
    set_grad_sample_if_exists,
    unpack_expanded_weight_or_tensor,
    wrong_size,
)

_PARAMETERS = {"embedding": ("input", "weight", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse")}


class _Layer(Function):
    """A layer's function, whose backward pass also computes a gradient for each sample.

    ``again(leaves)`` computes the results, and ``of_samples`` the gradients per sample of the expanded leaves. ``fixed`` are the indices of
    leaves that must be expanded or not require grad."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, again: Callable[..., Any], of_samples: Callable[..., Any], fixed: tuple[int, ...],
        expanded: dict[int, ExpandedWeight],
        *leaves: Any,
    ) -> Any:  # fmt: skip
        ctx.again, ctx.of_samples, ctx.fixed, ctx.expanded, ctx.leaves = again, of_samples, fixed, expanded, leaves
        return again(list(leaves))

    @staticmethod
    def backward(ctx: FunctionCtx, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        leaves, expanded = ctx.leaves, ctx.expanded
        known = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor) and leaf.requires_grad and i not in expanded]
        results: list[Any] = [None] * len(leaves)
        for i in ctx.fixed:
            unpack_expanded_weight_or_tensor(expanded.get(i, leaves[i]))
        plain = [leaf.detach() if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        if known:
            fresh = list(plain)
            for i in known:
                fresh[i] = plain[i].detach().requires_grad_()
            for i, one in zip(known, _gradients(ctx.again, fresh, known, grad_outputs)):
                results[i] = one
        for weight, sample in zip(expanded.values(), ctx.of_samples(plain, list(expanded), grad_outputs)):
            set_grad_sample_if_exists(weight, lambda _, sample=sample: sample)
        return (None, None, None, None, *results)


def _applied(again: Callable[..., Any], of_samples: Callable[..., Any], fixed: tuple[int, ...], leaves: list[Any]) -> Any:
    expanded = {i: leaf for i, leaf in enumerate(leaves) if isinstance(leaf, ExpandedWeight)}
    return _Layer.apply(again, of_samples, fixed, expanded, *map(original, leaves))


def _gradients(again: Callable[..., Any], leaves: list[Any], places: list[int], grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    with enable_grad():
        out = again(leaves)
    outs = out if isinstance(out, tuple) else (out,)
    pairs = [(o, g) for o, g in zip(outs, grad_outputs) if g is not None and o.requires_grad]
    return grad([o for o, _ in pairs], [leaves[i] for i in places], [g for _, g in pairs], allow_unused=True)


def _refuse_without_batch(func: Callable[..., Any], args: tuple[Any, ...]) -> None:
    name, input = func.__name__, args[0]
    if name == "linear" and input.dim() < 2:
        raise RuntimeError(
            f"Input does not have a batch dimension. Expanded Weights expected input of at least rank 2, got of rank {input.dim()}"
        )
    if name == "embedding" and input.dim() == 1:
        raise RuntimeError(f"Expanded Weights needs an input with a batch size, got a 1D tensor, {input}")
    if name.startswith("conv") and input.dim() != int(name[4]) + 2:
        raise RuntimeError(
            f"Expanded Weights only support convolution with batched input, got {func} with an"
            f"unbatched input of dim {input.dim()}, expected input of dim {int(name[4]) + 2}"
        )


def _named(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    names = _PARAMETERS.get(func.__name__) or tuple(inspect.signature(func).parameters)
    return {**dict(zip(names, args)), **kwargs}


def run(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a layer whose samples are independent of each other."""
    given = _named(func, args, kwargs)
    input = given["input"]
    if isinstance(input, Tensor) and not isinstance(input, ExpandedWeight) and input.dim():
        _refuse_without_batch(func, (input,))
    if func.__name__ == "layer_norm" and len(given["normalized_shape"]) == input.dim():
        raise RuntimeError(
            "Expanded Weights: Layer norm should not normalize over batch dimension for per sample gradientcomputations but got that "
            f"normalized shape, {given['normalized_shape']}, matched input shape."
        )
    check(func, input, given.values())
    names, leaves = list(given), list(given.values())
    dim = next((0 if leaf.batch_first else 1 for leaf in leaves if isinstance(leaf, ExpandedWeight)), 0)
    # Arguments that a second run omits: statistics and norms that the first run has already updated.
    left = {"max_norm": None}
    if given.get("use_input_stats", True):
        left |= {"running_mean": None, "running_var": None}

    def again(plain: list[Any]) -> Any:
        return func(**dict(zip(names, plain)))

    def of_samples(plain: list[Any], weights: list[int], grads: tuple[Any, ...]) -> tuple[Tensor, ...]:
        fixed = {name: left.get(name, value) for name, value in zip(names, plain)}

        if func.__name__ == "embedding" and not given.get("scale_grad_by_freq"):
            return (_of_rows_taken(plain[names.index("weight")], fixed["input"], grads[0], given.get("padding_idx")),)

        def of_one(sample: Tensor, gradient: Tensor) -> tuple[Tensor, ...]:
            def layer(*values: Tensor) -> Tensor:
                return func(**{**fixed, "input": sample.unsqueeze(dim), **{names[i]: value for i, value in zip(weights, values)}})

            return vjp(layer, *(plain[i] for i in weights))[1](gradient.unsqueeze(dim))

        return vmap(of_one, in_dims=(dim, dim))(fixed["input"], grads[0])

    return _applied(again, of_samples, tuple(i for i, name in enumerate(names) if name in ("weight", "bias")), leaves)


def _of_rows_taken(weight: Tensor, ids: Tensor, gradient: Tensor, padding_idx: int | None) -> Tensor:
    size, width = ids.shape[0], weight.shape[1]
    places = ids.reshape(size, -1, 1).expand(-1, -1, width)
    result = gradient.new_zeros((size, *weight.shape)).scatter_add(1, places, gradient.reshape(places.shape))
    if padding_idx is not None:
        result[:, padding_idx] = 0
    return result


def recurrent(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Tensor, ...]:
    """Run a recurrent layer; the gradient of each sample is found by running the layer on this sample alone."""
    given = (*args, *kwargs.values())
    packed = isinstance(given[3], (list, tuple))  # the weights follow data, batch sizes and states, or input and states
    rows = 3 if packed else 2
    if given[rows + 3] and given[rows + 4]:
        raise NotImplementedError("mstorch: expanded weights of recurrent layers take no dropout in training")
    leaves, form = tree_flatten(given)
    size = int(given[1][0]) if packed else given[0].shape[0 if given[rows + 6] else 1]
    for weight in leaves:
        if isinstance(weight, ExpandedWeight) and weight.batch_size != size:
            raise wrong_size(size, weight)

    def again(plain: list[Any]) -> Any:
        return func(*tree_unflatten(plain, form))

    def of_samples(plain: list[Any], places: list[int], grads: tuple[Any, ...]) -> list[Tensor]:
        found = []
        for i in range(size):
            alone = list(plain)
            for place in places:
                alone[place] = plain[place].detach().requires_grad_()
            chosen = list(tree_unflatten(alone, form))
            take = _of_packed(chosen, i) if packed else _of_rows(chosen, i, 0 if chosen[rows + 6] else 1)
            with enable_grad():
                outs = func(*chosen)
            shares = [None if g is None else take(g) if k == 0 else g.narrow(1, i, 1) for k, g in enumerate(grads)]
            pairs = [(o, g) for o, g in zip(outs, shares) if g is not None]
            known = [o for o, _ in pairs], [alone[place] for place in places], [g for _, g in pairs]
            found.append(grad(*known, materialize_grads=True))
        return [_stacked(column) for column in zip(*found)]

    return _applied(again, of_samples, (), leaves)


def _stacked(column: tuple[Tensor, ...]) -> Tensor:
    result = column[0].new_empty((len(column), *column[0].shape))
    for row, one in zip(result, column):
        row.copy_(one)
    return result


def _of_rows(given: list[Any], i: int, dim: int) -> Callable[[Tensor], Tensor]:
    given[0] = given[0].narrow(dim, i, 1)
    given[1] = tree_map_only(Tensor, lambda state: state.narrow(1, i, 1).contiguous(), given[1])
    return lambda gradient: gradient.narrow(dim, i, 1)


def _of_packed(given: list[Any], i: int) -> Callable[[Tensor], Tensor]:
    sizes = given[1].tolist()
    starts = [sum(sizes[:step]) for step in range(len(sizes))]
    rows = [start + i for start, size in zip(starts, sizes) if size > i]
    given[0] = given[0][rows]
    given[1] = given[1].new_ones(len(rows))
    given[2] = tree_map_only(Tensor, lambda state: state.narrow(1, i, 1).contiguous(), given[2])
    return lambda gradient: gradient[rows]


RUNNERS.update({False: run, True: recurrent})
