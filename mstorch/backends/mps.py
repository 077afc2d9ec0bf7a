"""torch.backends.mps: Apple's GPUs, which MindSpore does not compute on."""


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
