"""``t[key] = value``, ``copy_`` and masks where value and target share memory, or do not match, compared with torch."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Both = Callable[..., Any]

SHAPES = [(), (1,), (1, 1), (3,), (1, 3), (3, 1), (2, 3)]
KEYS = [
    "...", ":", "0", "None", "..., 0", ":1", "-1", ":, 0", ":, :1", "0, 0", "None, 0", "..., None", "1:", "..., -2::1", "[0]",
    "torch.tensor(True)", "torch.tensor(False)", "torch.tensor([0])", "True", "False", "t > 1", "t > 99", "t > 1, None", "0, t[0] > 1",
    "torch.ones(t.shape[:1], dtype=torch.bool)",
]  # fmt: skip
VALUES = [
    "t", "t[0]", "t[:1]", "t[None]", "t[..., None]", "t[-1:]", "t[0, 0]", "t[:, 0]", "t[:, :1]", "t.view(-1)", "t[1:]", "t.t()",
    "t.expand(2, *t.shape)", "t.view(-1)[0]", "t.view(-1)[:1]", "t.view(-1)[-1]", "t.view(-1)[0].clone()", "torch.ones(2, 3)",
    "torch.ones(2, 1, 3)", "torch.ones(0)",
]  # fmt: skip


def attempt(torch: Any, shape: tuple[int, ...], statement: str) -> Any:
    """Return a tensor of consecutive numbers after a statement, or the error of the statement."""
    tensor = torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape)
    names = {"torch": torch, "t": tensor}
    try:
        exec(statement, names)
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        return type(error).__name__, str(error)[:60], tensor
    return tensor, tensor._version


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_shares_memory_with_the_place(both: Both, shape: tuple[int, ...], key: str) -> None:
    both(lambda torch: [attempt(torch, shape, f"t[{key}] = {value}") for value in VALUES])
    both(lambda torch: [attempt(torch, shape, f"t[{key}].copy_({value})") for value in VALUES])


@pytest.mark.parametrize("statement", [
    "t[-1] = t", "t[0] = t", "t[0]", "t[-3] = 1", "t[...] = torch.ones(2)", "t[None].copy_(torch.ones(3, 2))", "t.copy_(torch.ones(3, 3))",
    "t[[]] = torch.ones(3)", "t[:, [9]] = torch.ones(7)", "t.new_zeros(0, 3)[[9]] = torch.ones(7, 7)",
    "t.new_zeros(0, 3)[:, :2] = torch.ones(3, 3, 3)",
])  # fmt: skip
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 3)])
def test_errors(both: Both, shape: tuple[int, ...], statement: str) -> None:
    both(lambda torch: attempt(torch, shape, statement))


DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
NUMBERS = ["True", "0", "-0.0", "2", "1.5", "-1", "1e-3", "float('nan')"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_at_places_of_every_dtype(both: Both, dtype: str) -> None:
    def run(torch: Any) -> list[Any]:
        found = []
        for key in ("[0, -1]", "torch.tensor([1, 1])", "torch.tensor([[0], [1]]), :2", "mask", "mask[:, 0]", "0", "1, 2", "..., ::2", "None"):
            for number in NUMBERS:
                tensor = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))
                names = {"torch": torch, "t": tensor, "mask": torch.arange(6).reshape(2, 3) > 2}
                try:
                    exec(f"t[{key}] = {number}", names)
                except (RuntimeError, TypeError, ValueError) as error:
                    found.append((type(error).__name__, str(error)[:60]))
                found.append(tensor)
        return found

    both(run)


@pytest.mark.parametrize("dtype", ["int16", "float16", "bfloat16", "float32", "int64", "float64"])
def test_a_number_seen_as_bytes(both: Both, dtype: str) -> None:
    both(lambda torch: [torch.tensor(3).to(getattr(torch, dtype)).unfold(-1, 1, 1).view(torch.uint8), torch.tensor([3]).to(getattr(torch, dtype)).view(torch.uint8)])
