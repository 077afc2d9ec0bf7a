"""Common mistakes, one per line in ``mistakes.txt``: the class and the sentence of the error are torch's."""
from __future__ import annotations

import importlib
import re
import warnings
from pathlib import Path

import pytest
import torch as real_torch

import mstorch
from tests.against_torch import without_device

CALLS = [line for line in (Path(__file__).parent / "mistakes.txt").read_text().splitlines() if line and not line.startswith("#")]
for _library in ("torch", "mstorch"):
    for _room in ("utils.data", "distributions", "func", "testing", "utils.checkpoint", "nn.utils.rnn", "optim.lr_scheduler"):
        importlib.import_module(f"{_library}.{_room}")


def _sentence(error: BaseException) -> str:
    """Return an error's text without torch's internal details, and for wrong argument types only up to ", but expected"."""
    words = without_device(str(error)).replace("mstorch", "torch").partition("Exception raised from")[0].partition("\nC++")[0]
    words = re.sub("0x[0-9a-f]+", "0x", words.partition(", but expected")[0])
    return " ".join(words.split())


def _outcome(torch, call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            eval(call, {"torch": torch})
            if torch.accelerator.is_available():  # what a device refuses late is an error of this call, not of the next
                torch.accelerator.synchronize()
        except Exception as error:  # noqa: BLE001 - whichever it is, it is compared
            return type(error).__name__, _sentence(error)
    return "no error", ""


@pytest.fixture(autouse=True)
def _checked_arguments():
    """Enable the validation of distributions: torch's own test helpers, which other tests import, turn it off."""
    of = real_torch.distributions.Distribution
    before = of._validate_args
    of.set_default_validate_args(True)
    yield
    of.set_default_validate_args(before)


@pytest.mark.parametrize("call", CALLS)
def test_a_mistake_raises_torchs_error(call):
    want = _outcome(real_torch, call)
    assert want[0] != "no error"
    assert _outcome(mstorch, call) == want


@pytest.mark.parametrize("kind", ["int16", "int64", "bool", "uint16", "complex64", "float32"])
@pytest.mark.parametrize("call", [
    "uniform_()", "normal_()", "cauchy_()", "exponential_()", "log_normal_()", "geometric_(0.5)", "random_()", "random_(0, 2**62)",
    "random_(-2**40, 5)", "random_(5, 2)", "normal_(0, -1)", "uniform_(2, 1)", "cauchy_(0, -1)",
])  # fmt: skip
@pytest.mark.parametrize("shared", [True, False])
def test_checks_of_random_fillers_are_in_torchs_order(both, call, kind, shared):
    def body(torch):
        tensor = torch.zeros(3).to(getattr(torch, kind))
        tensor = tensor.as_strided((3,), (0,)) if shared else tensor
        try:
            return tuple(eval(f"tensor.{call}", {"tensor": tensor}).shape)
        except (RuntimeError, NotImplementedError) as error:
            return type(error).__name__, str(error)

    both(body)
