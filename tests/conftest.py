"""Fixtures of the test suite, and its behaviour on the stand-in device (MSTORCH_FAKE_DEVICE=Ascend)."""

from __future__ import annotations

import compileall
import gc
import os
import pathlib
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

os.environ.setdefault("GLOG_v", "3")  # errors alone: MindSpore logs a warning for each operation that a test lets fail

import mstorch
from mstorch._src.backend import table
from tests import against_torch
from tests.cann import cpu_numbers

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")  # pytest installs it on such a Python

ON_DEVICE = bool(os.environ.get("MSTORCH_FAKE_DEVICE"))
"""True if mstorch's tensors are made on the stand-in device, unless a test names another device."""
ON_PLUGIN = os.environ.get("MSTORCH_FAKE_DEVICE") == "plugin"
"""True if the device is MindSpore's Ascend plugin (tests/cann/suite.py), whose random numbers differ from torch's."""
_numpy = mstorch.Tensor.numpy


def _read(self: Any, *, force: bool = False) -> Any:
    """Let ``numpy()`` read a device's tensor through the CPU, so that tests can look at results. Only CPU tensors share memory with NumPy.
    """
    return _numpy(self.detach().cpu() if self.is_npu and not self.requires_grad else self, force=force)


if ON_DEVICE:
    table.on_fallback.clear()  # tests that count warnings count torch's
REFUSED: dict[str, list[tuple[str, list[str]]]] = {}
"""By test (without its case) or file: why it cannot pass on a device, with the cases that cannot, or none for all."""


def read_reasons(path: str) -> None:
    """Add the reasons of a file in this folder to ``REFUSED``."""
    for why, tests in tomllib.loads((pathlib.Path(__file__).parent / path).read_text()).items():
        for name, cases in tests.items():
            REFUSED.setdefault(name, []).append((why, cases))


if ON_DEVICE:
    read_reasons("devices/refused.toml")
    if not ON_PLUGIN:
        read_reasons("devices/refused_by_the_stand_in.toml")
# Errors that a device may raise (docs/devices.md): for operations without a kernel, and for reads of its memory.
REFUSALS = {
    "has no Ascend kernel": "the device has no kernel", "(mstorch, Ascend)": "the device has no kernel for this dtype",
    "npu:0 device type tensor to numpy": "the test reads memory of the host",
}  # fmt: skip


def _prepare_for_processes() -> None:
    """Let the processes that tests start find mstorch's bytecode, and let idle threads sleep.

    Without bytecode each process would compile mstorch, for as long as MindSpore takes to import. With more threads than cores, threads
    that wait spin while those that they wait for have no core: an example took seven times as long.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    compileall.compile_dir(pathlib.Path(mstorch.__file__).parent, quiet=2)
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--whole``."""
    parser.addoption("--whole", action="store_true", help="all tests; folders run one in ten sweeps and slow tests and one in eight cases of long lists otherwise")


def _of_folders(config: pytest.Config) -> bool:
    return any(pathlib.Path(argument.split("::")[0]).is_dir() for argument in config.args)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """With pytest-xdist installed, run folders in one process per core and single files in one process (``-n 0``: all in this process)."""
    option = config.option
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    _prepare_for_processes()
    if option.usepdb or option.collectonly:
        return
    if getattr(option, "numprocesses", 0) is None and option.dist == "no":
        if _of_folders(config):
            option.numprocesses, option.dist = os.cpu_count(), "loadfile"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Schedule files in the order of the collection; some share a process."""
    if config.getvalue("dist") != "loadfile":
        return None
    from tests.turns import Turns

    config.option.loadscopereorder = False  # by the number of tests
    return Turns(config, log)


_MANY, _ONE_OF = 12, 8


def _is_left_out(item: pytest.Item, cases: int) -> bool:
    """Return whether a test runs with ``--whole`` only when a folder is tested, so that a plain run ends within five minutes on two cores: a
    ``long`` test, nine of ten sweeps and slow tests, and seven of eight cases of a test that has more than a dozen."""
    if item.get_closest_marker("long"):
        return True
    sampled = item.get_closest_marker("sweep") or item.get_closest_marker("slow")
    one_of = 10 if sampled else _ONE_OF if cases > _MANY else 1
    return zlib.crc32(item.nodeid.encode()) % one_of != 0


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put files with slow tests or sweeps first in parallel runs, so that no process is idle at the end. Without ``--whole``, deselect what
    ``_is_left_out`` names when a folder is tested.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        long = {item.path for item in items if item.get_closest_marker("slow") or item.get_closest_marker("sweep")}
        items.sort(key=lambda item: item.path not in long)
    if not config.option.whole and not config.option.markexpr and not config.option.keyword and _of_folders(config):
        cases = Counter(item.nodeid.partition("[")[0] for item in items)
        left_out = [item for item in items if _is_left_out(item, cases[item.nodeid.partition("[")[0]])]
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
        config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish() -> None:
    """Exempt objects that exist after the collection from garbage collection, which tests of leaks trigger."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=ON_DEVICE)
def _made_on_the_device(request: pytest.FixtureRequest) -> Iterator[None]:
    generators = mstorch._src.core.generator
    engine = generators.default_generator._engine  # the CPU's numbers, in the CPU's order
    if ON_PLUGIN:
        cpu_numbers.SOURCES.update(cpu_numbers.sources(engine))
    else:
        generators.device_generator()._engine = engine
    if request.node.get_closest_marker("on_the_cpu") is None:
        mstorch.set_default_device("npu")
        mstorch.Tensor.numpy = _read
    yield
    mstorch.Tensor.numpy = _numpy
    mstorch.set_default_device(None)


def _named_reason(name: str) -> str | None:
    """Return the listed reason why a test cannot pass: that of its function, of some of the function's cases, or of its file."""
    function, _, case = name.partition("[")
    listed = [*REFUSED.get(function, ()), *REFUSED.get(name.partition("::")[0], ())]
    return next((why for why, cases in listed if not cases or case.removesuffix("]") in cases), None)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    """On a device, count errors of the device and tests in the list as expected failures."""
    outcome: Any = yield
    if not ON_DEVICE or call.excinfo is None or call.when != "call":
        return
    report = outcome.get_result()
    text = str(call.excinfo.value)
    name = item.nodeid.removeprefix("tests/")
    reason = next((why for words, why in REFUSALS.items() if words in text), None) or _named_reason(name)
    if report.failed and reason:
        report.outcome, report.wasxfail = "skipped", reason


@pytest.fixture
def both() -> Callable[..., Any]:
    """Run a body with torch and with mstorch and compare (see tests/against_torch.py)."""
    return against_torch.both


@pytest.fixture
def with_gradients() -> Callable[..., Any]:
    """Compare a function's results and gradients (see tests/against_torch.py)."""
    return against_torch.with_gradients
