"""Jobs of denoising-diffusion-pytorch."""
from __future__ import annotations

import torch
from denoising_diffusion_pytorch import GaussianDiffusion, Unet


def job_pictures():
    net = Unet(dim=16, dim_mults=(1, 2), flash_attn=False)
    diffusion = GaussianDiffusion(net, image_size=16, timesteps=20, sampling_timesteps=4)
    loss = diffusion(torch.rand(2, 3, 16, 16))
    loss.backward()
    return loss, [parameter.grad.norm() for parameter in net.parameters()][:20], diffusion.sample(batch_size=2)
