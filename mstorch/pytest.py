"""`pytest -p mstorch.pytest`: tests that say `import torch` run on mstorch, their conftest files too."""
from __future__ import annotations

from typing import Any

from . import _hook


def pytest_addoption(parser: Any) -> None:
    """Install the hook: pytest calls this when it has loaded the plugin, before any conftest file."""
    _hook.install()


def pytest_report_header(config: Any) -> str:
    """Return the line in pytest's header."""
    return f"torch: mstorch {_hook.versions()[0]}"
