"""torch.distributed.fsdp.fully_sharded_data_parallel: a module wrapper with one flat parameter, sharded over ranks."""
from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, NoReturn

import mstorch as torch

from ..._src.hook import not_yet
from ..._src.leaving import END, Undo, undoing, values_again
from ..._tensor import Tensor
from ...nn.modules._state import _IncompatibleKeys
from ...nn.modules.module import Module
from ...optim.optimizer import Optimizer
from .._group import ProcessGroup
from .._types import ReduceOp
from .._world import default_group, get_rank
from ..device_mesh import DeviceMesh
from ..tensor._dtensor import DTensor, wrapped
from ..tensor._moves import cut
from ..tensor.placement_types import Shard
from ._flat import FlatOwner
from ._flat_states import loadable_state, named_state
from ._fully_shard import MixedPrecisionPolicy, gather, let_go
from ._places import compute_device, device_of_id, move_states, moved_inputs, sync_states
from ._shards import Shards, forgetting
from .api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from .wrap import _Policy, _recursive_wrap, apply_policy

FSDP_WRAPPED_MODULE = "_fsdp_wrapped_module"
FSDP_PREFIX = f"{FSDP_WRAPPED_MODULE}."
_CONFIGS = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
}


class OptimStateKeyType(enum.Enum):
    """The keys of an optimizer state dict: parameter names or ids."""

    PARAM_NAME = enum.auto()
    PARAM_ID = enum.auto()


def clean_name(name: str) -> str:
    """Return a name without the prefixes of FSDP wrappers."""
    return name.replace(FSDP_PREFIX, "")


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(f"mstorch: FullyShardedDataParallel{what} {not_yet()}")


def _refuse_unbuilt(strategy: ShardingStrategy, param_init_fn: Any, mesh: DeviceMesh | None, mixed: MixedPrecision | None) -> None:
    if strategy not in (ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP):
        _refuse(f"(sharding_strategy={strategy})")
    if param_init_fn is not None:
        _refuse("(param_init_fn=…)")
    if mesh is not None and mesh.ndim != 1:
        _refuse(f" over a mesh of {mesh.ndim} dimensions")
    if mixed is not None and mixed.keep_low_precision_grads:
        _refuse("(mixed_precision=MixedPrecision(keep_low_precision_grads=True))")


def _left_out(modules: Iterable[Any] | None, states: Iterable[Any] | None) -> tuple[set[Any], set[Any]]:
    """Return the ignored modules with those in them, and the ignored parameters, theirs included."""
    states = list(states or ())
    tops = [*(modules or ()), *(one for one in states if isinstance(one, Module))]
    ignored = {part for one in tops for part in one.modules()}
    parameters = {one for part in ignored for one in part._parameters.values() if one is not None}
    return ignored, parameters | {one for one in states if isinstance(one, torch.nn.Parameter)}


def _states_of(module: Any, left_out: set[Any]) -> tuple[list[Any], list[Any]]:
    """Return the parameters and the buffers of a module that no FSDP module within it holds."""
    parts = [part for _, part in _own_parts(module)]
    parameters = [one for part in parts for one in part._parameters.values() if one is not None and one not in left_out]
    return parameters, [one for part in parts for one in part._buffers.values() if one is not None]


class FullyShardedDataParallel(Module):
    """Wraps a module and shards its parameters as one flat parameter; they are all-gathered for forward and backward.

    It computes on its parameters' device, or on that of ``device_id``, to which they are moved. As in torch, raises RuntimeError on a
    machine without an accelerator unless ``device_id=torch.device("cpu")``. Raises NotImplementedError for hybrid strategies, NO_SHARD,
    communication hooks and ``param_init_fn``.
    """

    def __init__(
        self, module: Module, process_group: ProcessGroup | None = None, sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None, auto_wrap_policy: _Policy | Callable[..., Any] | None = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE, mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[Any] | None = None, param_init_fn: Callable[[Any], None] | None = None,
        device_id: int | torch.device | None = None,
        sync_module_states: bool = False, forward_prefetch: bool = False, limit_all_gathers: bool = True,
        use_orig_params: bool = False, ignored_states: Iterable[Module] | Iterable[Any] | None = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if device_mesh is not None:
            group = device_mesh.get_group()
        else:
            group = default_group() if process_group is None else process_group
        named = device_of_id(device_id, group.rank())
        strategy = ShardingStrategy.FULL_SHARD if sharding_strategy is None else sharding_strategy
        _refuse_unbuilt(strategy, param_init_fn, device_mesh, mixed_precision)
        ignored, left_out = _left_out(ignored_modules, ignored_states)
        settings = {
            "process_group": process_group, "sharding_strategy": sharding_strategy, "cpu_offload": cpu_offload,
            "backward_prefetch": backward_prefetch, "mixed_precision": mixed_precision, "ignored_states": left_out, "device_id": device_id,
            "sync_module_states": sync_module_states, "forward_prefetch": forward_prefetch, "limit_all_gathers": limit_all_gathers,
            "use_orig_params": use_orig_params, "device_mesh": device_mesh,
        }  # fmt: skip
        if auto_wrap_policy is not None:
            self._wrap_parts(module, auto_wrap_policy, ignored, left_out, settings)
        self._modules[FSDP_WRAPPED_MODULE] = module
        self.process_group, self.rank, self.world_size, self.sharding_strategy = group, group.rank(), group.size(), strategy
        self.mixed_precision, self.cpu_offload = mixed_precision or MixedPrecision(), cpu_offload or CPUOffload()
        self._use_orig_params, self._device_mesh = use_orig_params, device_mesh
        own, buffers = _states_of(module, left_out)
        if named is not None:
            move_states((*own, *buffers), named)
        self.compute_device = compute_device(own, named, group.rank())
        if sync_module_states:
            sync_states(dict.fromkeys(own), dict.fromkeys(buffers), group)
        self._gather_parameters(module, left_out, group, strategy)
        self._register_load_state_dict_pre_hook(_before_load, with_module=True)
        self.register_load_state_dict_post_hook(_after_load)
        self._settings = StateDictSettings(StateDictType.FULL_STATE_DICT, FullStateDictConfig(), FullOptimStateDictConfig())
        for part in module.modules():
            if isinstance(part, FullyShardedDataParallel):
                object.__setattr__(part, "_inner", True)

    def _wrap_parts(self, module: Module, policy: Any, ignored: set[Any], left_out: set[Any], settings: dict[str, Any]) -> None:
        if settings["mixed_precision"] is not None and any(isinstance(part, torch.nn.modules.batchnorm._BatchNorm) for part in module.modules()):  # fmt: skip  # noqa: E501
            _refuse(" with both an auto_wrap_policy and mixed_precision, of modules with batch normalisation")
        if isinstance(policy, _Policy):
            apply_policy(module, policy._run_policy(module, ignored, settings), FullyShardedDataParallel)
        else:
            _recursive_wrap(module, policy, FullyShardedDataParallel, ignored, left_out, only_wrap_children=True, **settings)

    def _gather_parameters(self, module: Module, left_out: set[Any], group: ProcessGroup, strategy: ShardingStrategy) -> None:
        found: dict[Any, tuple[list[tuple[Any, str]], str]] = {}
        for prefix, part in _own_parts(module):
            for name, parameter in part._parameters.items():
                if parameter is not None and parameter not in left_out:
                    found.setdefault(parameter, ([], prefix + name))[0].append((part, name))
        given = [(one, places, name) for one, (places, name) in found.items()]
        offload = self.cpu_offload.offload_params
        owners = [FlatOwner(given, module, group, self._use_orig_params, offload)] if given else []
        policy = MixedPrecisionPolicy(self.mixed_precision.param_dtype, self.mixed_precision.reduce_dtype, None, False)
        object.__setattr__(self, "_shards", Shards(owners, group, strategy is ShardingStrategy.FULL_SHARD, policy, self.compute_device))
        # As in torch, the root's parameters are needed again at once.
        object.__setattr__(self, "_reshard_given", None if strategy is ShardingStrategy.FULL_SHARD else False)

    # Properties

    @property
    def module(self) -> Any:
        """The wrapped module."""
        return self._modules[FSDP_WRAPPED_MODULE]

    @property
    def _flat_param(self) -> Any:
        owners = self._shards.owners
        return owners[0].sharded if owners else None

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._modules[FSDP_WRAPPED_MODULE], name)

    def __getitem__(self, key: int) -> Any:
        return self.module[key]

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """Return the FSDP modules in a module; with ``root_only``, only those that are in no other one."""
        found = [part for part in module.modules() if isinstance(part, FullyShardedDataParallel)]
        return [part for part in found if not root_only or part is module or not getattr(part, "_inner", False)]

    def check_is_root(self) -> bool:
        """Return whether this module is in no other FSDP module."""
        return not getattr(self, "_inner", False)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Yield the parameters by name; within ``summon_full_params``, with their original names."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield (clean_name(name) if getattr(self, "_summoned", False) else name), parameter

    def named_buffers(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Yield the buffers by name; within ``summon_full_params``, with their original names."""
        for name, buffer in super().named_buffers(*args, **kwargs):
            yield (clean_name(name) if getattr(self, "_summoned", False) else name), buffer

    def apply(self, fn: Callable[[Any], None]) -> FullyShardedDataParallel:
        """Call a function on each submodule, with full parameters."""
        with self.summon_full_params(self):
            return super().apply(fn)

    # Forward and gradients

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the wrapped module with full parameters."""
        root, mixed = not getattr(self, "_inner", False), self.mixed_precision
        if root and mixed.buffer_dtype is not None:
            for buffer in self.module.buffers():
                if buffer.is_floating_point() and buffer.dtype != mixed.buffer_dtype:
                    buffer.data = buffer.data.to(mixed.buffer_dtype)
        if root:
            args, kwargs = moved_inputs((args, kwargs), self.compute_device)
        self._check_place()
        kind = mixed.param_dtype
        if kind is not None and (mixed.cast_root_forward_inputs if root else mixed.cast_forward_inputs):
            args, kwargs = torch.utils._pytree.tree_map_only(
                torch.Tensor, lambda one: one.to(kind) if one.is_floating_point() else one, (args, kwargs)
            )
        gather(self)
        with forgetting():
            try:
                return self.module(*args, **kwargs)
            finally:
                let_go(self)

    def _check_place(self) -> None:
        for owner in self._shards.owners:
            wanted = torch.device("cpu") if self.cpu_offload.offload_params else self.compute_device
            if owner.sharded.device != wanted:
                raise RuntimeError(
                    f"An FSDP-managed module unexpectedly has parameters on {owner.sharded.device}. Make sure to move the module to "
                    f"{wanted} before training."
                )

    def _apply(self, fn: Callable[[Any], Any], *args: Any, **kwargs: Any) -> Any:
        self._shards.reshard()
        super()._apply(fn, *args, **kwargs)
        for owner in self._shards.owners:
            owner.refresh(fn)
        return self

    def no_sync(self) -> AbstractContextManager[None]:
        """Return a context manager in which gradients are not reduced: they accumulate on each rank."""
        if getattr(self, "_inner", False):
            raise RuntimeError("`no_sync()` on inner FSDP instances is not supported. Please call `no_sync()` on root FSDP module.")
        return _without_sync([part._shards for part in self.fsdp_modules(self)])

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Clip the gradients to a total norm of ``max_norm`` over all ranks; return the norm before."""
        if getattr(self, "_inner", False):
            raise RuntimeError("`clip_grad_norm_()` should only be called on the root FSDP instance")
        order, largest = float(norm_type), float(norm_type) == float("inf")
        grads = [one.grad for one in self.parameters() if one.grad is not None]
        norms = [torch.linalg.vector_norm(one.detach(), order, dtype=torch.float32) for one in grads if one.numel()]
        total = torch.linalg.vector_norm(torch.stack(norms), order) if norms else torch.zeros((), device=self.compute_device)
        total = total.to(self.compute_device)
        total = total if largest else total**order
        self.process_group.allreduce([total], ReduceOp.MAX if largest else ReduceOp.SUM).wait()
        total = total if largest else total ** (1.0 / order)
        factor = torch.clamp(max_norm / (total + 1e-6), max=1.0)
        for one in grads:
            one.mul_(factor.to(one.device, one.dtype))
        return total

    def register_comm_hook(self, state: object, hook: Callable[..., Any]) -> None:
        """Raise NotImplementedError."""
        _refuse(".register_comm_hook")

    # Full parameters

    @staticmethod
    @contextmanager
    def summon_full_params(
        module: Module, recurse: bool = True, writeback: bool = True, rank0_only: bool = False, offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:  # fmt: skip
        """Context manager in which modules have their unsharded parameters. With ``writeback`` changes are kept; with ``rank0_only`` only
        rank 0 has the unsharded parameters.
        """
        if with_grads:
            _refuse(".summon_full_params(with_grads=True)")
        if writeback and rank0_only:
            raise NotImplementedError("writeback=True and rank0_only=True is not supported, as model parameter shapes will be different across ranks, and writing to them can lead to inconsistencies across ranks when the context is exited.")  # fmt: skip  # noqa: E501
        parts = FullyShardedDataParallel.fsdp_modules(module)
        with ExitStack() as stack:
            for part in parts if recurse else [part for part in parts if part is module]:
                here = not rank0_only or part._shards.group.rank() == 0
                stack.enter_context(part._with_parameters(writeback, offload_to_cpu) if here else part._with_parts())
            yield

    @contextmanager
    def _with_parts(self) -> Iterator[None]:
        """Take part in the other ranks' all-gather, but leave this rank's parameters sharded."""
        if not self._shards.together:
            self._shards.unshard()
            self._shards.reshard()
        object.__setattr__(self, "_summoned", True)
        try:
            yield
        finally:
            object.__setattr__(self, "_summoned", False)

    @contextmanager
    def _with_parameters(self, writeback: bool, on_cpu: bool = False) -> Iterator[None]:
        together = self._shards.together
        self._shards.unshard()
        wholes = [owner.whole.detach().cpu() if on_cpu else owner.whole for owner in self._shards.owners]
        object.__setattr__(self, "_summoned", True)
        try:
            with ExitStack() as stack:
                for owner, whole in zip(self._shards.owners, wholes):
                    stack.enter_context(owner.as_parameters(whole))
                yield
        finally:
            object.__setattr__(self, "_summoned", False)
            if writeback:
                for owner, whole in zip(self._shards.owners, wholes):
                    owner.keep(whole)
            if not together:
                self._shards.reshard()

    # States

    @staticmethod
    def set_state_dict_type(
        module: Module, state_dict_type: StateDictType, state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:  # fmt: skip
        """Set the state dict type of the FSDP modules in a module; return the previous settings."""
        config, optim_config = _CONFIGS[state_dict_type]
        chosen = StateDictSettings(state_dict_type, state_dict_config or config(), optim_state_dict_config or optim_config())
        for given, wanted in ((chosen.state_dict_config, config), (chosen.optim_state_dict_config, optim_config)):
            if type(given) is not wanted:
                raise RuntimeError(f"Expected state_dict_config of type {wanted} but got {type(given)}")
        before_it = FullyShardedDataParallel.get_state_dict_type(module)
        for part in FullyShardedDataParallel.fsdp_modules(module):
            part._settings = chosen
        return before_it

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """Return the state dict settings of the FSDP modules in a module."""
        found = [part._settings for part in FullyShardedDataParallel.fsdp_modules(module)]
        if not found:
            return StateDictSettings(StateDictType.FULL_STATE_DICT, FullStateDictConfig(), FullOptimStateDictConfig())
        if any(one != found[0] for one in found):
            raise AssertionError("All FSDP modules must have the same state dict settings.")
        return found[0]

    @staticmethod
    @undoing
    def state_dict_type(
        undo: Undo, module: Module, state_dict_type: StateDictType, state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> None:  # fmt: skip
        """Context manager in which state dicts are of the given type."""
        undo[END:] = [values_again(part, "_settings") for part in FullyShardedDataParallel.fsdp_modules(module)]
        FullyShardedDataParallel.set_state_dict_type(module, state_dict_type, state_dict_config, optim_state_dict_config)

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Return the state dict with the original names: full tensors, or DTensors over the mesh."""
        names = dict(zip(("destination", "prefix", "keep_vars"), args))
        destination, prefix = names.get("destination", destination), names.get("prefix", prefix)
        kind, config = self._settings.state_dict_type, self._settings.state_dict_config
        if kind is StateDictType.LOCAL_STATE_DICT or (kind is StateDictType.SHARDED_STATE_DICT and self._device_mesh is None):
            _refuse(f".state_dict of {kind} without a device_mesh: ShardedTensor is missing")
        with self._with_parameters(False):
            found = self.module.state_dict(destination=destination, prefix=prefix, keep_vars=keep_vars)
            for owner in self._shards.owners:
                for name in _names(owner, self.module, prefix):
                    if kind is StateDictType.SHARDED_STATE_DICT:
                        found[name] = self._spread(found[name])
                    else:
                        found[name] = found[name].detach().to("cpu" if config.offload_to_cpu else found[name].device, copy=True)
        if config.offload_to_cpu:  # buffers too
            here = [name for name, value in found.items() if name.startswith(prefix) and isinstance(value, torch.Tensor)]
            found.update((name, found[name].cpu()) for name in here)
        if kind is StateDictType.FULL_STATE_DICT and getattr(config, "rank0_only", False) and get_rank():
            for name in [key for key in found if key.startswith(prefix)]:
                del found[name]
        return found

    def _spread(self, whole: Any) -> Any:
        local = cut(whole.detach(), 0, self.process_group).clone()
        return wrapped(local, self._device_mesh, [Shard(0)], tuple(whole.shape))

    @staticmethod
    def optim_state_dict(
        model: Module, optim: Optimizer, optim_state_dict: dict[str, Any] | None = None, group: ProcessGroup | None = None
    ) -> dict[str, Any]:
        """Return an optimizer's state with full tensors under the original parameter names."""
        if optim_state_dict is not None:
            _refuse(".optim_state_dict of a state that is given")
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        if settings.state_dict_type is not StateDictType.FULL_STATE_DICT:
            _refuse(f".optim_state_dict of {settings.state_dict_type}")
        config = settings.optim_state_dict_config
        return named_state(model, optim, getattr(config, "rank0_only", False), _prefixes(model), config.offload_to_cpu)

    @staticmethod
    def full_optim_state_dict(
        model: Module, optim: Optimizer, optim_input: Iterable[Any] | list[dict[str, Any]] | None = None, rank0_only: bool = True,
        group: ProcessGroup | None = None
    ) -> dict[str, Any]:
        """Return ``optim_state_dict`` with full tensors, by default only on rank 0."""
        return named_state(model, optim, rank0_only, _prefixes(model))

    @staticmethod
    def optim_state_dict_to_load(
        model: Module, optim: Optimizer, optim_state_dict: dict[str, Any], is_named_optimizer: bool = False, load_directly: bool = False,
        group: ProcessGroup | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Convert a state dict with full tensors by name to the form of ``optim.load_state_dict``."""
        if is_named_optimizer:
            _refuse(".optim_state_dict_to_load(is_named_optimizer=True)")
        found = loadable_state(model, optim, optim_state_dict, _prefixes(model))
        if load_directly:
            optim.load_state_dict(found)
        return found


@undoing
def _without_sync(undo: Undo, shards: list[Shards]) -> None:
    for one in shards:
        undo[END:] = (values_again(one, "syncs"),)
        one.syncs = False


def _own_parts(module: Module) -> Iterator[tuple[str, Any]]:
    """Yield (prefix, module) for the module and each of its descendants once; FSDP-wrapped submodules and their descendants are left out.
    """
    waiting, seen = [("", module)], set()
    while waiting:
        name, part = waiting.pop(0)
        if part in seen or isinstance(part, FullyShardedDataParallel):
            continue
        seen.add(part)
        yield name, part
        waiting[:0] = [(f"{name}{child}.", one) for child, one in part.named_children()]


def _names(owner: FlatOwner, module: Module, prefix: str) -> list[str]:
    """Return all qualified names of an owner's parameters, including those of modules registered under several names."""
    parts: dict[Any, list[str]] = {}
    for name, part in _own_places(module, ""):
        parts.setdefault(part, []).append(name)
    return [f"{prefix}{place}{name}" for entry in owner.entries for part, name in entry.places for place in parts[part]]


def _own_places(module: Module, name: str) -> Iterator[tuple[str, Any]]:
    """Yield (prefix, module) like ``_own_parts``, but a submodule that is registered under several names is yielded for each name."""
    yield name, module
    for child, part in module._modules.items():
        if part is not None and not isinstance(part, FullyShardedDataParallel):
            yield from _own_places(part, f"{name}{child}.")


def _prefixes(model: Any) -> Callable[[Any], str]:
    found = {part: clean_name(f"{name}." if name else "") for name, part in model.named_modules()}
    return lambda part: found[part]


def _before_load(
    module: FullyShardedDataParallel, state: dict[str, Any], prefix: str, metadata: Any, strict: bool, missing: Any,
    unexpected: Any, errors: Any
) -> None:
    block = module._with_parameters(True)
    block.__enter__()
    object.__setattr__(module, "_loading", block)
    for key in [key for key in state if key.startswith(prefix) and not key[len(prefix) :].startswith(FSDP_PREFIX)]:
        value = state.pop(key)
        state[f"{prefix}{FSDP_PREFIX}{key[len(prefix) :]}"] = value.full_tensor() if isinstance(value, DTensor) else value


def _after_load(module: FullyShardedDataParallel, keys: _IncompatibleKeys) -> None:
    module._loading.__exit__(None, None, None)
    object.__setattr__(module, "_loading", None)
    for found in (keys.missing_keys, keys.unexpected_keys):
        found[:] = [clean_name(name) for name in found]


__all__ = ["FullyShardedDataParallel", "OptimStateKeyType"]
