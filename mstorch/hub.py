"""torch.hub: models from folders with a hubconf.py, and weights from URLs, cached."""
from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from ._src.hook import not_yet
from ._src.leaving import END, Undo, undoing
from .serialization import load as _load

try:
    from tqdm import tqdm
except ImportError:  # torch's hub works without it too

    class tqdm:  # type: ignore[no-redef]
        """Progress counter without display."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.n = 0

        def update(self, n: int) -> None:
            """Advance the counter."""
            self.n += n

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *error: Any) -> None:
            return None


HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
READ_DATA_CHUNK = 128 * 1024
MODULE_HUBCONF = "hubconf.py"
VAR_DEPENDENCY = "dependencies"
ENV_TORCH_HOME = "TORCH_HOME"
ENV_XDG_CACHE_HOME = "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"

_chosen: list[str] = []  # the folder set by set_dir()


def _get_torch_home() -> str:
    """Return torch's cache folder: ``$TORCH_HOME``, or ``torch`` in ``$XDG_CACHE_HOME`` or ``~/.cache``."""
    cache = os.path.join(os.getenv(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR), "torch")
    return os.path.expanduser(os.getenv(ENV_TORCH_HOME, cache))


def get_dir() -> str:
    """Return the hub cache folder: that of ``set_dir``, or ``hub`` in torch's cache folder."""
    return _chosen[-1] if _chosen else os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the hub cache folder."""
    _chosen[:] = [os.path.expanduser(d)]


# Files


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Download a URL (including file://) to a path.

    Raise RuntimeError, and write nothing, if its SHA-256 does not begin with ``hash_prefix``.
    """
    target = Path(dst).expanduser()
    digest = hashlib.sha256()
    with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as source:
        length = source.headers.get("Content-Length")
        # In the target's own folder, so that the last step is a rename, and no incomplete file is visible.
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f"{target.name}.", suffix=".partial")
        try:
            with (
                os.fdopen(handle, "wb") as partial,
                tqdm(total=None if length is None else int(length), disable=not progress, unit="B", unit_scale=True,
                     unit_divisor=1024) as bar,
            ):  # fmt: skip
                while chunk := source.read(READ_DATA_CHUNK):
                    partial.write(chunk)
                    digest.update(chunk)
                    bar.update(len(chunk))
            found = digest.hexdigest()
            if hash_prefix is not None and found[: len(hash_prefix)] != hash_prefix:
                raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{found}")')
            shutil.move(name, target)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.remove(name)


_LARGE = 1 << 30


def load_state_dict_from_url(
    url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True, check_hash: bool = False,
    file_name: str | None = None, weights_only: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Return ``torch.load`` of the file at a URL, downloaded unless ``checkpoints`` in the cache has a file of that name.

    With ``check_hash`` the last part of the name before the extension is the beginning of its SHA-256. A zip archive must contain one file.
    """
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    cached = os.path.join(folder, name)
    if not os.path.exists(cached):
        sys.stderr.write(f'Downloading: "{url}" to {cached}\n')
        match = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, cached, match.group(1) if match else None, progress=progress)
    inner = _single_member(cached)
    if inner is not None:
        with zipfile.ZipFile(cached) as archive:
            cached = archive.extract(inner, folder)
    return _load(cached, map_location=map_location, weights_only=weights_only)


def _single_member(path: str) -> str | None:
    """Return the only file of a zip archive; None if the file is not a zip archive, or was written by torch.save."""
    if not zipfile.is_zipfile(path):
        return None
    with zipfile.ZipFile(path) as archive:
        members, size = archive.namelist(), sum(member.file_size for member in archive.infolist())
    if any(member.endswith("/data.pkl") for member in members):
        return None
    if len(members) != 1:
        raise RuntimeError("Only one file(not dir) is allowed in the zipfile")
    if size > max(_LARGE, 100 * os.path.getsize(path)):  # checkpoints do not compress to a hundredth of their size
        raise RuntimeError(f"mstorch: {path} says that it holds {size} bytes, over 100 times what it has; extract it yourself to trust it")
    return members[0]


# Models


@undoing
def _first_on_path(undo: Undo, folder: str) -> None:
    undo[END:] = (partial(sys.path.remove, folder),)  # directly before the change that it undoes, so that no interrupt comes between
    sys.path[:0] = (folder,)


def _module(folder: str) -> ModuleType:
    path = os.path.join(folder, MODULE_HUBCONF)
    with _first_on_path(folder):
        spec = importlib.util.spec_from_file_location(MODULE_HUBCONF, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    lacking = [name for name in getattr(module, VAR_DEPENDENCY, None) or () if importlib.util.find_spec(name) is None]
    if lacking:
        raise RuntimeError(f"Missing dependencies: {', '.join(lacking)}")
    return module


def _entry(module: ModuleType, model: str) -> Callable[..., Any]:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    found = getattr(module, model, None)
    if found is None or not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def _folder(place: str, source: str) -> str:
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise NotImplementedError(f"mstorch: torch.hub fetches no repository {not_yet()}; clone {place} and use source='local'")
    return place


def load(
    repo_or_dir: str, model: str, *args: Any, source: str = "github", trust_repo: str = "check", force_reload: bool = False,
    verbose: bool = True, skip_validation: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """Call the function ``model`` of a folder's hubconf.py (``source="local"``) and return its result.

    Raise RuntimeError if the function, or a dependency of hubconf.py, is missing.
    """
    folder = _folder(repo_or_dir, source)
    function = _entry(_module(folder), model)
    with _first_on_path(folder):
        return function(*args, **kwargs)


def _github(place: str) -> str:
    return place if os.path.isfile(os.path.join(place, MODULE_HUBCONF)) else _folder(place, "github")


def list(  # named as in torch
    github: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: str = "check", verbose: bool = True
) -> Any:
    """Return the names of the functions in a folder's hubconf.py."""
    module = _module(_github(github))
    return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(  # named as in torch
    github: str, model: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: str = "check"
) -> Any:
    """Return the docstring of a function in a folder's hubconf.py."""
    return _entry(_module(_github(github)), model).__doc__


__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]
