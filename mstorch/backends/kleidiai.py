"""torch.backends.kleidiai: Arm's library."""


def is_available() -> bool:
    """False: MindSpore does not use it."""
    return False
