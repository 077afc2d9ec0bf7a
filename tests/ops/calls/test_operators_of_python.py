"""``torch.ops.aten`` under the names of Python's operators, and ``aten.to`` with all options, as programs in files call them."""
from __future__ import annotations

from typing import Any

import pytest

from tests.against_torch import both


@pytest.mark.parametrize("name", ["and", "or", "xor", "lshift", "rshift"])
def test_bits(name: str) -> None:
    def body(torch: Any) -> Any:
        a, b = torch.tensor([5, -6, 12]), torch.tensor([3, 1, 2])
        packet, written = getattr(torch.ops.aten, f"__{name}__"), a.clone()
        result = getattr(torch.ops.aten, f"__i{name}__").Tensor(written, b)
        return packet.Tensor(a, b), packet.Scalar(a, 2), written, result is written, packet.Tensor._schema.name

    both(body)


def test_to() -> None:
    def body(torch: Any) -> Any:
        x, to = torch.tensor([1.5, -2.0]), torch.ops.aten.to
        options = {"dtype": torch.float64, "layout": torch.strided, "device": torch.device("cpu"), "pin_memory": False}
        return (
            to.dtype_layout(x, **options), to.dtype_layout(x) is x, to.dtype_layout(x, copy=True) is x, to.dtype(x, torch.int64),
            to.device(x, torch.device("cpu"), torch.float16), to.other(x, x.double()), to(x, torch.float32) is x,
        )  # fmt: skip

    both(body)


def test_batch_norm_under_both_names_below_autograd() -> None:
    """``torch.batch_norm`` and ``functional.batch_norm`` have one name, and their arguments in another order."""

    def body(torch: Any) -> Any:
        from torch.utils._python_dispatch import TorchDispatchMode

        class Seen(TorchDispatchMode):
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return func(*args, **(kwargs or {}))

        x = torch.arange(12.0).reshape(2, 2, 3)
        weight, bias, mean, variance = (torch.tensor([float(n), n + 0.5]) for n in (1, 2, 3, 4))
        with Seen():
            return (
                torch.batch_norm(x, weight, bias, mean, variance, False, 0.1, 1e-5, True),
                torch.ops.aten.batch_norm(x, weight, bias, mean, variance, False, 0.1, 1e-5, True),
                torch.nn.functional.batch_norm(x, mean, variance, weight, bias, False, 0.1, 1e-5),
            )

    both(body)
