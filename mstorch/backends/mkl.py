"""torch.backends.mkl: MindSpore's CPU kernels are oneDNN's and its own."""


def is_available() -> bool:
    """Return whether MKL computes: it does not."""
    return False


VERBOSE_OFF, VERBOSE_ON = 0, 1
