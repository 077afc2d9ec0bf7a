"""The companions' operators on the device, beside the CPU's: ``MSTORCH_FAKE_DEVICE=Ascend python -m tests.companions.on_device``."""
from __future__ import annotations

import sys
import warnings

import numpy as np

import mstorch as torch
from mstorch import companions
from mstorch._companions.mamba_ssm.ops.triton import ssd_combined as mamba

vision = torch.ops.torchvision
scan, audio = companions.mamba_ssm.selective_scan_fn, companions.torchaudio.rnnt_loss_forward
chunks, flash, xformers = mamba.mamba_chunk_scan_combined, companions.flash_attn, companions.xformers.ops
blocks = xformers.fmha.attn_bias.BlockDiagonalMask


def _ends(like: torch.Tensor, *ends: int) -> torch.Tensor:
    return torch.tensor([0, *ends], dtype=torch.int32, device=like.device)


def _slope(found: torch.Tensor, leaf: torch.Tensor) -> torch.Tensor:
    """Return a gradient that has a gradient."""
    return torch.autograd.grad(found.square().sum(), leaf, create_graph=True)[0]


def _calls() -> dict:
    draw = np.random.default_rng(0)
    images, filters, moves = (torch.tensor(draw.normal(size=shape), dtype=torch.float32) for shape in
                              ((2, 12, 8, 9), (4, 6, 3, 3), (2, 18, 8, 9)))  # fmt: skip
    factors, bias, rois = torch.rand(2, 9, 8, 9), torch.rand(4), torch.tensor([[0, 1.2, 1, 7, 6], [1, -2, 0, 5.5, 9], [1, 3, 3, 3.2, 3.1]])
    index, src, q = torch.tensor([0, 2, 0, 3]), torch.rand(4, 3), torch.rand(2, 5, 4, 16)
    boxes, tokens = torch.cat([rois[:, 1:]] * 3), (torch.rand(9, 4, 16), torch.rand(12, 2, 16))
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
        "flash": (lambda x: flash.flash_attn_func(x, x, x, causal=True), q),
        "flash, window and cap": (lambda x: flash.flash_attn_func(x, x, x, window_size=(1, 1), softcap=1.5), q),
        **{f"flash of sequences, {name}": (lambda x, k, options=options: flash.flash_attn_varlen_func(x, k, k, _ends(x, 4, 4, 9), _ends(x, 5, 5, 12), 5, 7, **options), *tokens)
           for name, options in (("all keys", {}), ("causal", {"causal": True}), ("window", {"window_size": (2, 1)}))},
        "flash of sequences, second derivatives": (lambda x, k: _slope(flash.flash_attn_varlen_func(x, k, k, _ends(x, 4, 9), _ends(x, 5, 12), 5, 7, causal=True), x), *tokens),
        "xformers of sequences": (lambda x: xformers.memory_efficient_attention(x[None], x[None], x[None], blocks.from_seqlens([4, 5]).make_causal()), tokens[0]),
        "mamba": (lambda u, B: scan(u, u.abs(), -torch.ones(6, 4, device=u.device), B, B, delta_softplus=True), torch.rand(2, 6, 9), torch.rand(2, 4, 9)),
        "mamba-2": (lambda x, B: chunks(x, x[..., 0].abs(), -torch.ones(3, device=x.device), B, B, 4), torch.rand(2, 9, 3, 4), torch.rand(2, 9, 1, 5)),
        "transducer": (lambda x, *counts: torch.cat([part.flatten() for part in audio(x, *counts, 0, -1.0, True)]), torch.rand(2, 4, 3, 5),
                       torch.tensor([[1, 2], [3, 1]]).int(), torch.tensor([4, 3]).int(), torch.tensor([2, 1]).int()),
        **{f"mmcv, {name}": call for name, call in _of_mmcv(draw).items()},
        "xformers": (lambda x: xformers.memory_efficient_attention(x, x, x), q),
    }  # fmt: skip


def _of_mmcv(draw: np.random.Generator) -> dict:
    """Return calls of mmcv's functions, which write to their arguments."""
    ext = companions.mmcv

    def written(name, shape, *given, kind=torch.float32, last=(), **numbers):
        target = torch.zeros(shape, dtype=kind, device=given[0].device)
        with torch.no_grad():
            getattr(ext, name)(*given, target, *last, **numbers)
        return target.float()

    images, boxes, places = torch.rand(2, 3, 8, 9), torch.rand(5, 5) * 6 + 0.5, torch.rand(2, 20, 3)
    rotated = torch.cat([torch.tensor([[0.0], [1], [1], [0], [1]]), boxes], 1)
    value, locations, weights = torch.rand(2, 16, 2, 3), torch.rand(2, 5, 2, 2, 3, 2), torch.rand(2, 5, 2, 2, 3)
    shapes, starts = torch.tensor([[3, 4], [2, 2]]), torch.tensor([0, 12])
    raster = {"pooled_height": 3, "pooled_width": 2, "spatial_scale": 0.8, "sampling_ratio": 2, "aligned": True, "clockwise": False}
    return {
        "bbox_overlaps": (lambda b: written("bbox_overlaps", (5, 5), b[:, :4], b[:, :4] + 1, mode=0, aligned=False, offset=1), boxes),
        "overlap from above": (lambda b: written("iou3d_boxes_overlap_bev_forward", (5, 5), b, b.flip(0)), torch.cat([boxes, boxes[:, :2]], 1)),
        "roi_align_rotated": (lambda x, r: written("roi_align_rotated_forward", (5, 3, 3, 2), x, r, **raster), images, rotated),
        "attention": (lambda *given: ext.ms_deform_attn_forward(*given, im2col_step=64), value, shapes, starts, locations, weights),
        "focal loss": (lambda x, t: written("sigmoid_focal_loss_forward", (4, 3), x, t, x.new_zeros(0), gamma=2.0, alpha=0.25),
                       torch.rand(4, 3), torch.tensor([0, 2, 3, 1])),
        "carafe": (lambda x, m: written("carafe_naive_forward", (2, 3, 16, 18), x, m, kernel_size=3, group_size=1, scale_factor=2), images, torch.rand(2, 9, 16, 18)),
        "ball_query": (lambda c, p: written("ball_query_forward", (2, 4, 3), c, p, kind=torch.int32, b=2, n=20, m=4, min_radius=0.0, max_radius=0.4,
                                            nsample=3), places[:, :4].contiguous(), places),
        "points in boxes": (lambda b, p: written("points_in_boxes_all_forward", (2, 20, 3), b, p, kind=torch.int32), torch.rand(2, 3, 7) * 2, places),
        "voxels": (lambda p, c: ext.dynamic_point_to_voxel_forward(p, c, "max")[0], torch.rand(6, 4), torch.tensor([[1, 0], [0, 2], [1, 0], [-1, 3], [0, 2], [4, 4]])),
        "upfirdn2d": (lambda x, f: ext.upfirdn2d(x, f, 2, 1, 1, 2, 1, 1, 0, 1, False, 1.0), images, torch.rand(3, 2)),
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
