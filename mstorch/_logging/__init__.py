"""torch._logging: levels of the loggers named after torch's modules, from ``set_logs`` and ``TORCH_LOGS``.

The loggers are Python's, with torch's names. Only ``torch.compile`` logs messages: why a function runs without a graph (``graph_breaks``),
and that a function gets another graph (``recompiles``, ``recompiles_verbose``). The other names are accepted and validated as in torch, but
nothing is logged under them.
"""
from __future__ import annotations

import functools
import logging
import os
import sys
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from .._src.core.naming import is_torch
from .._src.hook import missing as _missing

LOGS: dict[str, tuple[str, ...]] = {
    "aot": ("torch._functorch.aot_autograd", "torch._functorch._aot_autograd"),
    "async_compile": ("torch._inductor.async_compile", "torch._inductor.compile_worker.tracked_process_pool"),
    "autograd": ("torch.autograd",), "c10d": ("torch.distributed.distributed_c10d", "torch.distributed.rendezvous"),
    "cache": ("torch._inductor.remote_cache", "torch._inductor.fb.remote_cache"),
    "ddp": ("torch.nn.parallel.distributed", "torch._dynamo.backends.distributed"),
    "distributed": ("torch.distributed", "torch._dynamo.backends.distributed", "torch.nn.parallel.distributed"),
    "dtensor": ("torch.distributed._tensor", "torch.distributed.tensor"),
    "dynamic": ("torch.fx.experimental.symbolic_shapes", "torch.fx.experimental.sym_node", "torch.fx.experimental.recording"),
    "dynamo": (
        "torch._dynamo", "torch.fx.experimental.symbolic_shapes", "torch.fx.experimental.sym_node", "torch.fx.experimental.recording",
    ),
    "export": ("torch._dynamo", "torch.export", "torch.export.dynamic_shapes", "torch.fx.experimental.proxy_tensor"),
    "fake_tensor": ("torch._subclasses.fake_tensor",), "fsdp": ("torch.distributed.fsdp", "torch.distributed._composable.fsdp"),
    "inductor": ("torch._inductor", "torch._inductor.cudagraph_trees"), "native_dsl": ("torch._native",), "onnx": ("torch.onnx",),
    "pp": ("torch.distributed.pipelining",), "torch": ("torch",),
}  # fmt: skip
"""torch's names of logs, with the loggers whose level each name sets."""

ARTIFACTS = frozenset((
    "annotation aot_graphs aot_graphs_effects aot_joint_graph auto_chunker autotuning benchmarking bytecode caching "
    "compiled_autograd compiled_autograd_verbose compute_dependencies cudagraph_static_inputs cudagraphs "
    "custom_format_test_artifact ddp_graphs fusion graph graph_breaks graph_code graph_code_verbose graph_region_expansion "
    "graph_sizes guards hierarchical_compile incremental inductor_metrics ir_post_fusion ir_pre_fusion kernel_code "
    "loop_ordering loop_tiling node_runtime_estimation not_implemented onnx_diagnostics output_code overlap "
    "overlap_scheduling perf_hints post_grad_graphs pre_grad_graphs recompiles recompiles_verbose schedule side_effects "
    "sym_node trace_bytecode trace_call trace_shape_events trace_source verbose_guards"
).split())  # fmt: skip
"""torch's names of artifacts, kinds of messages that are enabled individually."""

DEFAULT_LOGGING: dict[str, Any] = {
    "dynamo": logging.INFO, "aot": logging.INFO, "inductor": logging.INFO, "fsdp": logging.INFO, "ddp_graphs": True, "graph_breaks": True,
    "side_effects": True, "guards": True, "recompiles": True, "dynamic": logging.INFO,
}  # fmt: skip
_ENVIRONMENT = "TORCH_LOGS"
_LEVELS = (logging.CRITICAL, logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG, logging.NOTSET)
# The loggers that torch.compile writes to exist from the beginning.
_ARTIFACT_LOGGERS: dict[str, list[logging.Logger]] = {
    "graph_breaks": [logging.getLogger("torch._dynamo.symbolic_convert.__graph_breaks")],
    "recompiles": [logging.getLogger("torch._dynamo.guards.__recompiles")],
    "recompiles_verbose": [logging.getLogger("torch._dynamo.guards.__recompiles_verbose")],
}  # fmt: skip


class _State:
    """Current settings, and the handler that writes the logs to stderr."""

    def __init__(self) -> None:
        self.artifacts: set[str] = set()
        self.loggers: set[str] = set()
        self.handler: logging.Handler | None = None

    def clear(self) -> None:
        """Reset all loggers, and remove the handler."""
        for name in self.loggers:
            logging.getLogger(name).setLevel(logging.NOTSET)
        for loggers in _ARTIFACT_LOGGERS.values():
            for logger in loggers:
                logger.setLevel(logging.NOTSET)
        if self.handler is not None:
            logging.getLogger("torch").removeHandler(self.handler)
        self.artifacts, self.loggers, self.handler = set(), set(), None

    def set(self, levels: dict[str, int], artifacts: set[str]) -> None:
        """Set the levels of loggers, and enable artifacts."""
        self.clear()
        self.artifacts, self.loggers = artifacts, set(levels)
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
        for name in artifacts:
            for logger in _ARTIFACT_LOGGERS.get(name, ()):
                logger.setLevel(logging.DEBUG)
        if levels or artifacts:
            self.handler = logging.StreamHandler(sys.stderr)
            self.handler.setFormatter(logging.Formatter("%(levelname).1s %(asctime)s %(name)s] %(message)s"))
            logging.getLogger("torch").addHandler(self.handler)


_state = _State()


def _levels_of(name: str, level: int) -> dict[str, int]:
    if level not in _LEVELS or isinstance(level, bool):
        words = ",".join(map(str, _LEVELS))
        raise ValueError(f"Unrecognized log level for log {name}: {level}, valid level values are: {words}")
    return dict.fromkeys(LOGS[name], level)


def _set(settings: dict[str, Any], modules: dict[str, Any] | None) -> None:
    """Apply settings by name; raise ValueError with torch's message for an invalid value."""
    levels: dict[str, int] = {}
    artifacts: set[str] = set()
    given = dict(settings)
    whole = given.pop("all", None)
    if whole is not None:
        for name in LOGS:
            levels.update(_levels_of(name, whole))
    for name, value in given.items():
        if value is None or value is False:
            continue
        if name in ARTIFACTS:
            if not isinstance(value, bool):
                raise ValueError(f"Expected bool to enable artifact {name}, received {value}")
            artifacts.add(name)
        elif name in LOGS:
            levels.update(_levels_of(name, value))
        else:
            raise ValueError(f"Unrecognized log or artifact name passed to set_logs: {name}")
    for name, value in (modules or {}).items():
        if find_spec(name if is_torch() else name.replace("torch", "mstorch", 1)) is None:
            raise ValueError(f"Unrecognized log or artifact name passed to set_logs: {name}")
        levels[name] = logging.getLevelName(value) if isinstance(value, str) else int(value)
        if not isinstance(levels[name], int):
            raise ValueError(f"Unknown level: {value!r}")
    _state.set(levels, artifacts)


# The names that can be set, in torch's order: loggers have levels, artifacts are on or off.
_NAMES = (
    "all dynamo aot autograd dynamic inductor distributed c10d ddp fsdp dtensor onnx bytecode aot_graphs aot_joint_graph ddp_graphs graph "
    "graph_code graph_code_verbose graph_breaks side_effects graph_sizes guards recompiles recompiles_verbose trace_source trace_call "
    "trace_bytecode output_code kernel_code schedule perf_hints pre_grad_graphs post_grad_graphs ir_pre_fusion ir_post_fusion "
    "onnx_diagnostics fusion overlap export cudagraphs sym_node compiled_autograd compiled_autograd_verbose cudagraph_static_inputs "
    "benchmarking autotuning incremental graph_region_expansion inductor_metrics hierarchical_compile compute_dependencies caching "
).split()


def set_logs(*, modules: dict[str, int | bool] | None = None, **settings: Any) -> None:
    """Set the levels of torch's loggers, and the artifacts to log; everything else is reset to its default.

    ``TORCH_LOGS`` in the environment takes precedence, with a warning.
    """
    for name in settings:
        if name not in _NAMES:
            raise TypeError(f"set_logs() got an unexpected keyword argument '{name}'")
    if os.environ.get(_ENVIRONMENT) is not None:
        warnings.warn("Using TORCH_LOGS environment variable for log settings, ignoring call to set_logs", UserWarning, stacklevel=2)
        return
    _set(settings, modules)


def _init_logs(log_file_name: str | None = None) -> None:
    """Apply the environment's ``TORCH_LOGS``: names separated by commas, with prefix ``+`` for debug and ``-`` for errors only."""
    text = os.environ.get(_ENVIRONMENT)
    if not text:
        return
    levels: dict[str, int] = {}
    artifacts: set[str] = set()
    for word in text.replace(" ", "").split(","):
        name = word.lstrip("+-")
        level = logging.DEBUG if word.startswith("+") else logging.ERROR if word.startswith("-") else logging.INFO
        if name == "all":
            levels.update(dict.fromkeys((logger for loggers in LOGS.values() for logger in loggers), level))
        elif name in LOGS:
            levels.update(dict.fromkeys(LOGS[name], level))
        elif name in ARTIFACTS:
            artifacts.add(name)
        elif name and name.split(".")[0] == "torch":
            levels[name] = level
        else:
            names = ", ".join(sorted({*LOGS, *ARTIFACTS, "all"}))
            raise ValueError(f"Invalid log settings: {text}, must be a comma separated list of fully qualified module names or of\n{names}")
    _state.set(levels, artifacts)


def getArtifactLogger(module_qname: str, artifact_name: str) -> logging.Logger:
    """Return the logger of an artifact in a module; it is active while ``set_logs`` enables the artifact."""
    if artifact_name not in ARTIFACTS:
        raise ValueError(
            f"Artifact name: {artifact_name!r} not registered, please call register_artifact({artifact_name!r}) in "
            "torch._logging.registrations."
        )
    logger = logging.getLogger(f"{module_qname}.__{artifact_name}")
    known = _ARTIFACT_LOGGERS.setdefault(artifact_name, [])
    if logger not in known:
        known.append(logger)
    logger.setLevel(logging.DEBUG if artifact_name in _state.artifacts else logging.NOTSET)
    return logger


@functools.cache
def warning_once(logger_obj: logging.Logger, *args: Any, **kwargs: Any) -> None:
    """Log a warning once per set of arguments."""
    logger_obj.warning(*args, **kwargs)


class LazyString:
    """String that is computed when it is formatted."""

    def __init__(self, func: Callable[..., str], *args: Any, **kwargs: Any) -> None:
        self.func, self.args, self.kwargs = func, args, kwargs

    def __str__(self) -> str:
        return self.func(*self.args, **self.kwargs)


_init_logs()

__all__ = ["DEFAULT_LOGGING", "LazyString", "getArtifactLogger", "set_logs", "warning_once"]

__getattr__ = _missing(__name__, ("_internal",))  # torch's import binds these, too
