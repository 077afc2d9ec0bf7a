"""Errors of constructors name the class, as in torch."""
from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch

import mstorch

CLASSES = sorted(name for name, kind in vars(torch.nn).items() if inspect.isclass(kind) and hasattr(mstorch.nn, name))


def _words(kind: Any) -> str:
    with pytest.raises(TypeError) as caught:
        kind(no_such_argument=1)
    return str(caught.value)


@pytest.mark.filterwarnings("ignore:.NLLLoss2d. has been deprecated:FutureWarning")
@pytest.mark.parametrize("name", CLASSES)
def test_an_unknown_argument(name: str) -> None:
    theirs = getattr(torch.nn, name)
    if "kwargs" in inspect.signature(theirs.__init__).parameters:
        pytest.skip("takes any argument")
    assert _words(getattr(mstorch.nn, name)) == _words(theirs)
