"""The kernel rows, one file a family. Importing this package fills the table."""
from . import bitwise, compare, complex, elementwise, index, join, matmul, optim, reduce, storage

__all__ = ["bitwise", "compare", "complex", "elementwise", "index", "join", "matmul", "optim", "reduce", "storage"]
