"""torch.distributed.elastic.utils.distributed: free ports, and stores on them."""
from __future__ import annotations

import contextlib
import datetime
import socket

from ..._tcp_store import TCPStore


def get_socket_with_port() -> socket.socket:
    """Return a socket that listens on a free port of this machine; the port is free again once it is closed. Raise RuntimeError if there is
    none."""
    for family, kind, protocol, _, _ in socket.getaddrinfo("localhost", None, socket.AF_UNSPEC, socket.SOCK_STREAM):
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            made = stack.enter_context(socket.socket(family, kind, protocol))
            made.bind(("localhost", 0))
            made.listen(0)
            stack.pop_all()
            return made
    raise RuntimeError("Failed to create a socket")


def get_free_port() -> int:
    """Return a port of this machine that was free; another process may take it."""
    with get_socket_with_port() as reserved:
        return reserved.getsockname()[1]


def create_c10d_store(
    is_server: bool, server_addr: str, server_port: int = -1, world_size: int = 1, timeout: float = 600, wait_for_workers: bool = True,
    retries: int = 3, use_libuv: bool | None = None,
) -> TCPStore:  # fmt: skip
    """Return a TCPStore, on a free port if none is given; another port is tried if a process has taken that one.

    Raise ValueError for several processes without a port.
    """
    if server_port == -1 and world_size > 1:
        raise ValueError(
            f"server_port must be specified when world_size > 1, got server_port={server_port}, world_size={world_size}"
        )
    for left in range(retries - 1 if server_port == -1 else 0, -1, -1):
        port = get_free_port() if server_port == -1 else server_port
        try:
            return TCPStore(
                server_addr, port, world_size, is_server, timeout=datetime.timedelta(seconds=timeout), wait_for_workers=wait_for_workers,
            )  # fmt: skip
        except RuntimeError:
            if not left:
                raise
    raise AssertionError("the loop returns or raises")


__all__ = ["create_c10d_store", "get_free_port", "get_socket_with_port"]
