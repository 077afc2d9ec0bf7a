"""TCPStore: one process serves the keys, the others connect over sockets."""
from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
import weakref
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from ._stores import Store
from ._table import MOST_BYTES, Late, NoRequest, Table, pack, unpack
from ._types import DistNetworkError, DistStoreError

_STATES = _FINE, _LATE, _NO_NUMBER = b"0", b"1", b"2"
_JOINED = b"init/"  # counts the processes that have joined
_CLOSED = "Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or crash?"
_AT_ONCE = 1 << 20  # bytes
_STRANGERS = 64  # maximum number of connections without a complete request; the oldest are closed
_PATIENCE = 1.0  # seconds before that for each of them
_log = logging.getLogger(__name__)


def read_exactly(connection: socket.socket, count: int) -> bytes:
    """Return the next ``count`` bytes of a connection, allocating as they arrive. Raise ConnectionError if it ends before."""
    parts = bytearray()
    while len(parts) < count:
        got = connection.recv(min(count - len(parts), _AT_ONCE))
        if not got:
            raise ConnectionError(_CLOSED)
        parts += got
    return bytes(parts)


class _Server:
    """Serves requests to a table, with a thread for each connection. A client that sends an invalid request is disconnected."""

    def __init__(self, listener: socket.socket) -> None:
        self.table = Table()
        self.port = listener.getsockname()[1]
        self.connections: set[socket.socket] = set()
        listening = threading.Thread(target=_listen, args=(listener, self.table, self.connections), daemon=True, name="tcp_store")
        listening.start()
        self.stop = weakref.finalize(self, _stop, listener, self.connections)


def _stop(listener: socket.socket, connections: set[socket.socket]) -> None:
    for one in (listener, *list(connections)):
        _cut(one)
        one.close()


def _cut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _listen(listener: socket.socket, table: Table, connections: set[socket.socket]) -> None:
    strangers: dict[socket.socket, float] = {}  # connections without a request, with the time of connection
    while True:
        try:
            connection, address = listener.accept()
        except OSError:
            return  # closed
        while len(strangers) >= _STRANGERS:
            oldest = next(iter(strangers.items()), None)
            if oldest is not None and time.monotonic() - oldest[1] > _PATIENCE:
                strangers.pop(oldest[0], None)
                _cut(oldest[0])
            else:
                time.sleep(0.01)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connections.add(connection)
        strangers[connection] = time.monotonic()
        serving = (connection, address, table, connections, strangers)
        threading.Thread(target=_serve, args=serving, daemon=True, name="tcp_store").start()


def _serve(
    connection: socket.socket, address: tuple[int | str, ...], table: Table, connections: set[socket.socket],
    strangers: dict[socket.socket, float]
) -> None:  # fmt: skip
    try:
        while True:
            request = table.request(unpack(lambda count: read_exactly(connection, count), MOST_BYTES))
            strangers.pop(connection, None)
            try:
                answer = [_FINE, *table.ask(*request)]
            except Late:
                answer = [_LATE]
            except ValueError:
                answer = [_NO_NUMBER]
            connection.sendall(pack(answer))
    except NoRequest as error:
        _log.warning("TCPStore: closed the connection of %s, whose bytes are no request: %s", address, error)
    except OSError:
        pass
    finally:
        strangers.pop(connection, None)
        connections.discard(connection)
        connection.close()


_servers: weakref.WeakValueDictionary[int, _Server] = weakref.WeakValueDictionary()


def _serving(host: str, port: int, shared: bool, descriptor: int | None) -> _Server:
    if shared and port in _servers:
        return _servers[port]
    if descriptor is not None:
        listener = socket.socket(fileno=descriptor)
    else:
        listener = _listening_socket(host, port)
    listener.listen(2048)
    server = _Server(listener)
    _servers[server.port] = server
    return server


def _listening_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket bound to the host name's address, or to all addresses if that is another machine's."""
    failure: OSError | None = None
    for family, address in [*_addresses(host, port), (socket.AF_INET, ("", port))]:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            return listener
        except OSError as error:
            listener.close()
            failure = failure or error
    name = "EADDRINUSE, message: address already in use" if failure and failure.errno == 98 else f"{failure}"
    raise DistNetworkError(
        f"The server socket has failed to listen on any local network address. port: {port}, useIpv6: false, "
        f"code: -{failure.errno if failure else 0}, name: {name}"
    )


def _addresses(host: str, port: int) -> list[tuple[int, Any]]:
    try:
        return [(entry[0], entry[4]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    except OSError:
        return []


def connect(host: str, port: int, seconds: float) -> socket.socket:
    """Connect to a server, retrying until the timeout, since it may start later. Raise DistNetworkError on failure."""
    deadline = time.monotonic() + seconds
    pause = 0.01
    while True:
        for family, address in _addresses(host, port):
            connection = socket.socket(family, socket.SOCK_STREAM)
            connection.settimeout(max(deadline - time.monotonic(), 0.01))
            try:
                connection.connect(address)
                if connection.getsockname() == connection.getpeername():
                    raise ConnectionError("a socket met itself, for the port is free and of the range for clients")
                connection.settimeout(None)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return connection
            except OSError:
                connection.close()
        if time.monotonic() + pause >= deadline:
            raise DistNetworkError(
                f"The client socket has timed out after {seconds * 1000:.0f}ms while trying to connect to ({host}, {port})."
            )
        time.sleep(pause)
        pause = min(2 * pause, 0.5)


class TCPStore(Store):
    """A store that the process with ``is_master`` serves at a port (0: any free port); the other processes connect to it.

    The server waits for ``world_size`` processes. Raises DistNetworkError without a connection, DistStoreError when keys, or processes, are
    late by ``timeout``.
    """

    def __init__(
        self, host_name: str, port: int, world_size: int | None = None, is_master: bool = False,
        timeout: timedelta = timedelta(seconds=300), wait_for_workers: bool = True, multi_tenant: bool = False,
        master_listen_fd: int | None = None, use_libuv: bool = True,
    ) -> None:  # fmt: skip
        self._timeout = timeout
        self._host, self.libuvBackend = host_name, use_libuv
        self._server = _serving(host_name, port, multi_tenant, master_listen_fd) if is_master else None
        self._port = port if self._server is None else self._server.port
        self._join()
        joined = int(self._ask("add", 0, [_JOINED, b"1"])[0])
        if is_master and wait_for_workers and world_size is not None:
            self._gather(joined, world_size)

    def _join(self) -> None:
        self._lock = threading.Lock()
        self._begin()

    def _begin(self) -> None:
        """Connect to the server. Connect again if Ctrl-C left a reply unread, which the next request would take for its own reply."""
        self._connection = connect(self._host, self._port, self._timeout.total_seconds())
        weakref.finalize(self, self._connection.close)
        self._unread = False

    def _gather(self, joined: int, world_size: int) -> None:
        seconds = self._timeout.total_seconds()
        deadline = time.monotonic() + seconds
        while joined < world_size:
            if time.monotonic() > deadline:
                raise DistStoreError(
                    f"Timed out after {max(round(seconds), 1)} seconds waiting for clients. {joined}/{world_size} clients joined."
                )
            time.sleep(0.01)
            joined = int(self._ask("add", 0, [_JOINED, b"0"])[0])

    def __repr__(self) -> str:
        server = "<nullptr>" if self._server is None else f"TCPServer(port={self._port})"
        return f"TCPStore(client=TCPClient({self._host}:{self._port}), server={server})"

    @property
    def host(self) -> str:
        """The server's host name."""
        return self._host

    @property
    def port(self) -> int:
        """The server's port."""
        return int(self._port)

    def _ask(self, name: str, seconds: float, args: list[bytes]) -> list[bytes]:
        longest = max(map(len, args), default=0)
        if longest > MOST_BYTES:
            raise DistStoreError(f"a key or value of {longest} bytes; a TCPStore takes {MOST_BYTES}")
        try:
            with self._lock:
                if self._unread:
                    self._connection.close()
                    self._begin()
                self._unread = True
                self._connection.sendall(pack([name.encode(), repr(seconds).encode(), *args]))
                state, *found = unpack(lambda count: read_exactly(self._connection, count), first=_STATES)
                self._unread = False
        except NoRequest as error:
            self._connection.close()
            raise DistNetworkError(f"what ({self._host}, {self._port}) answered is no answer of a TCPStore: {error}") from None
        except OSError as error:
            self._unread = False  # the connection has ended for good
            raise DistNetworkError(str(error.strerror or error)) from None
        if state == _LATE:
            raise Late
        if state == _NO_NUMBER:
            raise ValueError
        return found

    def _late(self, name: str, seconds: float, keys: list[bytes]) -> Exception:
        names = ", ".join(f"/{key.decode()}" for key in keys)
        return DistStoreError(f"wait timeout after {seconds * 1000:.0f}ms, keys: {names}")

    def multi_set(self, keys: Sequence[str], values: Sequence[str], /) -> None:
        """Call ``set`` for each pair. Raise DistStoreError if the numbers of keys and values differ."""
        if len(keys) != len(values):
            raise DistStoreError("multiSet keys and values vectors must be of same size")
        super().multi_set(keys, values)

    def clone(self) -> TCPStore:
        """Return a client of the same store over a connection of its own, so that a client that waits does not block the other."""
        made = TCPStore.__new__(TCPStore)
        made._timeout, made._server = self._timeout, None
        made._host, made._port, made.libuvBackend = self._host, self._port, self.libuvBackend
        made._join()
        return made
