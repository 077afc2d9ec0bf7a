"""A fresh graph is held against the function without it: values, and gradients where there are any.

MindSpore's kernels and derivatives are not the same in a graph, and wrong in places; this finds out before a user does.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._backend import tape
from .._backend.raw import NAME_OF, NP_DTYPE, Raw, from_numpy
from .._backend.trace import GraphBreak
from .._core.modes import modes
from .._core.storage import Storage
from .._core.tensor_base import is_tracked, value_of
from .functional import exchanged, source, stand_ins_for
from .trees import flatten, unflatten

# Largest difference allowed, as a part of the largest value.
_TOLERANCE = {"float16": 1e-2, "bfloat16": 5e-2, "float32": 1e-3, "complex64": 1e-3, "float64": 1e-7, "complex128": 1e-7}


def _copies(raws: Sequence[Raw], tracked: Sequence[bool]) -> list[Raw]:
    made = []
    for raw, follow in zip(raws, tracked):
        copy = from_numpy(np.array(raw.asnumpy(), order="C", copy=True))
        if follow and modes.grad:
            tape.mark_leaf(copy)
        made.append(copy)
    return made


@contextmanager
def _reference(
    function: Callable[..., Any], form: Any, arguments: Sequence[Any], numbers: Sequence[int], states: Sequence[Storage],
    raws: Sequence[Raw],
) -> Iterator[tuple[list[Any], list[Any]]]:  # fmt: skip
    """The outputs and the stand-ins of a run of the function on copies, while the copies are in place."""
    with exchanged(states, raws[len(numbers) :]):
        stand_ins = stand_ins_for(arguments, numbers, raws[: len(numbers)])
        args, kwargs = unflatten(form, iter(stand_ins))
        outputs: list[Any] = []
        flatten(function(*args, **kwargs), outputs)
        yield outputs, stand_ins


def fails(function: Callable[..., Any], form: Any, arguments: Sequence[Any], states: Sequence[Storage]) -> bool:
    """Whether the function raises without a graph; it runs on copies."""
    own = {id(storage) for storage in states}
    numbers = [i for i, tensor in enumerate(arguments) if id(tensor._storage) not in own]
    raws, tracked = _inputs(arguments, numbers, states)
    try:
        with _reference(function, form, arguments, numbers, states, _copies(raws, tracked)):
            return False
    except Exception:  # noqa: BLE001 - whatever the function raises
        return True


def _inputs(arguments: Sequence[Any], numbers: Sequence[int], states: Sequence[Storage]) -> tuple[list[Raw], list[bool]]:
    raws = [value_of(arguments[i]) for i in numbers] + [storage.value for storage in states]
    tracked = [is_tracked(arguments[i]) for i in numbers] + [storage.tracked for storage in states]
    return raws, tracked


def compare(entry: Any, function: Callable[..., Any], form: Any, arguments: Sequence[Any]) -> None:
    """Raise GraphBreak if the graph of an entry gives other values or gradients than the function itself."""
    if entry.graph is None:
        return
    raws, tracked = _inputs(arguments, entry.numbers, entry.states)
    theirs, ours = _copies(raws, tracked), _copies(raws, tracked)
    made = entry.plan
    results = entry.graph([*ours, *entry.natives, *entry.drawn])
    with _reference(function, form, arguments, entry.numbers, entry.states, theirs) as (outputs, stand_ins):
        pairs: list[tuple[Any, Raw, bool]] = []
        if len(outputs) != len(made.recipes):
            raise GraphBreak("the function does not do the same every time")
        for recipe, tensor in zip(made.recipes, outputs):
            if recipe.owner == "fresh":
                number, _, follow = made.fresh[recipe.number]
                pairs.append((number, tensor._storage.value, follow))
        pairs += [(number, storage.value, follow) for storage, number, follow in made.states]
        pairs += [
            (number, stand_ins[entry.numbers[i]]._storage.value, follow) for i, number, follow in made.arguments
        ]  # fmt: skip
        for number, want, _ in pairs:
            same(want, source(number, results), "value")
        _compare_gradients(pairs, results, [*theirs, *entry.natives], [*ours, *entry.natives])


def _compare_gradients(
    pairs: Sequence[tuple[Any, Raw, bool]], results: Sequence[Raw], theirs: Sequence[Raw], ours: Sequence[Raw]
) -> None:
    if not modes.grad:
        return
    followed = [
        (want, results[number]) for number, want, follow in pairs
        if follow and isinstance(number, int) and tape.is_recorded(want) and results[number]._requires_grad
    ]  # fmt: skip
    ends = [i for i, raw in enumerate(theirs) if raw._requires_grad]
    if not followed or not ends:
        return
    random = np.random.RandomState(0)
    gradients = [
        from_numpy(random.uniform(-1, 1, tuple(want.shape)).astype(NP_DTYPE[NAME_OF[want.dtype]])) for want, _ in followed
    ]  # fmt: skip
    wanted = tape.run_backward([want for want, _ in followed], gradients, [theirs[i] for i in ends], False, False)
    got = tape.run_backward([given for _, given in followed], gradients, [ours[i] for i in ends], False, False)
    # What cancels to zero (a bias before a normalisation) is noise of the size of the other gradients' rounding.
    noise = 0.02 * max((float(np.abs(_finite(raw)).max(initial=0.0)) for raw in wanted if raw is not None), default=0.0)
    for end, want, given in zip(ends, wanted, got):
        zeros = from_numpy(np.zeros(tuple(theirs[end].shape), NP_DTYPE[NAME_OF[theirs[end].dtype]]))
        same(zeros if want is None else want, zeros if given is None else given, "gradient", noise)


def _finite(raw: Raw) -> np.ndarray:
    array = raw.asnumpy()
    array = array.astype(np.float32) if NAME_OF[raw.dtype] == "bfloat16" else array
    return array[np.isfinite(array)]


def same(want: Raw, got: Raw, what: str, noise: float = 0.0) -> None:
    if tuple(want.shape) != tuple(got.shape) or want.dtype != got.dtype:
        raise GraphBreak(
            f"MindSpore's graph gives a {what} of shape {tuple(got.shape)} and {NAME_OF[got.dtype]}, not of {tuple(want.shape)} and "
            f"{NAME_OF[want.dtype]}"
        )
    expected, found = want.asnumpy(), got.asnumpy()
    name = NAME_OF[want.dtype]
    if name not in _TOLERANCE:
        if not np.array_equal(expected, found):
            raise GraphBreak(f"MindSpore's graph gives another {what}")
        return
    if name == "bfloat16":
        expected, found = expected.astype(np.float32), found.astype(np.float32)
    with np.errstate(all="ignore"):
        odd = ~np.isfinite(expected)
        if not np.array_equal(expected[odd], found[odd], equal_nan=True):
            raise GraphBreak(f"MindSpore's graph gives another {what}: NaN or infinity")
        scale = float(np.abs(expected[~odd]).max(initial=0.0))
        worst = float(np.abs(expected[~odd] - found[~odd]).max(initial=0.0))
    if not worst <= _TOLERANCE[name] * (scale + noise) + 1e-6:
        raise GraphBreak(f"MindSpore's graph gives another {what}, by up to {worst:.3g} of {scale:.3g}")
