"""``Cell.to_float`` of a Module: its operations run in another floating dtype, its parameters stay as they are.

MindSpore's own way, to cast the inputs of every primitive behind our back, would change dtypes that are known already.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..._backend import tape
from ..._core import dtype as dtypes
from ..._core.dtype import dtype
from ..._core.tensor_base import TensorBase
from ..._leaving import END, Undo, item_again, undoing
from ..._ops._autocast import DEVICE
from ..._tensor import Tensor
from ...amp.autocast_mode import autocast
from ._trees import changed

_FLAGS = {"fp16": dtypes.float16, "bf16": dtypes.bfloat16, "fp32": dtypes.float32}
# Normalisations take inputs of 16 bits with parameters and statistics of 32.
_KEPT = ("running_mean", "running_var", "normalized_shape", "num_groups")


def wanted(flags: Mapping[str, Any]) -> dtype | None:
    """Return the dtype that MindSpore's flags ask for; None if they say nothing about it."""
    found = None
    for name, kind in _FLAGS.items():
        if flags.get(name):
            found = kind
    return found


def _cast(value: Tensor, kind: dtype) -> Tensor:
    if isinstance(value, TensorBase) and value.dtype.is_floating_point and value.dtype is not kind:
        return value.to(kind)  # type: ignore[attr-defined]
    return value


@undoing
def _parameters_cast(undo: Undo, module: Any) -> None:
    """The parameters of a module and of those in it are of the dtype that each computes in, for a while."""
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
    """Within a network of mindspore.amp's level "auto": torch's autocast in its dtype, so that what follows a primitive fits it."""
    name = tape.auto_dtype()
    return nullcontext() if name is None else autocast(DEVICE, getattr(dtypes, name))


def run(module: Any, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Return a call of a module in the dtype that ``to_float`` chose."""
    kind = module._mstorch_float_type
    args, kwargs = changed((args, kwargs), lambda leaf: _cast(leaf, kind))
    with _parameters_cast(module):
        return call(*args, **kwargs)
