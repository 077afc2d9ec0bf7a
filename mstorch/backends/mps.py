"""torch.backends.mps: Apple's GPUs, which MindSpore does not compute on."""

from .._src.hook import missing as _missing


def is_available() -> bool:
    """Return False: MindSpore does not support MPS."""
    return False


def is_built() -> bool:
    """Return False: MindSpore does not support MPS."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Return False: MindSpore does not support MPS."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Return False: MindSpore does not support MPS."""
    return False

__getattr__ = _missing(__name__)
