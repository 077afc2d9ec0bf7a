"""torch.distributed.launcher.api: run a function in several processes."""
from __future__ import annotations

import dataclasses
import os
import pickle
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from ..._src.hook import missing as _missing
from .._agent import Agent, Job


@dataclasses.dataclass
class LaunchConfig:
    """Configuration of a launch: the number of processes and machines, and the rendezvous."""

    min_nodes: int
    max_nodes: int
    nproc_per_node: int
    logs_specs: Any = None
    run_id: str = ""
    role: str = "default_role"
    rdzv_endpoint: str = ""
    rdzv_backend: str = "etcd"
    rdzv_configs: dict[str, Any] = dataclasses.field(default_factory=dict)
    rdzv_timeout: int = -1
    max_restarts: int = 3
    monitor_interval: float = 0.1
    start_method: str = "spawn"
    log_line_prefix_template: str | None = None
    metrics_cfg: dict[str, str] = dataclasses.field(default_factory=dict)
    local_addr: str | None = None
    event_log_handler: str = "null"
    numa_options: Any = None
    signals_to_handle: str = "SIGTERM,SIGINT,SIGHUP,SIGQUIT"


_CODE = """
import importlib, pickle, sys
with open(sys.argv[1], "rb") as file:
    function, args = pickle.load(file)
import os
found = function(*args)
with open(sys.argv[2] + os.environ["RANK"], "wb") as file:
    pickle.dump(found, file)
"""


class elastic_launch:
    """Runs a module-level function, or a program, in processes by a LaunchConfig.

    The call returns a dict from rank to result. Raises ChildFailedError when a process fails.
    """

    def __init__(self, config: LaunchConfig, entrypoint: Callable[..., Any] | str | None) -> None:
        self._config, self._entry = config, entrypoint

    def __call__(self, *args: Any) -> dict[int, Any]:
        config = self._config
        if config.max_nodes != 1:
            raise NotImplementedError("mstorch: elastic_launch on several machines; use python -m mstorch.distributed.run on each")
        host, _, port = config.rdzv_endpoint.rpartition(":") if config.rdzv_endpoint else ("127.0.0.1", "", "0")
        with tempfile.TemporaryDirectory() as folder:
            if isinstance(self._entry, str):
                command = [self._entry, *map(str, args)]
            else:
                path = os.path.join(folder, "function")
                with open(path, "wb") as file:
                    pickle.dump((self._entry, args), file)
                command = [sys.executable, "-u", "-m", "mstorch", "-c", _CODE, path, os.path.join(folder, "result")]
            name = self._entry if isinstance(self._entry, str) else getattr(self._entry, "__qualname__", "function")
            job = Job(
                command, name, config.nproc_per_node, address=host or "127.0.0.1", port=int(port or 0), run_id=config.run_id or "none",
                role=config.role, max_restarts=config.max_restarts, interval=config.monitor_interval,
            )  # fmt: skip
            Agent(job).run()
            found = {}
            for rank in range(config.nproc_per_node):
                path = os.path.join(folder, f"result{rank}")
                if os.path.exists(path):
                    with open(path, "rb") as file:
                        found[rank] = pickle.load(file)
            return found


__all__ = ["LaunchConfig", "elastic_launch"]

__getattr__ = _missing(__name__)
