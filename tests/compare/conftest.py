"""The fixture of tests that start ``compare`` many times."""
from __future__ import annotations

import types
from collections.abc import Iterator

import pytest

from mstorch._commands import compare
from tests import warm


@pytest.fixture(scope="module")
def library_imported_once() -> Iterator[None]:
    """Runs start in a process that has already imported its library; ``test_the_report`` starts each kind as a user does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compare, "subprocess", types.SimpleNamespace(run=warm.run))
        yield
