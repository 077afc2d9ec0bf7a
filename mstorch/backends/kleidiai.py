"""torch.backends.kleidiai: Arm's library."""


def is_available() -> bool:
    """Return False: MindSpore does not use it."""
    return False
