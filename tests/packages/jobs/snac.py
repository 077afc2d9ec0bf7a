"""Jobs of snac."""

from __future__ import annotations

import torch
from snac import SNAC


def job_codes():
    torch.manual_seed(0)
    net = SNAC(
        sampling_rate=8000, encoder_dim=8, encoder_rates=[2, 2], latent_dim=32, decoder_dim=16, decoder_rates=[2, 2], attn_window_size=None,
        codebook_size=16, codebook_dim=4, vq_strides=[2, 1], noise=False, depthwise=True,
    ).eval()  # fmt: skip
    wave = torch.randn(1, 1, 256)
    with torch.inference_mode():
        codes = net.encode(wave)
        again = net.decode(codes)
    return [codes, again]


def job_training():
    torch.manual_seed(0)
    net = SNAC(
        sampling_rate=8000, encoder_dim=8, encoder_rates=[2, 2], latent_dim=32, decoder_dim=16, decoder_rates=[2, 2], attn_window_size=None,
        codebook_size=16, codebook_dim=4, vq_strides=[2, 1], noise=False, depthwise=False,
    )  # fmt: skip
    wave = torch.randn(2, 1, 128)
    optimizer = torch.optim.SGD(net.parameters(), 1e-2)
    losses = []
    for _ in range(3):
        loss = (net(wave)[0] - wave).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return losses
