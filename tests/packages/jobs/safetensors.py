"""Jobs of safetensors."""
from __future__ import annotations

import torch
from safetensors import safe_open
from safetensors.torch import load_file, load_model, save_file, save_model


def job_files():
    tensors = {"a": torch.randn(3, 4), "b": torch.arange(5), "c": torch.randn(2).to(torch.bfloat16), "d": torch.tensor([True, False])}
    save_file(tensors, "t.safetensors", metadata={"k": "v"})
    back = load_file("t.safetensors")
    with safe_open("t.safetensors", framework="pt") as file:
        part, meta = file.get_slice("a")[1:, :2], file.metadata()
    net, other = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    save_model(net, "m.safetensors")
    load_model(other, "m.safetensors")
    return {name: back[name] for name in sorted(back)}, part, meta, other(torch.ones(1, 3))
