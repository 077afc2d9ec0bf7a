"""One level of differentiation: the inputs as tensors of the level's own, and gradients of what is made of them.

MindSpore's tape has one kind of recording, no levels. So the inputs of a level are other tensors over the same values: new
leaves, or, where the outside (a level around this one, or autograd) follows an input, recorded copies of it. A gradient is
recorded in its turn only if what was computed depends on something followed from outside.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._backend import tape
from .._backend.cast import cast
from .._backend.raw import NP_DTYPE, Raw, from_numpy
from .._core.tensor_base import TensorBase, grad_mode, is_tracked, value_of, wrap
from .._core.trees import TreeSpec, tree_flatten, tree_map, tree_unflatten


def _same_forward(ctx: Any, raw: Raw) -> Raw:
    return tape.detached(raw)


def _same_backward(ctx: Any, gradient: Raw) -> Raw:
    return gradient


_same = tape.function_node("Alias", _same_forward, _same_backward)


class Level:
    """Inputs to differentiate with respect to. Made and used with recording on."""

    def __init__(self, inputs: Sequence[Any], outer: bool) -> None:
        self.raws: list[Raw] = []
        self.dtypes = [tensor._dtype for tensor in inputs]
        self.followed = False
        self._own: set[Any] = set()
        self._outer = outer
        tape.start_recording()
        for tensor in inputs:
            if tensor._dtype.category < 2:
                raise RuntimeError("only Tensors of floating point dtype can require gradients")
            raw = value_of(tensor)
            if outer and is_tracked(tensor):
                self.followed = True
                made = _same(raw)
            else:
                leaf = tape.detached(raw)
                tape.mark_leaf(leaf)
                made = _same(leaf)
                end = tape.leaf_identity(leaf)
                self._own.add(end)
                if _BLOCKS:
                    _BLOCKS[-1].leaves.append((leaf, end))
            self.raws.append(made)
        self.tensors = [wrap(raw, True) for raw in self.raws]

    def look_at(self, outputs: Sequence[Any]) -> None:
        """Find out whether the outputs depend on tensors that are followed from outside."""
        if self._outer and not self.followed:
            within = {end for _, end in _BLOCKS[-1].leaves} if _BLOCKS else set()
            ends = tape.ends_below([value_of(t) for t in outputs if _recorded(t)])
            self.followed = not ends <= self._own | within

    def left(self, tree: Any) -> Any:
        """Results as the outside may see them: with their history only if there is somebody outside to follow it."""
        return tree if self.followed else tree_map(_cut, tree)

    def gradients(
        self, outputs: Sequence[Any], seeds: Sequence[Raw], followed: bool | None = None
    ) -> list[Raw | None]:
        """The gradients of the inputs, for a gradient of each output; None where an output does not depend on an input."""
        pairs = [(value_of(t), seed) for t, seed in zip(outputs, seeds) if _recorded(t)]
        if not pairs:
            return [None] * len(self.raws)
        create = self.followed if followed is None else followed
        found = tape.run_backward([root for root, _ in pairs], [seed for _, seed in pairs], self.raws, True, create)
        if create:
            tape.start_recording()
        return list(found)

    def wrapped(self, found: Sequence[Raw | None], followed: bool | None = None) -> list[Any]:
        """Gradients as tensors, zeros for None."""
        create = self.followed if followed is None else followed
        return [
            wrap(from_numpy(np.zeros(raw.shape, NP_DTYPE[kind.name]))) if gradient is None
            else wrap(gradient, create and tape.is_recorded(gradient))
            for gradient, raw, kind in zip(found, self.raws, self.dtypes)
        ]  # fmt: skip


def _recorded(tensor: Any) -> bool:
    return is_tracked(tensor) and tape.is_recorded(value_of(tensor))


def _cut(value: Any) -> Any:
    """A tensor of the same values without history."""
    if isinstance(value, TensorBase) and is_tracked(value):
        return wrap(tape.detached(value_of(value)))
    return value


def seed_of(cotangent: Any, output: Any) -> Raw:
    """A gradient to begin with, in the output's dtype."""
    raw = value_of(cotangent)
    return raw if cotangent._dtype is output._dtype else cast(raw, output._dtype.name)


def one_hot(output: Any, index: int) -> Raw:
    """The gradient of one element of an output."""
    raw = value_of(output)
    seed = np.zeros(raw.shape, NP_DTYPE[output._dtype.name])
    seed.reshape(-1)[index] = 1
    return from_numpy(seed)


class recording:
    """Recording on for a transform, whatever the mode outside, which ``outer`` remembers.

    ``leaves`` are those of the levels made within: a result may still depend on them, but nobody outside follows them.
    """

    def __enter__(self) -> recording:
        self.outer, self.deep = grad_mode.enabled, grad_mode.deep
        grad_mode.deep = True
        self.leaves: list[tuple[Raw, Any]] = []
        _BLOCKS.append(self)
        tape.set_grad_enabled(True)
        tape.start_recording()
        return self

    def __exit__(self, *exc: Any) -> None:
        _BLOCKS.pop()
        if _BLOCKS:
            _BLOCKS[-1].leaves.extend(self.leaves)
        grad_mode.deep = self.deep
        tape.set_grad_enabled(self.outer)


_BLOCKS: list[recording] = []


def flat_tensors(tree: Any, complain: Callable[[Any], BaseException]) -> tuple[list[Any], TreeSpec]:
    """The leaves and the structure of a tree of tensors only."""
    leaves, spec = tree_flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, TensorBase):
            raise complain(leaf)
    return leaves, spec


def entered(tree: Any, outer: bool) -> tuple[Level, Any]:
    """A level of the tensors of a tree, and the tree with the level's own in their places."""
    leaves, spec = flat_tensors(
        tree, lambda leaf: ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")
    )
    level = Level(leaves, outer)
    return level, tree_unflatten(level.tensors, spec)


Argnums = int | tuple[int, ...]


def chosen_positions(argnums: Any, count: int) -> tuple[int, ...]:
    """The positions of the arguments to differentiate, counted from the front; RuntimeError for what cannot be."""
    if isinstance(argnums, int):
        numbers: tuple[Any, ...] = (argnums,)
    elif isinstance(argnums, tuple):
        if not argnums:
            raise RuntimeError("argnums must be non-empty")
        numbers = argnums
    else:
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    for number in numbers:
        if not isinstance(number, int):
            raise RuntimeError(f"argnum must be int, got: {type(number)}")
        if not -count <= number < count:
            raise RuntimeError(f"Got argnum={number}, but only {count} positional inputs")
    positions = tuple(number % count for number in numbers)
    if len(set(positions)) != len(positions):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return positions


def entered_arguments(argnums: Any, args: tuple[Any, ...], outer: bool) -> tuple[Level, Any, tuple[Any, ...]]:
    """A level of the chosen arguments, those arguments (one tree, or a tuple of them) and all arguments within the level."""
    positions = chosen_positions(argnums, len(args))
    picked = args[positions[0]] if isinstance(argnums, int) else tuple(args[p] for p in positions)
    level, inside = entered(picked, outer)
    whole = list(args)
    for position, value in zip(positions, (inside,) if isinstance(argnums, int) else inside):
        whole[position] = value
    return level, picked, tuple(whole)
