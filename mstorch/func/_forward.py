"""jvp, linearize, jacfwd and hessian: derivatives along directions, on a tape that only goes backwards.

The gradient pulled back from v is linear in v, so that its own gradient with respect to v, pulled back from a direction, is
the derivative along that direction (Townsend, "A new trick for calculating Jacobian vector products", 2017).
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.tensor_base import TensorBase, auto_of, is_tracked, tensor_of
from .._core.trees import TreeSpec, shown, tree_flatten, tree_unflatten
from .._tape import engine
from .._tape.node import bare, edge_of
from ._batched import aligned, batched, core, dressed_like, innermost, is_of, maps_of, outside, public
from ._levels import fresh, recording, seed_of
from ._reverse import Pull, jacobian, jacrev


class Push:
    """A function run once, ready for directions in its arguments to be pushed forward to its outputs."""

    def __init__(self, func: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool, words: str) -> None:
        self.pull = Pull(func, tuple(range(len(primals))), primals, has_aux, words)
        level = self.pull.level
        with recording():
            self.dummies: list[Any] = []
            for output in self.pull.outputs:
                dummy = tensor_of(np.zeros(core(output)._shape, output._dtype.np))
                if output._dtype.category >= 2:
                    auto_of(dummy).leaf = True
                self.dummies.append(dressed_like(output, dummy))
            # The dummies are leaves of this level too: with recording on, the gradients depend on them.
            self.gradients = level.gradients(self.pull.outputs, self.dummies, True)

    def push(self, tangents: Sequence[Any]) -> list[Any]:
        """The derivative of each output along the directions."""
        level = self.pull.level
        followed = level.followed or any(is_tracked(core(tangent)) for tangent in tangents)
        further = innermost([tangent for tangent in tangents if any(map not in level.maps for map in maps_of(tangent))])
        if further is not None and further not in level.maps:
            return self._by_slices(tangents, further)
        roots = [
            (core(gradient), core(aligned(seed_of(tangent, gradient), gradient)))
            for gradient, tangent in zip(self.gradients, tangents)
            if gradient is not None and is_tracked(core(gradient))
        ]
        places = [i for i, output in enumerate(self.pull.outputs) if output._dtype.category >= 2]
        with recording() as mode:
            followed = followed and mode.outer
            found: Sequence[Any] = [None] * len(places)
            if roots and places:
                pairs: list[Any] = [(edge_of(root), seed if followed else bare(seed)) for root, seed in roots]
                found = engine.run(pairs, True, followed, [edge_of(core(self.dummies[i])) for i in places])
        results: list[Any] = [None] * len(self.pull.outputs)
        for place, value in zip(places, found):
            results[place] = None if value is None else dressed_like(self.dummies[place], fresh(value))
        return [
            dressed_like(dummy, tensor_of(np.zeros(core(dummy)._shape, dummy._dtype.np))) if result is None else result
            for result, dummy in zip(results, self.dummies)
        ]

    def _by_slices(self, tangents: Sequence[Any], map: Any) -> list[Any]:
        """The derivatives where the directions are mapped over and the function was not: a pass for each slice."""
        with outside(map.depth):
            rows = [
                self.push([tangent.value.select(tangent.bdim, index) if is_of(tangent, map) else tangent for tangent in tangents])
                for index in range(map.size)
            ]
            return [batched(public("stack")(list(parts)), 0, map) for parts in zip(*rows)]

    @property
    def independent(self) -> bool:
        """Whether no output depends on an argument."""
        return all(gradient is None for gradient in self.gradients)


def _tensors_of(primals: Any, words: str, what: str = "primals") -> tuple[list[Any], TreeSpec]:
    leaves, spec = tree_flatten(primals)
    for leaf in leaves:
        if not isinstance(leaf, TensorBase):
            raise RuntimeError(f"{words}: Expected {what} to only contain Tensors, got {type(leaf)}")
    return leaves, spec


def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> Any:
    """``func(*primals)`` and its derivative along ``tangents``; with ``has_aux`` also the second of what ``func`` returns.

    With ``strict``, RuntimeError if the result does not depend on the arguments. Differs from torch: computed by two passes
    backwards, so that every operation in ``func`` has to be differentiable twice.
    """
    words = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{words}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    leaves, spec = _tensors_of(primals, words)
    directions, direction_spec = tree_flatten(tangents)
    if spec == direction_spec:
        _tensors_of(tangents, words, "tangents")
    else:
        raise RuntimeError(
            f"{words}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 "
            f"tensors, tangents also must be. Got primals with structure {spec} and tangents with structure {direction_spec}"
        )
    if not leaves:
        raise RuntimeError(f"{words}: Expected primals to contain at least one Tensor.")
    for leaf, direction in zip(leaves, directions):
        if leaf.shape != direction.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
                f"supported. Tensor is of size {list(leaf.shape)} while the given forward gradient is of size "
                f"{list(direction.shape)}."
            )
    push = Push(func, primals, has_aux, words)
    if strict and push.independent:
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with "
            "strict=True."
        )
    derivative = tree_unflatten(push.push(directions), push.pull.spec)
    result = (push.pull.output, derivative)
    return (*result, push.pull.level.left(push.pull.aux)) if has_aux else result


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """``func(*primals)`` and a function that maps directions to the derivative along them, without running ``func`` again."""
    leaves, spec = tree_flatten(primals)
    push = Push(func, primals, False, "linearize(f, *primals)")

    def jvp_fn(*tangents: Any) -> Any:
        directions, direction_spec = tree_flatten(tangents)
        if spec != direction_spec:
            raise RuntimeError(
                f"Expected the tangents {direction_spec} to have the same argspec as the primals {spec}"
            )
        for position, (leaf, direction) in enumerate(zip(leaves, directions)):
            if leaf.shape != direction.shape:
                raise RuntimeError(
                    f"tangent:{position} with shape {direction.shape} in flattened pytree doesn't match the shape {leaf.shape} "
                    "of the corresponding primal."
                )
        return tree_unflatten(push.push(directions), push.pull.spec)

    return push.pull.output, jvp_fn


def jacfwd(
    func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """A function that returns the Jacobian of ``func``: for each output a tensor of its shape and then the argument's.

    Differs from torch: computed row by row, backwards, as ``jacrev`` does; ``func`` runs once, so that ``randomness`` says
    nothing here.
    """

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        return jacobian("jacfwd", func, argnums, has_aux, args, "jvp(f, primals, tangents)")

    return wrapper


def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """A function that returns the second derivatives of ``func``: the Jacobian of its Jacobian."""
    return jacfwd(jacrev(func, argnums), argnums)


__all__ = ["Push", "hessian", "jacfwd", "jvp", "linearize", "seed_of", "shown"]
