"""Passes file descriptors to other processes of the same user: a name is pickled, and a server sends the descriptor of that name.

Python's ``multiprocessing.resource_sharer`` serves one process at a time, without a timeout: a stalled process, or an unrelated one that
connects, would block tensors for all others.
"""
from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import signal
import socket
import threading
import time
from multiprocessing import context, util
from typing import Any

_NAME = 32  # length of a name, which only the recipients of the object know
_STRANGERS = 64  # maximum number of connections that have sent no name; the oldest are closed
_PATIENCE = 5.0  # seconds for each of them to send it


class Handle:
    """A descriptor that is being passed to another process, where ``detach``, which can be called once, returns a duplicate."""

    def __init__(self, descriptor: int) -> None:
        self._address, self._name = _server.keep(descriptor)

    def detach(self) -> int:
        """Return the descriptor in this process. Raise FileNotFoundError or ConnectionError if its owner has ended, or has sent it already.
        """
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self._address)
            connection.sendall(self._name)
            said, found, _, _ = socket.recv_fds(connection, 1, 1)
        if not said or not found:
            raise ConnectionResetError("the process that sent a tensor has no such memory, or has given it already")
        return found[0]


def handle(descriptor: int) -> Any:
    """Return the picklable form of a descriptor: for a process that is being started an inherited descriptor, else a ``Handle``."""
    starting = context.get_spawning_popen()
    if starting is not None:
        return starting.DupFd(starting.duplicate_for_child(descriptor))
    return Handle(descriptor)


class _Server:
    """The descriptors that this process has offered to others, and the thread that sends them. A forked process starts with none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[bytes, int] = {}
        self._address = ""
        self._listener: socket.socket | None = None
        os.register_at_fork(after_in_child=self._forget)

    def keep(self, descriptor: int) -> tuple[str, bytes]:
        """Store a descriptor; return the address and the name by which another process requests it."""
        name, mine = secrets.token_bytes(_NAME), os.dup(descriptor)
        with self._lock:
            if self._listener is None:
                self._start()
            self._kept[name] = mine
            return self._address, name

    def _start(self) -> None:
        listener = socket.socket(socket.AF_UNIX)
        self._address = os.path.join(util.get_temp_dir(), f"handles-{secrets.token_hex(8)}")  # a folder that only this user can access
        listener.bind(self._address)
        listener.listen(_STRANGERS)
        listener.setblocking(False)
        threading.Thread(target=self._serve, args=(listener,), daemon=True, name="handles").start()
        util.Finalize(self, _unlink, (self._address,), exitpriority=0)
        self._listener = listener

    def _forget(self) -> None:
        self._lock = threading.Lock()
        for descriptor in self._kept.values():
            os.close(descriptor)
        self._kept = {}
        if self._listener is not None:
            self._listener.close()
        self._listener = None

    def _serve(self, listener: socket.socket) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        said: dict[socket.socket, tuple[float, bytes]] = {}  # incomplete names by connection, with the time of connection
        with selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ)
            while True:
                done = set()
                for key, _ in selector.select(_PATIENCE if said else None):
                    if key.fileobj is not listener:
                        done |= self._serve_connection(key.fileobj, said)
                        continue
                    with contextlib.suppress(OSError):
                        connection = listener.accept()[0]
                        connection.setblocking(False)
                        said[connection] = time.monotonic(), b""
                        selector.register(connection, selectors.EVENT_READ)
                late = (one for one, (since, _) in said.items() if time.monotonic() - since > _PATIENCE)
                for one in done.union(late, list(said)[: max(len(said) - _STRANGERS, 0)]):
                    del said[one]
                    selector.unregister(one)
                    with contextlib.suppress(OSError):
                        one.shutdown(socket.SHUT_RDWR)  # a forked process may keep it open
                    one.close()

    def _serve_connection(self, connection: Any, said: dict[socket.socket, tuple[float, bytes]]) -> set[socket.socket]:
        """Receive data from a connection, and send the descriptor that was requested; return the connection if it is finished."""
        since, before = said[connection]
        try:
            got = connection.recv(_NAME - len(before))
        except BlockingIOError:
            return set()
        except OSError:
            got = b""
        name = before + got
        if got and len(name) < _NAME:
            said[connection] = since, name
            return set()
        with self._lock:
            descriptor = self._kept.pop(name, None)
        if descriptor is not None:
            with contextlib.suppress(OSError):
                socket.send_fds(connection, [b"+"], [descriptor])
            os.close(descriptor)
        return {connection}


def _unlink(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


_server = _Server()
