"""Jobs of torchkbnufft."""

from __future__ import annotations

import torch
import torchkbnufft as nufft


def job_fourier():
    torch.manual_seed(0)
    image = torch.randn(2, 3, 12, 16, dtype=torch.complex64, requires_grad=True)
    places = (torch.rand(2, 50) - 0.5) * 6
    maps = torch.randn(2, 3, 12, 16, dtype=torch.complex64)
    samples = nufft.KbNufft((12, 16))(image, places, smaps=None)
    adjoint = nufft.KbNufftAdjoint((12, 16))(samples, places)
    (samples.abs().square().sum() + adjoint.abs().sum()).backward()
    weights = nufft.calc_density_compensation_function(places, (12, 16))
    kernel = nufft.calc_toeplitz_kernel(places, (12, 16))
    filtered = nufft.ToepNufft()(image[:, :1].detach(), kernel, smaps=maps)
    return [torch.view_as_real(x) for x in (samples, adjoint, image.grad, weights, filtered)]
