"""CrossRefFakeMode: calls run as without it, and a call with other results on fake tensors raises. Also marks for Intel's profiler."""
from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

Both = Callable[..., Any]


def _mode(torch: Any, *args: Any, **kwargs: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}._subclasses").CrossRefFakeMode(*args, **kwargs)


def test_calls_go_on(both: Both) -> None:
    def body(torch: Any) -> Any:
        x = torch.arange(6.0).reshape(2, 3)
        with _mode(torch):
            y = x.clone().requires_grad_()
            ((y * y).t()[1:] + 1).sum().backward()
            found = [x.view(3, 2).t(), x.clone().add_(1), x[x > 2], x.max(0).values, torch.nn.functional.conv1d(x, torch.ones(1, 2, 2)), y.grad]
        return found

    both(body)


def _defined(torch: Any, name: str) -> Any:
    library = torch.library.Library(name, "DEF")
    library.define("f(Tensor x) -> Tensor")
    library.impl("f", lambda x: torch.zeros(5), "CPU")
    torch.library.register_fake(f"{name}::f", lambda x: x.new_empty(4), lib=library)
    return library


def test_a_mismatch_with_fake_tensors_raises(both: Both) -> None:
    def body(torch: Any) -> Any:
        library = _defined(torch, "crossed")
        try:
            with _mode(torch):
                torch.ops.crossed.f(torch.ones(2))
        finally:
            del library

    both(body, message="found mismatched tensor metadata: Shapes")


def test_ignored_names_are_not_compared(both: Both) -> None:
    def body(torch: Any) -> Any:
        library = _defined(torch, "uncrossed")
        with _mode(torch, lambda function: function.namespace == "uncrossed"):
            found = torch.ops.uncrossed.f(torch.ones(2))
        del library
        return found

    both(body)


def test_marks_for_intels_profiler() -> None:
    torch = importlib.import_module("mstorch")
    itt = torch.profiler.itt
    assert itt.is_available() is False
    for call in (lambda: itt.mark("a"), lambda: itt.range_push("a"), itt.range_pop, lambda: itt.range("a")):
        with pytest.raises(RuntimeError, match="ITT functions not installed"):
            call()


WAYS: dict[str, Any] = {
    "library": lambda torch: _defined(torch, "faked_library"),
    "custom_op": lambda torch: torch.library.custom_op("faked_custom::f", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor"),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_fake_tensors_use_register_fake(both: Both, way: str) -> None:
    def body(torch: Any) -> Any:
        made = WAYS[way](torch)
        name = "faked_library" if way == "library" else "faked_custom"
        if way == "custom_op":
            made.register_fake(lambda x: x.new_empty(4))
        f = getattr(torch.ops, name).f
        fake_tensor = importlib.import_module(f"{torch.__name__}._subclasses.fake_tensor")
        with fake_tensor.FakeTensorMode() as mode:
            found = f(mode.from_tensor(torch.ones(2)))
            more = found + 1
        return type(found).__name__, found.shape, found.device.type, more.shape, f(torch.ones(2, device="meta")).shape, f(torch.ones(2)).shape

    both(body)


def test_an_operator_of_the_cpu_alone_does_not_warn(both: Both) -> None:
    def body(torch: Any) -> Any:
        library = torch.library.Library("unfaked", "DEF")
        library.define("f(Tensor x) -> Tensor")
        library.impl("f", lambda x: x + 1, "CPU")
        return torch.ops.unfaked.f(torch.ones(2, device="meta"))

    both(body, message="unfaked::f")
