"""torch.utils.data.graph: the graph of datapipes that a datapipe reads from."""

from __future__ import annotations

import io
import pickle
from collections.abc import Collection
from typing import Any, TypeAlias

from ..._src.core.warned import warn
from .._import_utils import dill_available, import_dill
from .datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]

DataPipe: TypeAlias = IterDataPipe[Any] | MapDataPipe[Any]
DataPipeGraph: TypeAlias = dict[int, tuple[DataPipe, "DataPipeGraph"]]

_KEPT = (IterDataPipe, MapDataPipe, Collection)


def _stub_unpickler() -> str:
    return "STUB"


def _pipes_and_collections(state: Any) -> Any:
    """Return the entries of a datapipe's state that may hold datapipes."""
    if isinstance(state, dict):
        return {name: value for name, value in state.items() if isinstance(value, _KEPT)}
    if isinstance(state, tuple | list):
        return [value for value in state if isinstance(value, _KEPT)]
    return state if isinstance(state, _KEPT) else None


def _list_connected_datapipes(scan_obj: DataPipe, only_datapipe: bool, cache: set[int]) -> list[DataPipe]:
    """Return the direct sources of ``scan_obj``: the datapipes that pickling it reaches without passing through another datapipe."""
    found: list[DataPipe] = []

    def meet(pipe: DataPipe) -> tuple[Any, ...]:
        if pipe == scan_obj or id(pipe) in cache:
            raise NotImplementedError  # pickled as usual
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
            import_dill()  # without dill's extensions of pickle
    return found


def traverse_dps(datapipe: DataPipe) -> DataPipeGraph:
    """Return the graph of a datapipe as {id: (datapipe, graph of its sources)}.

    Sources are looked for in attributes that are datapipes or collections. Raise RuntimeError for anything but a datapipe.
    """
    return _traverse_helper(datapipe, only_datapipe=True, cache=set())


def traverse(datapipe: DataPipe, only_datapipe: bool | None = None) -> DataPipeGraph:
    """Return the graph of datapipes like ``traverse_dps``, or from all attributes unless ``only_datapipe``. Deprecated as in torch, with a
    warning.
    """
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
    # Copies, because a datapipe may occur again on another path, but not on the same one.
    cache = {*cache, number}
    sources: DataPipeGraph = {}
    for pipe in _list_connected_datapipes(datapipe, only_datapipe, set(cache)):
        sources.update(_traverse_helper(pipe, only_datapipe, set(cache)))
    return {number: (datapipe, sources)}
