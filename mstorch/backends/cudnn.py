"""torch.backends.cudnn: kept for scripts that set them; MindSpore chooses its own algorithms."""
from __future__ import annotations

enabled: bool = False
benchmark: bool = False
deterministic: bool = False
allow_tf32: bool = True


def is_available() -> bool:
    """Whether cuDNN is there to be steered: never, MindSpore keeps it to itself."""
    return False


def version() -> None:
    """cuDNN's version: unknown."""
    return None
