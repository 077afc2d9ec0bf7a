"""Jobs of vector-quantize-pytorch."""
from __future__ import annotations

import torch
from vector_quantize_pytorch import FSQ, LFQ, RandomProjectionQuantizer, ResidualVQ, SimVQ, VectorQuantize


def job_quantisers():
    found = []
    for make in (
        lambda: VectorQuantize(dim=8, codebook_size=16, decay=0.8, commitment_weight=1.0), lambda: VectorQuantize(dim=8, codebook_size=16, use_cosine_sim=True),
        lambda: VectorQuantize(dim=8, codebook_size=16, kmeans_init=True, kmeans_iters=3), lambda: ResidualVQ(dim=8, num_quantizers=3, codebook_size=16),
        lambda: LFQ(dim=8, codebook_size=256, entropy_loss_weight=0.1), lambda: SimVQ(dim=8, codebook_size=16),
    ):  # fmt: skip
        torch.manual_seed(0)
        layer = make()
        x = torch.randn(2, 10, 8, requires_grad=True)
        quantized, indices, loss = layer(x)[:3]
        (quantized.sum() + loss.sum()).backward()
        found.append((quantized, indices, loss, x.grad))
        with torch.no_grad():
            found.append(layer.eval()(x)[0])
    return found


def job_finite():
    torch.manual_seed(0)
    x = torch.randn(2, 6, 3, requires_grad=True)
    layer = FSQ([5, 4, 3])
    quantized, indices = layer(x)
    quantized.square().sum().backward()
    return quantized, indices, layer.indices_to_codes(indices), x.grad, RandomProjectionQuantizer(dim=8, num_codebooks=2, codebook_dim=4, codebook_size=8)(
        torch.randn(1, 5, 8))  # fmt: skip
