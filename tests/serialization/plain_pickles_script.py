"""Objects of torch that programs pickle without torch.save (caches of data sets, queues), and their visible state.

    python plain_pickles_script.py write FILE        # by whichever torch this process has
    python plain_pickles_script.py read FILE         # prints what is not as it was written
"""
from __future__ import annotations

import pickle
import sys
from collections import OrderedDict
from typing import Any

import torch


def _training() -> dict[str, Any]:
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8, 3)
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    net(torch.rand(2, 1, 4, 4)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    return {
        "module": net, "weights": net.state_dict(), "optimizer": optimizer, "state of an optimizer": optimizer.state_dict(),
        "scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 2), "recurrent": torch.nn.LSTM(2, 3),
        "a module and its optimizer": [net, optimizer], "adafactor": torch.optim.Adafactor(net.parameters()),
        "loss": torch.nn.CrossEntropyLoss(weight=torch.ones(3)), "embedding": torch.nn.Embedding(3, 2),
        "transformer": torch.nn.TransformerEncoderLayer(4, 2, 8), "class": torch.nn.Linear,
    }  # fmt: skip


def _tensors() -> dict[str, Any]:
    base, whole = torch.arange(6.0), torch.rand(3)
    marked = torch.nn.Parameter(torch.rand(2))
    marked.tag = "x"
    return {
        "tensor": base, "integers": torch.arange(3), "bytes": torch.arange(3, dtype=torch.uint8), "bfloat16": torch.ones(2).bfloat16(),
        "half": torch.ones(2).half(), "bool": torch.tensor([True]), "complex": torch.tensor([1j]), "view": base[1:5:2],
        "transposed": torch.rand(2, 3).t(), "number": torch.tensor(3.0), "empty": torch.empty(0, 3),
        "leaf": torch.ones(2, requires_grad=True), "parameter": torch.nn.Parameter(torch.rand(2, 2)), "marked parameter": marked,
        "frozen parameter": torch.nn.Parameter(torch.rand(2), requires_grad=False), "meta": torch.empty(2, device="meta"),
        "views of one storage": [whole, whole[1:], whole], "dictionary": OrderedDict(a=torch.ones(1)),
        "sample": ({"image": torch.rand(3, 2, 2), "label": torch.tensor(1)}, [torch.ones(1)]),
        "packed": torch.nn.utils.rnn.pack_sequence([torch.ones(2), torch.ones(1)]),
    }  # fmt: skip


def objects() -> dict[str, Any]:
    """Return objects by name."""
    torch.manual_seed(0)
    pairs = torch.utils.data.TensorDataset(torch.rand(4, 2), torch.arange(4))
    return {
        **_tensors(), **_training(), "size": torch.Size([2, 3]), "device": torch.device("cpu"), "dtype": torch.float16,
        "layout": torch.strided, "data set": pairs, "subset": torch.utils.data.Subset(pairs, [1, 2]),
        "generator": torch.Generator().manual_seed(3), "distribution": torch.distributions.Normal(torch.zeros(2), torch.ones(2)),
        "memory format": torch.channels_last, "memory format 3d": torch.channels_last_3d, "quantization": torch.per_channel_affine,
        "function of a module": torch.nn.functional.relu, "function": torch.relu,
    }  # fmt: skip


def seen(value: Any) -> Any:
    """Return the visible state of an object in Python's own types."""
    if isinstance(value, torch.Tensor):
        flat = None if value.is_meta else value.detach().tolist()
        about = str(value.dtype), tuple(value.shape), value.stride(), value.storage_offset(), value.requires_grad, value.is_leaf
        return type(value).__name__, *about, len(value.untyped_storage()), getattr(value, "tag", None), flat
    if isinstance(value, torch.nn.Module):
        return repr(value), value.training, seen(dict(value.state_dict()))
    if isinstance(value, (torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler)):
        return type(value).__name__, seen(value.state_dict())
    if isinstance(value, dict):
        return {str(key): seen(item) for key, item in value.items()}
    if isinstance(value, list) and len(value) == 2 and isinstance(value[1], torch.optim.Optimizer):
        return [p is q for p, q in zip(value[0].parameters(), value[1].param_groups[0]["params"])], seen(value[0]), seen(value[1])
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [seen(item) for item in value]
    if isinstance(value, torch.Generator):
        return torch.rand(2, generator=value).tolist()
    if isinstance(value, torch.distributions.Normal):
        return seen([value.loc, value.scale])
    if isinstance(value, torch.utils.data.TensorDataset):
        return seen(value.tensors)
    if isinstance(value, torch.utils.data.Subset):
        return seen([value.dataset, value.indices])
    return value.__name__ if callable(value) else str(value)


def write(path: str) -> None:
    """Pickle each object, with its visible state, in two protocols."""
    made = {}
    for name, value in objects().items():
        # torch names a memory format by a dotted name, which protocol 2 does not have
        protocols = (4,) if isinstance(value, torch.memory_format) else (2, 4)
        made[name] = [pickle.dumps(value, protocol) for protocol in protocols], seen(value)
    with open(path, "wb") as file:
        pickle.dump(made, file)


def read(path: str) -> list[str]:
    """Return the objects in a file that differ from those that were written."""
    with open(path, "rb") as file:
        made = pickle.load(file)
    wrong = []
    for name, (texts, want) in made.items():
        for text in texts:
            try:
                found = seen(pickle.loads(text))
            except Exception as error:  # noqa: BLE001 - it is what is reported
                found = repr(error)
            if found != want:
                wrong.append(f"{name}: {found} instead of {want}")
    return wrong


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(sys.argv[2])
    else:
        print(*read(sys.argv[2]), sep="\n")
