"""Rendezvous: env://, tcp:// and file:// URLs, and registered handlers."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from ._file_store import FileStore
from ._settings import default_pg_timeout
from ._stores import PrefixStore, Store
from ._tcp_store import TCPStore

_Met = tuple[Store, int, int]


def _refusal(scheme: str, what: str) -> ValueError:
    return ValueError(f"Error initializing torch.distributed using {scheme}:// rendezvous: {what}")


def _numbers(scheme: str, url: str) -> tuple[int, int]:
    given = dict(parse_qsl(urlsplit(url).query))
    for name, word in (("rank", "rank"), ("world_size", "world size")):
        if name not in given:
            raise _refusal(scheme, f"{word} parameter missing")
    return int(given["rank"]), int(given["world_size"])


def served_by_an_agent() -> bool:
    """Return whether torchrun, or mstorch's launcher, serves the store at MASTER_ADDR and MASTER_PORT."""
    return os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"


def _tcp_store(host: str, port: int, rank: int, world_size: int, timeout: timedelta) -> Store:
    if served_by_an_agent():
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        store = TCPStore(host, port, world_size, False, timeout)
        return PrefixStore(f"/worker/attempt_{attempt}", store)
    return TCPStore(host, port, world_size, rank == 0, timeout, multi_tenant=True)


def _by_tcp(url: str, timeout: timedelta = default_pg_timeout, **kwargs: Any) -> Iterator[_Met]:
    parts = urlsplit(url)
    if parts.port is None:
        raise _refusal("tcp", "port number missing")
    rank, world_size = _numbers("tcp", url)
    yield _tcp_store(parts.hostname or "localhost", parts.port, rank, world_size, timeout), rank, world_size
    raise RuntimeError("Unable to perform re-rendezvous using tcp:// method")


def _by_environment(url: str, timeout: timedelta = default_pg_timeout, **kwargs: Any) -> Iterator[_Met]:
    given = dict(parse_qsl(urlsplit(url).query))

    def variable(name: str) -> str:
        if name not in os.environ:
            raise _refusal("env", f"environment variable {name} expected, but not set")
        return os.environ[name]

    rank = int(given["rank"] if "rank" in given else variable("RANK"))
    world_size = int(given["world_size"] if "world_size" in given else variable("WORLD_SIZE"))
    host, port = variable("MASTER_ADDR"), int(variable("MASTER_PORT"))
    yield _tcp_store(host, port, rank, world_size, timeout), rank, world_size
    raise RuntimeError("Unable to perform re-rendezvous using env:// method")


def _by_file(url: str, **kwargs: Any) -> Iterator[_Met]:
    path = urlsplit(url).path
    if not path:
        raise _refusal("file", "path missing")
    rank, world_size = _numbers("file", url)
    yield FileStore(path, world_size), rank, world_size
    raise RuntimeError("Unable to perform rerendezvous using file:// method")


_handlers: dict[str, Callable[..., Iterator[Any]]] = {"env": _by_environment, "file": _by_file, "tcp": _by_tcp}


def register_rendezvous_handler(scheme: str, handler: Callable[..., Iterator[Any]]) -> None:
    """Register ``handler(url)``, an iterator of (store, rank, world size), for a URL scheme. Raise RuntimeError if the scheme has one."""
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Iterator[Any]:
    """Return the iterator of the URL's handler; ``rank`` and ``world_size`` are added to the URL. Raise RuntimeError if there is no
    handler.
    """
    if not isinstance(url, (str, bytes)):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    for name, number in (("rank", rank), ("world_size", world_size)):
        if not isinstance(number, int):
            raise RuntimeError(f"`{name}` must be an integer. {number}")
    address = str(url) if isinstance(url, str) else url.decode()
    parts = urlsplit(address)
    if parts.scheme not in _handlers:
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://")
    added = [f"{name}={number}" for name, number in (("rank", rank), ("world_size", world_size)) if number != -1]
    if added:
        address = urlunsplit(parts._replace(query="&".join(([parts.query] if parts.query else []) + added)))
    return _handlers[parts.scheme](address, **kwargs)


__all__ = ["register_rendezvous_handler", "rendezvous"]
