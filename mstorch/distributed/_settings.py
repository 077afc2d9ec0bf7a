"""Settings of torch.distributed that need no group: debug level, options, rendezvous."""
from __future__ import annotations

import enum
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from mstorch import device as _device

from .._src.core.warned import warn
from ._types import Backend, ReduceOp

default_pg_timeout = timedelta(minutes=30)


class DebugLevel(enum.Enum):
    """Level of checks and logging: OFF, INFO or DETAIL."""

    OFF = 0
    INFO = 1
    DETAIL = 2

    def __int__(self) -> int:
        return int(self.value)


class BuiltinCommHookType(enum.Enum):
    """torch's built-in communication hooks."""

    ALLREDUCE = 1
    FP16_COMPRESS = 2

    def __int__(self) -> int:
        return int(self.value)


def _from_env() -> DebugLevel:
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        raise ValueError("The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL.")
    return DebugLevel[name]


class _Level:
    """The debug level of this process; initially the level in the environment."""

    def __init__(self) -> None:
        self.chosen: DebugLevel | None = None


_level = _Level()


def get_debug_level() -> DebugLevel:
    """Return the debug level."""
    if _level.chosen is None:
        _level.chosen = _from_env()
    return _level.chosen


def set_debug_level(level: DebugLevel, /) -> None:
    """Set the debug level."""
    if not isinstance(level, DebugLevel):
        raise TypeError(f"set_debug_level(): incompatible function arguments. Invoked with: {level!r}")
    _level.chosen = level


def set_debug_level_from_env() -> None:
    """Set the level to that of ``TORCH_DISTRIBUTED_DEBUG``. Raise ValueError unless it is OFF, INFO or DETAIL."""
    _level.chosen = _from_env()


def get_default_backend_for_device(device: int | str | _device) -> str:
    """Return the default backend of a device type. Raise ValueError if it has none."""
    kind = _device(device).type
    if kind not in Backend.default_device_backend_map:
        raise ValueError(f"Default backend not registered for device : {device}")
    return Backend.default_device_backend_map[kind]


def supports_complex(reduceOp: ReduceOp) -> bool:
    """Return whether a reduction supports complex tensors."""
    return reduceOp in (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PREMUL_SUM)


class _OldReduceOp:
    """The deprecated name of ReduceOp; warns."""

    __members__ = ReduceOp.__members__

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("__"):
            warn(
                "`torch.distributed.reduce_op` is deprecated, please use `torch.distributed.ReduceOp` instead", FutureWarning
            )
            if name not in ReduceOp.__members__:
                raise AttributeError(f"'_reduce_op' object has no attribute {name!r}")
            return ReduceOp[name]
        return object.__getattribute__(self, name)


reduce_op = _OldReduceOp()

_UNSET = timedelta(milliseconds=-1)  # the group's own timeout


def _options(name: str, **more: Callable[[], Any]) -> type:
    """Return a class of options for one operation, with torch's defaults."""

    def start(self: Any) -> None:
        self.asyncOp, self.timeout = True, _UNSET
        for field, default in more.items():
            setattr(self, field, default())

    fields = ("asyncOp", "timeout", *more)
    text = f"Settings of an operation: {', '.join(fields)}."
    members = {"__init__": start, "__slots__": fields, "__doc__": text, "__module__": __package__}
    return type(name, (), members)


def _sum() -> ReduceOp:
    return ReduceOp.SUM


AllToAllOptions = _options("AllToAllOptions")
AllreduceCoalescedOptions = _options("AllreduceCoalescedOptions", reduceOp=_sum)
AllreduceOptions = _options("AllreduceOptions", reduceOp=_sum)
BarrierOptions = _options("BarrierOptions", device=lambda: None, device_ids=list)
BroadcastOptions = _options("BroadcastOptions", rootRank=int, rootTensor=int)
GatherOptions = _options("GatherOptions", rootRank=int)
ReduceOptions = _options("ReduceOptions", reduceOp=_sum, rootRank=int, rootTensor=int)
ReduceScatterOptions = _options("ReduceScatterOptions", reduceOp=_sum)
ScatterOptions = _options("ScatterOptions", rootRank=int)
