"""Reads and writes by positions and masks, embeddings."""
import torch
from calling import kernel, put, resized
from reading import F, aten

SIGNED = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}

def signed(x): return x.view(SIGNED.get(x.dtype, x.dtype))  # torch moves no unsigned integers

@kernel("aclnnGather")
def gather(self, dim: int, index, out): put(signed(out), torch.gather(signed(self), dim, index.long()))

@kernel("aclnnIndexSelect")
def index_select(self, dim: int, index, out): put(signed(out), torch.index_select(signed(self), dim, index))

@kernel("aclnnIndex")
def index(self, indices, out): put(out, self[tuple(slice(None) if hasattr(i, "nowhere") or i.numel() == 0 and i.dim() == 1 and out.numel() else i.long() if i.dtype != torch.bool else i for i in indices)])

@kernel("aclnnIndexPutImpl")
def index_put_(self, indices, values, accumulate: bool, unsafe: bool):
    aten.index_put_(self, [None if hasattr(i, "nowhere") or i.numel() == 0 and values.numel() else i.long() if i.dtype != torch.bool else i for i in indices], values, accumulate)

@kernel("aclnnIndexAdd")
def index_add(self, dim: int, index, source, alpha, out): put(out, torch.index_add(self, dim, index, source, alpha=alpha))

@kernel("aclnnEmbedding")
def embedding(weight, indices, out): put(out, F.embedding(indices.long(), weight))

@kernel("aclnnEmbeddingDenseBackward")
def embedding_dense_backward(grad, indices, count: int, padding: int, scale: bool, out): put(out, aten.embedding_dense_backward(grad, indices.long(), count, padding, scale))

REDUCE = {0: None, 1: "add", 2: "multiply"}

@kernel("aclnnScatter")
def scatter(self, dim: int, index, source, reduce: int, out): put(out, torch.scatter(self, dim, index, source) if not reduce else torch.scatter(self, dim, index, source, reduce=REDUCE[reduce]))

@kernel("aclnnScatterValue")
def scatter_value(self, dim: int, index, value, reduce: int, out): put(out, torch.scatter(self, dim, index, value) if not reduce else torch.scatter(self, dim, index, value, reduce=REDUCE[reduce]))

@kernel("aclnnInplaceScatter")
def scatter_(self, dim: int, index, source, reduce: int): scatter(self, dim, index, source, reduce, self)

@kernel("aclnnInplaceScatterValue")
def scatter_value_(self, dim: int, index, value, reduce: int): scatter_value(self, dim, index, value, reduce, self)

@kernel("aclnnScatterAdd")
def scatter_add(self, dim: int, index, source, out): put(out, torch.scatter_add(self, dim, index, source))

@kernel("aclnnTake")
def take(self, index, out): put(out, torch.take(self, index.long()))

@kernel("aclnnInplacePut")
def put_(self, index, source, accumulate: bool): put(self, torch.Tensor.put(self, index.long(), source, accumulate))

@kernel("aclnnInplaceMaskedFillScalar", "aclnnInplaceMaskedFillTensor")
def masked_fill_(self, mask, value): self.masked_fill_(mask, value)

@kernel("aclnnInplaceMaskedScatter")
def masked_scatter_(self, mask, source): self.masked_scatter_(mask, source)

@kernel("aclnnNonzero")
def nonzero(self, out): return resized(out, torch.nonzero(self))

@kernel("aclnnNonzeroV2")
def nonzero_v2(self, out): return resized(out, torch.nonzero(self).t().contiguous())

@kernel("aclnnMaskedSelect")
def masked_select(self, mask, out): return resized(out, torch.masked_select(self, mask))

@kernel("aclnnSearchSorted")
def searchsorted(sequence, self, int32: bool, right: bool, sorter, out): put(out, torch.searchsorted(sequence, self, out_int32=int32, right=right, sorter=sorter))

@kernel("aclnnRepeatInterleave")
def repeat_interleave(self, repeats, size: int, out): put(out, torch.repeat_interleave(self.reshape(-1), repeats.long()))

@kernel("aclnnRepeatInterleaveWithDim")
def repeat_interleave_dim(self, repeats, dim: int, size: int, out): put(out, torch.repeat_interleave(self, repeats.long(), dim))

@kernel("aclnnRepeatInterleaveInt")
def repeat_interleave_int(self, repeats: int, size: int, out): put(out, torch.repeat_interleave(self, repeats))

@kernel("aclnnRepeatInterleaveIntWithDim")
def repeat_interleave_int_dim(self, repeats: int, dim: int, size: int, out): put(out, torch.repeat_interleave(self, repeats, dim))

@kernel("aclnnInplaceIndexCopy")
def index_copy_(self, dim: int, index, values): put(self, torch.index_copy(self, dim, index.long(), values))

@kernel("aclnnIndexFillTensor")
def index_fill(self, dim: int, index, value, out): put(out, torch.index_fill(self, dim, torch.tensor(index), value))

@kernel("aclnnOneHot")
def one_hot(self, count: int, on, off, axis: int, out):
    put(out, torch.where(F.one_hot(self.long().clamp(0, count - 1), count).bool() & ((self >= 0) & (self < count))[..., None], on.reshape(()), off.reshape(())).movedim(-1, axis))

@kernel("aclnnEmbeddingRenorm")
def embedding_renorm(self, indices, most: float, order: float): aten.embedding_renorm_(self, indices.long(), most, order)

@kernel("aclnnInplaceIndexFillTensor")
def index_fill_(self, dim: int, index, value): put(self, torch.index_fill(self, dim, torch.tensor(index), value))

@kernel("aclnnGatherNd")
def gather_nd(self, indices, negative: bool, out): put(out, self[tuple(indices.long().unbind(-1))])
