"""torch.utils.data.graph: which pipes a pipe is made of."""

from __future__ import annotations

import io
import pickle
from collections.abc import Collection
from typing import Any, TypeAlias

from ..._core.warned import warn
from .._import_utils import dill_available, import_dill
from .datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]

DataPipe: TypeAlias = IterDataPipe | MapDataPipe
DataPipeGraph: TypeAlias = dict[int, tuple[DataPipe, "DataPipeGraph"]]  # type: ignore[misc]

_KEPT = (IterDataPipe, MapDataPipe, Collection)


def _stub_unpickler() -> str:
    return "STUB"


def _pipes_and_collections(state: Any) -> Any:
    """Return the part of a pipe's state that may hold pipes."""
    if isinstance(state, dict):
        return {name: value for name, value in state.items() if isinstance(value, _KEPT)}
    if isinstance(state, tuple | list):
        return [value for value in state if isinstance(value, _KEPT)]
    return state if isinstance(state, _KEPT) else None


def _list_connected_datapipes(scan_obj: DataPipe, only_datapipe: bool, cache: set[int]) -> list[DataPipe]:
    """Return the pipes that a pickle of `scan_obj` meets first, wherever in its attributes they are."""
    found: list[DataPipe] = []

    def meet(pipe: DataPipe) -> Any:
        if pipe == scan_obj or id(pipe) in cache:
            raise NotImplementedError  # pickled as it is
        found.append(pipe)
        cache.add(id(pipe))
        return _stub_unpickler, ()

    try:
        for kind in (IterDataPipe, MapDataPipe):
            kind.set_reduce_ex_hook(meet)
            if only_datapipe:
                kind.set_getstate_hook(_pipes_and_collections)
        try:
            pickle.Pickler(io.BytesIO()).dump(scan_obj)
        except (pickle.PickleError, AttributeError, TypeError):
            dill: Any = import_dill()
            if dill is None:
                raise
            dill.Pickler(io.BytesIO()).dump(scan_obj)
    finally:
        for kind in (IterDataPipe, MapDataPipe):
            kind.set_reduce_ex_hook(None)
            if only_datapipe:
                kind.set_getstate_hook(None)
        if dill_available():
            import_dill()  # its pickler leaves its extensions behind
    return found


def traverse_dps(datapipe: DataPipe) -> DataPipeGraph:
    """Return the pipe and those that it reads from, as {id: (pipe, the same of its sources)}.

    They are looked for among the attributes that are pipes or collections. Raises RuntimeError for anything but a pipe.
    """
    return _traverse_helper(datapipe, only_datapipe=True, cache=set())


def traverse(datapipe: DataPipe, only_datapipe: bool | None = None) -> DataPipeGraph:
    """Return what `traverse_dps` does; unless `only_datapipe`, from all attributes. Out of use, and warns so."""
    message = "`traverse` function is deprecated and will be removed after 1.13. Please use `traverse_dps` instead."
    if not only_datapipe:
        message += " And, the behavior will be changed to the equivalent of `only_datapipe=True`."
    warn(message, FutureWarning)
    return _traverse_helper(datapipe, bool(only_datapipe), cache=set())


def _traverse_helper(datapipe: DataPipe, only_datapipe: bool, cache: set[int]) -> DataPipeGraph:
    if not isinstance(datapipe, IterDataPipe | MapDataPipe):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(datapipe)} is found")
    number = id(datapipe)
    if number in cache:
        return {}
    # Copies, because a pipe may be met again on another path, and only there.
    cache = {*cache, number}
    sources: DataPipeGraph = {}
    for pipe in _list_connected_datapipes(datapipe, only_datapipe, set(cache)):
        sources.update(_traverse_helper(pipe, only_datapipe, set(cache)))
    return {number: (datapipe, sources)}
