"""The rows of Ascend, one file a family: which primitives of the device serve each operation. Importing the room fills the table."""
from . import activation, elementwise, fused, index, layers, linalg, math, reduce, special, storage  # noqa: F401
