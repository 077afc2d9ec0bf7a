"""Gradients of operations, one file a family. Importing the room fills the table."""
from . import (  # noqa: F401
    activation,
    conv,
    elementwise,
    forward,
    index,
    join,
    loss,
    math,
    matmul,
    norm,
    recurrent,
    reduce,
    softmax,
    storage,
)
