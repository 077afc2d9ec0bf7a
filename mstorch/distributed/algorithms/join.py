"""torch.distributed.algorithms.join: training when ranks have different numbers of inputs."""
from __future__ import annotations

from typing import Any, NamedTuple

from mstorch import full

from ..._src.core.device import device
from ..._src.core.warned import warn
from .._collectives import all_reduce
from .._group import ProcessGroup, by_the_host
from .._work import Work

_EARLY = "Detected at least one rank that exhausted inputs. Throwing across all ranks."


@by_the_host
def _counted(group: ProcessGroup, mine: int) -> int:
    """Return the sum of an int over the ranks, through the host backend."""
    sum_of_all = full((1,), float(mine), device="cpu")
    all_reduce(sum_of_all, group=group)
    return int(sum_of_all)


@by_the_host
def _go_on(group: ProcessGroup) -> Work:
    """Notify the other ranks that this one continues; return a Work."""
    return all_reduce(full((1,), 1.0, device="cpu"), group=group, async_op=True)


class JoinHook:
    """Hooks that run on a rank after its last input: ``main_hook`` in each iteration of the ranks that still have inputs, then
    ``post_hook``.
    """

    def main_hook(self) -> None:
        """Mirror the collectives that the other ranks call in one iteration."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called when all ranks have joined; ``is_last_joiner`` is True on the ranks that joined last."""


class _JoinConfig(NamedTuple):
    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool


class Joinable:
    """Base of classes that can take part in other ranks' iterations after their own last input."""

    def __init__(self) -> None:
        self._join_config = _JoinConfig(False, False, False)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the JoinHook to run when this rank has no more inputs."""
        raise NotImplementedError

    @property
    def join_device(self) -> device:
        """The device of the tensors that Join communicates."""
        raise NotImplementedError

    @property
    def join_process_group(self) -> Any:
        """The process group that Join communicates over."""
        raise NotImplementedError


class Join:
    """Context manager in which ranks may have different numbers of inputs. Raises ValueError for Joinables of different groups."""

    def __init__(self, joinables: list[Any], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = joinables
        self._enable, self._throws = enable, throw_on_early_termination
        self._hooks = [one.join_hook(**kwargs) for one in joinables] if enable else []
        groups = {id(one.join_process_group) for one in joinables}
        if len(groups) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        self._group = joinables[0].join_process_group
        for number, one in enumerate(joinables):
            one._join_config = _JoinConfig(enable, throw_on_early_termination, number == 0)

    def __enter__(self) -> None:
        """Enable the Joinables and return the context manager."""

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        """Mirror the other ranks' collectives until all ranks have joined."""
        if not self._enable or kind is not None:
            self._reset()
            return
        all_joined, last, count = False, True, 0
        while not all_joined:
            if not _counted(self._group, 0):
                all_joined = True
                continue
            if self._throws:
                self._notify()
                raise RuntimeError(_EARLY)
            last = False
            count += 1
            if count == 1000:
                warn(
                    "Detected uneven input skew of greater than 1000. This means that rank "
                    f"{self._group.rank()} has at least 1000 fewer inputs than other currently-active ranks. This level of skew could "
                    "lead to performance degradation during training.",
                )
            if self._throws_possible():
                self._notify()
            for hook in self._hooks:
                hook.main_hook()
        for hook in self._hooks:
            hook.post_hook(last)
        self._reset()

    def _throws_possible(self) -> bool:
        return self._throws

    def _notify(self) -> None:
        _counted(self._group, 1)

    def _reset(self) -> None:
        for one in self._joinables:
            one._join_config = _JoinConfig(False, False, False)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Work | None:
        """Tell ranks without inputs that this one continues; return a Work, or None if Join is not active. Raise RuntimeError to stop
        early.
        """
        config = joinable._join_config
        if not config.enable or not config.is_first_joinable:
            return None
        group = joinable.join_process_group
        work = _go_on(group)
        if config.throw_on_early_termination:
            work.wait()
            if _counted(group, 0):
                raise RuntimeError(_EARLY)
        return work


__all__ = ["Join", "JoinHook", "Joinable"]
