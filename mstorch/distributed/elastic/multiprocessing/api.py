"""torch.distributed.elastic.multiprocessing.api: which outputs of launched processes go where. What starts processes is not built here."""
from __future__ import annotations

import enum
import re
import signal
from collections.abc import Mapping

from ...._src.hook import missing as _missing

_ONE, _SEVERAL = r"^[0123]$", r"^(\d:[0123],)*(\d:[0123])$"


class SignalException(Exception):
    """Raised in a launcher by a signal that is to end it; ``sigval`` is the signal."""

    def __init__(self, msg: str, sigval: signal.Signals) -> None:
        super().__init__(msg)
        self.sigval = sigval


class Std(enum.IntFlag):
    """Outputs of a process."""

    NONE = 0
    OUT = 1
    ERR = 2
    ALL = OUT | ERR

    @classmethod
    def from_str(cls, vm: str) -> Std | dict[int, Std]:
        """Return the outputs that a digit names ("3"), or those of each local rank ("0:3,1:0"). Raise ValueError for another text."""
        if re.match(_ONE, vm):
            return cls(int(vm))
        if not re.match(_SEVERAL, vm):
            raise ValueError(f"{vm} does not match: <{_ONE}> or <{_SEVERAL}>")
        pairs = (part.split(":") for part in vm.split(","))
        return {int(rank): cls(int(outputs)) for rank, outputs in pairs}


def to_map(val_or_map: Std | Mapping[int, Std], local_world_size: int) -> dict[int, Std]:
    """Return outputs by local rank, from those of all ranks or from a mapping, in which missing ranks have none."""
    if isinstance(val_or_map, Std):
        return dict.fromkeys(range(local_world_size), val_or_map)
    return {rank: val_or_map.get(rank, Std.NONE) for rank in range(local_world_size)}


__all__ = ["SignalException", "Std", "to_map"]

__getattr__ = _missing(__name__)
