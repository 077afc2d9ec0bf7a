"""The parameters of one FullyShardedDataParallel as one flat parameter, of which each rank keeps a shard."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import mstorch as torch

from ...nn.modules.module import Module
from .._group import ProcessGroup

_ALIGNED = 16  # byte alignment of visible original parameters, as in torch
FLAT_PARAM = "_flat_param"


class _Entry:
    """A parameter's shape, its owners' modules and names, and its range in the flat parameter."""

    def __init__(self, parameter: torch.Tensor, places: list[tuple[Any, str]], name: str, start: int) -> None:
        self.shape, self.places, self.name = tuple(parameter.shape), places, name
        self.start, self.stop = start, start + parameter.numel()
        self.orig: Any = None  # this rank's part, if the original parameters are visible


class FlatOwner:
    """A flat parameter: this rank's shard and, while it is used, the unsharded parameter, of which the modules hold views."""

    def __init__(
        self, parameters: list[tuple[Any, list[tuple[Any, str]], str]], holder: Module, group: ProcessGroup, visible: bool, offload: bool
    ) -> None:
        self.group, self.holder, self.visible = group, holder, visible
        kinds = {(one.dtype, one.requires_grad or visible) for one, _, _ in parameters}
        if len({kind for kind, _ in kinds}) > 1:
            raise ValueError(f"Must flatten tensors with uniform dtype but got {' and '.join(sorted(str(kind) for kind, _ in kinds))}")
        if len(kinds) > 1:
            raise ValueError("Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`")
        ((self.dtype, _),) = kinds
        self.needs_grad = any(one.requires_grad for one, _, _ in parameters)
        aligned = _ALIGNED // self.dtype.itemsize if visible else 1
        self.entries, start = [], 0
        for parameter, places, name in parameters:
            start = -(-start // aligned) * aligned
            self.entries.append(_Entry(parameter, places, name, start))
            start = self.entries[-1].stop
        self.each = -(-start // group.size())
        self.shape = (self.each * group.size(),)
        whole = torch.zeros(self.shape, dtype=self.dtype, device=parameters[0][0].device)
        for entry, (parameter, _, _) in zip(self.entries, parameters):
            whole[entry.start : entry.stop] = parameter.detach().reshape(-1)
        self.first = self.each * group.rank()
        part = whole[self.first : self.first + self.each]
        self.sharded: Any = torch.nn.Parameter(part.cpu() if offload and part.device.type != "cpu" else part.clone(), self.needs_grad)
        self.whole: Any = None
        self.grad: Any = None
        if visible:
            for entry, (parameter, _, _) in zip(self.entries, parameters):
                entry.orig = torch.nn.Parameter(self._own_slice(self.sharded.detach(), entry), parameter.requires_grad)
        for entry in self.entries:
            for module, name in entry.places:
                del module._parameters[name]
        self.put(self.sharded)

    def _own_slice(self, part: torch.Tensor, entry: _Entry) -> torch.Tensor:
        """Return the slice of this rank's shard that belongs to a parameter: 1-d, maybe empty."""
        first = min(max(entry.start - self.first, 0), self.each)
        last = min(max(entry.stop - self.first, 0), self.each)
        return part[first:last]

    def local(self) -> torch.Tensor:
        """Return this rank's shard."""
        return self.sharded.detach()

    def follow(self) -> None:
        """Do nothing: the flat parameter is never replaced."""

    def put(self, tensor: torch.Tensor) -> None:
        """Make the modules' parameters views of the full ``tensor``. If ``tensor`` is the sharded flat parameter, remove these views again,
        and restore the original parameters where modules hold them. An interrupt leaves each parameter in one of the two states."""
        present = tensor is not self.sharded
        if not self.visible:
            self.holder._parameters[FLAT_PARAM] = self.sharded
        for entry in self.entries:
            window = tensor[entry.start : entry.stop].view(entry.shape) if present else None
            for module, name in entry.places:
                if present:
                    object.__setattr__(module, name, window)
                    module._parameters.pop(name, None)
                else:
                    if self.visible:
                        module._parameters[name] = entry.orig
                    module.__dict__.pop(name, None)

    def give(self, local: torch.Tensor) -> None:
        """Accumulate into the gradient of this rank's shard."""
        local = local.to(self.sharded.device)
        held = self.sharded.grad
        self.sharded.grad = local if held is None else held + local
        for entry in self.entries:
            if entry.orig is not None and entry.orig.requires_grad:
                part = self._own_slice(self.sharded.grad, entry)
                held = entry.orig.grad
                entry.orig.grad = part if held is None else held + self._own_slice(local, entry)
        if self.visible:
            self.sharded.grad = None

    def refresh(self, fn: Callable[..., Any]) -> None:
        """Adopt the changes of ``Module._apply(fn)``. Where the modules hold the original parameters, apply ``fn`` to the flat parameter
        and set the originals to their slices of it."""
        if self.visible:
            with torch.no_grad():
                self.sharded.data = fn(self.sharded.data)
            for entry in self.entries:
                entry.orig.data = self._own_slice(self.sharded.detach(), entry)
        self.dtype = self.sharded.dtype

    @contextmanager
    def as_parameters(self, whole: torch.Tensor) -> Iterator[None]:
        """Context manager in which modules have views of the full tensor as parameters with their own names."""
        made = []
        self.holder._parameters.pop(FLAT_PARAM, None)
        for entry in self.entries:
            parameter = torch.nn.Parameter(whole.detach()[entry.start : entry.stop].view(entry.shape), self.needs_grad)
            made.append(parameter)
            for module, name in entry.places:
                module.__dict__.pop(name, None)
                module._parameters[name] = parameter
        try:
            yield
        finally:
            for entry, parameter in zip(self.entries, made):
                for module, name in entry.places:
                    found = module._parameters.pop(name)
                    if found is not parameter:  # another parameter was assigned
                        with torch.no_grad():
                            whole.detach()[entry.start : entry.stop] = found.detach().reshape(-1)
            self.put(self.sharded if self.whole is None else self.whole)

    def keep(self, whole: torch.Tensor) -> None:
        """Copy this rank's slice of the full tensor to the sharded parameter."""
        with torch.no_grad():
            self.sharded.detach().copy_(whole.detach()[self.first : self.first + self.each])

    def gather(self, local: torch.Tensor, device: torch.device) -> dict[str, Any]:
        """All-gather the flat shard and return full tensors by parameter name."""
        local = local.to(device)
        whole = local.new_empty(self.shape)
        self.group.all_gather_single(whole, local.contiguous()).wait()
        return {entry.name: whole[entry.start : entry.stop].view(entry.shape).clone() for entry in self.entries}

    def flatten(self, tensors: dict[str, Any]) -> torch.Tensor:
        """Return this rank's flat shard of unsharded tensors, which are given by name; missing tensors count as zeros."""
        like = next(iter(tensors.values()))
        whole = torch.zeros(self.shape, dtype=like.dtype, device=like.device)
        for entry in self.entries:
            if entry.name in tensors:
                if math.prod(entry.shape) != tensors[entry.name].numel():
                    raise ValueError(f"{entry.name} has {tensors[entry.name].numel()} elements, {math.prod(entry.shape)} expected")
                whole[entry.start : entry.stop] = tensors[entry.name].detach().reshape(-1)
        return whole[self.first : self.first + self.each].clone().to(self.sharded.device)
