"""The parameters of one ``fully_shard``: each process keeps a part; the whole is there while it is used."""
from __future__ import annotations

import weakref
from typing import Any

import numpy as np

import mstorch as torch

from ..._core.tensor_base import window
from ..._tape.engine import next_callback
from ...autograd.graph import saved_tensors_hooks
from .. import _collectives as plain
from .._types import ReduceOp
from ..tensor._dtensor import DTensor, wrapped
from ..tensor._moves import bounds, cut
from ..tensor.placement_types import Shard

# Whose memory it is that backward will ask for, by the storage of the whole.
_wholes: weakref.WeakKeyDictionary[Any, tuple[Shards, int]] = weakref.WeakKeyDictionary()


class _Owner:
    """A parameter, and where modules have it."""

    def __init__(self, parameter: Any, mesh: Any) -> None:
        self.places: list[tuple[Any, str]] = []
        self.shape, self.dtype, self.needs_grad = tuple(parameter.shape), parameter.dtype, parameter.requires_grad
        group = mesh.get_group()
        local = cut(parameter.detach(), 0, group).clone(memory_format=torch.contiguous_format)
        spread = wrapped(local, mesh, [Shard(0)], self.shape)
        self.sharded: Any = torch.nn.Parameter(spread, parameter.requires_grad)
        self.each = -(-self.shape[0] // group.size())
        self.row = int(np.prod(self.shape[1:], dtype=np.int64))
        self.whole: Any = None
        self.grad: Any = None  # of the whole, where it is not averaged yet

    def put(self, tensor: Any) -> None:
        """Let the modules have a tensor as their parameter."""
        for module, name in self.places:
            module._parameters[name] = tensor


class Shards:
    """Parts of some parameters, put together for forward and for backward, and their gradients' averages."""

    def __init__(self, parameters: dict[Any, list[tuple[Any, str]]], mesh: Any, reshard: bool, policy: Any) -> None:
        self.mesh, self.group, self.reshard_after_forward, self.policy = mesh, mesh.get_group(), reshard, policy
        self.owners = []
        for parameter, places in parameters.items():
            owner = _Owner(parameter, mesh)
            owner.places = places
            owner.put(owner.sharded)
            self.owners.append(owner)
        self.syncs, self.queued, self.arrived = True, False, 0
        self.again: list[Any] | None = None  # the wholes' storages in backward

    # Putting together

    def _gathered(self) -> list[Any]:
        """The whole of each parameter, in memory of its own."""
        kind = self.policy.param_dtype
        parts = []
        with torch.no_grad():
            for owner in self.owners:
                local = owner.sharded.to_local().detach().reshape(-1)
                local = local if kind is None else local.to(kind)
                missing = owner.each * owner.row - local.numel()
                parts.append(torch.cat([local, local.new_zeros(missing)]) if missing else local)
            found = []
            for members in self._by_dtype(parts):
                flat = torch.cat([parts[place] for place in members])
                whole = flat.new_empty(flat.numel() * self.group.size())
                plain.all_gather_single(whole, flat, self.group)
                rows, start = whole.view(self.group.size(), -1), 0
                for place in members:
                    owner, length = self.owners[place], parts[place].numel()
                    full = rows[:, start : start + length].reshape(-1)[: owner.shape[0] * owner.row].clone()
                    found.append((place, full.view(owner.shape)))
                    start += length
        return [full for _, full in sorted(found, key=lambda pair: pair[0])]

    def _by_dtype(self, parts: list[Any]) -> list[list[int]]:
        kinds: dict[Any, list[int]] = {}
        for place, part in enumerate(parts):
            kinds.setdefault(part.dtype, []).append(place)
        return list(kinds.values())

    @property
    def together(self) -> bool:
        """Whether the modules have the whole parameters."""
        return bool(self.owners) and self.owners[0].whole is not None

    def unshard(self) -> None:
        """Let the modules have the whole parameters."""
        if self.together or not self.owners:
            return
        for place, (owner, full) in enumerate(zip(self.owners, self._gathered())):
            owner.whole = torch.nn.Parameter(full, owner.needs_grad)
            _wholes[owner.whole._storage] = (self, place)
            if owner.needs_grad:
                owner.whole.register_post_accumulate_grad_hook(lambda _, owner=owner: self._arrive(owner))
            owner.put(owner.whole)

    def reshard(self) -> None:
        """Let the modules have their parts, and let the memory of the wholes go."""
        for owner in self.owners:
            if owner.whole is not None:
                owner.put(owner.sharded)
                owner.whole._storage.exchange(np.empty(0, np.uint8))
                owner.whole._array = None
                owner.whole = None

    def _storage(self, place: int) -> Any:
        """The memory of a whole parameter in backward, which is put together anew."""
        owner = self.owners[place]
        if owner.whole is not None:
            return owner.whole._storage
        if self.again is None:
            self._expect_end()
            self.again = [full._storage for full in self._gathered()]
        return self.again[place]

    # Gradients

    def _arrive(self, owner: Any) -> None:
        self._expect_end()
        self.arrived += 1
        if self.arrived == sum(one.needs_grad for one in self.owners):
            self.finish()

    def _expect_end(self) -> None:
        if not self.queued:
            self.queued = True
            next_callback(self.finish)

    def expect(self, wholes: list[Any]) -> None:
        """Remember the wholes whose gradients backward brings."""
        self.waiting = wholes

    waiting: list[Any] = []

    def finish(self) -> None:
        """Average the gradients that have come, and let go of the wholes."""
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
        self.reshard()

    def _reduce(self) -> None:
        size = self.group.size()
        having = [owner for owner in self.owners if owner.grad is not None]
        kind = self.policy.reduce_dtype
        kinds: dict[Any, list[Any]] = {}
        for owner in having:
            kinds.setdefault(kind or owner.grad.dtype, []).append(owner)
        with torch.no_grad():
            for dtype, owners in kinds.items():
                columns = []
                for owner in owners:
                    flat = owner.grad.to(dtype).reshape(-1)
                    missing = owner.each * owner.row * size - flat.numel()
                    columns.append((torch.cat([flat, flat.new_zeros(missing)]) if missing else flat).view(size, -1))
                    owner.grad = None
                given = torch.cat(columns, 1).reshape(-1)
                part = given.new_empty(given.numel() // size)
                plain.reduce_scatter_single(part, given, ReduceOp.AVG, self.group)
                start = 0
                for owner, column in zip(owners, columns):
                    length = column.shape[1]
                    self._give(owner, part[start : start + length])
                    start += length

    def _give(self, owner: Any, part: Any) -> None:
        first, last = bounds(owner.shape[0], self.group.size(), self.group.rank())
        local = part[: (last - first) * owner.row].view(last - first, *owner.shape[1:]).to(owner.dtype).clone()
        held = owner.sharded.grad
        if held is not None:
            local = held.to_local().detach() + local
        owner.sharded.grad = wrapped(local, self.mesh, [Shard(0)], owner.shape)


def _pack(tensor: Any) -> Any:
    found = _wholes.get(tensor._storage) if not isinstance(tensor, DTensor) else None
    if found is None or not found[0].reshard_after_forward:
        return tensor
    return found[0], found[1], tensor._dtype, tensor._shape, tensor._stride, tensor._offset


def _unpack(kept: Any) -> Any:
    if not isinstance(kept, tuple):
        return kept
    shards, place, kind, shape, strides, offset = kept
    return window(shards._storage(place), kind, shape, strides, offset)


def forgetting() -> saved_tensors_hooks:
    """A block in which backward keeps no whole parameters, but asks for them again."""
    return saved_tensors_hooks(_pack, _unpack)
