"""torch.backends.mps: Apple's GPUs, which MindSpore does not compute on."""


def is_available() -> bool:
    """Whether the device is there: never."""
    return False


def is_built() -> bool:
    """Whether support is built in: never."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether macOS of at least a release runs here: never."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Whether macOS 13 or newer runs here: never."""
    return False
