"""Normalization layers and their gradients."""
import torch
from calling import kernel, put
from reading import aten

def rows(v): return v if v is None else v.contiguous()  # these functions of torch read parameters as if they were contiguous

@kernel("aclnnLayerNorm")
def layer_norm(x, shape, weight, bias, eps: float, out, mean, rstd):
    for o, v in zip((out, mean, rstd), aten.native_layer_norm(x, shape, rows(weight), rows(bias), eps)): put(o, v.reshape(o.shape))

@kernel("aclnnLayerNormBackward")
def layer_norm_backward(grad, x, shape, mean, rstd, weight, bias, mask, gx, gw, gb):
    up = lambda v: None if v is None else v.float().contiguous()
    for o, v in zip((gx, gw, gb), aten.native_layer_norm_backward(up(grad), up(x), shape, up(mean), up(rstd), up(weight), up(bias), mask)):
        if o is not None and v is not None: put(o, v)

@kernel("aclnnBatchNorm")
def batch_norm(x, weight, bias, mean, var, training: bool, momentum: float, eps: float, out, save_mean, save_rstd):
    result = aten.native_batch_norm(x, rows(weight), rows(bias), mean, var, training, momentum, eps)
    put(out, result[0])
    if training: put(save_mean, result[1]), put(save_rstd, result[2])

@kernel("aclnnBatchNormBackward")
def batch_norm_backward(grad, x, weight, mean, var, save_mean, save_rstd, training: bool, eps: float, mask, gx, gw, gb):
    for o, v in zip((gx, gw, gb), aten.native_batch_norm_backward(grad, x, rows(weight), mean, var, save_mean, save_rstd, training, eps, mask)):
        if o is not None and v is not None: put(o, v)

@kernel("aclnnGroupNorm")
def group_norm(x, weight, bias, n: int, c: int, hw: int, groups: int, eps: float, out, mean, rstd):
    for o, v in zip((out, mean, rstd), aten.native_group_norm(x.contiguous(), rows(weight), rows(bias), n, c, hw, groups, eps)): put(o, v)

@kernel("aclnnGroupNormBackward")
def group_norm_backward(grad, x, mean, rstd, weight, n: int, c: int, hw: int, groups: int, mask, gx, gw, gb):
    for o, v in zip((gx, gw, gb), aten.native_group_norm_backward(grad.contiguous(), x.contiguous(), mean, rstd, rows(weight), n, c, hw, groups, mask)):
        if o is not None and v is not None: put(o, v)

@kernel("aclnnRmsNorm")
def rms_norm(x, gamma, eps: float, y, rstd):
    r = torch.rsqrt(x.float().square().mean(list(range(x.dim() - gamma.dim(), x.dim())), keepdim=True) + eps)
    put(y, x.float() * r * gamma.float()), put(rstd, r.reshape(rstd.shape))

@kernel("aclnnRmsNormGrad")
def rms_norm_backward(grad, x, rstd, gamma, gx, gg):
    n = list(range(x.dim() - gamma.dim(), x.dim()))
    r, X, G = rstd.float().reshape(x.shape[:x.dim() - gamma.dim()] + (1,) * gamma.dim()), x.float(), grad.float()
    hat, g = X * r, G * gamma.float()
    put(gx, r * (g - hat * (g * hat).mean(n, keepdim=True))), put(gg, (G * hat).sum(list(range(x.dim() - gamma.dim()))) if x.dim() > gamma.dim() else G * hat)
