"""torch._foreach_*: all of torch's names, results, in-place forms, gradients and errors."""
from __future__ import annotations

from typing import Any

import pytest
import torch as real_torch

import mstorch


def torch_schemas(name: str) -> list[Any]:
    packet = getattr(real_torch.ops.aten, name)
    return [getattr(packet, one)._schema for one in packet.overloads()]


NAMES = sorted(name for name in dir(real_torch) if name.startswith("_foreach_"))
UNARY = [
    n for n in NAMES if all(len([one for one in schema.arguments if not one.is_out]) == 1 for schema in torch_schemas(n))
    and n not in ("_foreach_max", "_foreach_zero_")
]
BINARY = ["add", "sub", "mul", "div", "pow", "clamp_max", "clamp_min", "maximum", "minimum"]


def lists(torch: Any, shift: float = 0.0) -> list[Any]:
    return [torch.tensor([0.5 + shift, 0.25]), torch.tensor([[0.75, 0.1 + shift]]), torch.tensor(0.3 + shift)]


def test_every_name_is_there() -> None:
    assert [name for name in dir(mstorch) if name.startswith("_foreach_")] == NAMES


@pytest.mark.parametrize("name", UNARY)
def test_unary(both: Any, name: str) -> None:
    def body(torch: Any) -> Any:
        tensors = lists(torch)
        result = getattr(torch, name)(tensors)
        return result, tensors

    both(body)


@pytest.mark.parametrize("name", BINARY)
def test_binary(both: Any, name: str) -> None:
    def body(torch: Any) -> Any:
        plain, stored = getattr(torch, f"_foreach_{name}"), getattr(torch, f"_foreach_{name}_")
        others: list[Any] = [2, [2.0, 0.5, 3.0], lists(torch, 0.5)]
        if name in ("add", "mul", "div"):
            others.append(torch.tensor(2.0))
        results = [plain(lists(torch), other) for other in others]
        tensors = lists(torch)
        same = stored(tensors, 2)[0] is tensors[0]
        if name in ("add", "sub"):
            results.append(plain(lists(torch), lists(torch, 0.5), alpha=3))
        return results, tensors, same

    both(body)


@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
def test_pointwise(both: Any, name: str) -> None:
    def body(torch: Any) -> Any:
        plain, stored = getattr(torch, f"_foreach_{name}"), getattr(torch, f"_foreach_{name}_")
        a, b, c = lists(torch), lists(torch, 0.5), lists(torch, 1.0)
        tensors = lists(torch)
        stored(tensors, b, c, value=0.5)
        return plain(a, b, c), plain(a, b, c, 2.0), plain(a, b, c, [1.0, 2.0, 3.0]), plain(a, b, c, torch.tensor([1.0, 2.0, 3.0])), tensors

    both(body)


CALLS = """
torch._foreach_lerp(a, b, 0.5)
torch._foreach_lerp(a, b, [0.1, 0.2, 0.3])
torch._foreach_lerp(a, b, b)
torch._foreach_norm(a)
torch._foreach_norm(a, 1)
torch._foreach_norm(a, float("inf"))
torch._foreach_norm(a, dtype=torch.float64)
torch._foreach_powsum(a, 3)
torch._foreach_max(a)
torch._foreach_clone(a)
torch._foreach_copy_(a, b)
torch._foreach_zero_(a)
torch._foreach_pow(2, a)
torch._foreach_mm([torch.eye(2)], [torch.ones(2, 3)])
torch._foreach_add([], 1)
torch._foreach_add(a, b[:2])
torch._foreach_add(a, [1.0, 2.0])
torch._foreach_add_([torch.tensor([1, 2])], 0.5)
torch._foreach_add([torch.tensor([1, 2])], 0.5)
torch._foreach_div([torch.tensor([1, 2])], 2)
torch._foreach_addcmul(a, b, b, torch.tensor([1.0]))
""".strip().splitlines()


@pytest.mark.parametrize("call", CALLS)
def test_call(both: Any, call: str) -> None:
    def body(torch: Any) -> Any:
        a, b = lists(torch), lists(torch, 0.5)
        return eval(call, {"torch": torch, "a": a, "b": b}), a

    both(body)


def test_gradients(both: Any) -> None:
    def body(torch: Any) -> Any:
        a = [t.requires_grad_() for t in lists(torch)]
        results = torch._foreach_mul(torch._foreach_exp(a), a)
        sum(t.sum() for t in results).backward()
        return [t.grad for t in a]

    both(body)


LISTS = {"single": ["float32"], "integers too": ["float32", "int64"], "half": ["float16", "float32"], "truth values": ["bool"], "complex": ["complex64"]}
SCALARS = {"double": "torch.tensor(2.5, dtype=torch.float64)", "integer": "torch.tensor(2)", "single": "torch.tensor(2.5)", "tracked":
           "torch.tensor(2.5, requires_grad=True)", "a row": "torch.ones(1)", "two": "torch.ones(2)"}  # fmt: skip


@pytest.mark.parametrize("operands", LISTS)
@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "clamp_max", "minimum"])
def test_one_tensor_for_all(both, name, scalar, operands):
    """A 0-d tensor is accepted as a number by all functions except products and quotients, and no other tensor is."""
    if operands == "complex" and name in ("clamp_max", "minimum"):
        pytest.skip("other words for what neither takes")
    refused = name in ("sub", "pow", "clamp_max", "minimum") and scalar in ("tracked", "a row", "two")

    def body(torch):
        tensors = [torch.arange(1, 4).to(getattr(torch, kind)) for kind in LISTS[operands]]
        return getattr(torch, f"_foreach_{name}")(tensors, eval(SCALARS[scalar], {"torch": torch}))

    both(body, message="received an invalid combination of arguments - got (list, Tensor)" if refused else None)


WINDOWS = {
    "overlap in part": lambda w: ([w[0:4], w[2:6]], [w[6:10], w[8:12]]),
    "the same twice": lambda w: ([w[0:4], w[0:4]], [w[6:10], w[8:12]]),
    "read what was written before": lambda w: ([w[0:4], w[4:8]], [w[4:8], w[0:4]]),
    "overlap with the operand": lambda w: ([w[0:4], w[6:10]], [w[1:5], w[5:9]]),
    "expanded": lambda w: ([w[:1].expand(4), w[4:8]], [w[6:10], w[8:12]]),
    "equal the operand": lambda w: ([w[0:4], w[4:8]], [w[0:4], w[4:8]]),
}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", [f"{name}_" for name in BINARY] + ["addcmul_", "addcdiv_", "lerp_", "copy_", "sqrt_", "neg_", "zero_"])
def test_in_place_forms_of_tensors_that_share_memory(both: Any, name: str, window: str) -> None:
    """They run one after another: later tensors see what was written to earlier ones."""

    def body(torch: Any) -> Any:
        results = []
        for form in ("tensors", "number", "numbers"):
            whole = torch.arange(1.0, 13.0) / 8
            targets, others = WINDOWS[window](whole)
            if name in ("sqrt_", "neg_", "zero_"):
                args: tuple[Any, ...] = ()
            elif name in ("addcmul_", "addcdiv_"):
                args = (others, others, *({"tensors": (), "number": (2.0,), "numbers": ([2.0, 3.0],)}[form]))
            elif name == "lerp_":
                args = (others, 0.5)
            elif name == "copy_":
                args = (others,)
            else:
                args = ({"tensors": others, "number": 2.0, "numbers": [2.0, 3.0]}[form],)
            try:
                getattr(torch, f"_foreach_{name}")(targets, *args)
            except RuntimeError as error:
                results.append(str(error).split(". ")[0])
            results.append(whole)
        return results

    both(body)
