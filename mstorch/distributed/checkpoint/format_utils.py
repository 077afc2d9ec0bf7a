"""torch.distributed.checkpoint.format_utils: convert between distributed checkpoints and files of ``torch.save``.

    python -m mstorch.distributed.checkpoint.format_utils {torch_to_dcp,dcp_to_torch} SOURCE DESTINATION
"""
from __future__ import annotations

import argparse
import os
from typing import Any

import mstorch as torch

from ..._src.hook import missing as _missing
from . import FileSystemReader, TensorStorageMetadata, load, save


def _put(state: dict[str, Any] | list[Any], path: tuple[Any, ...], value: Any) -> None:
    """Put a value at a path, creating the dicts and lists on the way."""
    for key, following in zip(path, path[1:]):
        inner: Any = [] if isinstance(following, int) else {}
        if isinstance(state, list):
            state += [None] * (key + 1 - len(state))
            if state[key] is None:
                state[key] = inner
            state = state[key]
        else:
            state = state.setdefault(key, inner)
    if isinstance(state, list):
        state += [None] * (path[-1] + 1 - len(state))
    state[path[-1]] = value


def dcp_to_torch_save(dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]) -> None:
    """Write a checkpoint folder's state to one file of ``torch.save``, with full tensors."""
    found = FileSystemReader(dcp_checkpoint_dir).read_metadata()
    paths = found.planner_data or {name: (name,) for name in found.state_dict_metadata}
    state: dict[str, Any] = {}
    for name, entry in found.state_dict_metadata.items():
        is_tensor = isinstance(entry, TensorStorageMetadata)
        kind = getattr(torch, entry.dtype.removeprefix("torch.").removeprefix("mstorch.")) if is_tensor else None
        _put(state, tuple(paths[name]), torch.empty(tuple(entry.size), dtype=kind, device="cpu") if is_tensor else None)
    load(state, storage_reader=FileSystemReader(dcp_checkpoint_dir), no_dist=True)
    torch.save(state, torch_save_path)


def torch_save_to_dcp(torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]) -> None:
    """Write the state in a file of ``torch.save`` to a checkpoint folder. Any object in the file is unpickled, so it must be trusted."""
    state = torch.load(torch_save_path, weights_only=False, map_location="cpu")
    save(state, checkpoint_id=os.fspath(dcp_checkpoint_dir), no_dist=True)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["torch_to_dcp", "dcp_to_torch"])
    parser.add_argument("src")
    parser.add_argument("dst")
    options = parser.parse_args()
    if not os.path.exists(options.src):
        print(f"No checkpoint found at {options.src}. Skipping conversion.")
        return
    convert = torch_save_to_dcp if options.mode == "torch_to_dcp" else dcp_to_torch_save
    convert(options.src, options.dst)


__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]

if __name__ == "__main__":
    main()

__getattr__ = _missing(__name__)
