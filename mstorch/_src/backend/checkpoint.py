"""MindSpore checkpoint files: raw tensors by name."""
from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from typing import Any

import mindspore

from .raw import Raw


def save(path: str, raws: Mapping[str, Raw]) -> None:
    """Write a .ckpt file atomically: the file gets its name only when it is complete."""
    folder, name = os.path.split(os.path.abspath(path))
    temporary = os.path.join(folder, f".{name}.{secrets.token_hex(4)}.ckpt")
    try:
        mindspore.save_checkpoint([{"name": key, "data": raw} for key, raw in raws.items()], temporary)
        os.chmod(temporary, 0o644)  # MindSpore writes files without write permission for the owner
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def load(path: str) -> dict[str, Any]:
    """Return the raw tensors of a .ckpt file by name."""
    if not os.path.exists(path):
        raise FileNotFoundError(f"[Errno 2] No such file or directory: '{path}'")
    return dict(mindspore.load_checkpoint(path))
