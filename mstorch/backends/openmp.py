"""torch.backends.openmp: MindSpore has threads of its own."""


def is_available() -> bool:
    """Return False: MindSpore has its own threads."""
    return False
