"""Start a script in several processes: python -m mstorch.distributed.run --nproc-per-node 2 train.py

The options and the environment of the processes are torchrun's. The script's ``import torch`` gets mstorch.
"""
from __future__ import annotations

import argparse
import os
import sys
import uuid
from collections.abc import Sequence
from typing import Any

from .._src.hook import not_yet
from ._agent import Agent, Job
from .elastic.multiprocessing.errors import ChildFailedError

_TRUE = ("1", "true", "t", "yes", "y")


def _option(parser: argparse.ArgumentParser, *names: str, default: Any = None, **more: Any) -> None:
    """Add an option in both spellings, with ``PET_<NAME>`` of the environment as its default."""
    long = next(name for name in names if name.startswith("--"))
    key = long[2:].replace("-", "_")
    given = os.environ.get(f"PET_{key.upper()}")
    if more.get("action") == "store_true":
        default = given is not None and given.lower() in _TRUE
    elif given is not None:
        default = more.get("type", str)(given)
    spelt = [*names, long.replace("-", "_").replace("__", "--", 1)] if "-" in long[2:] else list(names)
    parser.add_argument(*spelt, default=default, **more)


def get_args_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line, with torchrun's options."""
    parser = argparse.ArgumentParser(description="Start a script in several processes, as torchrun does.")
    _option(parser, "--nnodes", default="1:1", type=str, help="number of machines, or the range <minimum>:<maximum>")
    _option(parser, "--nproc-per-node", default="1", type=str, help="processes on each machine: a number, or auto, cpu, gpu")
    _option(parser, "--rdzv-backend", default="static", type=str, help="how machines meet")
    _option(parser, "--rdzv-endpoint", default="", type=str, help="<host>:<port> where machines meet")
    _option(parser, "--rdzv-id", default="none", type=str, help="the job's name")
    _option(parser, "--rdzv-conf", default="", type=str, help="<key>=<value>,… of the meeting")
    _option(parser, "--standalone", action="store_true", help="one machine, at a free port")
    _option(parser, "--max-restarts", default=0, type=int, help="how often all processes are started anew when one fails")
    _option(parser, "--monitor-interval", default=0.1, type=float, help="seconds between two looks at the processes")
    _option(parser, "--start-method", default="spawn", type=str, choices=["spawn", "fork", "forkserver"], help="kept for torch's sake")
    _option(parser, "--event-log-handler", default="null", type=str, help="kept for torch's sake")
    _option(parser, "--role", default="default", type=str, help="the processes' role")
    _option(parser, "-m", "--module", action="store_true", help="the script is a module, as for python -m")
    _option(parser, "--no-python", action="store_true", help="the script is a program of its own")
    _option(parser, "--run-path", action="store_true", help="run the script in the way of runpy.run_path")
    _option(parser, "--log-dir", type=str, help="folder for what the processes write")
    _option(parser, "-r", "--redirects", default="0", type=str, help="streams into files: 0 none, 1 output, 2 errors, 3 both; <rank>:<n>,…")
    _option(parser, "-t", "--tee", default="0", type=str, help="streams that go into files and to the screen, as for --redirects")
    _option(parser, "--local-ranks-filter", default="", type=str, help="only these processes write to the screen: 0,1,…")
    _option(parser, "--duplicate-stdout-filters", default=[], type=lambda text: text.split(","), help="not provided")
    _option(parser, "--duplicate-stderr-filters", default=[], type=lambda text: text.split(","), help="not provided")
    _option(parser, "--node-rank", default=0, type=int, help="this machine's number")
    _option(parser, "--master-addr", default="127.0.0.1", type=str, help="the first machine's address")
    _option(parser, "--master-port", type=int, help="the first machine's port; free if there is one machine, else 29500")
    _option(parser, "--local-addr", type=str, help="this machine's address")
    _option(parser, "--logs-specs", type=str, help="not provided")
    _option(parser, "--numa-binding", type=str, choices=["node", "socket", "exclusive", "core-complex"], help="not provided")
    _option(parser, "--signals-to-handle", default="SIGTERM,SIGINT,SIGHUP,SIGQUIT", type=str, help="signals that end the processes too")
    _option(parser, "--shutdown-timeout", type=int, help="seconds between asking processes to end and killing them")
    _option(parser, "--virtual-local-rank", action="store_true", help="not provided")
    parser.add_argument("training_script", type=str, help="the script, module or program")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER)
    return parser


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """Parse a command line."""
    return get_args_parser().parse_args(args)


def determine_local_world_size(nproc_per_node: str) -> int:
    """Return the number of processes for "auto", "cpu", "gpu" or an int. Raise ValueError for other strings, or for "gpu" without a device.
    """
    try:
        return int(nproc_per_node)
    except ValueError:
        if nproc_per_node in ("auto", "cpu"):
            return os.cpu_count() or 1
        if nproc_per_node == "gpu":
            raise ValueError("Cuda is not available.") from None
        raise ValueError(f"Unsupported nproc_per_node value: {nproc_per_node}") from None


def parse_min_max_nnodes(nnodes: str) -> tuple[int, int]:
    """Return the minimum and maximum number of machines of "<n>" or "<minimum>:<maximum>". Raise RuntimeError for other forms."""
    parts = nnodes.split(":")
    if len(parts) > 2:
        raise RuntimeError(f'nnodes={nnodes} is not in "MIN:MAX" format')
    return int(parts[0]), int(parts[-1])


def _by_rank(text: str, processes: int) -> dict[int, int]:
    """Return which streams each process redirects, parsed from "3" or "0:1,1:2"."""
    if isinstance(text, str) and ":" in text:
        return {int(rank): int(bits) for rank, _, bits in (part.partition(":") for part in text.split(","))}
    return dict.fromkeys(range(processes), int(text))


_NOT_HERE = ("duplicate_stdout_filters", "duplicate_stderr_filters", "logs_specs", "numa_binding", "virtual_local_rank")


def job_of(args: argparse.Namespace) -> Job:
    """Return the Job that options describe. Raise NotImplementedError for a varying number of machines, and for device options."""
    for name in _NOT_HERE:
        if getattr(args, name, None):
            raise NotImplementedError(f"mstorch: --{name.replace('_', '-')} {not_yet()}")
    least, most = parse_min_max_nnodes(str(args.nnodes))
    if least != most:
        raise NotImplementedError(f"mstorch: a number of machines that changes (--nnodes {args.nnodes}) {not_yet()}")
    if most > 1 and args.rdzv_backend != "static":
        raise NotImplementedError(f"mstorch: several machines meet by --node-rank, --master-addr and --master-port only {not_yet()}")
    processes = determine_local_world_size(str(args.nproc_per_node))
    address, port = args.master_addr or "127.0.0.1", args.master_port
    if args.rdzv_endpoint and not args.standalone:
        host, _, number = args.rdzv_endpoint.rpartition(":") if ":" in args.rdzv_endpoint else (args.rdzv_endpoint, "", "")
        address, port = host, int(number) if number else port
    if args.standalone or port is None:
        port = 0 if most == 1 else 29500
    if args.standalone:
        address = "127.0.0.1"
    ranks = args.local_ranks_filter
    return Job(
        command_of(args), args.training_script, processes, most, args.node_rank, address, port,
        str(uuid.uuid4()) if args.standalone else args.rdzv_id, args.role, args.max_restarts, args.monitor_interval,
        float(args.shutdown_timeout) if args.shutdown_timeout is not None else Job.grace, args.log_dir,
        _by_rank(args.redirects, processes), _by_rank(args.tee, processes),
        {int(rank) for rank in ranks.split(",")} if ranks else None, args.signals_to_handle.split(","),
    )  # fmt: skip


def command_of(args: argparse.Namespace) -> list[str]:
    """Return the command line of each process. Raise ValueError for options that exclude each other."""
    script, rest = args.training_script, list(args.training_script_args)
    if args.no_python:
        if args.module:
            raise ValueError("Don't use both the '--no-python' flag and the '--module' flag at the same time.")
        return [script, *rest]
    return [os.environ.get("PYTHON_EXEC", sys.executable), "-u", "-m", "mstorch", *(["-m"] if args.module else []), script, *rest]


def run(args: argparse.Namespace) -> None:
    """Run a script by the given options. Raise ChildFailedError when a process fails."""
    Agent(job_of(args)).run()


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line. The exit code is 1 if a process fails; its report goes to stderr."""
    try:
        run(parse_args(args))
    except ChildFailedError as error:
        print(f"{type(error).__module__}.{type(error).__qualname__}: {error}".replace("mstorch.", "torch.", 1), file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
