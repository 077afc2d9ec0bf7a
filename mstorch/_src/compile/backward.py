"""The gradients of a captured function as a graph of their own.

The function runs once with mstorch's autograd, on the values of the capture. Its backward is captured in turn: the inputs of that graph are
the gradients of the results and what the nodes have saved, which the first graph returns beside the results. So the kernels of both passes
are launched by MindSpore from C++, and the gradients are those of mstorch's own rules.
"""
from __future__ import annotations

import gc
import math
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...nn.modules.module import Module
from ..backend import trace
from ..backend.raw import NAME_OF, NP_DTYPE, Raw, from_numpy, raw_dtype, raw_shape, raw_size
from ..backend.table import kernel
from ..backend.tape import native_set_to
from ..backend.trace import Capture, Graph, KernelBreak
from ..backend.turns import LOCK
from ..core.auto import Auto
from ..core.storage import NativeBlock
from ..core.tensor_base import TensorBase, is_tracked
from ..tape import engine
from ..tape.node import Edge, Node, edge_of, is_leaf
from .memory import copy_of

_reshape = kernel("reshape")


class _Start(Node):
    """The node of an argument that is no leaf: gradients end there."""

    __slots__ = ()

    label = "Argument"


def follow(stand_in: Any, tensor: Any) -> None:
    """Let autograd track what is computed from an argument's replacement as it would for the argument."""
    if not is_tracked(tensor) or tensor._ms_dtype.is_integral:
        return
    if is_leaf(tensor):
        stand_in._ms_auto = Auto()
        stand_in._ms_auto.leaf = True
    else:
        stand_in._ms_node = _Start(())


def ends_of(stand_ins: Sequence[Any], states: Sequence[Any]) -> list[Edge | None]:
    """Return where the gradients of the graph's inputs arrive; None for an input without one.

    Raise KernelBreak for a parameter with hooks: they would run in the capture, and again when the graph's gradient arrives."""
    ends = [None if item._ms_dtype.is_integral or not is_tracked(item) else edge_of(item) for item in (*stand_ins, *states)]
    if any(end is not None and end[0].marks is not None for end in ends):
        raise KernelBreak("a parameter has hooks")
    return ends


class Backward:
    """The graph of a function's gradients: ``saved`` are its inputs beside the results' gradients, as numbers of the first graph's outputs,
    or, from -1 downwards, of its inputs; ``places`` are the inputs whose gradients it returns, in order. ``numbers`` are the results that
    have gradients, ``likes`` their shapes and dtypes, ``reached`` the inputs that the gradient of each comes to. Of the saved values at
    ``copied`` a run keeps copies, because they may lie in memory that the function writes to."""

    def __init__(
        self, graph: Graph | None, saved: list[int], likes: list[tuple[tuple[int, ...], str]], reached: dict[int, set[int]],
        places: list[int], copied: set[int],
    ) -> None:  # fmt: skip
        self.graph, self.saved, self.likes, self.numbers, self.places = graph, saved, likes, list(reached), places
        self.reached, self.copied = reached, copied

    def kept(self, inputs: Sequence[Raw], outputs: Sequence[Raw]) -> list[Raw]:
        """Return the values of a run of the first graph that backward needs."""
        kept = [outputs[number] if number >= 0 else inputs[-1 - number] for number in self.saved]
        for place in self.copied:
            kept[place] = copy_of(kept[place])
        return kept

    def run(self, seeds: Sequence[Raw | None], kept: Sequence[Raw]) -> list[Raw]:
        """Return the gradients of the inputs at ``places``; a result without a gradient counts as zeros."""
        filled = [_zeros(*like) if seed is None else seed for seed, like in zip(seeds, self.likes)]
        with LOCK, native_set_to(False):
            return list(self.graph([*filled, *kept])) if self.graph is not None else []


def _zeros(shape: tuple[int, ...], name: str) -> Raw:
    return from_numpy(np.zeros(shape, NP_DTYPE[name]))


def _seed(raw: Raw) -> Raw:
    return from_numpy(np.ones(raw_shape(raw), NP_DTYPE[NAME_OF[raw_dtype(raw)]]))


class _Reshaped(Node):
    """The node of an output that is seen in another shape: it gives the gradient that shape."""

    __slots__ = ("shape",)

    def __init__(self, edge: Edge, shape: tuple[int, ...]) -> None:
        super().__init__((edge,))
        self.shape = shape

    def run(self, gradients: Sequence[Any], recorded: bool) -> Sequence[Any]:
        """Return the gradient in the shape."""
        return (_reshape[NAME_OF[raw_dtype(gradients[0])]](gradients[0], self.shape),)


def _is_all_of(tensor: Any, raw: Raw) -> bool:
    return tensor._ms_stride is None and not tensor._ms_offset and math.prod(tensor._ms_shape) == raw_size(raw)


def roots_of(raws: Sequence[Raw], shown: Sequence[Any]) -> dict[int, Edge]:
    """Return by number the edges of the graph's outputs that autograd tracks; ``shown`` are the tensors in which they are returned.

    Raise KernelBreak if one is seen by a view only."""
    roots: dict[int, Edge] = {}
    for number, raw in enumerate(raws):
        over = [tensor for tensor in shown if getattr(tensor._ms_storage, "raw", None) is raw]
        if not any(map(is_tracked, over)):
            continue
        bases = [tensor._ms_auto.base for tensor in over if tensor._ms_auto is not None and tensor._ms_auto.base is not None]
        whole = [tensor for tensor in (*over, *bases) if _is_all_of(tensor, raw) and edge_of(tensor) is not None]
        for tensor in sorted(whole, key=lambda tensor: tensor._ms_shape != raw_shape(raw))[:1]:  # the first of the output's own shape
            edge: Any = edge_of(tensor)
            roots[number] = edge if tensor._ms_shape == raw_shape(raw) else (_Reshaped(edge, tensor._ms_shape), 0)
        if number not in roots:
            raise KernelBreak("a view is returned whose base is not")
    return roots


def held_by(roots: dict[int, Edge]) -> list[Any]:
    """Return the tensors that the nodes below some edges hold for backward."""
    waiting: list[Any] = [node for node, _ in roots.values()]
    seen = {id(item) for item in waiting}
    tensors: list[Any] = []
    while waiting:
        for item in _referents(waiting.pop()):
            if id(item) in seen or issubclass(type(item), _OTHER):  # `isinstance` would ask the item, which may warn or compute
                continue
            seen.add(id(item))
            waiting.append(item)
            if issubclass(type(item), TensorBase):
                tensors.append(item)
    return tensors


def _referents(item: Any) -> Sequence[Any]:
    """Return what an object refers to; of a function not its globals, through which everything that was imported can be reached."""
    if type(item) is types.FunctionType:
        return item.__closure__ or (), item.__defaults__, item.__kwdefaults__
    return gc.get_referents(item)


_OTHER = (type, types.ModuleType, types.CodeType, str, int, float, Raw, Module)


def needed(context: Capture, roots: dict[int, Edge], raws: Sequence[Raw], ends: Sequence[Edge | None]) -> list[Raw]:
    """Return the values that the gradients are computed from, by computing them in the first graph, which leaves out what it does not
    return. Twice, because a view is read from its base the first time and known then."""
    found: dict[int, Raw] = {}
    for _ in range(2):
        context.before, context.needed = frozenset(context.depends), {}
        try:
            engine.run([(edge, _seed(raws[number])) for number, edge in roots.items()], True, False, list(ends))
        finally:
            found, context.needed = context.needed, None
    return list(found.values())


def capture(
    name: str, block: NativeBlock, first: Capture, roots: dict[int, Edge], raws: Sequence[Raw], ends: Sequence[Edge | None],
    saved: Sequence[Raw], inputs: Sequence[Raw], written: int,
) -> Backward:  # fmt: skip
    """Capture the backward pass after the first graph; ``saved`` is the result of ``needed``, ``inputs`` are the first graph's, and
    ``written`` are those, as bits, that the function writes to."""
    seeds = [_seed(raws[number]) for number in roots]
    places: list[int] = []

    def body(context: Capture) -> list[Raw]:
        with block:
            grads = engine.run([(edge, seed) for edge, seed in zip(roots.values(), seeds)], True, False, list(ends))
        results: list[Raw] = []
        for place, gradient in enumerate(grads):
            if gradient is None:
                continue
            if not isinstance(gradient, Raw) or id(gradient) not in context.depends:
                raise KernelBreak("a gradient does not depend on what the graph computes")
            places.append(place)
            results.append(gradient)
        return results

    graph, context = trace.capture(body, [*seeds, *saved], f"{name}_backward", differentiated=False)
    if context.draws or any(key in first.depends for key in context.foreign):
        raise KernelBreak("gradients need what the graph does not know")
    numbers = {id(raw): number for number, raw in enumerate(raws)}
    of_inputs = {id(raw): -1 - number for number, raw in enumerate(inputs)}
    own = len(raws)
    kept: list[int] = []
    for raw in saved:
        number = numbers.get(id(raw), of_inputs.get(id(raw)))
        if number is None:
            number, own = own, own + 1
        kept.append(number)
    likes = [(tuple(raw_shape(seed)), NAME_OF[raw_dtype(seed)]) for seed in seeds]
    copied = {place for place, raw in enumerate(saved) if first.depends.get(id(raw), 0) & written}
    return Backward(graph, kept, likes, {number: _reached(edge, ends) for number, edge in roots.items()}, places, copied)


def _reached(root: Edge, ends: Sequence[Edge | None]) -> set[int]:
    """Return the places of the ends below an edge."""
    waiting, seen = [root], {root}
    while waiting:
        for edge in waiting.pop()[0].edges:
            if edge is not None and edge not in seen:
                seen.add(edge)
                waiting.append(edge)
    return {place for place, end in enumerate(ends) if end in seen}


def beside(raws: Sequence[Raw], saved: Sequence[Raw], inputs: Sequence[Raw]) -> list[Raw]:
    """Return what the first graph returns beside the results, in the order that ``capture`` counts."""
    known = {id(raw) for raw in (*raws, *inputs)}
    return [raw for raw in saved if id(raw) not in known]


__all__ = ["Backward", "beside", "capture", "ends_of", "follow", "held_by", "needed", "roots_of"]
