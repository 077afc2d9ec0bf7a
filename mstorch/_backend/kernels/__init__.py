"""The kernel rows, one file a family. Importing this package fills the table."""
from . import elementwise, index, matmul, reduce, storage

__all__ = ["elementwise", "index", "matmul", "reduce", "storage"]
