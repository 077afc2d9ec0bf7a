"""Matrix products, convolutions, linear algebra."""
import torch
from calling import kernel, put
from reading import aten

@kernel("aclnnMatmul", "aclnnMm", "aclnnBatchMatMul", "aclnnMv")
def matmul(self, other, out, cube: int): put(out, torch.matmul(self, other))

@kernel("aclnnAddmm")
def addmm(self, a, b, beta, alpha, out, cube: int): put(out, torch.addmm(self, a, b, beta=beta, alpha=alpha))

@kernel("aclnnInplaceAddmm")
def addmm_(self, a, b, beta, alpha, cube: int): put(self, torch.addmm(self, a, b, beta=beta, alpha=alpha))

@kernel("aclnnBaddbmm")
def baddbmm(self, a, b, beta, alpha, out, cube: int): put(out, torch.baddbmm(self, a, b, beta=beta, alpha=alpha))

@kernel("aclnnAddbmm")
def addbmm(self, a, b, beta, alpha, out, cube: int): put(out, torch.addbmm(self, a, b, beta=beta, alpha=alpha))

@kernel("aclnnAddmv")
def addmv(self, a, b, alpha, beta, out, cube: int): put(out, torch.addmv(self, a, b, beta=beta, alpha=alpha))

@kernel("aclnnConvolution")
def convolution(x, weight, bias, stride, padding, dilation, transposed: bool, output_padding, groups: int, out, cube: int):
    put(out, torch.convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups))

@kernel("aclnnConvolutionBackward")
def convolution_backward(grad, x, weight, bias_sizes, stride, padding, dilation, transposed: bool, output_padding, groups: int, mask, cube: int, gx, gw, gb):
    for out, value in zip((gx, gw, gb), aten.convolution_backward(grad, x, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask)):
        if value is not None: put(out, value)

@kernel("aclnnCummax")
def cummax(self, dim: int, out, indices):
    for o, v in zip((out, indices), torch.cummax(self, dim)): put(o, v)

@kernel("aclnnCummin")
def cummin(self, dim: int, out, indices):
    for o, v in zip((out, indices), torch.cummin(self, dim)): put(o, v)

@kernel("aclnnLinalgCross")
def cross(self, other, dim: int, out): put(out, torch.linalg.cross(self, other, dim=dim))

@kernel("aclnnLinalgQr")
def qr(self, mode: int, q, r):
    for o, v in zip((q, r), torch.linalg.qr(self, {0: "reduced", 1: "complete", 2: "r"}[mode])): put(o, v)

@kernel("aclnnTriangularSolve")
def triangular_solve(self, a, upper: bool, transpose: bool, unit: bool, out, copy):
    put(out, torch.linalg.solve_triangular(a.mT if transpose else a, self, upper=upper != transpose, unitriangular=unit)), put(copy, a)
