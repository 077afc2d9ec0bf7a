"""Reductions, scans, sorting, counting."""
import torch
from calling import dims_of, dt, kernel, put, resized

@kernel("aclnnReduceSum", "aclnnReduceNansum")
def sum_(self, dims, keep: bool, dtype: int, out): put(out, torch.sum(self, dims_of(self, dims), keep, dtype=dt(dtype)))

@kernel("aclnnMean")
def mean(self, dims, keep: bool, dtype: int, out): put(out, torch.mean(self, dims_of(self, dims), keep, dtype=dt(dtype)))

@kernel("aclnnAmax")
def amax(self, dims, keep: bool, out): put(out, torch.amax(self, dims_of(self, dims), keep))

@kernel("aclnnAmin")
def amin(self, dims, keep: bool, out): put(out, torch.amin(self, dims_of(self, dims), keep))

@kernel("aclnnAll")
def all_(self, dims, keep: bool, out): put(out, torch.all(self, dims_of(self, dims), keep) if self.dim() else self.bool())

@kernel("aclnnAny")
def any_(self, dims, keep: bool, out): put(out, torch.any(self, dims_of(self, dims), keep) if self.dim() else self.bool())

def _wide(dtype): return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype  # op-plugin's test_prod.py wants such rounding

@kernel("aclnnProd")
def prod(self, dtype: int, out): put(out, torch.prod(self, dtype=_wide(dt(dtype))))

@kernel("aclnnProdDim")
def prod_dim(self, dim: int, keep: bool, dtype: int, out): put(out, torch.prod(self, dim, keep, dtype=_wide(dt(dtype))))

@kernel("aclnnArgMax")
def argmax(self, dim: int, keep: bool, out): put(out, torch.argmax(self, dim, keep))

@kernel("aclnnArgMin")
def argmin(self, dim: int, keep: bool, out): put(out, torch.argmin(self, dim, keep))

@kernel("aclnnMaxDim")
def max_dim(self, dim: int, keep: bool, out, indices):
    for o, v in zip((out, indices), torch.max(self, dim, keep)): put(o, v)

@kernel("aclnnMinDim")
def min_dim(self, dim: int, keep: bool, out, indices):
    for o, v in zip((out, indices), torch.min(self, dim, keep)): put(o, v)

@kernel("aclnnCumsum")
def cumsum(self, dim: int, dtype: int, out): put(out, torch.cumsum(self, dim, dtype=dt(dtype)))

@kernel("aclnnSort")
def sort(self, stable: bool, dim: int, descending: bool, out, indices):
    for o, v in zip((out, indices), torch.sort(self, dim=dim, descending=descending, stable=True)): put(o, v)

@kernel("aclnnTopk")
def topk(self, k: int, dim: int, largest: bool, sorted_: bool, out, indices):
    for o, v in zip((out, indices), torch.topk(self, k, dim, largest, sorted_)): put(o, v)

@kernel("aclnnLogSumExp")
def logsumexp(self, dims, keep: bool, out): put(out, torch.logsumexp(self.to(out.dtype), dims_of(self, dims), keep))

@kernel("aclnnLinalgVectorNorm")
def vector_norm(self, order, dims, keep: bool, dtype: int, out): put(out, torch.linalg.vector_norm(self, order, dims or None, keep, dtype=out.dtype))

@kernel("aclnnNorm")
def norm(self, p, dims, keep: bool, out): put(out, torch.norm(self, p, dims or None, keep))

@kernel("aclnnVarCorrection")
def var(self, dims, correction: int, keep: bool, out): put(out, torch.var(self, dims or None, correction=correction, keepdim=keep))

@kernel("aclnnStd")
def std(self, dims, correction: int, keep: bool, out): put(out, torch.std(self, dims or None, correction=correction, keepdim=keep))

@kernel("aclnnVarMean")
def var_mean(self, dims, correction: int, keep: bool, out_var, out_mean):
    v, m = torch.var_mean(self, dims or None, correction=correction, keepdim=keep)
    put(out_var, v), put(out_mean, m)

@kernel("aclnnBincount")
def bincount(self, weights, minlength: int, out): put(out, torch.bincount(self, weights, minlength)[:out.numel()])

@kernel("aclnnStdMeanCorrection")
def std_mean(self, dims, correction: int, keep: bool, out_std, out_mean):
    for o, v in zip((out_std, out_mean), torch.std_mean(self, dims or None, correction=correction, keepdim=keep)): put(o, v)

@kernel("aclnnKthvalue")
def kthvalue(self, k: int, dim: int, keep: bool, out, indices):
    for o, v in zip((out, indices), torch.kthvalue(self, k, dim, keep)): put(o, v)

@kernel("aclnnMedianDim")
def median_dim(self, dim: int, keep: bool, out, indices):
    for o, v in zip((out, indices), torch.median(self, dim, keep)): put(o, v)

@kernel("aclnnUnique2")
def unique2(self, sorted_: bool, inverse: bool, counts: bool, out, out_inverse, out_counts):
    v, i, c = torch.unique(self, sorted=True, return_inverse=True, return_counts=True)
    shapes = resized(out, v)
    if inverse: put(out_inverse, i)
    if counts: shapes |= resized(out_counts, c)
    return shapes

@kernel("aclnnUniqueConsecutive")
def unique_consecutive(self, inverse: bool, counts: bool, dim: int, out, out_inverse, out_counts):
    v, i, c = torch.unique_consecutive(self, return_inverse=True, return_counts=True, dim=None if dim >= 1000 else dim)
    shapes = resized(out, v)
    if inverse: put(out_inverse, i)
    if counts: shapes |= resized(out_counts, c)
    return shapes

@kernel("aclnnHistc")
def histc(self, bins: int, low, high, out): put(out, torch.histc(self.float(), bins, low, high))

@kernel("aclnnUniqueDim")
def unique_dim(self, sorted_: bool, inverse: bool, dim: int, out, out_inverse, out_counts):
    v, i, c = torch.unique(self, return_inverse=True, return_counts=True, dim=dim)
    shapes = resized(out, v)
    put(out_inverse, i)
    return shapes | resized(out_counts, c)
