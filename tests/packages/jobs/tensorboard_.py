"""Jobs of tensorboard's event files."""
from __future__ import annotations

import hashlib
import os

import torch
from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
from torch.utils.tensorboard import SummaryWriter


def job_events():
    with SummaryWriter("logs") as writer:
        writer.add_scalar("a", torch.tensor(3.5), 1)
        writer.add_scalar("b", 2, 2, new_style=True)
        writer.add_scalar("c", 2.5, 2, new_style=True, double_precision=True)
        writer.add_scalars("m", {"x": 1, "y": 2.0}, 3)
        x = torch.randn(100)
        for tag, options in (("h", {}), ("h2", {"bins": 10}), ("h3", {"bins": "auto", "max_bins": 4})):
            writer.add_histogram(tag, x, 1, **options)
        writer.add_image("i", torch.rand(3, 5, 6), 1)
        writer.add_image("u", (torch.rand(5, 6, 3) * 255).to(torch.uint8), dataformats="HWC")
        writer.add_image("g", torch.rand(5, 6), dataformats="HW")
        writer.add_images("is", torch.rand(10, 3, 4, 4))
        writer.add_text("t", "hello **x**", 3)
        writer.add_audio("s", torch.linspace(-1, 1, 20), 1, sample_rate=8000)
        writer.add_pr_curve("pr", torch.tensor([0, 1, 1, 0, 1]), torch.tensor([0.1, 0.9, 0.4, 0.6, 0.8]), 1)
        writer.add_hparams({"lr": 0.1, "b": True, "s": "x", "none": None}, {"acc": 0.5}, {"lr": [0.1, 0.2]}, run_name="r", global_step=4)
        writer.add_custom_scalars({"T": {"a": ["Multiline", ["a", "b"]], "m": ["Margin", ["a", "b", "c"]]}})
    events = []
    for folder, _, files in sorted(os.walk("logs")):
        for file in sorted(files):
            for event in LegacyEventFileLoader(os.path.join(folder, file)).Load():
                content = event.summary.SerializeToString(deterministic=True)
                events.append([folder, event.step, [value.tag for value in event.summary.value], hashlib.md5(content).hexdigest()])
    return events
