"""torch's own test databases, item by item; ``python -m tests.databases`` runs them by name and prints the share.

What is known not to agree stands in xfails.toml with a reason; an entry that passes again makes this fail.
"""
from __future__ import annotations

import pytest

from tests import databases
from tests.known import SECTIONS, hold

pytestmark = pytest.mark.sweep

KINDS = ("ops", "modules", "optimizers")
CHECKS = {f"{kind}-{name}": (kind, name, check) for kind in KINDS for name, check in databases.items(kind).items()}


@pytest.mark.parametrize("key", CHECKS)
@pytest.mark.filterwarnings("ignore")
def test_item(key: str) -> None:
    kind, name, check = CHECKS[key]
    hold(name, check, SECTIONS[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_entries_name_items(kind: str) -> None:
    assert set(SECTIONS[kind]) <= set(databases.items(kind)), "xfails.toml names what is not in the database"
    assert all(reason.strip() for reason in SECTIONS[kind].values())
