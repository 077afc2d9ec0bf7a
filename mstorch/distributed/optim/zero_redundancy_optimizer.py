"""ZeroRedundancyOptimizer: each rank updates a shard of the parameters and keeps only their state."""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import mstorch as torch
from mstorch.optim import Optimizer

from ..._src.hook import not_yet
from .._objects import gather_object
from .._world import default_group, get_global_rank
from ..algorithms.join import Join, Joinable, JoinHook


class _ZeROJoinHook(JoinHook):
    """Join hook: a rank without inputs still steps, because the others need its shard."""

    def __init__(self, zero: ZeroRedundancyOptimizer) -> None:
        self.zero = zero

    def main_hook(self) -> None:
        """Run one step, as in an iteration of the other ranks."""
        self.zero.step()


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer of a given class whose state is sharded over ranks.

    After its step, each rank broadcasts the parameters that it updates. Raises NotImplementedError for ``overlap_with_ddp``, RuntimeError
    for ``state_dict()`` before ``consolidate_state_dict``.
    """

    def __init__(
        self, params: Any, optimizer_class: type, process_group: Any | None = None, parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False, **defaults: Any,
    ) -> None:  # fmt: skip
        if overlap_with_ddp:
            raise NotImplementedError(f"mstorch: ZeroRedundancyOptimizer(overlap_with_ddp=True) {not_yet()}")
        given = list(params)
        if not given:
            raise ValueError("params must not be an empty iterable")
        Joinable.__init__(self)
        self.process_group = default_group() if process_group is None else process_group
        self.world_size, self.rank = self.process_group.size(), self.process_group.rank()
        self.global_rank = get_global_rank(self.process_group, self.rank)
        self.parameters_as_bucket_view = parameters_as_bucket_view  # stored only: broadcasts always work in the parameters' memory
        self._class, self._defaults = optimizer_class, defaults
        self._gathered: list[Any] = []
        self.optim: Any = None
        super().__init__(given, defaults)
        self._rebuild()

    def _parameters_by_rank(self) -> list[list[list[Any]]]:
        """Return the parameters that each rank updates, as ``[rank][param group]`` lists. Parameters are assigned by descending size to the
        rank that has the fewest elements."""
        sizes = [0] * self.world_size
        found: list[list[list[Any]]] = [[] for _ in range(self.world_size)]
        for group in self.param_groups:
            parts: list[list[Any]] = [[] for _ in range(self.world_size)]
            for one in sorted(group["params"], key=lambda one: one.numel(), reverse=True):
                rank = sizes.index(min(sizes))
                parts[rank].append(one)
                sizes[rank] += one.numel()
            for rank in range(self.world_size):
                found[rank].append(parts[rank])
        return found

    def _rebuild(self) -> None:
        self._partition = self._parameters_by_rank()
        mine = [
            {**{key: value for key, value in group.items() if key != "params"}, "params": part}
            for group, part in zip(self.param_groups, self._partition[self.rank])
        ]
        before = None if self.optim is None else self.optim.state
        self.optim = self._class(mine, **self._defaults)
        if before is not None:
            self.optim.state.update(before)
        for group, own in zip(self.param_groups, self.optim.param_groups):
            for key, value in own.items():
                if key != "params":
                    group.setdefault(key, value)

    def _options(self, source: list[Any], target: list[Any]) -> None:
        for one, other in zip(source, target):
            other.update({key: value for key, value in one.items() if key != "params"})

    def step(self, closure: Callable[[], float] | None = None, **kwargs: Any) -> float | None:
        """Update this rank's shard of the parameters, and receive the others; return the value of ``closure``."""
        Join.notify_join_context(self)
        self._options(self.param_groups, self.optim.param_groups)
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure=closure, **kwargs)
        self._options(self.optim.param_groups, self.param_groups)
        with torch.no_grad():
            works = [
                self.process_group.broadcast([one.detach() for part in parts for one in part], rank)
                for rank, parts in enumerate(self._partition) if any(parts)
            ]  # fmt: skip
            for work in works:
                work.wait()
        return loss

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a param group."""
        super().add_param_group(param_group)
        if self.optim is not None:
            self._rebuild()

    # State

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gather the state of all ranks on rank ``to``, where ``state_dict`` then returns it."""
        self._options(self.param_groups, self.optim.param_groups)
        gathered: list[Any] | None = [None] * self.world_size if self.rank == to else None
        gather_object(self.optim.state_dict(), gathered, group=self.process_group, group_dst=to)
        self._gathered = gathered or []

    def state_dict(self) -> dict[str, Any]:
        """Return the state dict of all parameters. Raise RuntimeError unless it was consolidated on this rank."""
        if not self._gathered:
            raise RuntimeError(
                f"Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to={self.rank})` on all "
                "ranks beforehand if you meant to save the global state."
            )
        state = super().state_dict()
        places = {id(one): place for place, one in enumerate(one for group in self.param_groups for one in group["params"])}
        for rank, local in enumerate(self._gathered):
            own = [one for part in self._partition[rank] for one in part]
            for number, value in local["state"].items():
                state["state"][places[id(own[number])]] = value
        state["state"] = dict(sorted(state["state"].items()))
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the state dict of all parameters; this rank keeps only the state of its shard."""
        everyone = [one for group in self.param_groups for one in group["params"]]
        places = {id(one): place for place, one in enumerate(everyone)}
        own = [one for part in self._partition[self.rank] for one in part]
        local = self.optim.state_dict()
        state = {n: state_dict["state"][places[id(one)]] for n, one in enumerate(own) if places[id(one)] in state_dict["state"]}
        for mine, given in zip(local["param_groups"], state_dict["param_groups"]):
            mine.update({key: value for key, value in given.items() if key != "params"})
        self.optim.load_state_dict({"state": copy.deepcopy(state), "param_groups": local["param_groups"]})
        self._options(state_dict["param_groups"], self.param_groups)

    # Ranks with inputs of different lengths

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the JoinHook to run when this rank has no more inputs."""
        return _ZeROJoinHook(self)

    @property
    def join_device(self) -> torch.device:
        """The device of the tensors that Join communicates."""
        return torch.device("cpu")

    @property
    def join_process_group(self) -> Any:
        """The process group that Join communicates over."""
        return self.process_group


__all__ = ["ZeroRedundancyOptimizer"]
