"""MindSpore's seeds: the next draw follows ``mindspore.set_seed``, and ``torch.manual_seed`` seeds its generators."""
from __future__ import annotations

import sys
from typing import Any

import mindspore
import mindspore.common.seed
import mindspore.dataset

from . import binding
from .forked import forked

_mindspore_seed: Any = sys.modules["mindspore.common.seed"]  # the attribute mindspore.common.seed is a function
_counters: dict[tuple[str, int], int] = _mindspore_seed._KERNEL_SEED
_OURS = ("mstorch", 0)
"""mstorch's key in MindSpore's table of draw counters: ``set_seed`` resets each counter to the number in its key."""


def note_seed() -> None:
    """Mark MindSpore's seed as seen: only later calls of ``set_seed`` count as new."""
    _counters[_OURS] = 1


def seed_is_new() -> bool:
    """Return whether ``mindspore.set_seed`` was called since ``note_seed``; takes 0.05 µs."""
    return _counters[_OURS] != 1


def mindspore_seed() -> int | None:
    """Return the seed last given to ``mindspore.set_seed``."""
    return _mindspore_seed._GLOBAL_SEED


def seed_mindspore(seed: int) -> None:
    """Seed MindSpore as ``mindspore.set_seed`` and ``mindspore.manual_seed`` do, with the low 32 bits of a seed.

    ``set_seed`` itself would also seed NumPy's and Python's global generators, which torch leaves alone. MindSpore's default generator is
    seeded by a kernel, so it is left unchanged in a forked process, and deferred until the device is bound.
    """
    known = seed & 0xFFFFFFFF
    mindspore.dataset.config._config.set_seed(known)
    _mindspore_seed._reset_op_seed()
    _mindspore_seed._GLOBAL_SEED = known
    note_seed()
    if not forked.here:
        binding.when_bound("seed", lambda: mindspore.manual_seed(known))


if mindspore_seed() is None:
    note_seed()
else:
    _counters[_OURS] = 0  # MindSpore was seeded before the import
