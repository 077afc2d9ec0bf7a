"""torch.distributed.device_mesh: ranks in an n-d grid."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from mstorch import Tensor, from_numpy

from .._src.backend.arrays import Array
from .._src.core.cuda_names import meant
from ..testing._comparison import Options
from ._group import ProcessGroup
from ._start import init_process_group, new_group
from ._types import BackendConfig
from ._world import default_group, get_rank, get_world_size, is_initialized, world


class DeviceMesh:
    """An n-d grid of global ranks; ``mesh`` is a tensor or nested lists of them. All ranks have to create it.

    Its dimensions may be named. Each row along each dimension is a process group. Raises RuntimeError for more ranks than there are.
    """

    def __init__(
        self, device_type: str, mesh: Tensor | Array | None = None, *, mesh_dim_names: tuple[str, ...] | None = None,
        backend_override: tuple[BackendConfig, ...] | None = None,
        _init_backend: bool = True, _rank: int | None = None,
    ) -> None:  # fmt: skip
        if not is_initialized():
            init_process_group()
        self.device_type = meant(device_type)
        self._grid = np.asarray(mesh.numpy() if isinstance(mesh, Tensor) else mesh, dtype=np.int32)
        self.mesh_dim_names = tuple(mesh_dim_names) if mesh_dim_names else None
        if self._grid.size > get_world_size():
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {get_world_size()}, but found {self._grid.size} ranks!"
            )
        self._groups = [self._rows(dim) for dim in range(self._grid.ndim)]

    def _rows(self, dim: int) -> Any:
        """Create a process group for each row of the mesh along a dimension, on all ranks; return the group that contains this rank."""
        length = self._grid.shape[dim]
        if self._grid.ndim == 1 and length == get_world_size() and self._grid.tolist() == list(range(length)):
            return default_group()
        mine = None
        for row in np.moveaxis(self._grid, dim, -1).reshape(-1, length).tolist():
            group = new_group(row, group_desc=f"mesh_{self.mesh_dim_names[dim] if self.mesh_dim_names else f'dim_{dim}'}", sort_ranks=False)
            if get_rank() in row:
                mine = group
        return mine

    @classmethod
    def _submesh(cls, parent: DeviceMesh, dims: tuple[int, ...]) -> DeviceMesh:
        """Return the submesh of ``parent`` along ``dims`` that contains this rank; the first submesh, if the mesh does not contain the
        rank."""
        made = object.__new__(cls)
        made.device_type = parent.device_type
        here = parent.get_coordinate()
        if here is None:
            here = [0] * parent.ndim
        index = tuple(slice(None) if dim in dims else here[dim] for dim in range(parent.ndim))
        part = parent._grid[index]
        made._grid = np.transpose(part, np.argsort(np.argsort(dims)))
        made.mesh_dim_names = tuple(parent.mesh_dim_names[dim] for dim in dims) if parent.mesh_dim_names else None
        made._groups = [parent._groups[dim] for dim in dims]
        return made

    @staticmethod
    def from_group(
        group: ProcessGroup | list[ProcessGroup], device_type: str, mesh: Any = None, *, mesh_dim_names: tuple[str, ...] | None = None
    ) -> DeviceMesh:
        """Return a 1-d mesh over a group."""
        if isinstance(group, list):
            raise NotImplementedError("mstorch: DeviceMesh.from_group takes one group")
        made = object.__new__(DeviceMesh)
        made.device_type, made._grid = meant(device_type), np.asarray(group._ranks, dtype=np.int32)
        made.mesh_dim_names, made._groups = (tuple(mesh_dim_names) if mesh_dim_names else None), [group]
        return made

    @property
    def mesh(self) -> Tensor:
        """The global ranks, as an int tensor."""
        return from_numpy(self._grid.copy())

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of ranks along each dimension."""
        return tuple(self._grid.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return int(self._grid.ndim)

    def size(self, mesh_dim: int | None = None) -> int:
        """Return the number of ranks, in all or along a dimension."""
        return int(self._grid.size if mesh_dim is None else self._grid.shape[mesh_dim])

    def __len__(self) -> int:
        return self._grid.shape[0]

    def _dim(self, dim: int | str | None) -> int:
        if dim is None:
            if self.ndim > 1:
                raise RuntimeError(
                    f"Found the DeviceMesh have {self.ndim} dimensions",
                    "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                    "If you want to get the list of all the ProcessGroups in the DeviceMesh,please use `get_all_groups()` instead.",
                )  # fmt: skip
            return 0
        if isinstance(dim, str):
            if not self.mesh_dim_names or dim not in self.mesh_dim_names:
                raise KeyError(f"Invalid mesh_dim_names {(dim,)} specified. Valid mesh_dim_names are {list(self.mesh_dim_names or ())}.")
            return self.mesh_dim_names.index(dim)
        return dim

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """Return this rank's group along a dimension. Raise RuntimeError if none is given and the mesh has several."""
        return self._groups[self._dim(mesh_dim)]

    def get_all_groups(self) -> list[Any]:
        """Return this rank's groups, one for each dimension."""
        return list(self._groups)

    def get_rank(self) -> int:
        """Return this process's global rank."""
        return get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """Return this rank's index along a dimension. Raise RuntimeError if none is given and the mesh has several."""
        return get_rank(self.get_group(mesh_dim))

    def get_coordinate(self) -> Any:
        """Return this rank's coordinates in the grid; None outside it."""
        found = np.argwhere(self._grid == get_rank())
        return tuple(int(place) for place in found[0]) if len(found) else None

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """Return the submesh of the named dimensions that contains this rank. Raise KeyError for unknown names."""
        if not self.mesh_dim_names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if any(name not in self.mesh_dim_names for name in names):
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are {list(self.mesh_dim_names)}.")
        if names == self.mesh_dim_names:
            return self
        return DeviceMesh._submesh(self, tuple(self.mesh_dim_names.index(name) for name in names))

    def __eq__(self, other: object) -> bool:
        return self is other or isinstance(other, DeviceMesh) and self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash(self._facts())

    def _facts(self) -> tuple[Any, ...]:
        return self.device_type, self.shape, tuple(self._grid.reshape(-1).tolist()), self.mesh_dim_names

    def __repr__(self) -> str:
        names = self.mesh_dim_names
        sizes = ", ".join(f"{name}={n}" for name, n in zip(names, self.shape)) if names else str(self.shape)[1:-1]
        steps = [math.prod(self.shape[dim + 1 :]) for dim in range(self.ndim)]
        told = ", ".join("()" if n == 1 and self.ndim > 1 else str(step) for n, step in zip(self.shape, steps))
        return f"DeviceMesh(({sizes}), '{self.device_type}', stride=({told}{',' if self.ndim == 1 else ''}))"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.device_type, self._grid.tolist(), self.mesh_dim_names, [group.group_name for group in self._groups])


def _again(device_type: str, grid: Array | list[Any], names: Any, groups: list[str]) -> DeviceMesh:
    """Rebuild an unpickled mesh over groups that this process has."""
    made = object.__new__(DeviceMesh)
    made.device_type, made._grid, made.mesh_dim_names = device_type, np.asarray(grid, dtype=np.int32), names
    made._groups = [world.groups[name] for name in groups]
    return made


def init_device_mesh(
    device_type: str, mesh_shape: tuple[int, ...], *, mesh_dim_names: tuple[str, ...] | None = None,
    backend_override: dict[int | str, str | Options | tuple[str, Options]] | None = None
) -> DeviceMesh:
    """Return a mesh of the given shape over the first ranks. Raise RuntimeError if the names are repeated or their number differs from the
    shape's.
    """
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}")
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! "
                f"Found len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}."
            )
    if backend_override:
        raise NotImplementedError("mstorch: init_device_mesh takes no backend_override")
    grid = np.arange(math.prod(mesh_shape), dtype=np.int32).reshape(mesh_shape)
    return DeviceMesh(device_type, grid, mesh_dim_names=mesh_dim_names)


__all__ = ["DeviceMesh", "init_device_mesh"]
