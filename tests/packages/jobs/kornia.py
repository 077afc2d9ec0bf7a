"""Jobs of kornia."""
from __future__ import annotations

import kornia
import torch


def job_images():
    x = torch.rand(2, 3, 16, 20, requires_grad=True)
    results = [
        kornia.filters.gaussian_blur2d(x, (3, 3), (1.0, 1.0)), kornia.filters.sobel(x), kornia.color.rgb_to_hsv(x), kornia.color.rgb_to_lab(x),
        kornia.geometry.rotate(x, torch.tensor([20.0, 40.0])), kornia.geometry.resize(x, (8, 10)), kornia.morphology.dilation(x, torch.ones(3, 3)),
        kornia.enhance.adjust_brightness(x, 0.2), kornia.losses.ssim_loss(x, x * 0.9, 5), kornia.filters.median_blur(x, (3, 3)),
    ]  # fmt: skip
    sum(r.sum() for r in results).backward()
    return results, x.grad


def job_augmentation():
    chain = kornia.augmentation.AugmentationSequential(
        kornia.augmentation.RandomHorizontalFlip(p=0.5), kornia.augmentation.RandomAffine(20.0, p=1.0), kornia.augmentation.ColorJiggle(0.1, 0.1, 0.1, 0.1, p=1.0),
    )  # fmt: skip
    torch.manual_seed(2)
    return chain(torch.rand(2, 3, 16, 16))
