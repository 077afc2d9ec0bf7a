"""Interpolation, sampling by a grid, windows as columns."""
from calling import kernel, put
from reading import aten

def wide(x): return x.float() if x.element_size() == 2 else x  # rounded once: op-plugin's test_upsample_trilinear3d.py wants it

@kernel("aclnnGridSampler2D")
def grid_sampler(self, grid, mode: int, padding: int, align: bool, out): put(out, aten.grid_sampler_2d(self, grid, mode, padding, align))

@kernel("aclnnGridSampler2DBackward")
def grid_sampler_backward(grad, self, grid, mode: int, padding: int, align: bool, mask, gx, gg):
    for o, v, m in zip((gx, gg), aten.grid_sampler_2d_backward(grad, self, grid, mode, padding, align, mask), mask):
        if m: put(o, v)

@kernel("aclnnIm2col")
def im2col(self, size, dilation, padding, stride, out): put(out, aten.im2col(self, size, dilation, padding, stride))

@kernel("aclnnIm2colBackward")
def col2im(grad, shape, size, dilation, padding, stride, out): put(out, aten.col2im(grad, shape, size, dilation, padding, stride))

@kernel("aclnnUpsampleNearest1d")
def upsample_nearest1(self, size, out): put(out, aten.upsample_nearest1d(self, size))

@kernel("aclnnUpsampleNearest1dBackward")
def upsample_nearest1_backward(grad, size, shape, scale: float, out): put(out, aten.upsample_nearest1d_backward(grad, size, shape, scale or None))

@kernel("aclnnUpsampleNearest2d")
def upsample_nearest2(self, size, out): put(out, aten.upsample_nearest2d(self, size))

@kernel("aclnnUpsampleNearest2dBackward")
def upsample_nearest2_backward(grad, size, shape, h: float, w: float, out): put(out, aten.upsample_nearest2d_backward(grad, size, shape, h or None, w or None))

@kernel("aclnnUpsampleBilinear2d")
def upsample_bilinear(self, size, align: bool, h: float, w: float, out): put(out, aten.upsample_bilinear2d(wide(self), size, align, h or None, w or None))

@kernel("aclnnUpsampleBilinear2dBackwardV2")
def upsample_bilinear_backward(grad, size, shape, align: bool, h: float, w: float, out): put(out, aten.upsample_bilinear2d_backward(wide(grad), size, shape, align, h or None, w or None))

@kernel("aclnnUpsampleLinear1d")
def upsample_linear(self, size, align: bool, s: float, out): put(out, aten.upsample_linear1d(wide(self), size, align, s or None))

@kernel("aclnnUpsampleBicubic2d")
def upsample_bicubic(self, size, align: bool, h: float, w: float, out): put(out, aten.upsample_bicubic2d(wide(self), size, align, h or None, w or None))

@kernel("aclnnUpsampleBicubic2dBackward")
def upsample_bicubic_backward(grad, size, shape, align: bool, h: float, w: float, out): put(out, aten.upsample_bicubic2d_backward(wide(grad), size, shape, align, h or None, w or None))

@kernel("aclnnUpsampleLinear1dBackward")
def upsample_linear_backward(grad, size, shape, align: bool, s: float, out): put(out, aten.upsample_linear1d_backward(wide(grad), size, shape, align, s or None))

@kernel("aclnnUpsampleNearest3d")
def upsample_nearest3(self, size, d: float, h: float, w: float, out): put(out, aten.upsample_nearest3d(self, size, d or None, h or None, w or None))

@kernel("aclnnUpsampleNearest3dBackward")
def upsample_nearest3_backward(grad, size, shape, d: float, h: float, w: float, out): put(out, aten.upsample_nearest3d_backward(grad, size, shape, d or None, h or None, w or None))

@kernel("aclnnUpsampleTrilinear3d")
def upsample_trilinear(self, size, align: bool, d: float, h: float, w: float, out): put(out, aten.upsample_trilinear3d(wide(self), size, align, d or None, h or None, w or None))

@kernel("aclnnUpsampleTrilinear3dBackward")
def upsample_trilinear_backward(grad, size, shape, align: bool, d: float, h: float, w: float, out): put(out, aten.upsample_trilinear3d_backward(wide(grad), size, shape, align, d or None, h or None, w or None))

@kernel("aclnnGridSampler3D")
def grid_sampler3(self, grid, mode: int, padding: int, align: bool, out): put(out, aten.grid_sampler_3d(self, grid, mode, padding, align))

@kernel("aclnnGridSampler3DBackward")
def grid_sampler3_backward(grad, self, grid, mode: int, padding: int, align: bool, mask, gx, gg):
    for o, v, m in zip((gx, gg), aten.grid_sampler_3d_backward(grad, self, grid, mode, padding, align, mask), mask):
        if m: put(o, v)
