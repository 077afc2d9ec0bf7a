"""A sample of ``python -m tests.hostile_files``: every reader, every eighth file."""
from __future__ import annotations

import pytest

from tests import hostile_files


@pytest.mark.slow
@pytest.mark.parametrize("kind", hostile_files.KINDS)
def test_hostile_files_do_no_harm(kind: str) -> None:
    count, wrong = hostile_files.check(kind, 8)
    assert wrong == [] and count >= 4
