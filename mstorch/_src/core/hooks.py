"""Handles of registered hooks."""
from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..leaving import Block, each
from .warned import warn

if TYPE_CHECKING:
    from .tensor_base import TensorBase


class RemovableHandle(Block):
    """Handle that removes a hook by ``remove()`` or at the end of a ``with`` block."""

    next_id = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Sequence[OrderedDict[int, Any]] | None = None) -> None:
        extra = extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict]
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.extra_dict_ref = tuple(weakref.ref(marks) for marks in extra)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1

    def remove(self) -> None:
        """Remove the hook; calling this again has no effect."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.hooks_dict_ref(), self.id, tuple(reference() for reference in self.extra_dict_ref)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        hooks, self.id = state[:2]
        # If the hooks are gone, the weak reference refers to nothing.
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        self.extra_dict_ref = tuple(weakref.ref(marks) for marks in (state[2] if len(state) > 2 and state[2] else ()))
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)

    def __enter__(self) -> RemovableHandle:
        held = (reference() for reference in (self.hooks_dict_ref, *self.extra_dict_ref))
        self.at_end(each(*(partial(hooks.pop, self.id, None) for hooks in held if hooks is not None)))
        return self


def warn_if_has_hooks(tensor: TensorBase) -> None:
    """Warn of each hook that serialization drops, unless ``torch.utils.hooks.unserializable_hook`` marks the hook."""
    if tensor._ms_node is None:
        hooks = None if tensor._ms_auto is None else tensor._ms_auto.hooks
    else:
        hooks = None if tensor._ms_node.pre is None else tensor._ms_node.pre.get(tensor._ms_number)
    for hook in (hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the function "
                "with @torch.utils.hooks.unserializable_hook to suppress this warning",
            )
