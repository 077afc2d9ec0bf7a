"""One level of differentiation: its inputs as new tensors, and gradients with respect to them.

The autograd graph does not distinguish levels, so the inputs of a level are other tensors over the same memory: those that an outer level
(or autograd) tracks are aliases with a node, others are new leaves. A gradient can be differentiated again only if the computation depends
on something tracked outside.
"""
from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._src.backend.arrays import Array
from .._src.core.above import above
from .._src.core.modes import modes
from .._src.core.overriding import PLAIN, dispatches, state
from .._src.core.tangents import LEVELS
from .._src.core.tensor_base import TensorBase, auto_of, is_tracked, tensor_of
from .._src.core.trees import TreeSpec, tree_flatten, tree_map, tree_unflatten
from .._src.leaving import END, Block, each, length_again, values_again
from .._src.tape import engine
from .._src.tape.bare import bare, bare_twin, dressed
from .._src.tape.movement import SAME
from .._src.tape.moving import beside
from .._src.tape.node import Accumulate, Node, edge_of
from .._src.tape.windows import linear_node
from .._tensor import Tensor
from ._batched import (
    Map,
    aligned,
    batched,
    core,
    differing_in,
    dressed_like,
    everywhere,
    innermost,
    is_of,
    maps_of,
    outside,
    public,
)


def _alias(tensor: Tensor, source: Any) -> Any:
    """Return an alias of ``tensor`` whose gradient flows to ``source``."""
    made = bare_twin(tensor)
    made._ms_node = linear_node(source, SAME, SAME, "AliasBackward0")
    return made


class Level:
    """Inputs with respect to which a transform differentiates.

    The inputs are aliases of the given tensors, created with gradients enabled. Under ``vmap`` each is batched in all active vmaps, so that
    each slice has its own gradient."""

    def __init__(self, inputs: Sequence[Any], outer: bool) -> None:
        self.dtypes = [tensor._ms_dtype for tensor in inputs]
        self.shapes = [tensor._ms_shape for tensor in inputs]
        self.followed = False
        self.maps = list(state.maps)
        self._outer = outer
        self._own: set[Node] = set()
        self.tensors: list[Any] = []
        wrap = _wrapping(self._enter)
        self.inside = [wrap(tensor) for tensor in inputs]
        """The inputs as the function gets them: these tensors, or what a package's ``_wrap_tensor_for_grad`` has made of them."""
        self.ends = [edge_of(core(tensor)) for tensor in self.tensors]

    def _enter(self, tensor: Any) -> Any:
        if tensor._ms_dtype.is_integral:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if self.maps:
            tensor = everywhere(tensor, self.maps)
        held = core(tensor)
        if self._outer and is_tracked(held):
            self.followed = True
            made = _alias(held, held)
        else:
            leaf = bare_twin(held)
            auto_of(leaf).leaf = True
            made = _alias(held, leaf)
            end = edge_of(leaf)
            assert end is not None
            self._own.add(end[0])
            if _BLOCKS:
                _BLOCKS[-1].leaves.append(end[0])
        auto_of(made).entered = True
        self.tensors.append(dressed_like(tensor, made))
        return self.tensors[-1]

    def look_at(self, outputs: Sequence[Any]) -> None:
        """Set ``followed`` if the outputs depend on tensors that an outer level, or autograd, tracks."""
        self._own.update(_BLOCKS[-1].leaves if _BLOCKS else ())
        if self._outer and not self.followed:
            self.followed = self._depends_on_others(outputs)

    def _depends_on_others(self, tensors: Sequence[Any]) -> bool:
        """Return whether tensors depend on leaves that are neither this level's nor of levels within it."""
        return bool(_leaves_below(tensors) - self._own)

    def left(self, tree: Any) -> Any:
        """Return results of this level for the level around it, each detached unless it depends on tensors that an outer level tracks."""
        return tree_map(
            lambda leaf: leaf if leaf is None or self.followed and self._depends_on_others([leaf]) else _detached_in_maps(leaf), tree
        )

    def gradients(self, outputs: Sequence[Any], seeds: Sequence[Any], followed: bool | None = None) -> list[Any]:
        """Return the gradients of the inputs, given a gradient for each output; None for inputs that no output depends on."""
        create = self.followed if followed is None else followed
        further = innermost([seed for seed in seeds if any(map not in self.maps for map in maps_of(seed))])
        if further is not None and further not in self.maps:
            return self._by_slices(outputs, seeds, create, further)
        roots = []
        differing = differing_in(seeds)
        for tensor, seed in zip(outputs, seeds):
            held = core(tensor)
            edge = edge_of(held) if is_tracked(held) else None
            if edge is None or any(map not in maps_of(tensor) for map in self.maps):
                continue  # it does not depend on the inputs
            value = core(aligned(seed, tensor))
            differing |= differing_in((tensor,))
            roots.append((edge, value if create or LEVELS else bare(value)))
        if not roots:
            return [None] * len(self.tensors)
        found = engine.run(roots, True, create, self.ends)
        return [None if item is None else dressed_like(like, fresh(item), differing) for item, like in zip(found, self.tensors)]

    def _by_slices(self, outputs: Sequence[Any], seeds: Sequence[Any], create: bool, map: Map) -> list[Any]:
        """Return the gradients for batched seeds of an unbatched function: one pass per slice."""
        rows = []
        with outside(map.depth):
            for index in range(map.size):
                given = [seed.value.select(seed.bdim, index) if is_of(seed, map) else seed for seed in seeds]
                rows.append(self.gradients(outputs, given, create))
            if not rows:
                return [batched(like.new_zeros((0, *like._ms_shape)), 0, map) for like in self.tensors]
            return [
                None if parts[0] is None else batched(public("stack")(list(parts)), 0, map) for parts in zip(*rows)
            ]

    def wrapped(self, found: Sequence[Any]) -> list[Any]:
        """Return gradients as tensors, with zeros for None."""
        return [
            dressed_like(like, beside(tensor_of(np.zeros(core(like)._ms_shape, like._ms_dtype.np)), core(like)))
            if gradient is None else gradient
            for gradient, like in zip(found, self.tensors)
        ]


def fresh(value: Tensor | Array) -> Tensor:
    """Return a gradient as a tensor with its own memory."""
    if isinstance(value, np.ndarray) and value.base is not None and not _holds_all(value):
        value = np.array(value, order="C")
    return dressed(value)


def _holds_all(array: Array) -> bool:
    """Return whether a contiguous view covers all the memory of its base."""
    base = array.base
    return (
        base.__class__ is np.ndarray and base.base is None and base.nbytes == array.nbytes
        and array.flags.c_contiguous and array.flags.writeable and sys.getrefcount(base) <= 3
    )  # fmt: skip


def _leaves_below(tensors: Sequence[Any]) -> set[Node]:
    """Return the leaf nodes on which tensors depend."""
    held = [core(tensor) for tensor in tensors]
    waiting = [edge[0] for edge in (edge_of(tensor) for tensor in held if is_tracked(tensor)) if edge is not None]
    seen: set[Node] = set(waiting)
    ends: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, Accumulate):
            ends.add(node)
        for edge in node.edges:
            if edge is not None and edge[0] not in seen:
                seen.add(edge[0])
                waiting.append(edge[0])
    return ends


def _detached_in_maps(value: Tensor | None) -> Tensor | None:
    """Return a tensor detached from the autograd graph, in the same vmaps; a tensor that is not tracked unchanged."""
    held = core(value)
    return dressed_like(value, bare_twin(held)) if isinstance(held, TensorBase) and is_tracked(held) else value


def seed_of(cotangent: Tensor, output: Tensor) -> Tensor:
    """Return the gradient given for an output, cast to the output's dtype."""
    return cotangent if cotangent._ms_dtype is output._ms_dtype else cotangent.to(output._ms_dtype)


def one_hot(output: Tensor, index: int) -> Tensor:
    """Return an output gradient that is 1 at one element, and 0 at all others."""
    seed = np.zeros(output._ms_shape, output._ms_dtype.np)
    seed.reshape(-1)[index] = 1
    return beside(tensor_of(seed), core(output))


_numbers = itertools.count(1)


def writes_forbidden(arguments: Any) -> dict[str, Any]:
    """Return the attributes of ``modes`` that forbid writes to all tensors made before now, except to those in ``arguments``."""
    leaves = [core(leaf) for leaf in tree_flatten(arguments)[0] if isinstance(leaf, TensorBase)]
    duals = [leaf._ms_auto.tangents.values() for leaf in leaves if leaf._ms_auto is not None and leaf._ms_auto.tangents]
    tangents = [part for parts in duals for part in parts if part is not None]
    return {"admitted": frozenset(core(leaf)._ms_storage for leaf in (*leaves, *tangents)), "level": next(_numbers), "marks": True}


WRITES = ("admitted", "level", "marks")


class recording(Block):
    """Context manager that enables gradients for a transform; ``outer`` is the previous grad mode. While it runs a function with these
    arguments (if given), other tensors made before cannot be written.

    ``leaves`` collects the leaf nodes of the levels created in the block. A result may depend on them after their level has ended; they do
    not count as tracked by an outer level."""

    def __init__(self, arguments: Any = None) -> None:
        self._arguments = arguments

    def __enter__(self) -> recording:
        self.outer = modes.grad
        self.leaves: list[Node] = []
        handed = [functools.partial(_BLOCKS[-1].leaves.extend, self.leaves)] if _BLOCKS else []
        self.at_end(each(length_again(_BLOCKS), values_again(state, "levels"), values_again(modes, "grad", *WRITES), *handed))
        members, changed = vars(modes), {"grad": True}
        if self._arguments is not None:
            changed |= writes_forbidden(self._arguments)
        # From here on nothing is called, so that no signal handler can run: a block that has not begun does not end.
        state.levels += 1
        members |= changed
        _BLOCKS[END:] = (self,)
        return self


_BLOCKS: list[recording] = []


def flat_tensors(tree: Any, complain: Callable[[Any], BaseException]) -> tuple[list[Any], TreeSpec]:
    """Flatten a pytree into its leaves and TreeSpec. Raise ``complain(leaf)`` for a leaf that is not a tensor."""
    leaves, spec = tree_flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, TensorBase):
            raise complain(leaf)
    return leaves, spec


def entered(tree: Tensor | dict[Any, Any] | tuple[Tensor, ...], outer: bool) -> tuple[Level, Any]:
    """Return a Level for the tensors in a tree, and the tree with the tensors replaced by the level's inputs."""
    leaves, spec = flat_tensors(
        tree, lambda leaf: ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")
    )
    level = Level(leaves, outer)
    return level, tree_unflatten(level.inside, spec)


def chosen_positions(argnums: int | tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return nonnegative positions of the arguments to differentiate. Raise RuntimeError for invalid ``argnums``."""
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


def is_in_subclass(leaf: Any) -> bool:
    """Return whether a value is a tensor of a class that only adds to Tensor: not of a vmap, and without a ``__torch_dispatch__``."""
    kind = type(leaf)
    return issubclass(kind, Tensor) and kind not in PLAIN and core(leaf) is leaf and not dispatches(kind)


def aliases(tree: Any, outer: bool) -> Any:
    """Return a tree with aliases of its tensors, so that writes of a function leave the caller's tensors without a history. As in torch
    they are plain tensors, also those of subclasses that do not compute by themselves."""

    def alias(leaf: Any) -> Any:
        if leaf.__class__ is not Tensor and not is_in_subclass(leaf):
            return leaf
        return _alias(leaf, leaf) if outer and is_tracked(leaf) else bare_twin(leaf)

    return tree_map(_wrapping(alias), tree)


_entering: list[Callable[[Any], Any]] = []


def _wrapping(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the function that takes an argument into the level that begins: ``make``, or what a package has set in the place of
    ``torch._functorch.eager_transforms._wrap_tensor_for_grad``, which is to call the original, and gets what ``make`` makes."""
    room = above.eager_transforms
    own = room is None or room._wrap_tensor_for_grad is room.ORIGINAL
    if own:
        return make

    def wrap(leaf: Any) -> Any:
        _entering.append(make)
        try:
            return room._wrap_tensor_for_grad(leaf, level=state.levels)
        finally:
            _entering.pop()

    return wrap


def wrapped_at(leaf: Any, level: int) -> Any:
    """Return a tensor as an argument of the transform at ``level``, the first of which is 1; another value unchanged."""
    if not isinstance(leaf, TensorBase):
        return leaf
    if not 1 <= level <= state.levels:
        raise RuntimeError(f"mstorch: no transform of torch.func runs at level {level}")
    return _entering[-1](leaf) if _entering else aliases(leaf, True)


def entered_arguments(argnums: int | tuple[int, ...], args: tuple[Any, ...], outer: bool) -> tuple[Level, Any, tuple[Any, ...]]:
    """Return a Level for the selected arguments, these arguments within the level (one tree, or a tuple of trees), and all arguments within
    the level.
    """
    positions = chosen_positions(argnums, len(args))
    picked = args[positions[0]] if isinstance(argnums, int) else tuple(args[p] for p in positions)
    level, inside = entered(picked, outer)
    whole = [aliases(value, outer) for value in args]
    for position, value in zip(positions, (inside,) if isinstance(argnums, int) else inside):
        whole[position] = value
    return level, picked, tuple(whole)
