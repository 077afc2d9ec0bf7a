"""Denoising diffusion of handwritten digits with diffusers: python -m mstorch diffuse.py [--device npu]"""
import argparse
import csv
import gzip
import pathlib

import torch
import torch.nn.functional as F
from diffusers import DDPMScheduler, UNet2DModel

DATA = pathlib.Path(__file__).parents[1] / "data" / "digits.csv.gz"


def digits():
    """Images (1797, 1, 8, 8) in -1…1."""
    with gzip.open(DATA, "rt", newline="") as file:
        rows = list(csv.reader(file))[1:]
    return torch.tensor([[float(value) / 8 - 1 for value in row[:64]] for row in rows]).reshape(-1, 1, 8, 8)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    torch.manual_seed(0)
    images = digits()
    model = UNet2DModel(
        sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(16, 32), norm_num_groups=8,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    ).to(options.device)  # fmt: skip
    noises = DDPMScheduler(num_train_timesteps=100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(options.steps):
        clean = images[torch.randint(len(images), (32,))]
        noise, times = torch.randn(clean.shape), torch.randint(100, (32,))
        noisy = noises.add_noise(clean, noise, times)
        found = model(noisy.to(options.device), times.to(options.device)).sample
        loss = F.mse_loss(found, noise.to(options.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step + 1}: loss {loss.item():.4f}")
    sample = torch.randn(4, 1, 8, 8)
    noises.set_timesteps(10)
    with torch.no_grad():
        for time in noises.timesteps:
            sample = noises.step(model(sample.to(options.device), time.to(options.device)).sample.cpu(), time, sample).prev_sample
    print(f"samples between {sample.min().item():.3f} and {sample.max().item():.3f}")


if __name__ == "__main__":
    main()
