"""torch_npu.contrib compared with torch's operations: ``python -m mstorch -m tests.devices.contrib_parts`` (MSTORCH_FAKE_DEVICE=Ascend)."""
from __future__ import annotations

import warnings
from typing import Any

import mstorch as torch
from mstorch._companions import torch_npu as torch_npu


def contrib() -> list[str]:
    """Compare layers and functions of torch_npu.contrib on the device with torch's on the CPU: values and gradients."""
    torch.manual_seed(0)
    nn, F, extra = torch.nn, torch.nn.functional, torch_npu.contrib
    image, other, scores = torch.randn(2, 6, 8, 8), torch.randn(2, 6, 8, 8), torch.randn(2, 4, 5, 5)
    labels, norm = torch.tensor([1, 0, 3]), nn.BatchNorm2d(6)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        lstm, silu, mish = extra.BiLSTM(8, 3), extra.module.SiLU(), extra.Mish()
    focus, both = extra.Focus(6, 4), nn.LSTM(8, 3, bidirectional=True)
    both.load_state_dict({f"{name}{end}": value for part, end in ((lstm.fw_rnn, ""), (lstm.bw_rnn, "_reverse")) for name, value in part.state_dict().items()})
    plain = nn.Sequential(focus.conv.conv, nn.BatchNorm2d(4), nn.LeakyReLU(0.1))
    pieces = lambda x: torch.cat([x[..., i::2, j::2] for j in (0, 1) for i in (0, 1)], 1)
    pairs: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {
        "silu": (silu, F.silu, (image,)), "mish": (mish, F.mish, (image,)), "lstm": (lstm, lambda x: both(x)[0], (image[0],)),
        "shuffle": (extra.ChannelShuffle(12, split_shuffle=False), lambda x, y: F.channel_shuffle(torch.cat([x, y], 1), 2), (image, other)),
        "halves": (extra.ChannelShuffle(12), lambda x, y: F.channel_shuffle(torch.cat([x, y], 1), 2).chunk(2, 1), (image, other)),
        "smoothing": (extra.LabelSmoothingCrossEntropy(5, 0.1), lambda x: -(
            F.log_softmax(x, -1) * (F.one_hot(labels, 5) * (0.9 - 0.025) + 0.025)).sum(-1).mean(), (torch.randn(3, 5),)),
        "focus": (focus, lambda x: plain(pieces(x)), (image,)), "norm": (extra.FastBatchNorm2d(6), norm, (image,)),
        "path": (extra.NpuDropPath(0.3).eval(), lambda x: x * 1, (image,)), "dropout": (extra.NpuFairseqDropout(0.3).eval(), lambda x: x * 1, (image,)),
        "roll": (lambda x: extra.roll(x, (-2, -1), (1, 2)), lambda x: torch.roll(x, (-2, -1), (1, 2)), (image,)),
        "matmul": (extra.matmul_transpose, lambda x, y: x @ y.mT, (image, other)),
        "put": (lambda x: extra.npu_fast_condition_index_put(x, x > 0, 2), lambda x: torch.where(x > 0, 2.0, x), (image,)),
        "softmax": (lambda x, y: extra.fuse_add_softmax_dropout(False, nn.Dropout(0.5).eval(), x, y, 16), lambda x, y: F.softmax(x + y / 4, -1), (scores, scores)),
    }  # fmt: skip
    found = [] if len(told) == 3 else ["warnings"]
    for name, (mine, theirs, given) in pairs.items():
        results = []
        for function, place in ((theirs, "cpu"), (mine, "npu")):
            inputs = [one.detach().to(place).requires_grad_() for one in given]
            if name == "smoothing" and place == "npu":
                calls = [function.to(place)(*inputs, labels.to(place))]
            else:
                out = (function.to(place) if isinstance(function, nn.Module) else function)(*inputs)
                calls = list(out) if isinstance(out, (tuple, list)) else [out]
            sum((one * torch.arange(one.numel(), device=one.device).view(one.shape).cos()).sum() for one in calls).backward()
            results.append([one.detach().cpu() for one in (*calls, *(one.grad for one in inputs))])
        if not all(torch.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(*results, strict=True)):
            found.append(name)
    torch.manual_seed(1)
    dropped = extra.NpuDropPath(0.5)(torch.ones(400, 3).npu()).cpu()
    kept = dropped[:, 0] > 0
    if not (dropped[kept] == 2).all() or not 150 < int(kept.sum()) < 250 or (dropped[~kept] != 0).any():
        found.append("drop path")
    if extra.FastBatchNorm1d(3).num_batches_tracked.dtype is not torch.int32:
        found.append("count")
    fetched, prefetcher = [], extra.Prefetcher([(torch.ones(2) * i, torch.ones(2)) for i in range(3)])
    while (pair := prefetcher.next())[0] is not None:
        fetched.append((pair[0].device.type, pair[0].tolist()))
    if fetched != [("npu", [float(i)] * 2) for i in range(3)]:
        found.append(f"prefetcher {fetched}")
    try:
        found.append(f"{extra.PSROIPool}")
    except AttributeError as error:
        found += [] if "PSROIPool" in str(error) else [str(error)]
    return found


if __name__ == "__main__":
    print(contrib())
