"""torch.backends.mkl: not used; MindSpore's CPU kernels are oneDNN's and its own."""


def is_available() -> bool:
    """Return False: MKL is not used."""
    return False


VERBOSE_OFF, VERBOSE_ON = 0, 1
