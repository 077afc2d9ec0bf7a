"""fully_shard: shard a module's parameters over ranks."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mstorch as torch

from ..._src.hook import not_yet
from ..._src.leaving import END
from ...nn.modules.module import Module
from ...utils._pytree import tree_map_only
from .._world import get_world_size
from ..device_mesh import DeviceMesh, init_device_mesh
from ..tensor._dtensor import DTensor
from ._places import move_states, moved_inputs
from ._policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from ._shards import Owner, Shards, forgetting

__path__: list[str] = []  # modules below this one are in _src/unbuilt/modules.txt


class UnshardHandle:
    """Handle of a running all-gather of parameters."""

    def __init__(self, shards: Shards) -> None:
        self._shards = shards

    def wait(self) -> None:
        """Wait until the module has its full parameters."""
        self._shards.unshard()


class FSDPModule:
    """The methods that ``fully_shard`` adds to a module."""

    _shards: Shards
    _reshard_given: bool | int | None

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """All-gather the parameters; with ``async_op``, only start this and return a handle."""
        if async_op:
            self._shards.prepare()
            return UnshardHandle(self._shards)
        self._shards.unshard()
        return None

    def reshard(self) -> None:
        """Free the full parameters, keeping the shards."""
        self._shards.reshard()

    def _each(self, recurse: bool, function: Callable[[Any], None]) -> None:
        for module in self.modules() if recurse else [self]:  # type: ignore[attr-defined]
            if isinstance(module, FSDPModule):
                function(module)

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Set whether backward reduces gradients; without, unsharded gradients accumulate on each rank."""
        self._each(recurse, lambda module: setattr(module._shards, "syncs", requires_gradient_sync))

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Set whether backward all-reduces gradients over replicas on a 2-d mesh; without, sharded gradients accumulate."""
        self._each(recurse, lambda module: setattr(module._shards, "averages_copies", requires_all_reduce))

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Set whether the full parameters are freed between forward and backward."""
        self._each(recurse, lambda module: setattr(module._shards, "reshard_after_forward", reshard_after_forward))

    def set_modules_to_forward_prefetch(self, modules: list[Any]) -> None:
        """Set modules whose all-gather starts when this module's parameters have been gathered for forward."""
        self._shards.before_forward = _shards_of(modules)

    def set_modules_to_backward_prefetch(self, modules: list[Any]) -> None:
        """Set modules whose all-gather starts when this module's parameters have been gathered for backward."""
        self._shards.before_backward = _shards_of(modules)

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Set the divisor of the sum of the ranks' gradients, which is their number by default."""
        self._shards.divisor = factor

    def set_reduce_scatter_divide_factor(self, factor: float) -> None:
        """Deprecated name of ``set_gradient_divide_factor``."""
        self.set_gradient_divide_factor(factor)

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Set whether the full parameters are freed after backward."""
        self._each(recurse, lambda module: setattr(module._shards, "reshard_after_backward", reshard_after_backward))

    def _apply(self, *args: Any, **kwargs: Any) -> FSDPModule:
        self.reshard()
        return super()._apply(*args, **kwargs)

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Do nothing: after a backward, mstorch has no pending communication."""


def _shards_of(modules: Any) -> list[Shards]:
    for module in modules:
        if not isinstance(module, FSDPModule):
            raise ValueError(f"Expects FSDPModule but got {type(module)}: {module}")
    return [module._shards for module in modules]


def register_fsdp_forward_method(module: Module, method_name: str) -> None:
    """Make a method gather and free parameters as ``forward`` does. Raise ValueError if the module has no method of this name."""
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    method = getattr(module, method_name)

    def treated(self: FSDPModule, *args: Any, **kwargs: Any) -> Any:
        changed = before(self, args, kwargs)
        args, kwargs = changed if changed is not None else (args, kwargs)
        found = None
        try:
            found = method(*args, **kwargs)
        finally:
            cast = after(self, args, found)
        return found if cast is None else cast

    object.__setattr__(module, method_name, treated.__get__(module))


def _managed(module: Module, ignored: set[int]) -> dict[Any, list[tuple[Any, str]]]:
    """Return a dict from each parameter that no sharded submodule manages to its (module, name) pairs."""
    found: dict[Any, list[tuple[Any, str]]] = {}
    waiting, seen = [module], set()
    while waiting:
        part = waiting.pop(0)
        if id(part) in seen or (part is not module and isinstance(part, FSDPModule)):
            continue
        seen.add(id(part))
        for name, parameter in part._parameters.items():
            if parameter is not None and id(parameter) not in ignored:
                found.setdefault(parameter, []).append((part, name))
        waiting += part.children()
    return found


def fully_shard(
    module: Module | list[Module], *, mesh: DeviceMesh | None = None, reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[..., Any] | None = None,
    mp_policy: MixedPrecisionPolicy = MixedPrecisionPolicy(),
    offload_policy: OffloadPolicy = OffloadPolicy(), ignored_params: set[Any] | None = None,
) -> Any:  # fmt: skip
    """Shard a module's parameters over ranks along dimension 0; they become DTensors.

    They are all-gathered before forward and, if freed, before backward, which reduce-scatters the gradients. Submodules that are to be
    gathered separately are sharded first. On a 2-d mesh, the first dimension replicates. Raise NotImplementedError for more dimensions,
    other placements, and parameters that are DTensors.
    """
    if isinstance(module, list):
        raise NotImplementedError(f"mstorch: fully_shard of a list of modules {not_yet()}")
    if isinstance(module, (torch.nn.ModuleList, torch.nn.ModuleDict)):
        raise ValueError(f"fully_shard does not support containers that do not implement forward: {module}")
    if isinstance(module, FSDPModule):
        raise AssertionError("Each distinct composable distributed API can only be applied to a module once.")
    if shard_placement_fn is not None:
        raise NotImplementedError(f"mstorch: fully_shard(shard_placement_fn=…) {not_yet()}")
    if reshard_after_forward not in (None, True, False):
        raise NotImplementedError(f"mstorch: fully_shard(reshard_after_forward=<number>) {not_yet()}")
    if mesh is None:
        accelerator = torch.accelerator.current_accelerator()
        mesh = init_device_mesh("cpu" if accelerator is None else accelerator.type, (get_world_size(),))
    if mesh.ndim not in (1, 2):
        raise NotImplementedError(f"mstorch: fully_shard over a mesh of {mesh.ndim} dimensions {not_yet()}")
    parameters = _managed(module, {id(one) for one in ignored_params or ()})
    for parameter in parameters:
        if isinstance(parameter, DTensor):
            raise NotImplementedError(f"mstorch: fully_shard of parameters that are DTensors {not_yet()}")
        if parameter.dim() == 0:
            raise ValueError("fully_shard doesn't support scalar parameters. Change it to a 1D tensor with numel equal to 1.")
    kind = type(module)
    module.__class__ = type(f"FSDP{kind.__name__}", (FSDPModule, kind), {"__module__": kind.__module__})
    place = torch.device("cpu")
    if mesh.device_type != "cpu":
        place = torch.device(mesh.device_type, torch.accelerator.current_device_index())
        move_states((*parameters, *module.buffers()), place)
    offload = isinstance(offload_policy, CPUOffloadPolicy)
    owners = [Owner(parameter, places, mesh, offload) for parameter, places in parameters.items()]
    copies = mesh.get_group(0) if mesh.ndim == 2 else None
    shards = Shards(owners, mesh.get_group(mesh.ndim - 1), reshard_after_forward is not False, mp_policy, place, copies)
    object.__setattr__(module, "_shards", shards)
    object.__setattr__(module, "_reshard_given", reshard_after_forward)
    module.register_forward_pre_hook(before, prepend=True, with_kwargs=True)
    module.register_forward_hook(after, always_call=True)
    module.register_state_dict_pre_hook(lambda owner, prefix, keep: owner._shards.reshard())
    for part in module.modules():
        if part is not module and isinstance(part, FSDPModule):
            object.__setattr__(part, "_inner", True)
    return module


def _cast(value: Any, kind: Any) -> Any:
    return tree_map_only(torch.Tensor, lambda tensor: tensor.to(kind) if tensor.is_floating_point() else tensor, value)


def gather(module: Any) -> None:
    """All-gather a module's parameters before it computes."""
    shards = module._shards
    if module._reshard_given is None and not getattr(module, "_inner", False):
        shards.reshard_after_forward = False  # as in torch, the root's parameters are needed again at once
    shards.unshard()
    shards.prefetch()
    if torch.is_grad_enabled():
        shards.expect([owner.whole for owner in shards.owners])


def let_go(module: Any) -> None:
    """Free a module's full parameters after it has computed, unless backward keeps them."""
    shards = module._shards
    if shards.reshard_after_forward or not torch.is_grad_enabled():
        shards.reshard()


def before(module: FSDPModule, inputs: tuple[Any, ...], kwargs: Any) -> Any:
    gather(module)
    given = _moved_and_cast(module, module._shards, inputs, kwargs)
    block, blocks = forgetting(), module.__dict__.setdefault("_fsdp_blocks", [])
    block.__enter__()
    blocks[END:] = (block,)  # no interrupt comes between
    return given


def _moved_and_cast(module: Any, shards: Shards, inputs: tuple[torch.Tensor, ...], kwargs: Any) -> Any:
    """Return the arguments, moved and cast; None if nothing changes."""
    policy = shards.policy
    if shards.device.type != "cpu" and not getattr(module, "_inner", False):
        inputs, kwargs = moved_inputs(inputs, shards.device), moved_inputs(kwargs, shards.device)
        if policy.param_dtype is None or not policy.cast_forward_inputs:
            return inputs, kwargs
    if policy.param_dtype is not None and policy.cast_forward_inputs:
        return _cast(inputs, policy.param_dtype), _cast(kwargs, policy.param_dtype)
    return None


def after(module: FSDPModule, inputs: tuple[Any, ...], outputs: torch.Tensor | None) -> Any:
    blocks = module.__dict__.get("_fsdp_blocks")
    if blocks:
        leave = blocks[-1].__exit__
        blocks[-1:] = ()
        leave()
    let_go(module)
    shards = module._shards
    if shards.policy.output_dtype is not None and outputs is not None:
        return _cast(outputs, shards.policy.output_dtype)
    return None


__all__ = [
    "CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "UnshardHandle", "fully_shard",
    "register_fsdp_forward_method",
]  # fmt: skip
