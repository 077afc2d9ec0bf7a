"""Programs as the bytes of their files."""
from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any


def saved(save: Callable[..., Any], program: Any) -> io.BytesIO:
    """Return the file that a function such as ``torch.jit.save`` writes of a program, at its start."""
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    return file
