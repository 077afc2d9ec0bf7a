"""The process groups of this process: the one of all processes, and those made of parts of it."""
from __future__ import annotations

from typing import Any

from .._core.warned import warn
from ._group import ProcessGroup
from ._types import Backend

MISSING = "Default process group has not been initialized, please make sure to call init_process_group."
_INVALID = "Invalid process group specified"


class World:
    """The groups by name, and the one of all processes. ``generation`` tells one initialization from the next."""

    def __init__(self) -> None:
        self.default: ProcessGroup | None = None
        self.groups: dict[str, ProcessGroup] = {}
        self.count = 0
        self.generation = 0
        self.excepthook: Any = None

    def ranks(self, group: Any) -> list[int]:
        """Return the numbers of a group's processes among all."""
        return group._ranks


world = World()
NON_GROUP_MEMBER = -100


class _WorldMeta(type):
    @property
    def WORLD(cls) -> ProcessGroup | None:
        """The group of all processes."""
        return world.default

    @WORLD.setter
    def WORLD(cls, group: ProcessGroup | None) -> None:
        world.default = group


class group(metaclass=_WorldMeta):
    """Has the group of all processes as ``WORLD``."""


class GroupMember(metaclass=_WorldMeta):
    """Has the group of all processes as ``WORLD``, and a mark for processes outside a group."""

    NON_GROUP_MEMBER = NON_GROUP_MEMBER


def default_group() -> ProcessGroup:
    """Return the group of all processes. Raise ValueError without one."""
    if world.default is None:
        raise ValueError(MISSING)
    return world.default


def chosen(group: Any) -> Any:
    """Return the group given, or that of all processes. Raise ValueError without one."""
    if group is None:
        return default_group()
    return group


def outside(group: Any) -> bool:
    """Return whether this process does not belong to a group."""
    return isinstance(group, (_OutsideGroup, int)) and not isinstance(group, bool)


class _OutsideGroup(int):
    """A group that this process does not belong to, as ``new_group`` gives it: torch's mark for that, with the group's ranks."""

    _ranks: list[int]

    def __new__(cls, ranks: list[int]) -> _OutsideGroup:
        made = super().__new__(cls, NON_GROUP_MEMBER)
        made._ranks = ranks
        return made


def warn_outside(name: str) -> None:
    """Say that a process called an operation of a group that it does not belong to."""
    number = -1 if world.default is None else world.default.rank()
    warn(f"Running {name} on global rank {number} which does not belong to the given group.")


def is_initialized() -> bool:
    """Return whether there is a group of all processes."""
    return world.default is not None


def get_rank(group: Any = None) -> int:
    """Return the number of this process in a group, -1 outside of it. Raise ValueError if there is no group."""
    if outside(group):
        return -1
    default_group()
    return int(chosen(group).rank())


def get_world_size(group: Any = None) -> int:
    """Return the number of processes in a group, -1 outside of it. Raise ValueError if there is no group."""
    if outside(group):
        return -1
    return int(chosen(group).size())


def get_backend(group: Any = None) -> Any:
    """Return the name of a group's backend. Raise ValueError if there is no group, or outside of it."""
    found = chosen(group)
    if outside(found):
        raise ValueError(_INVALID)
    backend = found._backend
    return Backend("gloo") if backend == Backend.UNDEFINED else backend


def get_backend_config(group: Any = None) -> str:
    """Return the backends of a group by kind of device. Raise ValueError if there is no group, or outside of it."""
    found = chosen(group)
    if outside(found):
        raise ValueError(_INVALID)
    return str(found._config)


def _known(group: Any) -> Any:
    if not isinstance(group, (ProcessGroup, _OutsideGroup)):
        raise ValueError(f"Group {group} is not registered, please create group with torch.distributed.new_group API")
    return group


def get_global_rank(group: Any, group_rank: int) -> int:
    """Return the number among all processes of one of a group. Raise ValueError for a group or a number that is not there."""
    if group is None or group is world.default:
        return group_rank
    ranks = _known(group)._ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return int(ranks[group_rank])


def get_group_rank(group: Any, global_rank: int) -> int:
    """Return the number in a group of one of all processes. Raise ValueError for a group or a number that is not there."""
    if group is None or group is world.default:
        return global_rank
    ranks = _known(group)._ranks
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return int(ranks.index(global_rank))


def get_process_group_ranks(group: Any) -> list[int]:
    """Return the numbers of a group's processes among all."""
    return list(chosen(group)._ranks)


def get_pg_count() -> int:
    """Return how many groups there are."""
    return len(world.groups)
