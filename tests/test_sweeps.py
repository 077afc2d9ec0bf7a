"""Sweeps over torch's operator database besides its values: error samples, second derivatives, captured graphs.

What does not agree stands in xfails.toml with a reason; an entry that passes makes this fail. ``python -m tests.sweeps`` runs
one of them and prints the share.
"""
from __future__ import annotations

from collections.abc import Callable

import pytest

from tests import sweeps, writes
from tests.known import SECTIONS, hold

pytestmark = pytest.mark.sweep

XFAILS = SECTIONS["errors"]
SWEEPS = {kind: sweeps.items(kind) for kind in ("gradgrad", "trace")}
# Forward mode is one mechanism with few rules: a sample shows whether it works, the command runs all operators.
SWEEPS["forward"] = dict(list(sweeps.items("forward").items())[::8])
SWEEPS["writes"] = dict(list(writes.items().items())[::3])
REASONS = {kind: {name: reason for reason, names in SECTIONS[kind].items() for name in names} for kind in SWEEPS}
CHECKS = sweeps.items("errors")


def _by_operator() -> dict[str, dict[str, Callable[[], None]]]:
    found: dict[str, dict[str, Callable[[], None]]] = {}
    for name, check in CHECKS.items():
        found.setdefault(name.rsplit(" ", 1)[0], {})[name] = check
    return found


OPERATORS = _by_operator()


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.filterwarnings("ignore")
def test_error_samples(operator: str) -> None:
    for name, check in OPERATORS[operator].items():
        hold(name, check, XFAILS)


def test_entries_name_samples() -> None:
    assert set(XFAILS) <= set(CHECKS), "xfails.toml names what is not in the database"
    assert all(reason.strip() for reason in XFAILS.values())


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, checks in SWEEPS.items() for name in checks])
@pytest.mark.filterwarnings("ignore")
def test_item(kind: str, name: str) -> None:
    hold(name, SWEEPS[kind][name], REASONS[kind])


@pytest.mark.parametrize("kind", SWEEPS)
def test_entries_name_items(kind: str) -> None:
    assert set(REASONS[kind]) <= set(SWEEPS[kind]), "xfails.toml names what is not in the database"
