"""``Cell.to_float`` of a Module: the module's operations run in another floating dtype, and its parameters keep their dtype.

MindSpore's way, casting the inputs of every primitive, would change dtypes that mstorch has already determined.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from ..._src.backend import tape
from ..._src.core import dtype as dtypes
from ..._src.core.dtype import dtype
from ..._src.core.tensor_base import TensorBase
from ..._src.leaving import END, Undo, item_again, undoing
from ..._src.ops._autocast import DEVICE
from ..._tensor import Tensor
from ...amp.autocast_mode import autocast
from ._trees import changed

_FLAGS = {"fp16": dtypes.float16, "bf16": dtypes.bfloat16, "fp32": dtypes.float32}
# Normalization layers accept 16-bit inputs with float32 parameters and statistics.
_KEPT = ("running_mean", "running_var", "normalized_shape", "num_groups")


class _Network(Protocol):
    def modules(self) -> Iterator[Any]: ...


def wanted(flags: Mapping[str, Any]) -> dtype | None:
    """Return the dtype that MindSpore's flags on the module set; None if they set no dtype."""
    found = None
    for name, kind in _FLAGS.items():
        if flags.get(name):
            found = kind
    return found


def _cast(value: Tensor, kind: dtype) -> Tensor:
    if isinstance(value, TensorBase) and value.dtype.is_floating_point and value.dtype is not kind:
        return value.to(kind)
    return value


@undoing
def _parameters_cast(undo: Undo, module: _Network) -> None:
    """Cast the parameters of a module and its children to the dtype that each computes in, until undone."""
    for part in module.modules():
        kind = getattr(part, "_mstorch_float_type", None)
        if kind is None or any(hasattr(part, name) for name in _KEPT):
            continue
        members = part.__dict__["_parameters"]
        for name, parameter in list(members.items()):
            cast = _cast(parameter, kind)
            if cast is not parameter:
                undo[END:] = (item_again(members, name),)
                members[name] = cast


def auto() -> AbstractContextManager[Any]:
    """Return torch's autocast to the dtype of a network at mindspore.amp's level "auto", else a null context."""
    name = tape.auto_dtype()
    return nullcontext() if name is None else autocast(DEVICE, getattr(dtypes, name))


def run(module: Any, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Call a module in the dtype that ``to_float`` set."""
    kind = module._mstorch_float_type
    args, kwargs = changed((args, kwargs), lambda leaf: _cast(leaf, kind))
    with _parameters_cast(module):
        return call(*args, **kwargs)
