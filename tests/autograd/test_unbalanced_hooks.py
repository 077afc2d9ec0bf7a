"""``saved_tensors_hooks`` that are entered and left out of order: no hooks remain active, and a backward pass does not change them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Both = Callable[..., Any]


def _left(torch: Any) -> bool:
    """Return whether hooks are still active: in torch a saved tensor can have only one pair."""
    x = torch.ones(2, requires_grad=True).exp()
    try:
        x.grad_fn._raw_saved_result.register_hooks(lambda value: value, lambda value: value)
    except RuntimeError:
        return True
    return False


def _block(torch: Any, unpack: Callable[[Any], Any] = lambda value: value) -> Any:
    return torch.autograd.graph.saved_tensors_hooks(lambda value: value, unpack)


def _same_block_twice(torch: Any) -> Any:
    block, seen = _block(torch), []
    with block:
        with block:
            seen.append(_left(torch))
        seen.append(_left(torch))
    return [*seen, _left(torch)]


def _crossed(torch: Any) -> Any:
    one, other, seen = _block(torch), _block(torch), []
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    seen.append(_left(torch))
    other.__exit__(None, None, None)
    return [*seen, _left(torch)]


def _entered_in_backward(torch: Any) -> Any:
    blocks: list[Any] = []

    def unpack(value: Any) -> Any:
        blocks[0].__enter__()
        return value

    blocks.append(_block(torch, unpack))
    with blocks[0]:
        torch.ones(3, requires_grad=True).sin().sum().backward()
    return _left(torch)


def _left_in_backward(torch: Any) -> Any:
    blocks: list[Any] = []

    def unpack(value: Any) -> Any:
        blocks[0].__exit__()
        return value

    blocks.append(_block(torch, unpack))
    for _ in range(3):
        with _block(torch):
            blocks[0].__enter__()
            torch.ones(3, requires_grad=True).sin().sum().backward()
    seen = [_left(torch)]
    for _ in range(3):
        seen.append(_left(torch))
        blocks[0].__exit__()
    return [*seen, _left(torch)]


def _an_exception_goes_on(torch: Any) -> Any:
    try:
        with _block(torch):
            raise KeyError("own")
    except KeyError as error:
        return str(error), _left(torch)


CASES = {
    "the same block twice": _same_block_twice, "crossed": _crossed, "entered in backward": _entered_in_backward,
    "left in backward": _left_in_backward, "an exception goes on": _an_exception_goes_on,
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_no_hooks_stay(both: Both, name: str) -> None:
    both(CASES[name])


_DOUBLES = {"in place": lambda x: x.mul_(2), "of a view": lambda x: (x[:1].mul_(2), x)[1], "out of place": lambda x: x * 2}


@pytest.mark.parametrize("double", _DOUBLES.values(), ids=_DOUBLES)
@pytest.mark.parametrize("forward", ["exp", "sin", "square", "sigmoid"])
def test_a_pack_hook_that_writes_to_its_input(both: Both, double: Any, forward: str) -> None:
    """It is refused, for saved inputs and results, in a context and on one saved tensor."""

    def body(torch: Any) -> Any:
        x = torch.arange(1.0, 4.0).requires_grad_()
        with torch.autograd.graph.saved_tensors_hooks(double, lambda packed: packed / 2):
            getattr(x, forward)().sum().backward()
        return x.grad

    def of_one(torch: Any) -> Any:
        y = torch.ones(2, requires_grad=True) * torch.ones(2, requires_grad=True)
        y.grad_fn._raw_saved_self.register_hooks(double, lambda packed: packed / 2)

    both(body)
    both(of_one)
