"""jvp, linearize, jacfwd and hessian: directional derivatives, by forward mode.

``linearize`` keeps a function's derivative for later directions: the vjp is linear in its cotangent v, so that the vjp of the vjp with
respect to v, applied to a direction, is the directional derivative (Townsend, "A new trick for calculating Jacobian vector products",
2017).
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._functorch.vmap import vmap
from .._src.core import tangents
from .._src.core.modes import modes
from .._src.core.no_memory import tells_no_memory
from .._src.core.overriding import state
from .._src.core.tensor_base import TensorBase, auto_of, is_tracked, tensor_of
from .._src.core.trees import TreeSpec, tree_flatten, tree_map, tree_unflatten
from .._src.leaving import END, Block, each, values_again
from .._src.ops.memory.creation import zeros_like
from .._src.tape import engine
from .._src.tape.bare import bare
from .._src.tape.moving import beside
from .._src.tape.node import edge_of
from .._tensor import Tensor
from ..autograd import forward_ad
from ..autograd._dual import MAPPED, apart, check_sizes, joined
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
from ._levels import WRITES, aliases, chosen_positions, fresh, recording, seed_of, writes_forbidden
from ._reverse import Pull, check_real, jacrev, with_aux


class Push:
    """A function that has been run once, and can then push tangents of its arguments forward to its outputs."""

    def __init__(self, func: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool, words: str) -> None:
        self.pull = Pull(func, tuple(range(len(primals))), primals, has_aux, words, writes=False)
        level = self.pull.level
        with recording():
            self.dummies: list[Any] = []
            for output in self.pull.outputs:
                dummy = beside(tensor_of(np.zeros(core(output)._ms_shape, output._ms_dtype.np)), core(output))
                if not output._ms_dtype.is_integral:
                    auto_of(dummy).leaf = True
                self.dummies.append(dressed_like(output, dummy))
            # The dummies are leaves of this level too: with create_graph, the gradients depend on them.
            self.gradients = level.gradients(self.pull.outputs, self.dummies, True)

    def push(self, tangents: Sequence[Any]) -> list[Any]:
        """Return the directional derivative of each output."""
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
        places = [i for i, output in enumerate(self.pull.outputs) if not output._ms_dtype.is_integral]
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
            dressed_like(dummy, beside(tensor_of(np.zeros(core(dummy)._ms_shape, dummy._ms_dtype.np)), core(dummy)))
            if result is None else result
            for result, dummy in zip(results, self.dummies)
        ]

    def _by_slices(self, tangents: Sequence[Any], map: Any) -> list[Any]:
        """Return the directional derivatives for batched tangents of an unbatched function: one pass per slice."""
        with outside(map.depth):
            rows = [
                self.push([tangent.value.select(tangent.bdim, index) if is_of(tangent, map) else tangent for tangent in tangents])
                for index in range(map.size)
            ]
            return [batched(public("stack")(list(parts)), 0, map) for parts in zip(*rows)]

    @property
    def independent(self) -> bool:
        """True if no output depends on an argument."""
        return all(gradient is None for gradient in self.gradients)


def _tensors_of(primals: Tensor | tuple[Tensor, ...], words: str, what: str = "primals") -> tuple[list[Any], TreeSpec]:
    leaves, spec = tree_flatten(primals)
    for leaf in leaves:
        if not isinstance(leaf, TensorBase):
            raise RuntimeError(f"{words}: Expected {what} to only contain Tensors, got {type(leaf)}")
    return leaves, spec


class _Level(Block):
    """A level of forward mode for one run of a function; levels may be nested."""

    def __enter__(self) -> int:
        if forward_ad._current_level >= 0:
            raise RuntimeError("Nested forward mode AD is not supported at the moment")
        before, outside = values_again(modes, "forward", "levels", *WRITES), values_again(state, "levels")
        level, leave = tangents.new()
        self.at_end(each(before, outside, leave, functools.partial(_differing.pop, level, None)))
        modes.forward = True
        modes.levels += 1
        state.levels += 1
        tangents.LEVELS[END:] = (level,)
        return level


def jvp(
    func: Callable[..., Any], primals: tuple[Tensor, ...], tangents: tuple[Tensor, ...], *, strict: bool = False, has_aux: bool = False
) -> tuple[Tensor | dict[Any, Any] | tuple[Tensor, Tensor], ...]:
    """Return ``func(*primals)`` and its derivative along ``tangents``; with ``has_aux`` also the aux that ``func`` returns.

    With ``strict``, raise RuntimeError if a result does not depend on the arguments. ``jvp`` may be nested in itself and in ``grad``.
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
    return _pushed(func, leaves, directions, lambda duals: tree_unflatten(duals, spec), strict, has_aux)


def _pushed(
    func: Callable[..., Any], leaves: Sequence[Any], directions: Sequence[Any], arguments: Callable[[list[Any]], Sequence[Any]],
    strict: bool, has_aux: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """Return ``func(*arguments(duals))``, its derivative along the tangents (None means zeros), and aux if requested."""
    words = "jvp(f, primals, tangents)"
    with _Level() as level:
        duals = [leaf if one is None else _joined(leaf, one, level) for leaf, one in zip(leaves, directions)]
        vars(modes).update(writes_forbidden((arguments(duals), directions)))
        output, aux = with_aux(words, func(*arguments(duals)), has_aux)
        flat, spec = tree_flatten(output)
        if not flat or output is None:
            raise RuntimeError(f"{words}: Expected f to be a function that has non-empty output (got output = {flat})")
        for item in flat:
            if not isinstance(item, TensorBase):
                raise RuntimeError(f"{words}: expected f(*primals) to return only tensors, got unsupported type {type(item)}")
        pairs = [_parted(item, level) for item in flat]
        if strict and any(tangent is None for _, tangent in pairs):
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with "
                "strict=True."
            )
        values = tree_unflatten([value for value, _ in pairs], spec)
        derivative = tree_unflatten([public("zeros_like")(value) if tangent is None else tangent for value, tangent in pairs], spec)
        if has_aux:
            return values, derivative, tree_map(lambda item: _parted(item, level)[0] if isinstance(item, TensorBase) else item, aux)
    return values, derivative


def _joined(primal: Tensor, tangent: Tensor, level: int) -> Tensor:
    for what, given in (("primal", primal), ("tangent", tangent)):
        if given._ms_dtype.is_integral:
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {given._ms_dtype}")
    if not state.maps:
        return joined(primal, tangent, level)
    check_sizes(primal, tangent)
    _differing.setdefault(level, set()).update(differing_in((tangent,)))
    primal = everywhere(primal, state.maps)
    value = core(primal)
    if value._ms_stride is not None and 0 in value._ms_stride:  # expanded over the vmaps: each slice has its own tangent
        value = value.contiguous()
    return dressed_like(primal, joined(value, core(aligned(tangent, primal)), level))


def _parted(item: Any, level: int) -> tuple[Any, Any]:
    """Return a result without its tangent at this level, and the tangent. Return the result itself and None if it has no tangent at this
    level."""
    value, tangent = apart(core(item), level)
    if tangent is None:
        return item, None
    return dressed_like(item, value), dressed_like(item, tangent, _differing.get(level, ()))


# The vmaps over which the tangents of a level differ. Values of a level's tensors may be alike where their tangents are not.
_differing: dict[int, set[Map]] = {}


MAPPED.extend((_joined, _parted))


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Return ``func(*primals)`` and a function that maps tangents to directional derivatives without running ``func`` again."""
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
    func: Callable[..., Any], argnums: int | tuple[int, int] = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of ``func`` in forward mode: for each output, a tensor of shape ``output.shape +
    arg.shape``.

    ``func`` runs once, under ``vmap`` over the elements of the arguments; ``randomness`` is "error", "same" or "different".
    """

    @functools.wraps(func)
    def wrapper(*args: Any) -> Any:
        positions = chosen_positions(argnums, len(args))
        picked = args[positions[0]] if isinstance(argnums, int) else tuple(args[p] for p in positions)
        leaves, spec = _tensors_of(picked, "jvp(f, primals, tangents)")
        check_real("jacfwd", leaves, "inputs")

        def arguments(duals: list[Any]) -> list[Any]:
            inside = tree_unflatten(duals, spec)
            whole = [value if position in positions else aliases(value, modes.grad) for position, value in enumerate(args)]
            for position, value in zip(positions, (inside,) if isinstance(argnums, int) else inside):
                whole[position] = value
            return whole

        def along(*directions: Any) -> Any:
            found = _pushed(func, leaves, directions, arguments, False, has_aux)
            return found[1:]

        counts = [leaf.numel() for leaf in leaves]
        if sum(counts):
            found = vmap(along, randomness=randomness)(*_units(leaves, counts))
        else:
            found = tree_map(lambda item: item.unsqueeze(0), along(*map(zeros_like, leaves)))
            found = (tree_map(lambda item: item[:0], found[0]), *found[1:])
        rows, out_spec = tree_flatten(found[0])
        check_real("jacfwd", rows, "outputs")
        trees = [
            tree_unflatten([
                part.movedim(0, -1).reshape((*row.shape[1:], *leaf.shape)) for part, leaf in zip(row.split(counts), leaves)
            ], spec)
            for row in rows
        ]  # fmt: skip
        jacobians = tree_unflatten(trees, out_spec)
        return (jacobians, tree_map(lambda item: item[0], found[1])) if has_aux else jacobians

    return wrapper


@tells_no_memory
def _units(leaves: Sequence[Any], counts: Sequence[int]) -> list[Any]:
    """Return one-hot tangents for each element of the tensors, stacked: (total elements, *shape) for each tensor."""
    total, start, found = sum(counts), 0, []
    for leaf, count in zip(leaves, counts):
        whole = np.eye(total, count, -start, dtype=leaf._ms_dtype.np)
        found.append(beside(tensor_of(whole.reshape(total, *leaf._ms_shape)), core(leaf)))
        start += count
    return found


def hessian(func: Callable[..., Any], argnums: int | tuple[int, int] = 0) -> Callable[..., Any]:
    """Return a function that computes the Hessian of ``func``."""
    return jacfwd(jacrev(func, argnums), argnums)
