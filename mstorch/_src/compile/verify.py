"""Verification of a new graph against the eager function: values, and gradients if there are any.

MindSpore's kernels and gradients in graphs differ from eager ones, and are wrong in places.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._tensor import Tensor
from ..backend import tape
from ..backend.arrays import Array
from ..backend.raw import NAME_OF, ON_CPU, Raw, from_numpy, to_arrays
from ..backend.tape import native_set_to
from ..backend.trace import GraphBreak, KernelBreak
from ..backend.turns import LOCK
from ..core.modes import modes
from ..core.postponed import Call, postponed
from ..core.tensor_base import TensorBase, array_of, is_tracked, whole_storage
from ..quiet import quiet
from ..tape import engine
from ..tape.node import edge_of
from .functional import array_source, copied, copied_memory, replaced
from .memory import copy_of, input_of, refuse_cpu, state_value, stays_behind
from .steps import Step, input_values
from .trees import flatten, unflatten

if TYPE_CHECKING:
    from .entry import Entry

# Largest allowed difference, relative to the largest value.
_TOLERANCE = {"float16": 1e-2, "bfloat16": 5e-2, "float32": 1e-3, "complex64": 1e-3, "float64": 1e-7, "complex128": 1e-7}


@contextmanager
def _reference(
    function: Callable[..., Any], form: tuple[Any, ...], arguments: Sequence[Any], numbers: Sequence[int],
    states: Sequence[Any]
) -> Iterator[tuple[list[Any], list[Any], list[Any]]]:
    """Run the function on copies of its tensors, as a generator: yield its outputs, the copies, and the edges at which gradients are wanted
    (None: no gradient)."""
    with copied_memory(states):
        made = [copied(arguments[i]) for i in numbers]
        ends = [edge_of(owner) if is_tracked(owner) and not owner._ms_dtype.is_integral else None for owner in (*made, *states)]
        args, kwargs = unflatten(form, iter(replaced(arguments, numbers, made)))
        outputs: list[Any] = []
        flatten(function(*args, **kwargs), outputs)
        yield outputs, made, ends


def fails(function: Callable[..., Any], form: Any, arguments: Sequence[Any], states: Sequence[Any]) -> bool:
    """Return whether the function, run eagerly on copies, raises."""
    own = {id(tensor._ms_storage) for tensor in states}
    numbers = [i for i, tensor in enumerate(arguments) if id(tensor._ms_storage) not in own]
    try:
        with _reference(function, form, arguments, numbers, states):
            return False
    except Exception:  # noqa: BLE001 - whatever the function raises
        return True


def compare(entry: Any, function: Callable[..., Any], form: Any, arguments: Sequence[Any]) -> None:
    """Raise GraphBreak if the graph of an entry gives other values or gradients than the eager function.

    The eager run also determines which results require grad.
    """
    made = entry.plan
    if entry.graph is None and not made.recipes:
        return
    inputs = [copy_of(input_of(arguments[i])) for i in entry.numbers] + [copy_of(state_value(tensor)) for tensor in entry.states]
    step = entry.step
    if step is not None:
        inputs += [copy_of(raw) for raw in input_values(step.inputs)]
    states = [*entry.states, *([] if step is None else step.gradients())]
    with _reference(function, form, arguments, entry.numbers, states) as (outputs, stand_ins, ends):
        if len(outputs) != len(made.recipes):
            raise GraphBreak("the function does not do the same every time")
        if any(map(stays_behind, outputs)):
            refuse_cpu("a result is a tensor of the CPU")
        pairs: list[tuple[Any, Any]] = []
        for recipe, tensor in zip(made.recipes, outputs):
            recipe.tracked = is_tracked(tensor)
            if recipe.owner == "fresh":
                number = made.fresh[recipe.number]
                pairs.append((number, tensor))
                if isinstance(number, int):
                    made.tracked[number] = made.tracked[number] or recipe.tracked
        values = [(number, np.array(array_of(_whole_storage(tensor)))) for number, tensor in pairs]
        values += [(number, np.array(array_of(whole_storage(tensor)))) for tensor, number in made.states]
        for i, number in made.arguments:
            tensor = stand_ins[i]
            values.append((number, np.array(array_of(tensor))))
            if isinstance(number, int):
                made.tracked[number] = made.tracked[number] or is_tracked(tensor)
                pairs.append((number, tensor))
        entry.settle()
        if entry.graph is None:
            return
        if step is not None:
            _compare_step(entry, step, inputs, values, postponed.calls or ())
            return
        if entry.follows and not set(np.flatnonzero(made.tracked)) <= set(() if entry.backward is None else entry.backward.numbers):
            raise KernelBreak("a result that requires grad has no gradient in the graph")
        _compare_run(entry, inputs, [*stand_ins, *entry.states], ends, values, pairs)


def _compare_step(entry: Entry, step: Step, inputs: list[Raw], values: Sequence[tuple[Any, Array]], calls: Sequence[Call]) -> None:
    expected = step.expect()
    with LOCK, native_set_to(False):
        results = entry.graph([*inputs, *entry.natives, *entry.drawn])
    _compare_values(values, results)
    given = step.results(results[len(entry.plan.raws) :])
    if any(want is None for _, want in expected):
        raise KernelBreak("a gradient is missing")
    wanted = [from_numpy(want) for _, want in expected if want is not None]
    tensors = [value for _, args, kwargs in calls for value in (*args, *kwargs.values()) if isinstance(value, TensorBase)]
    if len(tensors) != len(step.handed()):
        raise GraphBreak("the function does not do the same every time")
    for tensor, number in zip(tensors, step.handed()):
        same(from_numpy(np.array(array_of(tensor))), results[len(entry.plan.raws) + number], "value")
    _compare_gradients([leaf for leaf, _ in expected], wanted, [from_numpy(np.array(given[id(leaf)], order="C")) for leaf, _ in expected])


def _compare_values(values: Sequence[tuple[Any, Array]], results: Sequence[Raw]) -> None:
    for number, want in values:
        given = np.array(array_source(number, results))
        if given.size != want.size:
            raise KernelBreak("a result shows the memory of a tensor of another dtype")
        same(from_numpy(want), from_numpy(given.reshape(want.shape)), "value")


def _whole_storage(tensor: Tensor) -> Any:
    """Return an output's whole storage, which is what the graph returns."""
    whole = whole_storage(tensor)
    return tensor if tensor._ms_stride is None and tensor.numel() == whole.numel() else whole


def _as_it_lies(values: Array, tensor: Any) -> Array:
    """Return the values of a dense tensor as a flat array in memory order; row-major values unchanged."""
    if tensor._ms_stride is None:
        return values
    flat = np.empty(values.size, values.dtype)
    np.lib.stride_tricks.as_strided(flat, values.shape, [step * flat.itemsize for step in tensor._ms_stride])[...] = values
    return flat


def _compare_run(
    entry: Entry, inputs: list[Raw], owners: Sequence[Any], ends: Sequence[Any], values: Sequence[Any], pairs: Sequence[Any]
) -> None:
    places = [i for i, (end, cut) in enumerate(zip(ends, entry.cut)) if modes.grad and not cut and end is not None]
    differentiated = bool(places) and not entry.follows
    with LOCK, native_set_to(differentiated):
        for place in places if differentiated else ():
            tape.mark_leaf(inputs[place])
        if differentiated:
            tape.start_recording()
        try:
            results = entry.graph([*inputs, *entry.natives, *entry.drawn])
            _compare_values(values, results)
            followed = [
                (tensor, results[number]) for number, tensor in pairs
                if isinstance(number, int) and is_tracked(tensor) and edge_of(tensor) is not None
                and (entry.follows or results[number]._requires_grad) and tensor.numel() == results[number].size
            ]  # fmt: skip
            if not followed or not places:
                return
            random = np.random.RandomState(0)
            seeds = [random.uniform(-1, 1, tensor._ms_shape).astype(tensor._ms_dtype.np) for tensor, _ in followed]
            wanted = _gradients([tensor for tensor, _ in followed], seeds, [ends[place] for place in places])
            faces = [from_numpy(_as_it_lies(seed, tensor).reshape(tuple(given.shape))) for seed, (tensor, given) in zip(seeds, followed)]
            if entry.follows:
                found_there: Sequence[Raw | None] = _own_gradients(entry, inputs, results, followed, faces, places)
            else:
                found_there = tape.run_backward([given for _, given in followed], faces, [inputs[place] for place in places], False, False)
            _compare_gradients([owners[place] for place in places], wanted, found_there)
        finally:
            tape.stop_recording()  # whatever was raised: the next operation of the device would be recorded in the graph's run


def _compare_gradients(owners: Sequence[Any], wanted: Sequence[Raw | None], got: Sequence[Raw | None]) -> None:
    # A gradient that cancels to zero (a bias before a normalization) consists of rounding errors of the others' size.
    noise = 0.02 * max((float(np.abs(_finite(raw)).max(initial=0.0)) for raw in wanted if raw is not None), default=0.0)
    for owner, want, given in zip(owners, wanted, got):
        zeros = from_numpy(np.zeros(owner._ms_shape, owner._ms_dtype.np))
        want = zeros if want is None else want
        same(want, zeros if given is None else given.reshape(want.shape), "gradient", noise)


def _own_gradients(
    entry: Entry, inputs: list[Raw], results: Sequence[Raw], followed: Sequence[Any], faces: Sequence[Raw], places: Sequence[int]
) -> list[Raw | None]:  # fmt: skip
    """Return the gradients that the graph of the backward pass gives, for the inputs at ``places``."""
    if entry.backward is None:
        raise KernelBreak("the graph has no gradients")
    seeds = {number: face for number in entry.backward.numbers for (_, given), face in zip(followed, faces) if results[number] is given}
    if len(seeds) < len({id(given) for _, given in followed}):
        raise KernelBreak("a result has no gradient in the graph")
    kept = entry.backward.kept([*inputs, *entry.natives, *entry.drawn], results)
    found = dict(zip(entry.backward.places, entry.backward.run([seeds.get(number) for number in entry.backward.numbers], kept)))
    return [found.get(place) for place in places]


def _gradients(roots: Sequence[Any], seeds: Sequence[Array], ends: Sequence[Any]) -> list[Raw | None]:
    """Return the eager gradients, outside MindSpore's autograd."""
    tape.stop_recording()
    with native_set_to(False):
        starts: list[Any] = [(edge_of(root), seed if ON_CPU else from_numpy(seed)) for root, seed in zip(roots, seeds)]
        found = engine.run(starts, True, False, ends)
    return [None if gradient is None else from_numpy(np.ascontiguousarray(to_arrays(gradient))) for gradient in found]


def _finite(raw: Raw) -> Array:
    array = raw.asnumpy()
    array = array.astype(np.float32) if NAME_OF[raw.dtype] == "bfloat16" else array
    return array[np.isfinite(array)]


def same(want: Raw, got: Raw, what: str, noise: float = 0.0) -> None:
    if tuple(want.shape) != tuple(got.shape) or want.dtype != got.dtype:
        raise KernelBreak(
            f"MindSpore's graph gives a {what} of shape {tuple(got.shape)} and {NAME_OF[got.dtype]}, not of {tuple(want.shape)} and "
            f"{NAME_OF[want.dtype]}"
        )
    expected, found = want.asnumpy(), got.asnumpy()
    name = NAME_OF[want.dtype]
    if name not in _TOLERANCE:
        if not np.array_equal(expected, found):
            raise KernelBreak(f"MindSpore's graph gives another {what}")
        return
    if name == "bfloat16":
        expected, found = expected.astype(np.float32), found.astype(np.float32)
    with quiet():
        odd = ~np.isfinite(expected)
        if not np.array_equal(expected[odd], found[odd], equal_nan=True):
            raise KernelBreak(f"MindSpore's graph gives another {what}: NaN or infinity")
        scale = float(np.abs(expected[~odd]).max(initial=0.0))
        worst = float(np.abs(expected[~odd] - found[~odd]).max(initial=0.0))
    if not worst <= _TOLERANCE[name] * (scale + noise) + 1e-6:
        raise KernelBreak(f"MindSpore's graph gives another {what}, by up to {worst:.3g} of {scale:.3g}")
