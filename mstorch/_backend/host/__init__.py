"""NumPy's kernels: what host memory is computed with, one file a family. Importing the room fills the table."""
from . import activation, compare, elementwise, index, join, loss, math, matmul, norm, reduce, softmax, storage  # noqa: F401
