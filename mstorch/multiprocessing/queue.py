"""torch.multiprocessing.queue: Python's queues, which pass tensors in shared memory already."""
from __future__ import annotations

import multiprocessing.queues
import pickle
from multiprocessing.reduction import ForkingPickler
from typing import Any


class ConnectionWrapper:
    """Connection that pickles objects as queues do."""

    def __init__(self, conn: Any) -> None:
        self.conn = conn

    def send(self, obj: Any) -> None:
        """Send an object."""
        self.conn.send_bytes(ForkingPickler.dumps(obj, pickle.HIGHEST_PROTOCOL))

    def recv(self) -> Any:
        """Return the next object."""
        return pickle.loads(self.conn.recv_bytes())

    def __getattr__(self, name: str) -> Any:
        if "conn" in self.__dict__:
            return getattr(self.conn, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute 'conn'")


class Queue(multiprocessing.queues.Queue):  # type: ignore[type-arg]  # the class at run time takes no arguments
    """Queue between processes."""


class SimpleQueue(multiprocessing.queues.SimpleQueue):  # type: ignore[type-arg]  # the class at run time takes no arguments
    """Queue between processes without a feeder thread."""
