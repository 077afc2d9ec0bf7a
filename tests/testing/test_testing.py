"""torch.testing compared with torch: messages of assert_close, numbers of make_tensor."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as real_torch

import mstorch
from tests.against_torch import run, same

PAIRS = """
1, 1
1, 2
1.0, 1.0000001
1.0, 1.1
1, 1.0
1 + 2j, 1 + 2.5j
nan, nan
True, False
None, None
None, 1
"a", "a"
x, x + 1e-7
x, x + 1
x, x * 2
x, x.double()
x, x.reshape(-1)
x, x.int()
x, 1.0
i, i + 1
i, i.clone()
torch.tensor(1.0), torch.tensor(2.0)
torch.tensor([True, False]), torch.tensor([True, True])
torch.tensor([nan, 1.0]), torch.tensor([nan, 1.0])
torch.tensor([inf]), torch.tensor([inf])
torch.tensor([inf]), torch.tensor([1.0])
[x, x], [x, x + 1]
[x], [x, x]
{"a": x, "b": 1}, {"a": x, "b": 2}
{"a": x}, {"b": x}
{"a": [x, {"c": 1}]}, {"a": [x, {"c": 2}]}
x.to_sparse(), x.to_sparse()
x.to_sparse(), (x * 2).to_sparse()
x.to_sparse(), x
x.to_sparse_csr(), (x + 1).to_sparse_csr()
np.array([1.0, 2.0]), np.array([1.0, 3.0])
np.float32(1.0), np.float32(2.0)
x, np.ones(3)
x.T, x.T.contiguous()
torch.empty(0), torch.empty(0)
x.bfloat16(), (x * 1.1).bfloat16()
x.half(), (x * 1.01).half()
c, c + 1j
(1, 2), [1, 2]
object, object
""".strip().splitlines()
OPTIONS = [{}, {"rtol": 0, "atol": 0}, {"rtol": 0.5, "atol": 0.5}, {"equal_nan": True}, {"check_dtype": False}, {"check_stride": True},
           {"check_layout": False}, {"msg": "own"}, {"msg": lambda text: "before " + text}, {"rtol": 1}, {"allow_subclasses": False}]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "none")
@pytest.mark.parametrize("pair", PAIRS)
def test_assert_close(pair: str, options: dict[str, Any]) -> None:
    def body(torch: Any) -> Any:
        x = torch.tensor([[0.5, -1.0, 0.0], [2.0, 3.0, 0.25]])
        names = {"torch": torch, "x": x, "i": torch.tensor([1, 2, 3]), "c": torch.tensor([1 + 2j, 0j]), "np": np,
                 "nan": float("nan"), "inf": float("inf")}  # fmt: skip
        torch.testing.assert_close(*eval(f"({pair})", names), **options)

    _, want = run(body, real_torch)
    _, got = run(body, mstorch)
    assert type(got).__name__ == type(want).__name__, f"{want!r} expected, {got!r}"
    assert str(got).replace("mstorch.Tensor", "torch.Tensor").replace("mstorch._tensor", "torch") == str(want)


MADE = [
    ((3, 4), {"dtype": "float32"}), (((3, 4),), {"dtype": "float64"}), ((5,), {"dtype": "int64"}), ((5,), {"dtype": "bool"}),
    ((5,), {"dtype": "uint8", "low": 0, "high": 300}), ((2, 3), {"dtype": "complex64"}), ((40,), {"dtype": "bfloat16"}), ((), {"dtype": "float16"}),
    ((3, 4), {"dtype": "float32", "noncontiguous": True}), ((3,), {"dtype": "float32", "low": -1, "high": 2, "requires_grad": True}),
    ((20,), {"dtype": "int32", "low": -2, "high": 2, "exclude_zero": True}), ((3,), {"dtype": "float32", "low": 3, "high": 2}),
    ((3,), {"dtype": "int64", "requires_grad": True}), ((3,), {"dtype": "float32", "low": float("nan")}),
    ((3,), {"dtype": "uint8", "low": 300, "high": 400}), ((3,), {"dtype": "float64", "low": -1e308, "high": 1e308}),
    ((2, 3, 4, 4), {"dtype": "float32", "memory_format": "channels_last"}), ((3,), {"dtype": "float32", "low": 2, "high": 2}),
]  # fmt: skip


@pytest.mark.parametrize("made", MADE, ids=str)
def test_make_tensor(both: Any, made: tuple[Any, dict[str, Any]]) -> None:
    def body(torch: Any) -> Any:
        shape, options = made
        named = {name: getattr(torch, value) if name in ("dtype", "memory_format") else value for name, value in options.items()}
        return torch.testing.make_tensor(*shape, device="cpu", **named)

    both(body, rtol=0, atol=0)


@pytest.mark.parametrize("options", [{}, {"rtol": 0, "atol": 0}, {"rtol": 0.5, "atol": 0.5, "equal_nan": True}, {"rtol": 1}, {"check_dtype": False}],
                         ids=lambda options: "-".join(options) or "none")
@pytest.mark.parametrize("pair", PAIRS)
def test_pairs(both: Any, pair: str, options: dict[str, Any]) -> None:
    """Comparisons that packages build of torch's pairs, including a custom pair."""

    def body(torch: Any) -> Any:
        from importlib import import_module

        inner = import_module(f"{torch.__name__}.testing._comparison")

        class Text(inner.Pair):
            def __init__(self, actual: Any, expected: Any, **other: Any) -> None:
                self._check_inputs_isinstance(actual, expected, cls=str)
                super().__init__(actual, expected, **other)

            def compare(self) -> None:
                if self.actual != self.expected:
                    self._fail(AssertionError, "text", id=("letters",))

        class Rough(inner.TensorLikePair):
            def compare(self) -> None:
                actual, expected = self._equalize_attributes(self.actual, self.expected)
                self._compare_values(actual.bool(), expected.bool())

        torch.manual_seed(0)
        x, i, c = torch.ones(2, 3), torch.arange(3), torch.ones(2) * 1j
        names = {"torch": torch, "np": np, "x": x, "i": i, "c": c, "nan": float("nan"), "inf": float("inf")}
        actual, expected = eval(pair, names)  # the lines above
        kinds, found = (inner.NonePair, inner.BooleanPair, inner.NumberPair, Text, inner.TensorLikePair), []
        for types in (kinds, (*kinds[:-1], Rough), (inner.ObjectPair,)):
            if types[0] is inner.ObjectPair and "sparse" in pair:
                continue  # for ``==`` of sparse tensors each library raises its own error
            try:
                found.append([str(meta.to_error()) for meta in inner.not_close_error_metas(actual, expected, pair_types=types, **options)])
            except (TypeError, ValueError, AssertionError) as error:
                found.append([type(error).__name__, str(error)])
            except RuntimeError as error:  # of ``==`` within a pair
                found.append(["RuntimeError", str(error.__cause__)])
        return found

    both(body)


def test_older_form(both: Any) -> None:
    def body(torch: Any) -> Any:
        torch.testing.assert_allclose(torch.tensor([1.0]), [1.00001])
        torch.testing.assert_allclose(torch.tensor([1.0]), [1.1])

    both(body)


def test_internals_are_absent() -> None:
    with pytest.raises(ModuleNotFoundError):
        __import__("mstorch.testing._internal.common_distributed")
    with pytest.raises(NotImplementedError):
        mstorch.testing.FileCheck()
    same(1, 1)
