"""Updates of many parameters at once on a device: they are concatenated, so that each operation is one kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._src.core.mirrors import modes_are_on
from .._src.core.overriding import TENSORS
from .._src.core.tensor_base import array_of, is_tracked
from .._src.ops.memory.from_data import tensor as make
from .._src.ops.memory.together import can_be_laid_out, known_number, laid_out, parts_of, put_back, set_together
from .._src.tape.ways import ways
from .._tensor import Tensor

Lists = dict[str, list[Any]]


def _known_on_host(counter: Any) -> float | None:
    return None if counter.__class__ is not Tensor or is_tracked(counter) else float(array_of(counter))


@ways(host=_known_on_host, device=known_number)
def _value(counter: Any) -> float | None:
    """Return the value of a counter on the host; None for a counter on a device whose value the host does not know."""
    return None


def _values(counters: Sequence[Any]) -> list[float | None]:
    """Return the values of a parameter's counters, see ``_value``."""
    values = []
    for counter in counters:
        array = counter._ms_array  # the usual counter: in host memory, and autograd does not track it
        usual = array is not None and counter._ms_auto is None and counter._ms_node is None and not counter._ms_storage.moved
        values.append(float(array) if usual and counter.__class__ is Tensor else _value(counter))
    return values


def _are_alike(param: Tensor, grad: Tensor, states: Sequence[Any]) -> bool:
    """Return whether a gradient and a parameter's state are plain tensors of its shape and dtype, and the gradient, which autograd does not
    track, is where the parameter is."""
    for item in (grad, *states):
        if item.__class__ is not Tensor or item._ms_shape != param._ms_shape or item._ms_dtype is not param._ms_dtype:
            return False
    tracked = grad._ms_node is not None or (grad._ms_auto is not None and is_tracked(grad))
    return grad._ms_storage.__class__ is param._ms_storage.__class__ and not tracked


def _batches(params: list[Tensor], grads: list[Tensor], lists: Lists, counters: Sequence[str]) -> Iterator[list[int]]:
    """Yield the indices of parameters that one update may process together: of one dtype and with equal step counters, up to a number of
    elements."""
    sizes = [math.prod(param._ms_shape) if param.__class__ in TENSORS else param.numel() for param in params]
    plain = not modes_are_on()
    kinds: dict[Any, list[int]] = {}
    for place, (param, grad) in enumerate(zip(params, grads)):
        states = [values[place] for name, values in lists.items() if values and name not in counters]
        key: Any = place
        # A subclass's own methods, and modes, see each parameter's update.
        if plain and param.__class__ in TENSORS and _are_alike(param, grad, states):
            counts = _values([lists[name][place] for name in counters if lists[name]])
            # Counters on a device are not read: their parameters are updated separately.
            if None not in counts and can_be_laid_out((param, *states)):
                key = (param._ms_dtype, *counts)
        kinds.setdefault(key, []).append(place)
    for places in kinds.values():
        yield from parts_of(places, sizes)


def update_together(
    update: Callable[..., None], params: list[Tensor], grads: list[Tensor], lists: Lists, counters: Sequence[str], options: dict[str, Any]
) -> None:
    """Call the functional form ``update`` of an elementwise optimizer once for each set of parameters that can share a call."""
    for part in _batches(params, grads, lists, counters):
        own = {name: [values[place] for place in part] if values else [] for name, values in lists.items()}
        chosen, slopes = [params[place] for place in part], [grads[place] for place in part]
        if len(part) == 1:
            update(chosen, slopes, **own, **options)
            continue
        flat = {name: [laid_out(values)] if values else [] for name, values in own.items() if name not in counters}
        alone = {name: [make(_value(own[name][0]), dtype=own[name][0].dtype)] for name in counters}
        whole = laid_out(chosen)
        update([whole], [laid_out(slopes)], **flat, **alone, **options)
        put_back(whole, chosen)
        for name, values in flat.items():
            if values:
                put_back(values[0], own[name])
        for name in counters:
            set_together(own[name], float(alone[name][0]))
