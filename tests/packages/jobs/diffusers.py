"""Jobs of diffusers."""
from __future__ import annotations

import torch
from diffusers import DDIMScheduler, DDPMPipeline, DDPMScheduler, UNet2DModel


def _unet():
    torch.manual_seed(0)
    return UNet2DModel(
        sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 16), norm_num_groups=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"), attention_head_dim=4,
    )  # fmt: skip


def job_unet():
    model = _unet()
    out = model(torch.randn(2, 1, 8, 8), torch.tensor([3, 7])).sample
    out.square().mean().backward()
    return out, sum(float(p.grad.abs().sum()) for p in model.parameters())


def job_ddpm():
    scheduler = DDPMScheduler(num_train_timesteps=50)
    model = _unet()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    losses = []
    for _ in range(3):
        noise = torch.randn(2, 1, 8, 8)
        steps = torch.randint(0, 50, (2,))
        loss = torch.nn.functional.mse_loss(model(scheduler.add_noise(torch.ones(2, 1, 8, 8), noise, steps), steps).sample, noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    image = DDPMPipeline(model, scheduler)(generator=torch.Generator().manual_seed(0), num_inference_steps=5, output_type="np").images
    return losses, torch.tensor(image)


def job_ddim():
    scheduler = DDIMScheduler(num_train_timesteps=50)
    scheduler.set_timesteps(5)
    model, x = _unet().eval(), torch.randn(1, 1, 8, 8)
    with torch.no_grad():
        for t in scheduler.timesteps:
            x = scheduler.step(model(x, t).sample, t, x).prev_sample
    return x
