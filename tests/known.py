"""The known differences from torch with their reasons (xfails.toml), read once for the tests that run the databases."""
from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests import databases

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

SECTIONS: dict[str, dict[str, Any]] = tomllib.loads((pathlib.Path(__file__).parent / "xfails.toml").read_text())


def hold(name: str, check: Callable[[], None], known: Mapping[str, str]) -> None:
    """Fail if a check fails that is not listed, and if a listed one passes."""
    wrong = databases.outcome(check)
    if name in known:
        assert wrong, f"{name} passes: take it out of xfails.toml"
    else:
        assert not wrong, f"{name}: {wrong}"
