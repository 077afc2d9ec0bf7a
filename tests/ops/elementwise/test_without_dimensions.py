"""0-d operands with other dtypes than the tensors: the dtype of the result, and of the computation."""
from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

Both = Callable[..., Any]

KINDS = ("float32", "float64", "bfloat16", "float16", "complex64", "int64")
SHAPES = ((), (3,))
THREE = {
    "lerp": lambda torch, a, b, c: torch.lerp(a, b, c), "addcmul": lambda torch, a, b, c: torch.addcmul(a, b, c),
    "addcdiv": lambda torch, a, b, c: torch.addcdiv(a, b, c), "addcmul, value": lambda torch, a, b, c: torch.addcmul(a, b, c, value=0.25),
    "addcdiv, value": lambda torch, a, b, c: torch.addcdiv(a, b, c, value=0.25), "lerp_": lambda torch, a, b, c: a.lerp_(b, c),
    "addcmul_": lambda torch, a, b, c: a.addcmul_(b, c), "addcdiv_": lambda torch, a, b, c: a.addcdiv_(b, c),
}  # fmt: skip
LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


def _made(torch: Any, kind: str, shape: tuple[int, ...], start: int) -> Any:
    numbers = torch.arange(6.0)[: 3 if shape else 1].reshape(shape)
    return ((numbers * 7 + start * 3) % 11 / 3 + 0.123).to(getattr(torch, kind))


@pytest.mark.sweep
@pytest.mark.parametrize("kinds", list(itertools.product(KINDS, KINDS, KINDS)), ids=" ".join)
def test_three_operands(both: Both, kinds: tuple[str, ...]) -> None:
    halves = sum(kind in ("bfloat16", "float16") for kind in kinds)
    if "complex64" in kinds and "float16" in kinds:
        pytest.skip("torch has no complex numbers of half precision there")
    for (name, call), shapes in itertools.product(THREE.items(), itertools.product(SHAPES, SHAPES, SHAPES)):
        if name == "lerp_" and set(kinds) == {"int64"}:
            continue  # two errors; torch's order of them
        both(
            lambda torch, call=call, shapes=shapes: call(torch, *(_made(torch, k, s, i) for i, (k, s) in enumerate(zip(kinds, shapes)))),
            rtol=1e-2 if halves else 1e-5, atol=1e-5, message="",
        )  # fmt: skip


def test_gradients(both: Both) -> None:
    def body(torch: Any) -> Any:
        found = []
        for call, (x, y, z) in itertools.product(list(THREE.values())[:3], itertools.permutations(("float32", "float64", "float64"))):
            for shapes in itertools.product(SHAPES, SHAPES, SHAPES):
                leaves = [_made(torch, k, s, i).requires_grad_() for i, (k, s) in enumerate(zip((x, y, z), shapes))]
                try:
                    result = call(torch, *leaves)
                except RuntimeError as error:  # bounds of two dtypes
                    found.append(type(error).__name__)
                    continue
                result.sum().backward()
                found.append([result, [leaf.grad for leaf in leaves]])
        return found

    both(body)


@pytest.mark.parametrize("weight", KINDS)
@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_lerp(both: Both, kind: str, weight: str) -> None:
    if (kind, weight) == ("float16", "complex64"):
        pytest.skip("torch has no complex numbers of half precision there")
    for shape in ((), (1,), (3,)):

        def body(torch: Any, shape: tuple[int, ...] = shape) -> Any:
            weights = _made(torch, weight, (3,), 2)
            return torch.lerp(_made(torch, kind, (3,), 0), _made(torch, kind, (3,), 1), weights[:1].reshape(shape) if shape != (3,) else weights)

        both(body, rtol=1e-2)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("input", [*KINDS, "bool"])
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_losses(both: Both, input: str, name: str) -> None:
    for target, reduction, shapes in itertools.product(KINDS, ("mean", "none"), itertools.product(SHAPES, SHAPES)):
        if name == "huber_loss" and ("complex64" in (input, target) or input == "bool"):
            continue  # two errors; torch's order of them

        def body(torch: Any, target: str = target, reduction: str = reduction, shapes: tuple[Any, Any] = shapes) -> Any:
            loss = getattr(torch.nn.functional, name)
            return loss(_made(torch, input, shapes[0], 0), _made(torch, target, shapes[1], 1), reduction=reduction)

        both(body, rtol=1e-2 if "16" in input + target else 1e-5, message="")


@pytest.mark.parametrize("alpha", [*KINDS, "bool"])
@pytest.mark.parametrize("kind", [*KINDS, "bool"])
def test_tensors_as_alpha(both: Both, kind: str, alpha: str) -> None:
    for name in ("add", "sub"):
        both(
            lambda torch, name=name: getattr(torch, name)(
                _made(torch, kind, (3,), 0), _made(torch, kind, (3,), 1), alpha=torch.tensor(2).to(getattr(torch, alpha))
            ),
            rtol=1e-2,
        )


@pytest.mark.parametrize("value", [2 + 0j, 2 + 1j])
@pytest.mark.parametrize("kind", [*KINDS, "bool"])
def test_complex_values_of_masked_fill(both: Both, kind: str, value: complex) -> None:
    for made in (lambda torch: value, lambda torch: torch.tensor(value)):
        both(lambda torch, made=made: _made(torch, kind, (3,), 0).masked_fill(torch.tensor([True, False, True]), made(torch)))
