"""torch.distributed.device_mesh: processes in a grid, which needs process groups."""
from __future__ import annotations

from typing import Any, NoReturn

from .._hook import not_yet


class DeviceMesh:
    """A grid of processes. None can be made here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        init_device_mesh("", ())


def init_device_mesh(
    device_type: str, mesh_shape: tuple[int, ...], *, mesh_dim_names: tuple[str, ...] | None = None, backend_override: Any = None
) -> NoReturn:
    """Raises NotImplementedError: there are no process groups here."""
    raise NotImplementedError(f"mstorch: torch.distributed has no process groups to make a DeviceMesh of {not_yet()}")


__all__ = ["DeviceMesh", "init_device_mesh"]
