"""Validation of arguments in both libraries, also if torch's own test helpers, which other tests import, turned it off."""
from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

import mstorch


@pytest.fixture(autouse=True)
def _checked_arguments() -> Iterator[None]:
    before = torch.distributions.Distribution._validate_args
    for library in (torch, mstorch):
        library.distributions.Distribution.set_default_validate_args(True)
    yield
    torch.distributions.Distribution.set_default_validate_args(before)
