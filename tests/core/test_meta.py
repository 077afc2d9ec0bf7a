"""The meta device: shapes and dtypes without memory."""
from __future__ import annotations

import copy
import io
import time
from collections.abc import Callable
from typing import Any

import pytest

import mstorch

Both = Callable[..., Any]


def described(tensor: Any) -> tuple[Any, ...]:
    """What can be told of a tensor without its values."""
    return tuple(tensor.shape), str(tensor.dtype), str(tensor.device), tensor.stride(), tensor.requires_grad, tensor.is_meta


RESULTS: dict[str, Callable[[Any, Any], Any]] = {
    "rand": lambda torch, a: torch.rand(2, device="meta"),
    "arange": lambda torch, a: torch.arange(5, device="meta"),
    "tensor": lambda torch, a: torch.tensor([1.0, 2.0], device="meta", requires_grad=True),
    "like on the CPU": lambda torch, a: torch.ones_like(a, device="cpu"),
    "new_zeros": lambda torch, a: a.new_zeros(3),
    "to": lambda torch, a: torch.ones(3).to("meta"),
    "half": lambda torch, a: a.to(torch.float16),
    "part": lambda torch, a: a[1:, ::2],
    "broadcast": lambda torch, a: a * a[:, :1],
    "matmul": lambda torch, a: a @ a.t(),
    "sum": lambda torch, a: a.sum(0),
    "sort": lambda torch, a: a.sort()[1],
    "index": lambda torch, a: a[torch.tensor([0, 1], device="meta")],
    "conv2d": lambda torch, a: torch.nn.functional.conv2d(*(torch.empty(s, device="meta") for s in ((1, 3, 8, 8), (4, 3, 3, 3)))),
    "lstm": lambda torch, a: torch.nn.LSTM(3, 4, device="meta")(torch.empty(2, 1, 3, device="meta"))[0],
    "attention": lambda torch, a: torch.nn.functional.scaled_dot_product_attention(*[torch.empty(1, 2, 3, 4, device="meta")] * 3),
    "normal_": lambda torch, a: a.normal_(),
    "copy_": lambda torch, a: a.copy_(torch.ones(3, 4)),
    "deepcopy": lambda torch, a: copy.deepcopy(a),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results(both: Both, name: str) -> None:
    both(lambda torch: described(RESULTS[name](torch, torch.empty(3, 4, device="meta"))))


READS: dict[str, Callable[[Any, Any], Any]] = {
    "repr": lambda torch, a: repr(a),
    "item": lambda torch, a: a.sum().item(),
    "numpy": lambda torch, a: a.numpy(),
    "cpu": lambda torch, a: a.cpu(),
    "tolist": lambda torch, a: a.tolist(),
    "if": lambda torch, a: bool(a.sum()),
    "from meta": lambda torch, a: torch.ones(3, 4).copy_(a),
    "bytes": lambda torch, a: (a.nbytes, a.untyped_storage().nbytes(), a.data_ptr(), a.is_cpu),
    "module": lambda torch, a: torch.nn.Linear(2, 2, device="meta").to("cpu"),
}


@pytest.mark.parametrize("name", READS)
def test_reads(both: Both, name: str) -> None:
    both(lambda torch: READS[name](torch, torch.empty(3, 4, device="meta")))


@pytest.mark.parametrize("what", ["nonzero", "mask", "unique"])
def test_shapes_that_depend_on_values_are_refused(what: str) -> None:
    a = mstorch.empty(3, device="meta")
    with pytest.raises(NotImplementedError):
        {"nonzero": lambda: a.nonzero(), "mask": lambda: a[a > 0], "unique": lambda: a.unique()}[what]()


def test_default_devices(both: Both) -> None:
    def body(torch: Any) -> Any:
        with torch.device("meta"):
            inside = [torch.ones(2), torch.nn.Linear(2, 3).weight, torch.randperm(3), torch.as_tensor([1]), torch.ones(2, device="cpu")]
            default = str(torch.get_default_device())
        torch.set_default_device("meta")
        chosen = torch.ones(2)
        torch.set_default_device(None)
        return [described(tensor) for tensor in (*inside, chosen, torch.ones(2))], default

    both(body)


@pytest.mark.on_the_cpu
def test_modules_get_memory_and_values(both: Both) -> None:
    def body(torch: Any) -> Any:
        state = torch.nn.Linear(3, 4).state_dict()
        emptied = torch.nn.Linear(3, 4, device="meta").to_empty(device="cpu")
        emptied.load_state_dict(state)
        assigned = torch.nn.Linear(3, 4, device="meta")
        assigned.load_state_dict(state, assign=True)
        x = torch.ones(2, 3)
        return emptied(x), assigned(x), described(emptied.weight), isinstance(emptied.weight, torch.nn.Parameter)

    both(body)


def test_files(both: Both) -> None:
    def body(torch: Any) -> Any:
        found = []
        for tensor, where in ((torch.empty(3, 4, device="meta"), None), (torch.ones(3, 4).t(), "meta")):
            buffer = io.BytesIO()
            torch.save(tensor, buffer)
            buffer.seek(0)
            found.append(described(torch.load(buffer, map_location=where)))
        return found

    both(body)


def test_a_large_model_needs_no_memory() -> None:
    start = time.monotonic()
    with mstorch.device("meta"):
        layers = [mstorch.nn.Linear(16384, 16384) for _ in range(26)]
    assert sum(p.numel() for layer in layers for p in layer.parameters()) > 6.9e9
    assert time.monotonic() - start < 20
