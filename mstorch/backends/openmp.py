"""torch.backends.openmp: MindSpore has threads of its own."""


def is_available() -> bool:
    """Return whether OpenMP is used: MindSpore has threads of its own."""
    return False
