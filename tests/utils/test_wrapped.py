"""Operators on a wrapper subclass with ``__torch_dispatch__``: torch's numbers, out=, pickles, copies."""
from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest

import mstorch
from tests import wrapped
from tests.against_torch import both
from tests.known import SECTIONS, hold

OPERATORS = dict(list(wrapped.items().items())[1::3])
REASONS = {name: reason for reason, names in SECTIONS["wrapped"].items() for name in names}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.filterwarnings("ignore")
def test_operators(name: str) -> None:
    hold(name, OPERATORS[name], REASONS)


# Functions that are decomposed for the class, and whose parts accept arguments that the function itself refuses.
DECOMPOSED = """
    narrow chunk unsafe_chunk slice flatten unflatten movedim split broadcast_to select transpose softmax var nn.functional.group_norm
    nn.functional.rms_norm nn.functional.layer_norm nn.functional.pad.circular nn.functional.pad.constant nn.functional.avg_pool2d
    nn.functional.multi_head_attention_forward
""".split()


@pytest.mark.parametrize("name", DECOMPOSED)
@pytest.mark.filterwarnings("ignore")
def test_numbers_that_are_refused(name: str) -> None:
    wrapped.check_refusals(next(info for one, info in wrapped.databases.operators() if one == name))


def _wrapped(torch: Any, *values: Any) -> list[Any]:
    kind = wrapped.CLASSES[torch]
    kind.calls.clear()
    return [kind(torch.tensor(value)) for value in values]


OUT = {
    "add": lambda torch, a, b, out: torch.add(a, b, out=out), "mm": lambda torch, a, b, out: torch.mm(a, b, out=out),
    "sum": lambda torch, a, b, out: torch.sum(a, 0, out=out), "exp": lambda torch, a, b, out: torch.exp(a, out=out),
    "cat": lambda torch, a, b, out: torch.cat([a, b], out=out), "mul": lambda torch, a, b, out: torch.mul(a, 2.0, out=out),
    "clamp": lambda torch, a, b, out: torch.clamp(a, 0.0, 2.0, out=out), "erf": lambda torch, a, b, out: torch.special.erf(a, out=out),
}  # fmt: skip


@pytest.mark.parametrize("name", OUT)
def test_out(name: str) -> None:
    def body(torch: Any) -> Any:
        a, b, out = _wrapped(torch, [[1.0, 2.0], [3.0, 4.0]], [[2.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]])
        if name == "sum":
            (out,) = _wrapped(torch, [0.0, 0.0])
        if name == "cat":
            (out,) = _wrapped(torch, [[0.0, 0.0]] * 4)
        found = OUT[name](torch, a, b, out)
        return found is out, out.held, type(out).calls

    both(body)


def test_parts_of_results() -> None:
    def body(torch: Any) -> Any:
        a, values = _wrapped(torch, [[1.0, 3.0], [4.0, 2.0]], [0.0, 0.0])
        places = wrapped.CLASSES[torch](torch.zeros(2, dtype=torch.int64))
        torch.max(a, 1, out=(values, places))
        return values.held, places.held, type(a).calls

    both(body)


class Pair(mstorch.Tensor):
    """A wrapper class at module level, so that it can be pickled."""

    @staticmethod
    def __new__(cls: Any, inner: Any) -> Any:
        made = mstorch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inside = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        inner = [one.inside if isinstance(one, Pair) else one for one in args]
        found = func(*inner, **(kwargs or {}))
        return Pair(found) if isinstance(found, mstorch.Tensor) else found


def test_pickles_and_copies() -> None:
    made = Pair(mstorch.arange(4.0))
    assert made.data_ptr() == 0
    file = io.BytesIO()
    mstorch.save(made, file)
    file.seek(0)
    for one in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), mstorch.load(file, weights_only=False)):
        assert type(one) is Pair and one.inside.tolist() == [0.0, 1.0, 2.0, 3.0]


class Rows(mstorch.utils.data.Dataset[Any]):
    """A dataset whose items are tensors of the wrapper class."""

    def __init__(self) -> None:
        self.rows = Pair(mstorch.arange(6.0).reshape(3, 2))

    def __len__(self) -> int:
        return 3

    def __getitem__(self, place: int) -> Any:
        return self.rows[place]


@pytest.mark.parametrize("workers", [0, 1])
def test_loaders(workers: int) -> None:
    loader = mstorch.utils.data.DataLoader(Rows(), num_workers=workers, batch_size=None)
    found = list(loader)
    assert [type(one) for one in found] == [Pair] * 3 and [one.inside.tolist() for one in found] == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_a_place_that_is_a_tensor() -> None:
    def body(torch: Any) -> Any:
        (a,) = _wrapped(torch, [0.0, 1.0, 2.0])
        told = [torch.narrow(a, 0, torch.tensor(-2), 2).held]
        for dim, start, length in ((0, 9, 1), (0, 2, 2), (1, 0, 1), (0, 0, -1)):
            with pytest.raises((IndexError, RuntimeError)) as raised:
                torch.narrow(a, dim, torch.tensor(start), length)
            told.append((type(raised.value).__name__, str(raised.value)))
        return told

    both(body)
