"""torch.distributed._functional_collectives: collectives that return new tensors, with gradients.

Differs from torch: collectives complete before they return, so that the result is a plain tensor and ``wait_tensor`` returns it unchanged.
"""
from __future__ import annotations

from typing import Any

import mstorch as torch

from .._src.hook import missing as _missing
from ._group import ProcessGroup
from ._types import ReduceOp
from ._world import chosen, default_group, world
from .nn import functional

_OPS = {op.name.lower(): op for op in ReduceOp}


def _group(group: Any, tag: str = "") -> ProcessGroup:
    """Return the process group for a group, its name, a 1-d mesh, or a pair of a mesh and a dimension; for None the default group. Raise
    for other values."""
    if group is None:
        return default_group()
    if isinstance(group, str):
        if group not in world.groups:
            raise RuntimeError(f"Could not resolve the process group registered under the name {group}")
        return world.groups[group]
    if isinstance(group, tuple) and len(group) == 2 and hasattr(group[0], "get_group"):
        return group[0].get_group(group[1])
    if hasattr(group, "get_group"):
        if group.ndim != 1:
            raise AssertionError("Only 1D mesh is supported, pass in (DeviceMesh, int) together if mesh > 1D")
        return group.get_group()
    if isinstance(group, list):
        raise NotImplementedError("mstorch: functional collectives take a group, its name or a mesh, not a list of ranks")
    return chosen(group)


def wait_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor; in mstorch, functional collectives have already completed."""
    return tensor


def broadcast(self: torch.Tensor, src: int, group: Any, tag: str = "") -> Any:
    """Return the tensor of rank ``src``."""
    return functional.broadcast(self, src, _group(group, tag))


def all_reduce(self: torch.Tensor, reduceOp: str, group: Any, tag: str = "") -> Any:
    """Return the tensor reduced over all ranks; ``reduceOp`` is "sum", "avg", "product", "min", "max" …"""
    return functional.all_reduce(self, _OPS[reduceOp.lower()], _group(group, tag))


def all_reduce_coalesced(self: list[torch.Tensor], reduceOp: str, group: ProcessGroup, tag: str = "") -> list[Any]:
    """Return a list of ``all_reduce`` of each tensor."""
    return [all_reduce(one, reduceOp, group, tag) for one in self]


def all_gather_tensor(self: torch.Tensor, gather_dim: int, group: Any, tag: str = "") -> torch.Tensor:
    """Return the ranks' tensors, concatenated along ``gather_dim``."""
    return torch.cat(functional.all_gather(self, _group(group, tag)), gather_dim)


def all_gather_single(self: torch.Tensor, gather_dim: int, group: ProcessGroup, tag: str = "") -> torch.Tensor:
    """Return ``all_gather_tensor`` of the arguments, under its new name."""
    return all_gather_tensor(self, gather_dim, group, tag)


def all_gather_into_tensor_coalesced(self: list[torch.Tensor], group: ProcessGroup, tag: str = "") -> list[Any]:
    """Return a list of ``all_gather_tensor`` of each tensor, along dimension 0."""
    return [all_gather_tensor(one, 0, group, tag) for one in self]


def reduce_scatter_tensor(self: torch.Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = "") -> Any:
    """Reduce the tensor over all ranks and return this rank's shard along ``scatter_dim``."""
    found = _group(group, tag)
    size = found.size()
    if self.shape[scatter_dim] % size:
        raise AssertionError(f"input dimension {scatter_dim} ({self.shape[scatter_dim]} must be a multiple of group_size {size})")
    parts = self.chunk(size, scatter_dim)
    return functional._ReduceScatter.apply(_OPS[reduceOp.lower()], found, parts[0].shape, *parts)


def reduce_scatter_single(self: torch.Tensor, reduceOp: str, scatter_dim: int, group: ProcessGroup, tag: str = "") -> Any:
    """Return ``reduce_scatter_tensor`` of the arguments, under its new name."""
    return reduce_scatter_tensor(self, reduceOp, scatter_dim, group, tag)


def reduce_scatter_tensor_coalesced(
    inputs: list[torch.Tensor], reduceOp: str, scatter_dim: list[int], group: ProcessGroup, tag: str = ""
) -> list[Any]:
    """Return a list of ``reduce_scatter_tensor`` of each tensor."""
    return [reduce_scatter_tensor(one, reduceOp, dim, group, tag) for one, dim in zip(inputs, scatter_dim)]


def all_to_all_single(
    self: torch.Tensor, output_split_sizes: list[int] | None, input_split_sizes: list[int] | None, group: Any, tag: str = ""
) -> torch.Tensor:
    """Send one chunk along dimension 0 to each rank, and return the received chunks, concatenated."""
    rows = self.shape[0] if output_split_sizes is None else sum(output_split_sizes)
    shape = (rows, *self.shape[1:])
    return functional._AllToAllSingle.apply(_group(group, tag), shape, output_split_sizes, input_split_sizes, self)


all_gather_tensor_autograd = all_gather_single_autograd = all_gather_tensor
reduce_scatter_tensor_autograd = reduce_scatter_single_autograd = reduce_scatter_tensor
all_to_all_single_autograd = all_to_all_single

__all__ = [
    "all_gather_into_tensor_coalesced", "all_gather_single", "all_gather_single_autograd", "all_gather_tensor",
    "all_gather_tensor_autograd", "all_reduce", "all_reduce_coalesced", "all_to_all_single", "all_to_all_single_autograd", "broadcast",
    "reduce_scatter_single", "reduce_scatter_single_autograd", "reduce_scatter_tensor", "reduce_scatter_tensor_autograd",
    "reduce_scatter_tensor_coalesced", "wait_tensor",
]  # fmt: skip

__getattr__ = _missing(__name__)
