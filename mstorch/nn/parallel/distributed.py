"""torch.nn.parallel.distributed: data parallelism over ranks, with averaged gradients."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import is_grad_enabled, no_grad, ones, tensor
from ..._src.core.device import accelerator_is as _accelerator_is
from ..._src.core.device import current as _current
from ..._src.core.device import device as _device
from ..._src.core.device import index_of as _index_of
from ..._src.hook import not_yet
from ..._src.leaving import values_set_to
from ...distributed._group import by_the_host
from ...distributed._objects import all_gather_object
from ...distributed._reducer import FIRST_BUCKET_BYTES, GradBucket, Reducer
from ...distributed._settings import BuiltinCommHookType
from ...distributed._types import ReduceOp
from ...distributed._world import default_group
from ...distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook, fp16_compress_hook
from ...distributed.algorithms.join import Join, Joinable, JoinHook
from ..modules.module import Module

_DEFAULT_MEGABYTES = 25
_NEEDLESS = "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."


def _check_alike(parameters: list[Any], group: Any) -> None:
    """Raise RuntimeError unless the ranks' parameters agree in number and shape."""
    shapes = [(tuple(one.shape), str(one.dtype)) for one in parameters]
    every: list[Any] = [None] * group.size()
    all_gather_object(every, shapes, group)
    for rank, others in enumerate(every):
        if len(others) != len(every[0]):
            raise RuntimeError(
                f"DDP expects same model across all ranks, but Rank 0 has {len(every[0])} params, while rank {rank} has inconsistent "
                f"{len(others)} params."
            )
        for number, (first, other) in enumerate(zip(every[0], others)):
            if first != other:
                raise RuntimeError(
                    f"[{rank}]: params[{number}] in this process with sizes {list(other[0])} appears not to match sizes of the same "
                    "param in process 0."
                )


class _DDPJoinHook(JoinHook):
    """Join hook of a rank that has no more inputs while others continue."""

    def __init__(self, ddp: DistributedDataParallel, divide_by_initial_world_size: bool) -> None:
        self.ddp, self.initial = ddp, divide_by_initial_world_size
        super().__init__()

    def main_hook(self) -> None:
        """Mirror the collectives of one iteration of the other ranks."""
        ddp = self.ddp
        if not ddp._matched_sync():
            ddp.require_backward_grad_sync = True
            return
        ddp._shadow_buffers()
        ddp.reducer.shadow()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Receive the final model from a rank that joined last."""
        self.ddp._take_final(is_last_joiner)


def _refuse_unbuilt(**options: Any) -> None:
    for name, given in options.items():
        if given is not None:
            raise NotImplementedError(f"mstorch: DistributedDataParallel({name}=…) {not_yet()}")


def _group_of(process_group: Any, device_mesh: Any) -> Any:
    if device_mesh is not None and process_group is not None:
        raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
    if device_mesh is not None:
        return device_mesh.get_group(0)
    return default_group() if process_group is None else process_group


def _is_on_accelerator(module: Module, device_ids: Any, output_device: Any) -> bool:
    """Return whether all parameters are on the current accelerator, which ``device_ids`` must then name. Raise ValueError if not."""
    places = {one.device for one in module.parameters()}
    there = _accelerator_is() and places == {_current()}
    if device_ids and not (there and len(device_ids) == 1 and _index_of(device_ids[0]) == _current().index):
        raise ValueError(
            "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-device GPU "
            f"modules or CPU modules, but got device_ids {device_ids}, output_device {output_device}, and module parameters "
            f"{places}."
        )
    return there


class DistributedDataParallel(Module, Joinable):
    """Replicates a module on each rank of a group, for different parts of a batch; backward averages the gradients.

    All ranks start with rank 0's parameters and buffers; ``broadcast_buffers`` keeps its buffers in sync. Raises ValueError if there is no
    process group; RuntimeError for modules that differ, or have no parameter that requires grad; NotImplementedError for
    ``mixed_precision`` and device settings.
    """

    module: Module

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0, broadcast_buffers: bool | None = None,
        init_sync: bool = True, process_group: Any = None, bucket_cap_mb: int | None = None, find_unused_parameters: bool = False,
        check_reduction: bool = False, gradient_as_bucket_view: bool = False, static_graph: bool = False,
        delay_all_reduce_named_params: Any = None, param_to_hook_all_reduce: Any = None, mixed_precision: Any = None,
        device_mesh: Any = None, skip_all_reduce_unused_params: bool = False, bucket_cap_mb_list: list[int] | None = None,
        batched_grad_copy: bool = False, forward_sync_buffers: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        Joinable.__init__(self)
        self.process_group = _group_of(process_group, device_mesh)
        _refuse_unbuilt(
            delay_all_reduce_named_params=delay_all_reduce_named_params, mixed_precision=mixed_precision,
            param_to_hook_all_reduce=param_to_hook_all_reduce,
        )  # fmt: skip
        there = _is_on_accelerator(module, device_ids, output_device)
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        chosen = [(name, one) for name, one in module.named_parameters() if name not in self.parameters_to_ignore]
        self._reduced = [one for _, one in chosen if one.requires_grad]
        if not self._reduced:
            raise RuntimeError(_NEEDLESS)
        self.module = module
        self.dim, self.output_device, self.device = dim, output_device, _current() if there else _device("cpu")
        self.device_ids, self.device_type = [self.device.index] if device_ids else None, self.device.type
        self.is_multi_device_module = False
        self.forward_sync_buffers = forward_sync_buffers if forward_sync_buffers is not None else broadcast_buffers is not False
        self.broadcast_buffers = self.forward_sync_buffers
        self.find_unused_parameters, self.gradient_as_bucket_view = find_unused_parameters, gradient_as_bucket_view
        self.static_graph, self.mixed_precision = static_graph, None
        self.batched_grad_copy, self.skip_all_reduce_unused_params = batched_grad_copy, skip_all_reduce_unused_params
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.bucket_bytes_cap_default = bucket_cap_mb is None
        self.bucket_bytes_cap = int((_DEFAULT_MEGABYTES if bucket_cap_mb is None else bucket_cap_mb) * 1024 * 1024)
        self.bucket_bytes_cap_list = [int(one * 1024 * 1024) for one in bucket_cap_mb_list or ()]
        buffers = [(name, one) for name, one in module.named_buffers() if name not in self.parameters_to_ignore]
        self.named_module_buffers = dict(buffers)
        self.modules_buffers = [one for _, one in buffers]
        if init_sync:
            _check_alike(self._reduced, self.process_group)
            self._send_state([one for _, one in chosen] + self.modules_buffers, 0)
        first = FIRST_BUCKET_BYTES if self.bucket_bytes_cap_default else self.bucket_bytes_cap
        self.reducer = Reducer(
            self._reduced, self.process_group, min(first, self.bucket_bytes_cap), self.bucket_bytes_cap_list or [self.bucket_bytes_cap],
            find_unused_parameters, gradient_as_bucket_view, static_graph,
        )  # fmt: skip

    def _send_state(self, tensors: list[Any], source: int) -> None:
        with no_grad():
            self.process_group.broadcast([one.detach() for one in tensors], source).wait()

    def __getstate__(self) -> Any:
        state = dict(super().__getstate__() if hasattr(super(), "__getstate__") else self.__dict__)
        for name in ("process_group", "reducer"):
            state.pop(name, None)
        return state

    # Forward

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Run the module. Raise RuntimeError if the last backward did not produce all gradients."""
        syncs = is_grad_enabled() and self.require_backward_grad_sync
        if syncs:
            self.reducer.finished()
        Join.notify_join_context(self)
        if self._join_config.enable:
            self._tell_sync(syncs)
        if self._will_sync_buffers():
            self._sync_buffers()
        output = self.module(*inputs, **kwargs)
        if syncs:
            self.require_forward_param_sync = True
            self.reducer.prepare(output if self.find_unused_parameters else None)
        else:
            self.require_forward_param_sync = False
        return output

    def will_sync_module_buffers(self) -> bool:
        """Return whether the next forward broadcasts rank 0's buffers."""
        return self.require_forward_param_sync and self.broadcast_buffers and bool(self.modules_buffers)

    def _will_sync_buffers(self) -> bool:
        return self.will_sync_module_buffers()

    def _sync_buffers(self) -> None:
        source = 0
        if self._join_config.enable:
            source = self._common_rank(True)
        self._send_state(self.modules_buffers, source)

    @by_the_host
    def _common_rank(self, running: bool) -> int:
        """Return the highest of the ranks that still have inputs."""
        rank = tensor([self.process_group.rank() if running else -1])
        self.process_group.allreduce([rank], ReduceOp.MAX).wait()
        return int(rank)

    def train(self, mode: bool = True) -> DistributedDataParallel:
        """Set the training mode of the module and its descendants."""
        super().train(mode)
        return self

    def no_sync(self) -> values_set_to:
        """Return a context manager in which gradients accumulate locally. The first backward whose forward runs after the block averages
        the accumulated gradients over the ranks."""
        return values_set_to(self, require_backward_grad_sync=False)

    # Hooks

    def register_comm_hook(self, state: object, hook: Callable[[Any, GradBucket], Any]) -> None:
        """Set ``hook(state, bucket)``, which starts to reduce a bucket and returns a future of the result. Raise TypeError or RuntimeError
        for an invalid hook.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self.reducer.hook = (state, hook)

    def _register_builtin_comm_hook(self, comm_hook_type: BuiltinCommHookType) -> None:
        hooks = {BuiltinCommHookType.ALLREDUCE: allreduce_hook, BuiltinCommHookType.FP16_COMPRESS: fp16_compress_hook}
        self.register_comm_hook(self.process_group, hooks[comm_hook_type])

    def _set_static_graph(self) -> None:
        self.static_graph = self.reducer.static = True

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """Return a dict of properties of this module; "can_set_static_graph" is always False, because mstorch does not determine it."""
        sizes = [bucket.buffer().numel() * bucket.buffer().element_size() for bucket in self.reducer.buckets]
        return {
            "world_size": self.process_group.size(), "rank": self.process_group.rank(), "module_name": type(self.module).__name__,
            "backend_name": self.process_group.name(), "num_parameter_tensors": len(self._reduced), "can_set_static_graph": False,
            "bucket_sizes": ", ".join(map(str, sizes)), "find_unused_parameters": int(self.find_unused_parameters),
            "gradient_as_bucket_view": int(self.gradient_as_bucket_view), "static_graph": int(self.static_graph),
        }  # fmt: skip

    # Ranks with inputs of different lengths

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Join:
        """Return a context manager in which ranks may have different numbers of inputs: ranks without inputs mirror the collectives of the
        others.
        """
        return Join([self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the JoinHook to run when this rank has no more inputs."""
        self.reducer.may_rebuild = False  # a rank without inputs does not observe the order of gradients
        self._divide_initially = kwargs.get("divide_by_initial_world_size", True)
        return _DDPJoinHook(self, self._divide_initially)

    @property
    def join_device(self) -> Any:
        """The device of the tensors that Join communicates."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The process group that Join communicates over."""
        return self.process_group

    @by_the_host
    def _tell_sync(self, syncs: bool) -> None:
        """Tell ranks that have no inputs left if this iteration's gradients are averaged; set the divisor to the number of participating
        ranks."""
        told = ones(1) if syncs else ones(1) * 0
        self.process_group.allreduce([told], ReduceOp.SUM).wait()
        if not self._divide_initially and syncs:
            self.reducer.divisor = int(told)

    @by_the_host
    def _matched_sync(self) -> bool:
        told = ones(1) * 0
        self.process_group.allreduce([told], ReduceOp.SUM).wait()
        return bool(told)

    def _shadow_buffers(self) -> None:
        if self.broadcast_buffers and self.modules_buffers:
            self._send_state(self.modules_buffers, self._common_rank(False))

    def _take_final(self, is_last_joiner: bool) -> None:
        source = self._common_rank(is_last_joiner)
        self._send_state([*self.module.parameters(), *self.modules_buffers], source)


__all__ = ["DistributedDataParallel"]
