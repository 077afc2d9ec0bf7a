"""torch.distributed.checkpoint: state dicts that ranks save together, and load on any number of ranks.

A checkpoint is a folder: ``.metadata`` describes it, ``__<rank>_0.distcp`` holds a rank's shards. Differs from torch: the file format is
not torch's. Objects of your own classes are loaded under ``torch.serialization.safe_globals``; with ``TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1``
all are, and an untrusted checkpoint may then run any code.
"""
from __future__ import annotations

import os
import pickle
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from typing_extensions import deprecated

import mstorch as torch

from ..._src.hook import missing as _missing
from ..._src.serialization.unpickler import Unpickler
from ..._tensor import Tensor
from .. import _collectives, _objects
from .._group import ProcessGroup
from .._world import is_initialized
from . import _pieces, metadata, state_dict
from .metadata import BytesStorageMetadata, ChunkStorageMetadata, Metadata, TensorStorageMetadata

_METADATA = ".metadata"


class CheckpointException(Exception):
    """Raised when a checkpoint cannot be written or read."""


class FileSystemWriter:
    """Writes a checkpoint to a folder."""

    def __init__(self, path: Any, single_file_per_rank: bool = True, sync_files: bool = True, thread_count: int = 1, **kwargs: Any) -> None:
        self.path = os.fspath(path)


class FileSystemReader:
    """Reads a checkpoint from a folder."""

    def __init__(self, path: Any, **kwargs: Any) -> None:
        self.path = os.fspath(path)

    def read_metadata(self) -> Metadata:
        """Return the checkpoint's metadata. Raise CheckpointException if there is none."""
        return _metadata(self.path)


def _folder(checkpoint_id: Any, storage: FileSystemReader | FileSystemWriter | None, planner: Any) -> str:
    if planner is not None:
        raise NotImplementedError("mstorch: torch.distributed.checkpoint takes no planner")
    if storage is not None:
        if not isinstance(storage, (FileSystemWriter, FileSystemReader)):
            raise NotImplementedError("mstorch: torch.distributed.checkpoint takes FileSystemWriter and FileSystemReader")
        return storage.path if checkpoint_id is None else os.fspath(checkpoint_id)
    if checkpoint_id is None:
        raise RuntimeError("`checkpoint_id` must be specified if storage_reader/storage_writer is None.")
    return os.fspath(checkpoint_id)


_CLASSES = {
    f"{library}.distributed.checkpoint.{module}{name}": getattr(metadata, name)
    for library in ("torch", "mstorch") for module in ("", "metadata.") for name in metadata.__all__
}  # fmt: skip


def _metadata(folder: str) -> Metadata:
    try:
        with open(os.path.join(folder, _METADATA), "rb") as file:
            found = Unpickler(file, encoding="utf-8", allowed=_CLASSES).load()
    except OSError as error:
        raise CheckpointException(f"no checkpoint in {folder!r}: {error}") from None
    except (pickle.UnpicklingError, EOFError) as error:
        raise CheckpointException(f"{folder!r} has a checkpoint of another kind, or a damaged one: {error}") from None
    if not isinstance(found, Metadata):
        raise CheckpointException(f"{folder!r} has a checkpoint of another kind")
    return found


def _states(state: dict[Any, Any]) -> dict[str, Any]:
    """Return the state with each value that has ``state_dict()`` replaced by it."""
    return {
        key: value.state_dict() if hasattr(value, "state_dict") and not isinstance(value, torch.Tensor) else value
        for key, value in state.items()
    }


def _written(folder: str, state: dict[Any, Any], rank: int) -> dict[str, Any]:
    """Write this rank's shards and return their metadata."""
    os.makedirs(folder, exist_ok=True)
    file = f"__{rank}_0.distcp"
    content: dict[str, Any] = {}
    told: dict[str, Any] = {}
    for path, value in _pieces.flat(state).items():
        name = _pieces.name_of(path)
        if isinstance(value, torch.Tensor):
            begin, sizes, local, shape, first = _pieces.piece(value)
            if (not first) or 0 in sizes and 0 not in shape or not hasattr(value, "placements") and rank:
                continue
            content[f"{name}@{begin}"] = local.clone()
            told[name] = TensorStorageMetadata(str(value.dtype), shape, [ChunkStorageMetadata(begin, sizes)], [file])
        elif rank == 0:
            content[name] = value
            told[name] = BytesStorageMetadata(file)
    temporary = os.path.join(folder, f"{file}.tmp")
    torch.save(content, temporary)
    os.replace(temporary, os.path.join(folder, file))
    return told


def save(
    state_dict: dict[str, Any], *, checkpoint_id: Any = None, storage_writer: Any = None, planner: Any = None,
    process_group: ProcessGroup | None = None,
    no_dist: bool = False, use_collectives: bool = True,
) -> Metadata:  # fmt: skip
    """Save the ranks' state to a folder: each rank saves its shards of DTensors, rank 0 all other entries. All ranks have to call it."""
    return _save(_states(state_dict), _folder(checkpoint_id, storage_writer, planner), process_group, no_dist)


def _save(state: dict[Any, Any], folder: str, group: ProcessGroup | None, no_dist: bool) -> Metadata:
    together = is_initialized() and not no_dist
    rank = torch.distributed.get_rank(group) if together else 0
    told = _written(folder, state, rank)
    every: list[Any] = [told]
    if together:
        every = [None] * torch.distributed.get_world_size(group)
        _objects.all_gather_object(every, told, group)
    found: dict[str, Any] = {}
    for part in every:
        for name, entry in part.items():
            known = found.setdefault(name, entry)
            if known is not entry and isinstance(entry, TensorStorageMetadata):
                known.chunks += entry.chunks
                known.files += entry.files
    made = Metadata(found, {_pieces.name_of(path): _pieces.told(state, path) for path in _pieces.flat(state)})
    if rank == 0:
        temporary = os.path.join(folder, f"{_METADATA}.tmp")
        with open(temporary, "wb") as file:
            pickle.dump(made, file)
        os.replace(temporary, os.path.join(folder, _METADATA))
    if together:
        _collectives.barrier(group)
    return made


def _copied(state: Any) -> Any:
    if isinstance(state, dict):
        return {key: _copied(value) for key, value in state.items()}
    if isinstance(state, list):
        return [_copied(value) for value in state]
    if not isinstance(state, torch.Tensor):
        return state
    return state.detach().clone()


def async_save(
    state_dict: dict[str, Any], *, checkpoint_id: Any = None, storage_writer: Any = None, planner: Any = None,
    process_group: ProcessGroup | None = None, **kwargs: Any
) -> Future[Metadata]:
    """Copy the state and ``save`` it in a thread; return a future. As in torch, ``process_group`` should not be used for anything else
    meanwhile.
    """
    folder, state = _folder(checkpoint_id, storage_writer, planner), _copied(_states(state_dict))
    executor = ThreadPoolExecutor(1)
    found = executor.submit(_save, state, folder, process_group, False)
    executor.shutdown(wait=False)
    return found


class _Files:
    """The files of a checkpoint, each read once."""

    def __init__(self, folder: str) -> None:
        self._folder, self._read = folder, {}  # type: ignore[var-annotated]

    def content(self, name: str) -> dict[str, Any]:
        """Return a file's contents. Raise CheckpointException for a name outside the folder, pickle.UnpicklingError for classes that are
        not allowed.
        """
        if name not in self._read:
            if not isinstance(name, str) or os.path.basename(name) != name:
                raise CheckpointException(f"a part of the checkpoint lies outside of its folder: {name!r:.100}")
            self._read[name] = torch.load(os.path.join(self._folder, name), map_location="cpu")
        return self._read[name]


def _fill(tensor: Tensor, entry: TensorStorageMetadata, name: str, files: _Files) -> None:
    begin, sizes, local, shape, _ = _pieces.piece(tensor)
    if tuple(entry.size) != shape:
        raise ValueError(f"Size mismatch between saved {entry.size} and current: {shape} for {name}")
    for chunk, file in zip(entry.chunks, entry.files):
        common = _pieces.overlap(begin, sizes, chunk.offsets, chunk.sizes)
        if common is not None:
            stored = files.content(file)[f"{name}@{tuple(chunk.offsets)}"]
            with torch.no_grad():
                (local[common[0]] if common[0] else local).copy_(stored[common[1]] if common[1] else stored)


def load(
    state_dict: dict[str, Any], *, checkpoint_id: Any = None, storage_reader: FileSystemReader | None = None, planner: Any = None,
    process_group: ProcessGroup | None = None,
    no_dist: bool = False,
) -> None:  # fmt: skip
    """Load a state from a folder: tensors in place, other entries replaced. Raise RuntimeError for entries that the checkpoint lacks."""
    folder = _folder(checkpoint_id, storage_reader, planner)
    found, files = _metadata(folder).state_dict_metadata, _Files(folder)
    states = _states(state_dict)
    for path, value in _pieces.flat(states).items():
        name = _pieces.name_of(path)
        if name not in found:
            raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
        entry = found[name]
        if isinstance(value, torch.Tensor):
            _fill(value, entry, name, files)
        else:
            _pieces.put(states, path, files.content(entry.file)[name])
    for key, value in state_dict.items():
        if hasattr(value, "load_state_dict") and not isinstance(value, torch.Tensor):
            value.load_state_dict(states[key])
        else:
            state_dict[key] = states[key]
    if is_initialized() and not no_dist:
        _collectives.barrier(process_group)


@deprecated(
    "`save_state_dict` is deprecated and will be removed in future versions.Please use `save` instead.", category=FutureWarning
)
def save_state_dict(
    state_dict: dict[str, Any], storage_writer: Any, process_group: ProcessGroup | None = None, coordinator_rank: int = 0,
    no_dist: bool = False, planner: Any = None
) -> Metadata:  # fmt: skip
    """Deprecated name of ``save``."""
    return save(state_dict, storage_writer=storage_writer, process_group=process_group, no_dist=no_dist, planner=planner)


@deprecated(
    "`load_state_dict` is deprecated and will be removed in future versions. Please use `load` instead.", category=FutureWarning
)
def load_state_dict(
    state_dict: dict[str, Any], storage_reader: Any, process_group: ProcessGroup | None = None, coordinator_rank: int = 0,
    no_dist: bool = False, planner: Any = None
) -> None:  # fmt: skip
    """Deprecated name of ``load``."""
    load(state_dict, storage_reader=storage_reader, process_group=process_group, no_dist=no_dist, planner=planner)


__all__ = [
    "BytesStorageMetadata", "CheckpointException", "ChunkStorageMetadata", "FileSystemReader", "FileSystemWriter", "Metadata",
    "TensorStorageMetadata", "async_save", "load", "load_state_dict", "metadata", "save", "save_state_dict", "state_dict",
]  # fmt: skip

__getattr__ = _missing(__name__, ("api", "filesystem", "format_utils", "state_dict_loader", "state_dict_saver", "stateful"))
