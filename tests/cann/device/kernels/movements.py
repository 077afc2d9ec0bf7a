"""Copies, fills, sequences: what moves elements and computes nothing."""
import torch
from calling import kernel, put
from reading import F, aten

@kernel("aclnnInplaceCopy")
def copy_(self, other): self.copy_(other)

@kernel("aclnnInplaceFillScalar")
def fill_(self, value): self.fill_(value)

@kernel("aclnnInplaceFillTensor")
def fill_tensor_(self, value): self.copy_(value.reshape(()).expand(self.shape))

@kernel("aclnnInplaceZero")
def zero_(self): self.zero_()

@kernel("aclnnInplaceOne")
def one_(self): self.fill_(1)

@kernel("aclnnCat")
def cat(tensors, dim: int, out): put(out, torch.cat(tensors, dim))

@kernel("aclnnStack")
def stack(tensors, dim: int, out): put(out, torch.stack(tensors, dim))

@kernel("aclnnSplitTensor")
def split(self, size: int, dim: int, outs):
    for o, v in zip(outs, torch.split(self, size, dim)): put(o, v)

@kernel("aclnnSplitWithSize")
def split_sizes(self, sizes, dim: int, outs):
    for o, v in zip(outs, torch.split(self, sizes, dim)): put(o, v)

@kernel("aclnnPermute")
def permute(self, dims, out): put(out, self.permute(dims))

@kernel("aclnnExpand")
def expand(self, size, out): put(out, self.expand(size))

@kernel("aclnnRepeat")
def repeat(self, repeats, out): put(out, self.repeat(repeats))

@kernel("aclnnFlip")
def flip(self, dims, out): put(out, torch.flip(self, dims))

@kernel("aclnnRoll")
def roll(self, shifts, dims, out): put(out, torch.roll(self, shifts, dims or None))

@kernel("aclnnSlice")
def slice_(self, dim: int, start: int, end: int, step: int, out): put(out, aten.slice(self, dim, start, end, step))

@kernel("aclnnConstantPadNd")
def pad(self, pads, value, out): put(out, F.pad(self, pads, value=value))

@kernel("aclnnTril")
def tril(self, k: int, out): put(out, torch.tril(self, k))

@kernel("aclnnTriu")
def triu(self, k: int, out): put(out, torch.triu(self, k))

@kernel("aclnnArange")
def arange(start, end, step, out): put(out, torch.arange(start, end, step, dtype=out.dtype))

@kernel("aclnnLinspace")
def linspace(start, end, steps: int, out): put(out, torch.linspace(start, end, steps, dtype=out.dtype))

@kernel("aclnnEye")
def eye(n: int, m: int, out): put(out, torch.eye(n, m, dtype=out.dtype))

@kernel("aclnnRealView")
def real(self, out): put(out, self.real)

@kernel("aclnnDiag")
def diag(self, k: int, out): put(out, torch.diag(self, k))

@kernel("aclnnInplaceFillDiagonal")
def fill_diagonal_(self, value, wrap: bool): self.fill_diagonal_(value, wrap)
