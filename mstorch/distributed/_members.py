"""What the backends of devices use of a process group."""
from __future__ import annotations

from datetime import timedelta
from typing import Any, Protocol

from ._stores import Store


class Members(Protocol):
    """A process group."""

    group_name: str
    group_desc: str
    _me: int
    _config: Any
    _timeout: timedelta

    def rank(self) -> int: ...

    def size(self) -> int: ...

    def get_group_store(self) -> Store: ...
