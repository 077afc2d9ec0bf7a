"""torch.backends.mps: Apple's GPUs, which MindSpore does not compute on."""


def is_available() -> bool:
    """Return whether the device is there: never."""
    return False


def is_built() -> bool:
    """Return whether support is built in: never."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Return whether macOS of at least a release runs here: never."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Return whether macOS 13 or newer runs here: never."""
    return False
