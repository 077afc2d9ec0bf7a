"""Helpers of datapipes: function checks, file listing, streams that close themselves, deprecations."""

from __future__ import annotations

import fnmatch
import functools
import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from io import IOBase
from typing import Any, NoReturn

from ....._src.core.warned import warn
from ...._import_utils import dill_available

__all__ = [
    "StreamWrapper",
    "get_file_binaries_from_pathnames",
    "get_file_pathnames_from_root",
    "match_masks",
    "validate_input_col",
    "validate_pathname_binary_tuple",
]

DILL_AVAILABLE = dill_available()

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def validate_input_col(fn: Callable[..., Any], input_col: int | tuple[Any, ...] | list[Any] | None) -> None:
    """Raise ValueError if ``fn`` cannot be called with one positional argument per input column."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except ValueError:
        return  # a built-in function without a signature
    count = len(input_col) if isinstance(input_col, list | tuple) else 1
    inner = fn.func if isinstance(fn, functools.partial) else fn
    name = getattr(inner, "__name__", repr(inner))
    required = [p for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if required:
        raise ValueError(
            f"The function {name} takes {len(required)} non-default keyword-only parameters, which is not allowed."
        )
    variable = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    positional = [p for p in parameters if p.kind in _POSITIONAL]
    if len(parameters) < count:
        if not variable:
            raise ValueError(f"The function {name} takes {len(parameters)} parameters, but {count} are required.")
        return
    too_many = any(p.default is p.empty for p in positional[count:])
    too_few = len(positional) < count and not variable
    if too_many or too_few:
        raise ValueError(
            f"The function {name} takes {len(positional)} positional parameters, but {count} are required."
        )


def _is_local_fn(fn: Any) -> bool:
    if hasattr(fn, "__code__"):
        return bool(fn.__code__.co_flags & inspect.CO_NESTED)
    named = fn if hasattr(fn, "__qualname__") else type(fn)
    return "<locals>" in named.__qualname__


def _check_unpickable_fn(fn: Callable[..., Any]) -> None:
    """Warn if ``fn`` is a local function or lambda and dill is missing. Raise TypeError if it is not callable."""
    if not callable(fn):
        raise TypeError(f"A callable function is expected, but {type(fn)} is provided.")
    if isinstance(fn, functools.partial):
        fn = fn.func
    if dill_available():
        return
    kind = "Local" if _is_local_fn(fn) else "Lambda" if getattr(fn, "__name__", "") == "<lambda>" else None
    if kind is not None:
        warn(
            f"{kind} function is not supported by pickle, please use regular python function or functools.partial instead.",
        )


def match_masks(name: str, masks: str | list[str]) -> bool:
    """Return whether a file name matches one of the patterns; True without patterns."""
    patterns = [masks] if isinstance(masks, str) else masks
    return not masks or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def _refused(error: OSError) -> NoReturn:
    warn(f"{error.filename} : {error.strerror}")
    raise error


def get_file_pathnames_from_root(
    root: str,
    masks: str | list[str],
    recursive: bool = False,
    abspath: bool = False,
    non_deterministic: bool = False,
) -> Iterator[str]:
    """Iterate over the paths of files in a folder, sorted unless ``non_deterministic``; over ``root`` alone if it is a file."""
    if os.path.isfile(root):
        path = os.path.abspath(root) if abspath else root
        if match_masks(os.path.basename(path), masks):
            yield path
        return
    for folder, folders, files in os.walk(root, onerror=_refused):
        if not non_deterministic:
            files.sort()
            folders.sort()  # os.walk continues with this list
        where = os.path.abspath(folder) if abspath else folder
        yield from (os.path.join(where, name) for name in files if match_masks(name, masks))
        if not recursive:
            return


def get_file_binaries_from_pathnames(
    pathnames: Iterable[Any], mode: str, encoding: str | None = None
) -> Iterator[tuple[str, StreamWrapper]]:
    """Iterate over pairs of a path and its opened file. Raise TypeError for a path that is not a string."""
    if not isinstance(pathnames, Iterable):
        pathnames = [pathnames]
    if mode in ("b", "t"):
        mode = f"r{mode}"
    for path in pathnames:
        if not isinstance(path, str):
            raise TypeError(f"Expected string type for pathname, but got {type(path)}")
        yield path, StreamWrapper(open(path, mode, encoding=encoding))


def validate_pathname_binary_tuple(data: tuple[str, IOBase]) -> None:
    """Raise TypeError unless `data` is a pair of a path and a stream."""
    if not isinstance(data, tuple):
        raise TypeError(f"pathname binary data should be tuple type, but it is type {type(data)}")
    if len(data) != 2:
        raise TypeError(f"pathname binary stream tuple length should be 2, but got {len(data)}")
    path, stream = data
    if not isinstance(path, str):
        raise TypeError(f"pathname within the tuple should have string type pathname, but it is type {type(path)}")
    if not isinstance(stream, IOBase | StreamWrapper):
        raise TypeError(
            f"binary stream within the tuple should have IOBase orits subclasses as type, but it is type {type(stream)}"
        )


# Deprecated functional forms, with the arguments of `_deprecation_warning`.
_iter_deprecated_functional_names: dict[str, dict[Any, Any]] = {}
_map_deprecated_functional_names: dict[str, dict[Any, Any]] = {}


def _deprecation_warning(
    old_class_name: str,
    *,
    deprecation_version: str,
    removal_version: str,
    old_functional_name: str = "",
    old_argument_name: str = "",
    new_class_name: str = "",
    new_functional_name: str = "",
    new_argument_name: str = "",
    deprecate_functional_name_only: bool = False,
) -> None:
    """Warn (FutureWarning) that a datapipe, its functional form or an argument is deprecated, and name its replacement."""
    if new_functional_name and not old_functional_name:
        raise ValueError("Old functional API needs to be specified for the deprecation warning.")
    if new_argument_name and not old_argument_name:
        raise ValueError("Old argument name needs to be specified for the deprecation warning.")
    if old_functional_name and old_argument_name:
        raise ValueError("Deprecating warning for functional API and argument should be separated.")
    what = f"`{old_class_name}()`"
    if deprecate_functional_name_only and old_functional_name:
        what += f"'s functional API `.{old_functional_name}()` is"
    elif old_functional_name:
        what += f" and its functional API `.{old_functional_name}()` are"
    elif old_argument_name:
        what = f"The argument `{old_argument_name}` of {what} is"
    else:
        what += " is"
    lines = [
        f"{what} deprecated since {deprecation_version} and will be removed in {removal_version}.",
        "See https://github.com/pytorch/data/issues/163 for details.",
    ]
    instead = [f"`{new_class_name}()`"] if new_class_name else []
    instead += [f"`.{new_functional_name}()`"] if new_functional_name else []
    if instead:
        lines.append(f"Please use {' or '.join(instead)} instead.")
    if new_argument_name:
        lines.append(f"Please use `{old_class_name}({new_argument_name}=)` instead.")
    warn("\n".join(lines), FutureWarning)


class StreamWrapper:
    """A file object that is closed when it is no longer referenced.

    A ``parent_stream`` counts its open children; after ``autoclose``, it is closed with the last of them. With ``debug_unclosed_streams``,
    open streams are listed in ``session_streams``."""

    session_streams: dict[Any, int] = {}
    debug_unclosed_streams: bool = False

    def __init__(self, file_obj: Any, parent_stream: StreamWrapper | None = None, name: str | None = None) -> None:
        self.file_obj = file_obj
        self.child_counter = 0
        self.parent_stream = parent_stream
        self.close_on_last_child = False
        self.name = name
        self.closed = False
        if parent_stream is not None:
            if not isinstance(parent_stream, StreamWrapper):
                raise RuntimeError(f"Parent stream should be StreamWrapper, {type(parent_stream)} was given")
            parent_stream.child_counter += 1
        if StreamWrapper.debug_unclosed_streams:
            StreamWrapper.session_streams[self] = 1

    @classmethod
    def close_streams(cls, v: Any, depth: int = 0) -> None:
        """Close the wrapped streams in nested dicts, lists and tuples, up to ten levels deep."""
        if depth > 10:
            return
        if isinstance(v, StreamWrapper):
            v.close()
        elif isinstance(v, dict | list | tuple):
            for item in v.values() if isinstance(v, dict) else v:
                cls.close_streams(item, depth + 1)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["file_obj"], name)

    def close(self, *args: Any, **kwargs: Any) -> None:
        """Close the file, and its parent if this was the last child of a parent that closes automatically."""
        if self.closed:
            return
        if StreamWrapper.debug_unclosed_streams:
            del StreamWrapper.session_streams[self]
        # An unpickled wrapper has no parent, and uses its file's name.
        parent = getattr(self, "parent_stream", None)
        if parent is not None:
            parent.child_counter -= 1
            if not parent.child_counter and parent.close_on_last_child:
                parent.close()
        try:
            self.file_obj.close(*args, **kwargs)
        except AttributeError:
            pass  # an object without `close`
        self.closed = True

    def autoclose(self) -> None:
        """Close the stream as soon as it has no open children."""
        self.close_on_last_child = True
        if self.child_counter == 0:
            self.close()

    def __dir__(self) -> list[str]:
        return list({*self.__dict__, *StreamWrapper.__dict__, *dir(self.file_obj)})

    def __del__(self) -> None:
        if not self.closed:
            self.close()

    def __iter__(self) -> Iterator[Any]:
        yield from self.file_obj

    def __next__(self) -> Any:
        return next(self.file_obj)

    def __repr__(self) -> str:
        name = "" if self.name is None else f"{self.name},"
        return f"StreamWrapper<{name}{self.file_obj!r}>"

    def __getstate__(self) -> Any:
        return self.file_obj

    def __setstate__(self, obj: Any) -> None:
        self.file_obj = obj
