"""torch.backends.openmp: MindSpore has threads of its own."""


def is_available() -> bool:
    """Whether OpenMP is used: MindSpore has threads of its own."""
    return False
