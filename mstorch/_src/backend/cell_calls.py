"""Calls of MindSpore Cells with torch's tensors, and the gradients of Cells that MindSpore must differentiate itself."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import mindspore
from mindspore import Parameter, ParameterTuple, ops

from ..leaving import END, Undo, item_again, undoing
from . import tape
from .namesake import namesake
from .raw import Raw

_ours: list[tuple[Callable[[Any], bool], Callable[..., Any], Callable[[Any, str, Any], None]]] = []


def handle_calls(ours: Callable[[Any], bool], call: Callable[..., Any], check: Callable[[Any, str, Any], None]) -> None:
    """Register how a Cell is called if ``ours(argument)`` is True for an argument: ``call(plain, cell, args, kwargs)``, where ``plain`` is
    the Cell's original ``__call__``.

    ``check(cell, name, value)`` is called when an attribute is assigned.
    """
    _ours[:] = [(ours, call, check)]


def convert_calls(cell: Any) -> None:
    """Make a Cell accept mstorch tensors: its class is replaced by a subclass of the same name that converts them."""
    cell.__class__ = namesake(type(cell), "converting", _converting_members)


def _converting_members(kind: type) -> dict[str, Any]:
    own: Callable[..., Any] = kind.__call__
    own_reduction: Callable[..., Any] = kind.__reduce_ex__

    def called(cell: Any, *args: Any, **kwargs: Any) -> Any:
        ours, call, _ = _ours[0]
        return call(own, cell, args, kwargs) if ours(args) or ours(kwargs) else own(cell, *args, **kwargs)

    def reduced(
        cell: Any, protocol: int
    ) -> tuple[Callable[..., Any] | tuple[Callable[..., Any] | type[Any] | tuple[Any]] | tuple[dict[Any, Any] | tuple[Any]] | None, ...]:
        function, given, *rest = tuple(own_reduction(cell, protocol))
        if given and given[0] is type(cell):
            return _made_again, (kind, function, given[1:]), *rest
        return function, given, *rest

    own_assignment: Callable[..., None] = kind.__setattr__

    def assigned(cell: Any, name: str, value: Any) -> None:
        _ours[0][2](cell, name, value)
        own_assignment(cell, name, value)

    return {"__call__": called, "__reduce_ex__": reduced, "__setattr__": assigned}


def _made_again(kind: type, function: Callable[..., Any], given: Sequence[Any]) -> Any:
    """Rebuild a Cell whose class was replaced to convert calls, without its state, for copies and pickles."""
    return function(namesake(kind, "converting", _converting_members), *given)


def differentiates_itself(cell: Any) -> bool:
    """Return whether the Cell or one of its descendants has a ``bprop``, ``recompute()`` or backward hooks."""
    return any(
        part.has_bprop or part._recompute_cell is not None or part._backward_hook or part._backward_pre_hook
        for _, part in cell.cells_and_names()
    )


@undoing
def not_recorded(undo: Undo, cell: Any) -> None:
    """Context manager in which MindSpore does not record calls of the Cell for autograd; ``mindspore.grad`` inside of it works.

    Backward hooks are removed for its duration: MindSpore builds a graph for them even if gradients are disabled.
    """
    names = ("_lazy_backward_hook", "_lazy_backward_pre_hook")
    kept = [(part.__dict__, name) for _, part in cell.cells_and_names() for name in names if part.__dict__.get(name)]
    undo[END:] = (tape.grad_enabled_again(), tape.recording_again(), *(item_again(*one) for one in kept))
    for members, name in kept:
        members[name] = None
    tape.set_recording(False)
    tape.set_grad_enabled(True)


def random_state() -> Raw:
    """Return the state of MindSpore's random generator."""
    return mindspore.get_rng_state()


@contextmanager
def as_it_was(cell: Any, state: Raw, keeps: Callable[[Any], bool]) -> Iterator[None]:
    """Context manager that lets a Cell's call start from the generator's saved state, and restores the Cell's statistics afterwards."""
    now = mindspore.get_rng_state()
    parts = [p for _, part in cell.cells_and_names() for p in part._params.values() if p is not None] if keeps(cell) else []
    values = [(p, p.asnumpy().copy()) for p in parts if not p.requires_grad]
    mindspore.set_rng_state(state)
    try:
        yield
    finally:
        mindspore.set_rng_state(now)
        for parameter, value in values:
            parameter.set_data(mindspore.Tensor(value))


def gradients(
    function: Callable[..., Any], raws: Sequence[Raw], weights: Sequence[Parameter], seeds: Sequence[Raw]
) -> list[Raw | None]:
    """Return MindSpore's gradients of ``function(*raws)``, weighted by ``seeds``: first those of all inputs, then those of the weights."""
    ours = tape.is_recording()
    tape.set_recording(False)
    try:
        with tape.native_set_to(True):
            find = ops.GradOperation(get_all=bool(raws), get_by_list=bool(weights), sens_param=True)
            take = find(function, ParameterTuple(weights)) if weights else find(function)
            found = take(*raws, seeds[0] if len(seeds) == 1 else tuple(seeds))
    finally:
        tape.set_recording(ours)
    if not weights:
        return list(found)
    return [*(found[0] if raws else ()), *(found[1] if raws else found)]
