"""torch._subclasses: fake tensors, which have no elements."""
from . import fake_tensor, fake_utils
from .fake_tensor import DynamicOutputShapeException, FakeTensor, FakeTensorMode, UnsupportedFakeTensorException
from .fake_utils import CrossRefFakeMode

__all__ = [
    "CrossRefFakeMode", "DynamicOutputShapeException", "FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException", "fake_tensor",
    "fake_utils",
]
