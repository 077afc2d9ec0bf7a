"""torch.utils.module_tracker: tracks which modules are running."""
from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from functools import partial
from operator import methodcaller
from typing import Any

from .._src.core.hooks import RemovableHandle
from .._src.core.tensor_base import TensorBase
from .._src.leaving import Block, each
from .._src.tape.passes import next_callback, running
from .._tensor import Tensor
from ..autograd.graph import register_multi_grad_hook
from ..nn.modules._hooks import global_hooks
from ..nn.modules.module import Module
from ._pytree import tree_leaves

__all__ = ["ModuleTracker"]


class ModuleTracker(Block):
    """A context manager with ``parents``, the names of the modules whose forward or backward is running.

    A module's name is its class and the path below the outermost module: ``Net.layers.0``. "Global" is always included.
    """

    parents: set[str]

    def __init__(self) -> None:
        self.parents = {"Global"}
        self._names: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._named: weakref.WeakSet[Module] = weakref.WeakSet()
        self._hooks: list[Any] = []
        self._waits = False

    @property
    def is_bw(self) -> bool:
        """True while a backward pass is running."""
        return bool(running.passes)

    def _name(self, module: Module) -> str:
        name = self._names.setdefault(module, type(module).__name__)
        if module not in self._named:
            for child, below in module.named_children():
                self._names[below] = f"{name}.{child}"
                self._name(below)
            self._named.add(module)
        return name

    def _begin(self, name: str, backward: bool) -> Callable[..., None]:
        def begin(*args: Any) -> None:
            if backward and not self._waits:
                next_callback(self._end_backward)
                self._waits = True
            self.parents.add(name)

        return begin

    def _end(self, name: str) -> Callable[..., None]:
        def end(*args: Any) -> None:
            self.parents.discard(name)

        return end

    def _end_backward(self) -> None:
        self.parents = {"Global"}
        self._waits = False

    def _before(self, module: Module, args: tuple[Tensor, ...]) -> None:
        name = self._name(module)
        self._begin(name, False)()
        self._hook(args, self._end(name))

    def _after(self, module: Module, args: tuple[Tensor, ...], output: Tensor | tuple[Tensor, Tensor | None]) -> None:
        name = self._name(module)
        self._end(name)()
        self._hook(output, self._begin(name, True))

    def _hook(self, values: Any, function: Callable[..., None]) -> None:
        tensors = [value for value in tree_leaves(values) if isinstance(value, TensorBase) and value.requires_grad]
        if tensors:
            self._hooks.append(register_multi_grad_hook(tensors, function))

    def __enter__(self) -> ModuleTracker:
        begun = [(global_hooks[kind], hook) for kind, hook in (("forward_pre_hooks", self._before), ("forward_hooks", self._after))]
        numbers = [RemovableHandle(hooks).id for hooks, _ in begun]
        ends = [partial(hooks.pop, number, None) for (hooks, _), number in zip(begun, numbers)]
        self.at_end(each(*ends, partial(deque, map(methodcaller("remove"), self._hooks), 0), self._hooks.clear))
        (pre, before), (post, after) = begun
        pre[numbers[0]], post[numbers[1]] = before, after
        return self
