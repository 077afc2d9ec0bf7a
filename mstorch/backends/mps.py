"""torch.backends.mps: Apple's GPUs, which MindSpore does not compute on."""


def is_available() -> bool:
    """Whether the device is there: never."""
    return False


def is_built() -> bool:
    """Whether support is built in: never."""
    return False
