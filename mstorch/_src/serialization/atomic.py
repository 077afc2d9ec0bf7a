"""Atomic replacement of files: a name always refers to a complete file, old or new."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO


def _refuse(path: str, error: OSError) -> RuntimeError:
    return RuntimeError(f"open file failed with strerror: {os.strerror(error.errno or 0)}, file path: {path}")


def _temporary(folder: str, name: str) -> tuple[IO[bytes], str]:
    # Bounded, because a name may already have the file system's maximum length.
    stem = name.encode("utf-8", "surrogateescape")[:100].decode("utf-8", "ignore")
    while True:
        path = os.path.join(folder, f".{stem}.{secrets.token_hex(6)}.tmp")
        try:
            return open(path, "xb"), path
        except FileExistsError:
            continue
        except BaseException as error:
            if not isinstance(error, OSError):  # an interrupt, after the file was made
                _remove(path)
            raise


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def _flush_folder(folder: str) -> None:
    """Flush a folder, so that a renamed file survives a power failure, where that is supported."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EROFS):
            raise
    finally:
        os.close(handle)


@contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """Yield a file that replaces ``path`` when the block ends without an error.

    Raise RuntimeError if ``path`` cannot be opened for writing. After an error inside the block the old file is unchanged; after a kill, a
    ``.name.*.tmp`` may remain beside it. A path that is not a regular file (a pipe, a device), or whose folder does not accept new files,
    is written directly. Other hard links to the old file keep the old content.
    """
    # A plain open would follow a link, so the link is kept and its target is replaced.
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {os.path.dirname(path) or folder} does not exist.")
    try:
        old = os.stat(target)
    except FileNotFoundError:
        old = None
    if old is not None:
        if stat.S_ISDIR(old.st_mode):
            raise _refuse(path, OSError(errno.EISDIR, ""))
        if not os.access(target, os.W_OK):
            raise _refuse(path, OSError(errno.EACCES, ""))
        if not stat.S_ISREG(old.st_mode):
            with open(target, "wb") as file:
                yield file
            return
    try:
        made, temporary = _temporary(folder, name)
    except OSError as error:
        if old is None or error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise _refuse(path, error) from error
        with open(target, "wb") as file:
            yield file
        return
    try:
        with made as file:
            if old is not None:
                _keep_owner_and_mode(file.fileno(), old)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        _remove(temporary)
        raise
    _flush_folder(folder)


def _keep_owner_and_mode(handle: int, old: os.stat_result) -> None:
    """Give the new file the owner and mode of the old one, as overwriting would keep them."""
    if not hasattr(os, "fchmod"):
        return
    if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
        try:
            os.fchown(handle, old.st_uid, old.st_gid)
        except PermissionError:
            # Only root may change a file's owner; the mode below gives the same users access.
            pass
    os.fchmod(handle, stat.S_IMODE(old.st_mode))
