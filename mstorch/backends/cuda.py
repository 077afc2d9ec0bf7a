"""torch.backends.cuda: whether GPU support is there."""
from .. import cuda


def is_built() -> bool:
    """Whether MindSpore computes on a GPU."""
    return cuda.is_available()
