"""Versions are checked, tuning can be turned off, and the user's own settings are kept."""
from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

import pytest

from mstorch._src.backend import runtime
from tests import warm

pytestmark = [pytest.mark.slow, pytest.mark.core]


@pytest.mark.parametrize("version", ["2.7.2", "2.8.0", "2.9.0", "2.10.0", "2.10.1"])
def test_tested_releases(version: str) -> None:
    runtime.check_versions(version, "1.26.4")


@pytest.mark.parametrize(
    ("mindspore", "numpy", "words"),
    [
        ("2.6.0", "1.26.4", "not with 2.6.0"),
        ("2.11.0", "1.26.4", "pip install 'mindspore>=2.7.2,<2.11'"),
        (None, "1.26.4", "not installed"),
        ("2.9.0", "2.1.0", "numpy>=1.26,<2"),
        ("2.10.0", "3.0.0", "numpy>=1.26,<2"),
    ],
)
def test_untested_releases_name_the_version_to_install(mindspore: str | None, numpy: str, words: str) -> None:
    with pytest.raises(ImportError, match=words.replace("(", r"\(")):
        runtime.check_versions(mindspore, numpy)


def test_numpy_2_needs_ml_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(ImportError, match="pip install ml_dtypes"):
        runtime.check_versions("2.10.0", "2.4.6")
    monkeypatch.delitem(sys.modules, "ml_dtypes")
    runtime.check_versions("2.10.0", "1.26.4")


# Forks a process for each case, in which mstorch is imported with the case's environment variables.
DESCRIBED = """
import json, os, sys
import mindspore
for variables in json.loads(sys.argv[1]):
    if os.fork():
        os.wait()
        continue
    os.environ.update(variables)
    import mstorch._src.backend.runtime as r
    print(os.environ.get("ONEDNN_MAX_CPU_ISA"), "|", r.describe()["tuning"], flush=True)
    os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_tuning_on_cpu() -> None:
    if runtime.DEVICE_TARGET != "CPU":
        pytest.skip("tuning is for the CPU")
    memory = ", malloc=keeps 256 MB" if platform.libc_ver()[0] == "glibc" else ""
    cases = [
        ({}, f"None | launch_blocking=on{memory}"),
        ({"MALLOC_TRIM_THRESHOLD_": "131072"}, "None | launch_blocking=on"),
        ({"MSTORCH_FAKE_DEVICE": "Ascend"}, f"AVX2 | ONEDNN_MAX_CPU_ISA=AVX2, launch_blocking=on{memory}"),
        ({"MSTORCH_TUNE": "0"}, "None | off (MSTORCH_TUNE=0)"),
        ({"ONEDNN_MAX_CPU_ISA": "AVX512_CORE"}, "AVX512_CORE |"),
    ]
    hidden = "ONEDNN_MAX_CPU_ISA", "MSTORCH_TUNE", "MSTORCH_FAKE_DEVICE"
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    command = [sys.executable, "-c", DESCRIBED, json.dumps([variables for variables, _ in cases])]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
    *described, last = said[-len(cases) :]
    assert described == [words for _, words in cases[:-1]] and last.startswith(cases[-1][1])


def _said(code: str, **variables: str) -> list[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GLOG")} | variables
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return [line for line in (run.stdout + run.stderr).splitlines() if line]


def test_the_import_says_nothing_and_leaves_mindspores_log_alone() -> None:
    threads = "mstorch.set_num_threads(1); mstorch.set_num_threads(2); print(mstorch.get_num_threads(), file=sys.stderr)"
    user = f"import sys, mstorch; {threads}; import mindspore; mindspore.ops.TensorScatterDiv(); mindspore.log.warning('mine')"
    first, *earlier, last = _said(user)
    assert first == "2"  # whether the primitive is deprecated depends on the release
    assert len(earlier) <= 1 and all("is deprecated from version" in line for line in earlier) and last.endswith("mine")
    assert earlier or runtime._release(runtime._mindspore_version or "") < (2, 8)
    told = {line.rpartition(" ")[2] for line in _said(user + "; mindspore.log.info('told')", GLOG_v="1")}
    assert {"mine", "told"} <= told
    assert _said(user, GLOG_v="3") == ["2"]


def test_child_processes_keep_their_threads() -> None:
    code = (
        "import mstorch, subprocess, os; mstorch.set_num_threads(2); mstorch.ones(2, 2) @ mstorch.ones(2, 2)\n"
        "print(subprocess.run(['env'], capture_output=True, text=True).stdout.count('OMP_NUM_THREADS='))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    for extra, count in (({}, "0"), ({"OMP_NUM_THREADS": "2"}, "1")):
        run = subprocess.run([sys.executable, "-c", code], env=environment | extra, capture_output=True, text=True, check=True)
        assert run.stdout.split() == [count]


INTERRUPTED = """
import os, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is started with SIGINT ignored
import mstorch as torch

net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.Flatten(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
steps, caught = 0, 0
while steps < 6:
    try:
        optimizer.zero_grad()
        net(torch.ones(1, 1, 4, 4)).sum().backward()
        optimizer.step()
        steps += 1
        if steps % 2:
            os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        caught += 1
print(steps, caught)
"""


def test_an_interrupt_arrives_in_a_training_loop_which_goes_on() -> None:
    assert warm.said("-c", INTERRUPTED).split() == ["6", "3"]
    handler = "import signal; signal.signal(signal.SIGINT, lambda *a: print('mine')); import mstorch, os; os.kill(os.getpid(), 2)"
    assert _said(handler) == ["mine"]


def test_device() -> None:
    assert runtime.device_type() in ("cpu", "cuda", "npu")
