"""The kernel rows, one file a family. Importing this package fills the table."""
from . import (
    activation, bitwise, compare, complex_views, conv, count, ctc, distance, elementwise, embedding, fft,
    index, join, linalg, loss, math, matmul, norm, optim, padding, pool, reduce, resample, rnn, scan, scatter,
    shape, softmax, sort, special, storage,
)  # fmt: skip

__all__ = [
    "activation", "bitwise", "compare", "complex_views", "conv", "count", "ctc", "distance", "elementwise",
    "embedding", "fft", "index", "join", "linalg", "loss", "math", "matmul", "norm", "optim", "padding",
    "pool", "reduce", "resample", "rnn", "scan", "scatter", "shape", "softmax", "sort", "special", "storage",
]  # fmt: skip
