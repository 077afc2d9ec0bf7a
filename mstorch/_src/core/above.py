"""Objects of upper packages that lower ones call; the upper package sets them when it is loaded, so that imports run one way.

``torch``: the package. ``autograd``, ``storages``, ``compiler``: modules for gradients, storages and captured graphs.
``backward_from_one``: backward from one tensor, the common case. ``Parameter``, ``tracer``: classes of ``nn`` and ``fx``. ``nothing_of``:
makes a sparse tensor without elements. ``sparse_gradients``: the module of sparse gradients. ``restored``: moves a file's storage to
another device. ``processes``, ``normalized_together``: process groups and synchronized batch norm; None until ``torch.distributed`` is
loaded. ``eager_transforms``: the module whose ``_wrap_tensor_for_grad`` packages replace; None until it is loaded. ``load``, ``save``:
``torch.load`` and ``torch.save``. ``plain_pickles``: how pickles are written. ``nested``: the modules of nested tensors.
"""
from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from ..backend.arrays import Array
from .tensor_class import TensorBase

above: Any = types.SimpleNamespace(processes=None, normalized_together=None, eager_transforms=None)
# Functions that wrap an optimizer's ``step``; set by ``MSTORCH_DEBUG=compare``.
step_watchers: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = []
# Functions that are called with each tensor copied from a device to the host; set by ``MSTORCH_DEBUG=trace``.
copy_watchers: list[Callable[[Any], None]] = []


def copied(tensor: TensorBase, array: Array) -> Array:
    """Return a copy of a device tensor as a host array, and notify listeners of copies."""
    for watch in copy_watchers:
        watch(tensor)
    return array
