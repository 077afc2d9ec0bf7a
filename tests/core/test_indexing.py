"""Reading and writing by index: every form of key that torch supports, with its errors."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.core

KEYS = [
    "1", "-1", "1:3", "::2", "1::2", ":-1", "None", "...", "1, 2", "1:, ::2", "..., 0", "0, ...", "None, 1, ..., None", ":, -1, :",
    "[0, 2]", "[0, 2], [1, 1]", ":, [2, 0]", "[0, 2], :, [1, 3]", "[[0, 1], [1, 2]]", ":, [[0, 1]], 2", "[True, False, True]",
    "torch.tensor([2, 0])", "torch.tensor([[0, 1], [2, 0]])", "torch.tensor(1)", "torch.tensor([-1, 0])", "1, torch.tensor([2, 0])",
    ":, torch.tensor([0, 1]), torch.tensor([[0], [1]])", "torch.tensor([0, 1]), :, torch.tensor([1, 0])", "t > 10", "t[:, 0, 0] > 5",
    ":, t[0, :, 0] > 3", "t[:, :, 0] > 5", "0, t[0] > 3", "True", "False", "torch.tensor([], dtype=torch.int64)", "[]", "np.array([0, 1])",
    "np.int64(1)", "slice(None)", "torch.tensor([0, 1], dtype=torch.int32)",
    "(Ellipsis, 1)", "[slice(None), 1]", "t[0, :, 0].argmax()", "5:", "2:1", "None, None", "..., None", "[2, 0], None, :, 1",
]  # fmt: skip


def _tensor(torch: Any, **options: Any) -> Any:
    return torch.arange(24.0, **options).view(3, 2, 4)


@pytest.mark.parametrize("key", KEYS)
def test_reading(both: Callable[..., Any], key: str) -> None:
    def body(torch: Any) -> Any:
        t = _tensor(torch)
        part = eval(f"t[{key}]", {"t": t, "torch": torch, "np": np, "slice": slice})
        return part, part.storage_offset()

    both(body)


@pytest.mark.parametrize("key", KEYS)
def test_gradients(both: Callable[..., Any], key: str) -> None:
    def body(torch: Any) -> Any:
        leaf = torch.arange(24.0, requires_grad=True)
        t = leaf.view(3, 2, 4)
        part = eval(f"t[{key}]", {"t": t, "torch": torch, "np": np, "slice": slice})
        (part * part).sum().backward()
        return leaf.grad

    both(body)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", ["7", "torch.tensor(3)", "t2"])
def test_writing(both: Callable[..., Any], key: str, value: str) -> None:
    def body(torch: Any) -> Any:
        t = _tensor(torch)
        names = {"t": t, "torch": torch, "np": np, "slice": slice}
        names["t2"] = eval(f"t[{key}]", names).clone() + 100
        exec(f"t[{key}] = {value}", names)
        return t

    both(body)


@pytest.mark.parametrize("key", ["0", "1:", "[0, 2]", "t > 5", ":, 1", "..., torch.tensor([0, 3])"])
def test_gradients_of_writes(both: Callable[..., Any], key: str) -> None:
    def body(torch: Any) -> Any:
        source = torch.ones(24, requires_grad=True)
        given = torch.tensor(3.0, requires_grad=True)
        t = (source * torch.arange(24.0)).view(3, 2, 4)
        exec(f"t[{key}] = given * 2", {"t": t, "torch": torch, "given": given})
        (t * t).sum().backward()
        return t, source.grad, given.grad

    both(body)


@pytest.mark.parametrize(
    "key",
    ["3", "-4", "0, 5", "0, 0, 0, 0", "[3]", "torch.tensor([5])", "::-1", "t[:2] > 3", "1.5", "'a'", "[0, 1], [0, 1, 2]",
     "torch.tensor([1.5])"],
)  # fmt: skip
def test_errors(key: str) -> None:
    import torch as real_torch

    import mstorch

    raised = []
    for torch in (real_torch, mstorch):
        t = _tensor(torch)
        with pytest.raises(Exception) as info:
            eval(f"t[{key}]", {"t": t, "torch": torch})
        raised.append(type(info.value))
    assert raised[0] is raised[1]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float64", "complex64"])
def test_dtypes(both: Callable[..., Any], dtype: str) -> None:
    def body(torch: Any) -> Any:
        t = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(getattr(torch, dtype))
        read = t[1], t[:, 1:], t[[1, 0]], t[t[:, 1] == 1]
        t[0, 1] = 1
        t[:, [0, 2]] = t[:, [2, 0]].clone()
        return read, t

    both(body)


def test_written_values_must_fit(both: Callable[..., Any]) -> None:
    both(lambda torch: _tensor(torch).__setitem__(0, torch.zeros(3)), message="must match the existing size (3) at non-singleton dimension")
    both(lambda torch: _tensor(torch).__setitem__([0, 1], torch.zeros(5)), message="shape mismatch: value tensor of shape [5]")


def test_zero_dim(both: Callable[..., Any]) -> None:
    both(lambda torch: torch.tensor(3.0)[...])
    both(lambda torch: torch.tensor(3.0)[None])
    both(lambda torch: torch.tensor(3.0)[torch.tensor(True)])
    both(lambda torch: torch.tensor(3.0)[0], message="invalid index of a 0-dim tensor")


def test_iteration_and_len(both: Callable[..., Any]) -> None:
    both(lambda torch: [list(_tensor(torch)), len(_tensor(torch)), _tensor(torch)[0, 0, 1].item(), _tensor(torch).tolist()])
    both(lambda torch: len(torch.tensor(1)), message="len() of a 0-d tensor")
    both(lambda torch: list(torch.tensor(1)), message="iteration over a 0-d tensor")
    both(lambda torch: bool(torch.zeros(2)), message="Boolean value of Tensor with more than one value is ambiguous")
    both(lambda torch: torch.zeros(2).item(), message="a Tensor with 2 elements cannot be converted to Scalar")
    both(lambda torch: (3 in torch.tensor([1, 3]), float(torch.tensor(2)), int(torch.tensor(2.7)), f"{torch.tensor(1.5):.3f}"))


WHOLE = {
    "...": Ellipsis, ":": slice(None), ":,:": (slice(None), slice(None)), ":,...": (slice(None), Ellipsis), "0:": slice(0, None),
    ":9": slice(None, 9), "0:3:1": slice(0, 3, 1), "()": (), "-3:": slice(-3, None), "None": None, "0": 0, "[0]": [0], "True": True,
    "::2": slice(None, None, 2), ":,0": (slice(None), 0),
}  # fmt: skip


@pytest.mark.parametrize("key", WHOLE)
@pytest.mark.parametrize("kind", ["view", "base", "tracked"])
@pytest.mark.parametrize("value", ["tensor", "sum", "number"])
def test_all_of_a_tensor_is_the_tensor(both, value, kind, key):
    """A tensor that was overwritten as a whole can be written to again."""

    def body(torch):
        w = torch.ones(3, 2).requires_grad_()
        base = torch.zeros(3, 2)
        if kind == "tracked":
            base = base.requires_grad_() * 1
        x = base if kind == "base" else base.view(3, 2)
        try:
            x[WHOLE[key]] = {"tensor": w, "sum": w.sum(), "number": 2.0}[value]
        except RuntimeError:
            x[WHOLE[key]] = w.sum()
        try:
            x.mul_(2)
        except RuntimeError as error:
            return str(error)
        names = type(x.grad_fn).__name__, type(base.grad_fn).__name__
        if base.requires_grad:
            base.sum().backward()
        return names, x._version, None if w.grad is None else w.grad

    both(body, strides=False)


SLICED = {
    "[:]": lambda t: t[:], "[0:]": lambda t: t[0:], "[...]": lambda t: t[...], "[:, :]": lambda t: t[:, :], "[:2]": lambda t: t[:2],
    "[(:,)]": lambda t: t[(slice(None),)], "[:, 0:3]": lambda t: t[:, 0:3], "[:, 1:]": lambda t: t[:, 1:], "[0:, 0]": lambda t: t[0:, 0],
    "[()]": lambda t: t[()], "[None]": lambda t: t[None], "[-2:]": lambda t: t[-2:], "[:, ...]": lambda t: t[:, ...],
}  # fmt: skip


@pytest.mark.parametrize("key", SLICED)
def test_nodes_of_keys(both, key):
    both(lambda torch: type(SLICED[key](torch.ones(2, 3).requires_grad_()).grad_fn).__name__)


ELLIPSES = [
    "[..., ...]", "[..., 0, ...]", "[..., 0, ..., 0]", "[..., ..., :]", "[..., ..., None]", "[..., 0, ..., None]",
    "[..., None, ..., None]", "[0, ..., ..., 1]", "[..., ..., True]", "[..., ..., [0]]", "[..., [0], ..., [0]]", "[..., [0], ...]",
    "[..., ..., torch.zeros(5) > 0]", "[..., ..., 0:1, :, :]", "[..., ..., 1, :, :]", "[..., :, ..., [0], :]",
    "[..., 1, ..., 1:2, 0:1]", "[..., ..., [0], :, :]", "[..., ..., 0, 0, 0]", "[..., 9]", "[9, ...]", "[..., 0, 9]", "[[0], 9]",
]  # fmt: skip


@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("key", ELLIPSES)
def test_several_ellipses(both, key, write):
    def body(torch):
        t = torch.arange(120).reshape(2, 3, 4, 5)
        if not write:
            return eval(f"t{key}", {"t": t, "torch": torch})
        exec(f"t{key} = -1", {"t": t, "torch": torch})
        return t

    both(body, strides=False)


@pytest.mark.parametrize("key", ["[..., ..., 0]", "[..., ..., -1]", "[..., ..., torch.tensor(0)]"])
def test_an_integer_after_the_second_ellipsis(both, key):
    both(lambda torch: eval(f"torch.zeros(2, 3, 4){key}", {"torch": torch}))
