"""torch.backends.kleidiai: Arm's library of microkernels."""


def is_available() -> bool:
    """Return False: MindSpore does not use it."""
    return False
