"""The cases that a test run selects, so that a fixture that computes the results of many cases skips the others."""
from __future__ import annotations

from typing import Any

import pytest


def chosen(request: pytest.FixtureRequest, parameter: str = "name") -> list[Any]:
    """Return the values of ``parameter`` in the tests of this run that use the fixture (with the fixture's own parameter, if it has one).
    """
    fixture, own = request.fixturename, getattr(request, "param", None)
    parameters = [
        item.callspec.params for item in request.session.items
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and fixture in item.fixturenames
    ]  # fmt: skip
    return list(dict.fromkeys(found[parameter] for found in parameters if parameter in found and found.get(fixture) == own))
