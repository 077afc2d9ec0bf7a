"""Calls of torchaudio's compiled operators, through its own functions; the process that imports this has torchaudio."""
from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
import torchaudio.functional as F

Call = tuple[tuple, Callable[[], list]]


def _transducers(draw: np.random.Generator) -> Iterator[Call]:
    for number in range(12):
        batch, frames, labels, classes = draw.integers(1, 4), draw.integers(1, 9), draw.integers(1, 6), draw.integers(3, 7)
        logits = draw.normal(size=(batch, frames, labels + 1, classes)) * 2
        targets = draw.integers(1, classes, (batch, labels))
        lengths, ends = draw.integers(1, frames + 1, batch), draw.integers(0, labels + 1, batch)
        lengths[0], ends[-1] = frames, labels
        counts = [torch.tensor(item, dtype=torch.int32) for item in (targets, lengths, ends)]
        for dtype in ("float32", "float16"):
            for fused in (True, False):
                for clamp in (-1.0, 0.05):

                    def run(logits=logits, counts=counts, dtype=dtype, fused=fused, clamp=clamp, batch=batch):
                        leaf = torch.tensor(logits).to(getattr(torch, dtype))
                        leaf = (leaf if fused else leaf.log_softmax(-1)).detach().requires_grad_()
                        costs = F.rnnt_loss(leaf, *counts, 0, clamp, "none", fused)
                        return [costs, *torch.autograd.grad((costs * torch.arange(1, batch + 1)).sum(), leaf)]

                    yield ("rnnt_loss", dtype, number, fused, clamp), run


def _alignments(draw: np.random.Generator) -> Iterator[Call]:
    for number in range(40):
        frames, labels, classes = draw.integers(3, 30), draw.integers(1, 5), draw.integers(3, 7)
        scores, target = draw.normal(size=(1, frames, classes)), draw.integers(1, classes, (1, labels))
        for dtype in ("float32", "float64"):
            ties = np.round(scores) if number % 2 else scores
            yield ("forced_align", dtype, number), lambda scores=ties, target=target, dtype=dtype: list(
                F.forced_align(torch.tensor(scores).to(getattr(torch, dtype)), torch.tensor(target))
            )


def _filters(draw: np.random.Generator) -> Iterator[Call]:
    for dtype in ("float32", "float64"):
        for channels, order in ((1, 2), (2, 3), (3, 5)):
            falling = np.concatenate([np.ones((channels, 1)), draw.normal(size=(channels, order - 1)) * 0.2], 1)
            arrays = [draw.normal(size=(2, channels, 200)), falling, draw.normal(size=(channels, order))]
            before = draw.normal(size=(2, channels, 19 + order))

            def run(arrays=arrays, dtype=dtype):
                leaves = [torch.tensor(item).to(getattr(torch, dtype)).requires_grad_() for item in arrays]
                result = F.lfilter(*leaves, clamp=False)
                return [result, *torch.autograd.grad((result * result).sum(), leaves)]

            def loop(arrays=arrays, before=before, dtype=dtype):
                signal, falling, out = (torch.tensor(np.ascontiguousarray(item)).to(getattr(torch, dtype)) for item in (arrays[0][..., :20], arrays[1], before))
                torch.ops.torchaudio._lfilter_core_loop(signal, falling, out)
                return [out, signal]

            yield ("lfilter", dtype, channels), run
            yield ("loop of lfilter", dtype, channels), loop
        wave, last = draw.normal(size=(2, 3, 100)), draw.normal(size=(2, 2))

        def overdrive(wave=wave, last=last, dtype=dtype):
            kind = getattr(torch, dtype)
            parts = [torch.tensor(np.ascontiguousarray(item)).to(kind) for item in (wave[:, 0], wave[:, 1], last[0], last[1])]
            out = torch.zeros(2, 100, dtype=kind)
            torch.ops.torchaudio._overdrive_core_loop(*parts, out)
            return [F.overdrive(torch.tensor(wave).to(kind)), *parts[2:], out]

        yield ("overdrive", dtype), overdrive


def _refused(draw: np.random.Generator) -> Iterator[Call]:
    logits, target, frames, labels = torch.rand(2, 4, 3, 5), torch.tensor([[1, 2], [3, 1]]).int(), torch.tensor([4, 3]).int(), torch.tensor([2, 1]).int()
    loss, align = torch.ops.torchaudio.rnnt_loss_forward, torch.ops.torchaudio.forced_align
    scores, one, five, two = torch.rand(1, 5, 4), torch.tensor([[1, 2]]), torch.tensor([5]), torch.tensor([2])
    for name, call in {
        "logits of float64": lambda: loss(logits.double(), target, frames, labels, 0, -1.0, True),
        "targets of int64": lambda: loss(logits, target.long(), frames, labels, 0, -1.0, True),
        "lengths of int64": lambda: loss(logits, target, frames.long(), labels, 0, -1.0, True),
        "frames": lambda: loss(logits, target, frames + 1, labels, 0, -1.0, True), "labels": lambda: loss(logits, target, frames, labels - 1, 0, -1.0, True),
        "blank": lambda: loss(logits, target, frames, labels, 9, -1.0, True), "dimensions": lambda: loss(logits[0], target, frames, labels, 0, -1.0, True),
        "gaps": lambda: loss(logits[:, :, :2], target, frames, labels, 0, -1.0, True), "batch": lambda: loss(logits, target[:1], frames, labels, 0, -1.0, True),
        "repeats": lambda: align(scores, torch.tensor([[1, 2, 2, 2, 2]]), five, five, 0), "input length": lambda: align(scores, one, five - 1, two, 0),
        "target length": lambda: align(scores, one, five, two + 1, 0), "two rows": lambda: align(torch.rand(2, 5, 4), one, five, two, 0),
        "blank of alignment": lambda: align(scores, one, five, two, 7), "targets of int16": lambda: align(scores, one.short(), five, two, 0),
        "scores of bfloat16": lambda: align(scores.bfloat16(), one, five, two, 0), "scores of two dimensions": lambda: align(scores[0], one, five, two, 0),
    }.items():  # fmt: skip
        yield (name, "float32"), call


FAMILIES = (_transducers, _alignments, _filters, _refused)
