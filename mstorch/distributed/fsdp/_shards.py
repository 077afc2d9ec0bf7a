"""The parameters of one ``fully_shard``: each rank keeps a shard; the unsharded parameters exist only while they are used."""
from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import mstorch as torch

from ..._src.core.tensor_base import window
from ..._src.tape.passes import next_callback
from ...autograd.graph import saved_tensors_hooks
from .._group import ProcessGroup
from .._settings import ReduceScatterOptions
from .._types import ReduceOp
from ..device_mesh import DeviceMesh
from ..tensor._dtensor import DTensor, wrapped
from ..tensor._moves import bounds, cut
from ..tensor.placement_types import Replicate, Shard
from ._flat import FlatOwner
from ._policies import MixedPrecisionPolicy
from ._unit import Unit

# The Shards and the parameter's index by the storage of a full parameter, which backward may need again.
_wholes: weakref.WeakKeyDictionary[Any, tuple[Shards, int]] = weakref.WeakKeyDictionary()


class Owner:
    """A parameter, and the modules and names that refer to it."""

    def __init__(self, parameter: torch.Tensor, places: list[tuple[Any, str]], mesh: DeviceMesh, offload: bool = False) -> None:
        self.places, self.mesh = places, mesh
        self.placements = [Replicate(), Shard(0)] if mesh.ndim == 2 else [Shard(0)]
        self.partial: Any = None  # a gradient that is not averaged over the replicas yet
        self.shape, self.dtype, self.needs_grad = tuple(parameter.shape), parameter.dtype, parameter.requires_grad
        group = mesh.get_group(mesh.ndim - 1)
        local = cut(parameter.detach(), 0, group).clone(memory_format=torch.contiguous_format)
        local = local.cpu() if offload else local
        spread = wrapped(local, mesh, self.placements, self.shape)
        self.sharded: Any = torch.nn.Parameter(spread, parameter.requires_grad)
        self.whole: Any = None
        self.grad: Any = None  # gradient of the full parameter that is not reduced yet
        self.put(self.sharded)

    def give(self, local: torch.Tensor) -> None:
        """Add to this rank's shard of the gradient."""
        local = local.to(self.local().device)
        held = self.sharded.grad
        if held is not None:
            local = held.to_local().detach() + local
        self.sharded.grad = wrapped(local, self.mesh, self.placements, self.shape)

    def local(self) -> torch.Tensor:
        """Return this rank's shard."""
        return self.sharded.to_local().detach()

    def follow(self) -> None:
        """Adopt the module's current parameter, which ``load_state_dict(assign=True)`` or ``to_empty`` may have replaced."""
        module, name = self.places[0]
        found = module._parameters[name]
        if found is not self.sharded:
            if not isinstance(found, DTensor):
                raise RuntimeError(f"Expects parameter {name} of a module under fully_shard to be a DTensor, got {type(found).__name__}")
            self.sharded, self.needs_grad = found, found.requires_grad
            self.put(found)

    def put(self, tensor: torch.Tensor) -> None:
        """Set the modules' parameter to a tensor."""
        for module, name in self.places:
            module._parameters[name] = tensor


class Shards:
    """Sharded parameters: all-gathered for forward and backward; their gradients are reduce-scattered."""

    def __init__(
        self, owners: Sequence[Any], group: ProcessGroup, reshard: bool, policy: MixedPrecisionPolicy, device: torch.device,
        copies: Any = None
    ) -> None:
        self.device = device  # device of the full parameters; shards may be on the CPU
        self.copies, self.averages_copies = copies, True  # the group of ranks with the same shards (replicas)
        self.owners, self.group, self.reshard_after_forward, self.policy = list(owners), group, reshard, policy
        self.divisor: float | None = None  # divisor of gradients, if it is not the number of ranks
        self.reshard_after_backward = True
        self.syncs, self.queued, self.arrived = True, False, 0
        self.again: list[Any] | None = None  # the full parameters' storages in backward
        self.begun: tuple[Any, Any] | None = None  # a started all-gather
        self.before_forward: list[Shards] = []  # Shards whose all-gather starts as soon as this one has completed
        self.before_backward: list[Shards] = []
        self._units: dict[tuple[int, ...], Unit] = {}

    # Unsharding

    def begin(self) -> None:
        """Start the all-gather into separate full tensors."""
        if self.begun is not None or self.together or self.again is not None:
            return
        kind = self.policy.param_dtype
        with torch.no_grad():
            parts = [owner.local().to(self.device).contiguous() for owner in self.owners]
            parts = parts if kind is None else [part.to(kind) for part in parts]
            if self._is_one_row(parts):
                row = self._unit(self.owners).packed(parts)
                rows = torch.empty(row.numel() * self.group.size(), dtype=row.dtype, device=row.device)
                self.begun = rows, self.group._allgather_base(rows, row)
                return
            wholes = [torch.empty(owner.shape, dtype=part.dtype, device=part.device) for owner, part in zip(self.owners, parts)]
            self.begun = wholes, self.group._allgather_pieces(self._rows(wholes), parts)

    def _gathered(self) -> list[Any]:
        """Return the full tensor of each parameter."""
        self.begin()
        assert self.begun is not None
        (wholes, work), self.begun = self.begun, None
        work.wait()
        if isinstance(wholes, list):
            return wholes
        with torch.no_grad():
            return self._unit(self.owners).unpacked(wholes)

    def _is_one_row(self, tensors: Sequence[Any]) -> bool:
        """Return whether these tensors of a unit are sent as one row: on a device, and of one dtype."""
        return self.device.type != "cpu" and len({tensor.dtype for tensor in tensors}) == 1

    def _unit(self, owners: Sequence[Any]) -> Unit:
        """Return the places of these parameters in the flat tensors that are sent."""
        key = tuple(map(id, owners))
        if key not in self._units:
            self._units[key] = Unit([owner.shape for owner in owners], self.group.size(), self.group.rank())
        return self._units[key]

    def _rows(self, wholes: list[Any]) -> list[list[Any]]:
        """Return for each rank its slices of the full tensors."""
        size = self.group.size()
        limits = [[bounds(len(whole), size, member) for whole in wholes] for member in range(size)]
        return [[whole[first:last] for whole, (first, last) in zip(wholes, places)] for places in limits]

    @property
    def together(self) -> bool:
        """True while the modules hold full parameters."""
        return bool(self.owners) and all(owner.whole is not None for owner in self.owners)

    def prepare(self) -> None:
        """Start the all-gather, unless the modules have full parameters."""
        if self.owners and not self.together:
            for owner in self.owners:
                owner.follow()
            self.begin()

    def prefetch(self) -> None:
        """Start the all-gather of the modules prefetched for the next forward."""
        for other in self.before_forward:
            other.prepare()

    def unshard(self) -> None:
        """Give the modules their full parameters."""
        if self.together or not self.owners:
            return
        for owner in self.owners:
            owner.follow()
        for place, (owner, full) in enumerate(zip(self.owners, self._gathered())):
            whole = torch.nn.Parameter(full, owner.needs_grad)
            _wholes[whole._ms_storage] = (self, place)
            if owner.needs_grad:
                whole.register_post_accumulate_grad_hook(lambda _, owner=owner: self._arrive(owner))
            owner.put(whole)
            owner.whole = whole  # last: an interrupted owner is unsharded again

    def reshard(self) -> None:
        """Give the modules their shards and free the full parameters."""
        if self.begun is not None:
            self._gathered()
        freed: set[int] = set()
        for owner in self.owners:
            if owner.whole is not None:
                whole, owner.whole = owner.whole, None  # first: an interrupted owner is sharded again
                owner.put(owner.sharded)
                if id(whole._ms_storage) not in freed:  # which all parameters of a row share
                    freed.add(id(whole._ms_storage))
                    whole._ms_storage.let_go()
                whole._ms_array = whole._ms_raw = whole._ms_at = None

    def _ms_storage(self, place: int) -> Any:
        """Return the storage of a full parameter for backward; gather the parameters again if they were freed."""
        owner = self.owners[place]
        if owner.whole is not None:
            return owner.whole._ms_storage
        if self.again is None:
            self._expect_end()
            self.again = [full._ms_storage for full in self._gathered()]
            for other in self.before_backward:
                other.begin()
        return self.again[place]

    # Gradients

    def _arrive(self, owner: FlatOwner | Owner) -> None:
        self._expect_end()
        self.arrived += 1
        if self.arrived == sum(one.needs_grad for one in self.owners):
            self.finish()

    def _expect_end(self) -> None:
        if not self.queued:
            self.queued = True
            next_callback(self.finish)

    def expect(self, wholes: list[Any]) -> None:
        """Remember the full tensors for which backward will compute gradients."""
        self.waiting = wholes

    waiting: list[Any] = []

    def finish(self) -> None:
        """Reduce the gradients that have arrived, and free the full parameters."""
        if not self.queued:
            return
        self.queued, self.arrived, self.again = False, 0, None
        for owner, whole in zip(self.owners, self.waiting):
            if whole.grad is not None:
                gradient = whole.grad.detach()
                owner.grad = gradient if owner.grad is None else owner.grad + gradient
                whole.grad = None
        if self.syncs:
            self._reduce()
        if self.reshard_after_backward:
            self.reshard()

    def _reduce(self) -> None:
        self.group.size()
        having = [owner for owner in self.owners if owner.grad is not None]
        kind = self.policy.reduce_dtype
        kinds: dict[Any, list[Any]] = {}
        for owner in having:
            kinds.setdefault(kind or owner.grad.dtype, []).append(owner)
        with torch.no_grad():
            for dtype, owners in kinds.items():
                grads = [owner.grad.to(dtype).contiguous() for owner in owners]
                if self._is_one_row(grads):
                    self._reduce_row(owners, grads)
                    continue
                rows = self._rows(grads)
                parts = [torch.empty_like(row, memory_format=torch.contiguous_format) for row in rows[self.group.rank()]]
                op, divisor = self._reduction_and_divisor(self.group, parts)
                self.group._reduce_scatter_pieces(parts, rows, op)
                for owner, part in zip(owners, parts):
                    owner.grad = None
                    part = part if divisor is None else part.div_(divisor)
                    part = part if self.copies is None else self._over_copies(owner, part)
                    if part is not None:
                        owner.give(part.to(owner.dtype))

    def _reduce_row(self, owners: Sequence[Any], grads: Sequence[Any]) -> None:
        """Reduce the gradients of a unit as one row."""
        unit = self._unit(owners)
        row = unit.spread(grads)
        part = torch.empty(unit.length, dtype=row.dtype, device=row.device)
        op, divisor = self._reduction_and_divisor(self.group, [part])
        options = ReduceScatterOptions()
        options.reduceOp = op
        self.group._reduce_scatter_base(part, row, options).wait()
        part = part if divisor is None else part.div_(divisor)
        together = self.copies is not None and self.averages_copies and all(owner.partial is None for owner in owners)
        part = self._mean_over_copies(part) if together else part
        kinds = {owner.dtype for owner in owners}
        part = part.to(kinds.pop()) if len(kinds) == 1 and self.copies is None else part
        for owner, shard in zip(owners, unit.shards(part)):
            owner.grad = None
            shard = shard if together or self.copies is None else self._over_copies(owner, shard)
            if shard is not None:
                owner.give(shard.to(owner.dtype))

    def _over_copies(self, owner: Any, part: Any) -> Any:
        """Return the gradient shard averaged over the replicas; accumulate it and return None if averaging is deferred."""
        part = part if owner.partial is None else part + owner.partial
        owner.partial = None if self.averages_copies else part
        return self._mean_over_copies(part) if self.averages_copies else None

    def _mean_over_copies(self, part: Any) -> Any:
        """Return the mean of gradients over the replicas, computed in their memory."""
        op, divisor = self._reduction_and_divisor(self.copies, [part])
        self.copies.allreduce([part], op).wait()
        return part if divisor is None or self.divisor is not None else part.div_(divisor)

    def _reduction_and_divisor(self, group: Any, parts: Sequence[Any]) -> tuple[ReduceOp, float | None]:
        """Return the reduction to request for gradients, and the divisor to apply to its result: None if AVG is requested, which HCCL
        lacks."""
        if self.divisor is None and parts[0].device.type == "cpu":
            return ReduceOp.AVG, None
        return ReduceOp.SUM, group.size() if self.divisor is None else self.divisor


def _pack(tensor: torch.Tensor | DTensor) -> Any:
    found = _wholes.get(tensor._ms_storage) if not isinstance(tensor, DTensor) else None
    if found is None or not found[0].reshard_after_forward:
        return tensor
    return found[0], found[1], tensor._ms_dtype, tensor._ms_shape, tensor._ms_stride, tensor._ms_offset


def _unpack(kept: Any) -> torch.Tensor:
    if not isinstance(kept, tuple):
        return kept
    shards, place, kind, shape, strides, offset = kept
    return window(shards._ms_storage(place), kind, shape, strides, offset)


def forgetting() -> saved_tensors_hooks:
    """Return a context manager in which autograd saves no full parameters, but gathers them again in backward."""
    return saved_tensors_hooks(_pack, _unpack)
