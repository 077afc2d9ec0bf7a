"""`pytest -p mstorch.pytest`: tests with `import torch` run on mstorch, including their conftest files."""
from __future__ import annotations

from typing import Any

from ._src import hook as _hook


def pytest_addoption(parser: Any) -> None:
    """Install the import hook: pytest calls this when it has loaded the plugin, before any conftest file."""
    _hook.install()


def pytest_report_header(config: Any) -> str:
    """Return the line for pytest's header."""
    return f"torch: mstorch {_hook.versions()[0]}"
