"""torch's samples of operators for jagged nested tensors, run through mstorch: forward, and gradients where torch has them.

    python -m tests.nested.database [-k TEXT]
"""
from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.testing._internal.opinfo.definitions.nested import njt_op_db

import mstorch
from tests.against_torch import values
from tests.databases import _counterpart, _named

SAMPLES = 12
_ERRORS = (ArithmeticError, AssertionError, AttributeError, LookupError, NotImplementedError, RuntimeError, TypeError, ValueError)
# Random numbers and uninitialized memory: only shapes and dtypes are compared.
_SHAPES_ONLY = ("rand", "empty", "dropout", "bernoulli", "normal", "uniform", "cauchy", "exponential", "geometric")
_LEFT_OUT = ("jiterator", "chalf")  # for GPUs; a dtype that NumPy lacks
# Gradients that are wrong in torch: that of softmax along the ragged dimension uses another dimension, that of split_with_sizes ends the
# process.
_WRONG_IN_TORCH = ("softmax", "split_with_sizes")


class Sample:
    """Convert a sample's call to mstorch; tensors that share offsets in torch share them here."""

    def __init__(self) -> None:
        self.made: dict[int, Any] = {}
        self.kept: list[Any] = []  # so that no other object gets an identity that is in use
        self.leaves: list[tuple[Any, Any]] = []

    def ours(self, value: Any) -> Any:
        """Return a value of torch as mstorch's; record each leaf with its original."""
        if isinstance(value, torch.Tensor):
            if id(value) not in self.made:
                self.kept.append(value)
                made = self._nested(value) if value.is_nested else mstorch.tensor(values(value)).to(_named(value.dtype))
                if not value.is_nested and value.stride() != made.stride():
                    made = mstorch.empty_strided(tuple(value.shape), value.stride(), dtype=made.dtype).copy_(made)
                if value.requires_grad:
                    made = made.detach().requires_grad_()
                    self.leaves.append((value, made))
                self.made[id(value)] = made
            return self.made[id(value)]
        if isinstance(value, torch.SymInt):
            return self._symbol(value)
        if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
            return _named(value)
        if isinstance(value, torch.device):
            return str(value)
        if isinstance(value, dict):
            return {key: self.ours(item) for key, item in value.items()}
        return type(value)(map(self.ours, value)) if type(value) in (list, tuple) else value

    def _symbol(self, value: Any) -> Any:
        return next(
            length for length in (one for made in self.made.values() if made.is_nested for one in made.shape)
            if str(length).startswith("j")
        )

    def _nested(self, value: Any) -> Any:
        inner = value._values.detach()
        parts = [None if part is None else self.ours(part) for part in (value._offsets, value._lengths)]
        return mstorch.nested.nested_tensor_from_jagged(
            self.ours(inner), *parts, jagged_dim=value._ragged_idx, min_seqlen=value._maybe_min_seqlen, max_seqlen=value._maybe_max_seqlen
        )


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def compare(want: Any, got: Any, shapes_only: bool = False, what: str = "result") -> None:
    """Assert that a result of mstorch equals torch's: nested in the same dimension, with the same components."""
    left, right = list(_flat(want)), list(_flat(got))
    assert len(left) == len(right), f"{what}: {len(left)} results expected, {len(right)} given"
    for one, other in zip(left, right):
        if not isinstance(one, torch.Tensor):
            assert one == other or one != one, f"{what}: {one} expected, {other} given"
            continue
        assert str(one.dtype) == str(other.dtype), f"{what}: {one.dtype} expected, {other.dtype} given"
        assert one.is_nested == other.is_nested, f"{what}: nested on one side only"
        if one.is_nested:
            assert one._ragged_idx == other._ragged_idx, f"{what}: ragged in {one._ragged_idx}, {other._ragged_idx} given"
            compare(list(one.unbind()), list(other.unbind()), shapes_only, what)
            continue
        assert tuple(one.shape) == tuple(other.shape), f"{what}: {tuple(one.shape)} expected, {tuple(other.shape)} given"
        if not shapes_only:
            np.testing.assert_allclose(values(other), values(one), rtol=2e-4, atol=1e-5, err_msg=what)


def _gradients(op: Any, result: Any, leaves: list[Any]) -> Any:
    seeds = [item for item in _flat(result) if item.requires_grad]
    ones = [type_of(item).ones_like(item) for item in seeds]
    return type_of(seeds[0]).autograd.grad(seeds, leaves, ones, allow_unused=True)


def type_of(value: Any) -> Any:
    """Return the library that a tensor belongs to."""
    return torch if isinstance(value, torch.Tensor) else mstorch


def run(op: Any) -> Counter[str]:
    """Return the number of samples of an operator that agree, and the reasons why others were not compared. Raise AssertionError for one
    that differs."""
    told: Counter[str] = Counter()
    shapes_only = any(word in op.name for word in _SHAPES_ONLY)
    function = _counterpart(op.name, op.op)
    samples = op.sample_inputs("cpu", torch.float32, requires_grad=op.supports_autograd)
    for number, sample in enumerate(samples):
        if number >= SAMPLES:
            break
        case = Sample()
        args, kwargs = case.ours([sample.input, *sample.args]), case.ours(dict(sample.kwargs))
        try:
            want = op.op(sample.input, *sample.args, **sample.kwargs)
        except _ERRORS:  # torch has no such call
            told["torch raises"] += 1
            continue
        got = function(*args, **kwargs)
        compare(want, got, shapes_only, f"{op.name} {sample.name}")
        told["forward"] += 1
        if shapes_only or op.name in _WRONG_IN_TORCH or not case.leaves or not any(isinstance(item, torch.Tensor) and item.requires_grad for item in _flat(want)):
            continue
        try:
            wanted = _gradients(op, want, [leaf for leaf, _ in case.leaves])
        except _ERRORS:  # torch has no such gradient
            told["torch raises in backward"] += 1
            continue
        found = _gradients(op, got, [leaf for _, leaf in case.leaves])
        for one, other in zip(wanted, found):
            if one is not None or other is not None:
                assert one is not None and other is not None, f"{op.name} {sample.name}: a gradient on one side only"
                compare(one, other, False, f"gradient of {op.name} {sample.name}")
        told["backward"] += 1
    return told


def operators() -> list[Any]:
    """Return the operators that torch has samples for."""
    return [op for op in njt_op_db if op.supports_njt and torch.float32 in op.dtypes and not op.name.startswith(_LEFT_OUT)]


def main() -> None:
    """Run all operators, and print differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="")
    text = parser.parse_args().k
    warnings.simplefilter("ignore")
    counted: Counter[str] = Counter()
    for op in operators():
        if text not in op.name:
            continue
        torch.manual_seed(0)
        try:
            told = run(op)
        except Exception as error:  # noqa: BLE001
            counted["operators that differ"] += 1
            print(f"{op.name}{op.variant_test_name and '.' + op.variant_test_name}: {type(error).__name__}: {str(error).strip()[:300]}".replace("\n", " "))
            continue
        counted.update(told)
        counted["operators"] += 1
    print(dict(counted))


if __name__ == "__main__":
    main()
