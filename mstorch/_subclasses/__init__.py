"""torch._subclasses: kinds of tensors that are not here, for programs that ask whether they meet one."""
from . import fake_tensor
from .fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode", "fake_tensor"]
