"""The companions' operators on the device, beside the CPU's: ``MSTORCH_FAKE_DEVICE=Ascend python -m tests.companions.on_device``."""
from __future__ import annotations

import sys
import warnings

import numpy as np

import mstorch as torch
from mstorch import companions

vision = torch.ops.torchvision


def _calls() -> dict:
    draw = np.random.default_rng(0)
    images, filters, moves = (torch.tensor(draw.normal(size=shape), dtype=torch.float32) for shape in
                              ((2, 12, 8, 9), (4, 6, 3, 3), (2, 18, 8, 9)))  # fmt: skip
    factors, bias, rois = torch.rand(2, 9, 8, 9), torch.rand(4), torch.tensor([[0, 1.2, 1, 7, 6], [1, -2, 0, 5.5, 9], [1, 3, 3, 3.2, 3.1]])
    index, src, q = torch.tensor([0, 2, 0, 3]), torch.rand(4, 3), torch.rand(2, 5, 4, 16)
    boxes = torch.cat([rois[:, 1:]] * 3)
    return {
        "nms": (lambda a, b: vision.nms(a, b, 0.5), boxes, torch.rand(9)),
        "roi_align": (lambda x, r: vision.roi_align(x, r, 0.5, 3, 2, 2, True), images, rois),
        "roi_align, samples by size": (lambda x, r: vision.roi_align(x, r, 1.0, 3, 2, -1, False), images, rois),
        "ps_roi_align": (lambda x, r: vision.ps_roi_align(x, r, 0.5, 2, 3, 2)[0], images, rois),
        "roi_pool": (lambda x, r: vision.roi_pool(x, r, 1.0, 3, 2)[0], images, rois),
        "ps_roi_pool": (lambda x, r: vision.ps_roi_pool(x, r, 1.0, 2, 3)[0], images, rois),
        "deform_conv2d": (lambda *given: vision.deform_conv2d(*given, 1, 1, 1, 1, 1, 1, 2, 1, True), images, filters, moves, factors, bias),
        **{f"scatter {way}": (lambda s, i, way=way: companions.torch_scatter.scatter(s, i, 0, reduce=way), src, index)
           for way in ("sum", "mul", "mean", "min", "max")},
        "scatter_softmax": (lambda s, i: companions.torch_scatter.scatter_softmax(s, i, 0), src, index),
        "segment_csr": (lambda s, e: companions.torch_scatter.segment_csr(s, e, reduce="max"), src, torch.tensor([0, 1, 1, 4])),
        "knn": (lambda x: companions.torch_cluster.knn(x, x, 2), src),
        "radius": (lambda x: companions.torch_cluster.radius(x, x, 0.7), src),
        "flash": (lambda x: companions.flash_attn.flash_attn_func(x, x, x, causal=True), q),
        "flash, window and cap": (lambda x: companions.flash_attn.flash_attn_func(x, x, x, window_size=(1, 1), softcap=1.5), q),
        "xformers": (lambda x: companions.xformers.ops.memory_efficient_attention(x, x, x), q),
    }  # fmt: skip


def main() -> list[str]:
    """Return the calls whose values or gradients differ."""
    assert companions.torchvision.nms is not None
    warnings.simplefilter("ignore")
    device, wrong = torch.accelerator.current_accelerator(), []
    for name, (call, *given) in _calls().items():
        results = []
        for place in ("cpu", device):
            leaves = [item.detach().to(place).requires_grad_(item.is_floating_point()) for item in given]
            found = call(*leaves)
            slopes = ()
            if found.requires_grad:
                tracked = [leaf for leaf in leaves if leaf.requires_grad]
                slopes = torch.autograd.grad((found * found).sum(), tracked, allow_unused=True)
            if found.device.type != torch.device(place).type:
                wrong.append(f"{name}: on {found.device}")
            results.append([found.detach().cpu(), *(slope.cpu() for slope in slopes if slope is not None)])
        if not all(torch.allclose(one, other, rtol=1e-4, atol=1e-5) for one, other in zip(*results, strict=True)):
            wrong.append(name)
    return wrong


if __name__ == "__main__":
    print(wrong := main())
    sys.exit(bool(wrong))
