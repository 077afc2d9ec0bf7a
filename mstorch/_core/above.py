"""Functions of upper packages that lower ones call. The upper package enters them here as it is loaded, so that imports run one way.

``torch``: the whole package. ``autograd``, ``storages``, ``compiler``: the modules of gradients, of storages, of captured graphs.
``backward_from_one``: backward from one tensor, the common case. ``Parameter``, ``tracer``: classes of ``nn`` and ``fx``.
``nothing_of``: makes a sparse tensor without elements. ``sparse_gradients``: the file of sparse gradients. ``restored``: a file's
storage on another device. ``processes``, ``normalized_together``: process groups, and batch normalisation over one; None until
``torch.distributed`` is loaded. ``load``, ``save``: ``torch.load``, ``torch.save``. ``plain_pickles``: how pickles are written.
``nested``: the files of nested tensors.
"""
from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

above: Any = types.SimpleNamespace(processes=None, normalized_together=None)
# What takes an optimiser's ``step`` and gives what runs: ``MSTORCH_DEBUG=compare`` fills it.
step_watchers: list[Callable[[Callable[..., Any]], Callable[..., Any]]] = []
# What is told of each tensor whose elements come from a device to the host: ``MSTORCH_DEBUG=trace`` fills it.
copy_watchers: list[Callable[[Any], None]] = []


def copied(tensor: Any, array: Any) -> Any:
    """Return the host array that holds a copy of a device's tensor; listeners of copies are told."""
    for watch in copy_watchers:
        watch(tensor)
    return array
