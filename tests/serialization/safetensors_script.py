"""Run by test_safetensors.py, by Python and by ``python -m mstorch``: uses everything of safetensors.torch, and prints results."""

import json
import os
import sys

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model


class Tied(torch.nn.Module):
    """Two layers with one weight."""

    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
        self.b.weight = self.a.weight


def error_of(function, *args):
    """Return the class and the first line of an error."""
    try:
        function(*args)
    except (RuntimeError, ValueError, TypeError) as error:
        first, _, _ = str(error).strip().splitlines()[0].partition(": [")  # a set follows, in any order
        return f"{type(error).__name__}: {first}"
    return None


def main(folder, other):
    """Write to ``folder``; read ``other``, which holds the other library's files, or is empty."""
    names = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool", "uint16", "complex64"]
    tensors = {name: torch.arange(6).reshape(2, 3).to(getattr(torch, name)) for name in names}
    tensors |= {"0-d": torch.tensor(5), "empty": torch.empty(0, 3)}
    save_file(tensors, f"{folder}/a.safetensors", metadata={"key": "value"})
    found = {"same": [], "errors": []}
    for file in (f"{folder}/a.safetensors", f"{other}/a.safetensors"):
        if os.path.exists(file):
            loaded = load_file(file)
            found["same"].append([bool(torch.equal(loaded[name], value)) and loaded[name].dtype == value.dtype for name, value in tensors.items()])
    found["names"] = sorted(load(save(tensors)))
    with safe_open(f"{folder}/a.safetensors", framework="pt", device="cpu") as file:
        part = file.get_slice("float32")
        found["open"] = [sorted(file.keys()), file.metadata(), file.get_tensor("bfloat16").tolist(), part[:, 1:].tolist(), part.get_shape(), part.get_dtype()]
        assert isinstance(file.get_tensor("float32"), torch.Tensor)
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    torch.manual_seed(1)
    fresh, tied, also = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)), Tied(), Tied()
    save_model(net, f"{folder}/net.safetensors")
    save_model(tied, f"{folder}/tied.safetensors")
    missing, unexpected = load_model(fresh, f"{folder}/net.safetensors")
    load_model(also, f"{folder}/tied.safetensors")
    found["model"] = [sorted(missing), sorted(unexpected), fresh[0].weight.tolist() == net[0].weight.tolist(), also.b.weight.tolist() == tied.a.weight.tolist()]
    x = tensors["float32"]
    found["errors"] = [
        error_of(save_file, {"x": x, "y": x[0]}, f"{folder}/bad.safetensors"), error_of(save_file, {"x": x.t()}, f"{folder}/bad.safetensors"),
        error_of(save_file, {"x": 1}, f"{folder}/bad.safetensors"), error_of(load_model, torch.nn.Linear(2, 2), f"{folder}/net.safetensors"),
    ]  # fmt: skip
    print(json.dumps({"library": torch.__spec__.name, **found}))


if __name__ == "__main__":
    main(*sys.argv[1:])
