"""``t[key] = value``, ``copy_`` and masks where value and place share memory, or do not fit, beside torch."""
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
    """What stands in a counted tensor after a statement, or its error."""
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


@pytest.mark.parametrize("call", [
    "w.neg_()", "torch.neg_(w)", "torch.exp_(w)", "w.tril_()", "w.triu_()", "w.tril_(-1)", "w.nan_to_num_()", "w.transpose(-1, -2).tril_()",
    "w.abs_().sqrt_()", "torch.square_(w)",
])  # fmt: skip
@pytest.mark.parametrize("window", [
    "t.unfold(0, 3, 1)", "t.unfold(0, 2, 1)", "t.as_strided((2, 2, 2), (1, 2, 1))", "t.as_strided((2, 2, 2), (4, 2, 1), 1)",
    "t.as_strided((2, 3, 2), (0, 1, 1))", "t.expand(2, 9)",
])  # fmt: skip
def test_windows_whose_elements_share_memory(both: Both, window: str, call: str) -> None:
    def body(torch: Any) -> Any:
        tensor = torch.arange(9.0) - 3
        names = {"torch": torch, "t": tensor}
        try:
            exec(f"w = {window}; {call}", names)
        except RuntimeError as error:
            return type(error).__name__, tensor
        return tensor

    both(body)


def test_what_reads_itself_under_autograd(both: Both) -> None:
    def body(torch: Any) -> Any:
        scale = torch.tensor([2.0, 3.0], requires_grad=True)
        tensor = torch.arange(6.0).reshape(3, 2) * scale
        tensor.sub_(tensor[0])
        tensor.sum().backward()
        return tensor, scale.grad

    both(body)


@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_a_part_written_to_all_of_its_own_history(both: Both, kind: str) -> None:
    def body(torch: Any) -> Any:
        scale = torch.tensor([2.0, 3.0], requires_grad=True)
        tensor = (torch.arange(24.0).reshape(4, 3, 2) * scale).to(getattr(torch, kind))
        tensor[:] = tensor[:3, -2]
        tensor.sum().backward()
        return tensor, scale.grad

    both(body)


def test_masked_scatter_from_the_same_numpy_memory(both: Both) -> None:
    def body(torch: Any) -> Any:
        tensor = torch.arange(9.0).reshape(3, 3)
        twin = torch.as_tensor(tensor.numpy())
        tensor.masked_scatter_(tensor > 2, twin)
        return tensor, twin

    both(body)


@pytest.mark.parametrize("value", ["t[:, 1]", "t[1:, :1]", "t[None, -1:]", "t.transpose(0, -1)", "t[0]", "t[..., :1]"])
@pytest.mark.parametrize("key", [
    "torch.tensor([-1, 0])", "torch.tensor([0, 0]), :, -1", ":, torch.tensor([1, 0])", "..., torch.tensor([[0], [1]])",
    "torch.tensor([1, 0]), torch.tensor([0, 1])", "torch.tensor([0, 1]), 1:", "torch.tensor([[1], [0]]), torch.tensor([0, 1])",
])  # fmt: skip
@pytest.mark.parametrize("shape", [(2, 2), (2, 3, 2), (3, 2, 2)])
def test_indices_that_read_what_they_write(both: Both, shape: tuple[int, ...], key: str, value: str) -> None:
    both(lambda torch: attempt(torch, shape, f"t[{key}] = {value}"))
