"""Process groups of this process: the default group and its subgroups."""
from __future__ import annotations

from datetime import timedelta
from typing import Any

from .._src.core.warned import warn
from ._group import ProcessGroup
from ._types import Backend

MISSING = "Default process group has not been initialized, please make sure to call init_process_group."
_INVALID = "Invalid process group specified"


class World:
    """The groups by name, and the default group. ``generation`` counts the initializations."""

    def __init__(self) -> None:
        self.default: ProcessGroup | None = None
        self.groups: dict[str, ProcessGroup] = {}
        self.count = 0
        self.generation = 0
        self.excepthook: Any = None

    def ranks(self, group: ProcessGroup) -> list[int]:
        """Return the global ranks of a group."""
        return group._ranks


world = World()
NON_GROUP_MEMBER = -100


class _WorldMeta(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The default group."""
        return world.default

    @WORLD.setter
    def WORLD(cls, group: ProcessGroup | None) -> None:
        world.default = group


class group(metaclass=_WorldMeta):
    """Namespace whose ``WORLD`` is the default group."""


class GroupMember(metaclass=_WorldMeta):
    """Namespace of ``WORLD``, the default group, and of the marker for ranks outside a group."""

    NON_GROUP_MEMBER = NON_GROUP_MEMBER


def default_group() -> ProcessGroup:
    """Return the default group. Raise ValueError if there is none."""
    if world.default is None:
        raise ValueError(MISSING)
    return world.default


def chosen(group: Any) -> Any:
    """Return the given group, or the default group. Raise ValueError if there is none."""
    if group is None:
        return default_group()
    return group


def outside(group: int | ProcessGroup | _OutsideGroup | None) -> bool:
    """Return whether this rank is outside a group."""
    return isinstance(group, (_OutsideGroup, int)) and not isinstance(group, bool)


class _OutsideGroup(int):
    """The marker that ``new_group`` returns, as in torch, to a rank that is not in the new group; it also holds the group's ranks."""

    _ranks: list[int]

    def __new__(cls, ranks: list[int]) -> _OutsideGroup:
        made = super().__new__(cls, NON_GROUP_MEMBER)
        made._ranks = ranks
        return made


def warn_outside(name: str) -> Any:
    """Warn that a rank outside a group called an operation of it."""
    number = -1 if world.default is None else world.default.rank()
    warn(f"Running {name} on global rank {number} which does not belong to the given group.")


def is_initialized() -> bool:
    """Return whether the default group exists."""
    return world.default is not None


def get_rank(group: ProcessGroup | _OutsideGroup | None = None) -> int:
    """Return this process's rank in a group, -1 outside it. Raise ValueError if there is no process group."""
    if outside(group):
        return -1
    default_group()
    return int(chosen(group).rank())


def get_world_size(group: ProcessGroup | _OutsideGroup | None = None) -> int:
    """Return the number of ranks in a group, -1 outside it. Raise ValueError if there is no process group."""
    if outside(group):
        return -1
    return int(chosen(group).size())


def get_backend(group: ProcessGroup | None = None) -> str | Backend | None:
    """Return the name of a group's backend. Raise ValueError if there is no process group, or on ranks outside ``group``."""
    found = chosen(group)
    if outside(found):
        raise ValueError(_INVALID)
    backend = found._backend
    return Backend("gloo") if backend == Backend.UNDEFINED else backend


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """Return a group's backend per device type, as a string. Raise ValueError if there is no process group, or on ranks outside of it."""
    found = chosen(group)
    if outside(found):
        raise ValueError(_INVALID)
    return str(found._config)


def get_backend_impl(group: Any = None, device: Any = None) -> Any:
    """Return the object that runs a group's operations (torch 2.14): here the group itself, on every device. ``group`` may be a name."""
    found = world.groups.get(group) if isinstance(group, str) else chosen(group)
    if found is None:
        raise ValueError(f"Could not resolve the process group registered under the name {group}")
    if outside(found):
        raise ValueError(_INVALID)
    return found


def set_timeout(timeout: timedelta, group: ProcessGroup | None = None) -> None:
    """Set the timeout of a group's later operations (torch 2.14). Raise ValueError on ranks outside of it."""
    found = chosen(group)
    if outside(found):
        raise ValueError(_INVALID)
    if not isinstance(found, ProcessGroup):
        raise AssertionError(f"Expected ProcessGroup, got {type(found)}")
    found.set_timeout(timeout)


def _registered(group: int | ProcessGroup | _OutsideGroup) -> Any:
    if not isinstance(group, (ProcessGroup, _OutsideGroup)):
        raise ValueError(f"Group {group} is not registered, please create group with torch.distributed.new_group API")
    return group


def get_global_rank(group: ProcessGroup | None, group_rank: int) -> int:
    """Return the global rank of a group rank. Raise ValueError if the group or the rank does not exist."""
    if group is None or group is world.default:
        return group_rank
    ranks = _registered(group)._ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return int(ranks[group_rank])


def get_group_rank(group: ProcessGroup | None, global_rank: int) -> int:
    """Return the group rank of a global rank. Raise ValueError if the group or the rank does not exist."""
    if group is None or group is world.default:
        return global_rank
    ranks = _registered(group)._ranks
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return int(ranks.index(global_rank))


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """Return the global ranks of a group."""
    return list(chosen(group)._ranks)


def get_pg_count() -> int:
    """Return the number of groups made so far, with the default group; as in torch, destroyed groups still count."""
    return world.count
