"""Pooling and its gradients."""
import torch
from calling import kernel, put
from reading import aten

@kernel("aclnnAdaptiveAvgPool2d")
def adaptive_avg_pool(self, size, out): put(out, aten._adaptive_avg_pool2d(self, size))

@kernel("aclnnAdaptiveAvgPool2dBackward")
def adaptive_avg_pool_backward(grad, self, out): put(out, aten._adaptive_avg_pool2d_backward(grad, self))

@kernel("aclnnAdaptiveMaxPool2d")
def adaptive_max_pool(self, size, out, indices):
    for o, v in zip((out, indices), aten.adaptive_max_pool2d(self if self.is_floating_point() else self.double(), size)): put(o, v)

@kernel("aclnnAdaptiveMaxPool2dBackward")
def adaptive_max_pool_backward(grad, self, indices, out): put(out, aten.adaptive_max_pool2d_backward(grad, self, indices.long()))

@kernel("aclnnAvgPool2d")
def avg_pool(self, size, stride, padding, ceil: bool, count: bool, divisor: int, cube: int, out): put(out, aten.avg_pool2d(self, size, stride, padding, ceil, count, divisor or None))

@kernel("aclnnMaxPool2dWithMask", "aclnnMaxPool2dWithIndices")
def max_pool(self, size, stride, padding, dilation, ceil: bool, out, indices):
    v, i = aten.max_pool2d_with_indices(self, size, stride, padding, dilation, ceil)
    put(out, v)
    if indices.dtype != torch.int8: put(indices, i)  # the mask is a secret of the device's: its backward finds the places again

@kernel("aclnnMaxPool2dWithIndicesBackward", "aclnnMaxPool2dWithMaskBackward")
def max_pool_backward(grad, self, indices, size, stride, padding, dilation, ceil: bool, out):
    i = indices.long() if indices.dtype != torch.int8 else aten.max_pool2d_with_indices(self, size, stride, padding, dilation, ceil)[1]
    put(out, aten.max_pool2d_with_indices_backward(grad, self, size, stride, padding, dilation, ceil, i))

@kernel("aclnnAvgPool2dBackward")
def avg_pool_backward(grad, self, size, stride, padding, ceil: bool, count: bool, divisor: int, cube: int, out): put(out, aten.avg_pool2d_backward(grad, self, size, stride, padding, ceil, count, divisor or None))

@kernel("aclnnAvgPool3d")
def avg_pool3(self, size, stride, padding, ceil: bool, count: bool, divisor: int, out): put(out, aten.avg_pool3d(self, size, stride, padding, ceil, count, divisor or None))

@kernel("aclnnAvgPool3dBackward")
def avg_pool3_backward(grad, self, size, stride, padding, ceil: bool, count: bool, divisor: int, out): put(out, aten.avg_pool3d_backward(grad, self, size, stride, padding, ceil, count, divisor or None))

@kernel("aclnnAdaptiveAvgPool3d")
def adaptive_avg_pool3(self, size, out): put(out, aten._adaptive_avg_pool3d(self, size))

@kernel("aclnnAdaptiveAvgPool3dBackward")
def adaptive_avg_pool3_backward(grad, self, out): put(out, aten._adaptive_avg_pool3d_backward(grad, self))
