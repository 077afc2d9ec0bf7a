"""The meta device: shapes and dtypes without memory."""
from __future__ import annotations

import copy
import io
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mstorch
from mstorch._src.backend import samples, shapes
from mstorch._src.backend.table import kernel
from tests import absent
from tests.known import SECTIONS, hold

pytestmark = pytest.mark.sweep

Both = Callable[..., Any]


def described(tensor: Any) -> tuple[Any, ...]:
    """Return the properties of a tensor that do not depend on its values."""
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
    start = time.process_time()
    with mstorch.device("meta"):
        layers = [mstorch.nn.Linear(16384, 16384) for _ in range(26)]
    assert sum(p.numel() for layer in layers for p in layer.parameters()) > 6.9e9
    assert time.process_time() - start < 20


# The meta device computes only shapes, of any size


def _look(found: Any) -> Any:
    return tuple(map(_look, found)) if isinstance(found, tuple) else (found.shape, found.dtype) if hasattr(found, "shape") else None


def _dtype_of(values: Any) -> str | None:
    arrays = (item if isinstance(item, np.ndarray) else None if not isinstance(item, tuple) else _dtype_of(item) for item in values)
    return next((array if isinstance(array, str) else str(array.dtype) for array in arrays if array is not None), None)


ROWS = samples.samples()


@pytest.mark.parametrize("op", ROWS)
def test_each_row_tells_its_shapes(op: str) -> None:
    args = tuple(ROWS[op])
    function = kernel(op).host[_dtype_of(args)]
    assert _look(shapes.told(op, function, args, ())) == _look(function(*args))


OPERATORS = dict(list(absent.items().items())[::3])
REASONS = {name: reason for reason, names in SECTIONS["absent"].items() for name in names}


@pytest.mark.on_the_cpu
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.filterwarnings("ignore")
def test_operators(name: str) -> None:
    hold(name, OPERATORS[name], REASONS)


LARGE: dict[str, Callable[[Any], Any]] = {
    "product": lambda t: t(30000, 20000) @ t(20000, 40000),
    "convolution": lambda t: mstorch.nn.functional.conv2d(t(512, 256, 512, 512), t(512, 256, 3, 3), padding=1),
    "attention": lambda t: mstorch.nn.functional.scaled_dot_product_attention(*[t(64, 32, 8192, 128)] * 3, is_causal=True),
    "sort": lambda t: t(30000, 30000).sort(-1)[0],
    "norm and softmax": lambda t: mstorch.nn.functional.layer_norm(t(30000, 30000), (30000,)).softmax(-1),
    "factors": lambda t: mstorch.linalg.svd(t(20000, 20000))[1],
    "pieces": lambda t: mstorch.cat([part.sin() for part in t(30000, 30000).chunk(7)]),
    "loss": lambda t: mstorch.nn.functional.cross_entropy(t(100000, 50000), mstorch.zeros(100000, dtype=mstorch.int64, device="meta")),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_operations_and_their_gradients_do_no_work(name: str) -> None:
    """Each would take minutes and gigabytes if it computed values."""
    leaves: list[Any] = []

    def made(*shape: int) -> Any:
        leaves.append(mstorch.empty(shape, device="meta", requires_grad=True))
        return leaves[-1]

    began = time.process_time()
    LARGE[name](made).sum().backward()
    assert all(leaf.grad.shape == leaf.shape and leaf.grad.is_meta for leaf in leaves)
    assert time.process_time() - began < 20
