"""Random numbers of torch's generator, seeded by (seed, offset): of the right distribution, not Ascend's numbers."""
import torch
from calling import F32, kernel, put

def source(seed, offset):
    return torch.Generator().manual_seed((seed * 1000003 + offset) & 0x7FFFFFFFFFFFFFFF)

@kernel("aclnnInplaceNormal")
def normal_(self, mean: F32, std: F32, seed: int, offset: int): put(self, torch.randn(self.shape, generator=source(seed, offset)) * std + mean)

@kernel("aclnnInplaceUniform")
def uniform_(self, low: float, high: float, seed: int, offset: int): put(self, torch.rand(self.shape, generator=source(seed, offset)) * (high - low) + low)

@kernel("aclnnInplaceRandom")
def random_(self, low: int, high: int, seed: int, offset: int): put(self, torch.randint(low, high, self.shape, generator=source(seed, offset)))

@kernel("aclnnInplaceBernoulli", "aclnnInplaceBernoulliTensor")
def bernoulli_(self, p, seed: int, offset: int): put(self, torch.rand(self.shape, generator=source(seed, offset)) < p)

@kernel("aclnnRandperm")
def randperm(n: int, seed: int, offset: int, out): put(out, torch.randperm(n, generator=source(seed, offset)))

@kernel("aclnnNormalFloatFloat")
def normal(mean: F32, std: F32, seed: int, offset: int, out): put(out, torch.randn(out.shape, generator=source(seed, offset)) * std + mean)

@kernel("aclnnDropoutGenMaskV2")
def dropout_mask(shape, p: float, seed: int, offset: int, dtype: int, out):
    bits = (torch.rand(out.numel() * 8, generator=source(seed, offset)) >= p).to(torch.uint8).reshape(-1, 8)
    put(out, (bits << torch.arange(8, dtype=torch.uint8)).sum(1, dtype=torch.uint8).reshape(out.shape))

@kernel("aclnnDropoutDoMask")
def dropout_do(self, mask, p: float, out):
    bits = ((mask.reshape(-1, 1) >> torch.arange(8, dtype=torch.uint8)) & 1).reshape(-1)[:self.numel()].reshape(self.shape)
    put(out, torch.zeros_like(self) if p >= 1 else self * bits / (1 - p))

@kernel("aclnnMultinomial")
def multinomial(self, count: int, replacement: bool, seed: int, offset: int, out): put(out, torch.multinomial(self, count, replacement, generator=source(seed, offset)))

@kernel("aclnnNormalTensorTensor")
def normal_tt(mean, std, seed: int, offset: int, out): put(out, torch.randn(out.shape, generator=source(seed, offset)) * std + mean)

@kernel("aclnnNormalTensorFloat")
def normal_tf(mean, std: F32, seed: int, offset: int, out): put(out, torch.randn(out.shape, generator=source(seed, offset)) * std + mean)

@kernel("aclnnNormalFloatTensor")
def normal_ft(mean: F32, std, seed: int, offset: int, out): put(out, torch.randn(out.shape, generator=source(seed, offset)) * std + mean)
