"""torch.utils._mode_utils: modes off for a block."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ._python_dispatch import _disable_current_modes


@contextmanager
def no_dispatch() -> Iterator[None]:
    """No ``TorchDispatchMode`` is on in the block."""
    with _disable_current_modes():
        yield
