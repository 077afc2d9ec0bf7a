"""``MSTORCH_DEBUG=compare`` names planted faults, and prints nothing without faults."""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import warm

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]

# Faults: the result of a kernel or a rule is slightly wrong.
PLANTS = """
import sys
import mstorch as torch, mstorch.nn as nn, mstorch.nn.functional as F
from mstorch._src.backend.table import kernel
from mstorch._src.tape.apply import RULES

def plant_kernel(name, wrong):
    table = kernel(name).host
    good = table["float32"]
    table["float32"] = lambda *args: wrong(good(*args))

def plant_rule(name, wrong):
    derivative = RULES[name]
    good = derivative.rule
    derivative.rule = lambda node, gradient: wrong(good(node, gradient))
"""


def run(tmp_path: Path, program: str, debug: str = "compare", **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program under ``MSTORCH_DEBUG``; return its exit code and output."""
    script = tmp_path / "program.py"
    script.write_text(PLANTS + program)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MSTORCH_DEBUG": debug, "GLOG_v": "3", **variables}
    return warm.done(str(script), environment=environment, library="mindspore", seconds=300)


FAULTS = {
    "a kernel": (
        "plant_kernel('softmax', lambda found: found * 1.01)",
        "F.softmax(torch.randn(3, 4).t(), -1)  # here",
        ["torch.nn.functional.softmax differs", "float32[4, 3] strides (1, 4)", "12 of 12 elements", "the largest difference is"],
    ),
    "a kernel, in a layer": (
        "plant_kernel('relu', lambda found: found + 0.5)",
        "nn.Sequential(nn.Linear(3, 3), nn.ReLU())(torch.randn(2, 3))  # here",
        ["torch.nn.functional.relu differs", "in Sequential > ReLU"],
    ),
    "one element": (
        "def wrong(found):\n    found.flat[5] += 0.01\n    return found\nplant_kernel('exp', wrong)",
        "torch.zeros(3, 4).exp()  # here",
        ["torch.Tensor.exp differs", "1 of 12 elements", "[1, 1]", "where torch gives 1.0"],
    ),
    "NaN": (
        "plant_kernel('log', lambda found: found * 0)",
        "torch.log(torch.tensor([0.0, 1.0]))  # here",
        ["torch.log differs"],
    ),
    "a dtype": (
        "plant_kernel('exp', lambda found: found.astype('float64'))",
        "torch.exp(torch.ones(2))  # here",
        ["dtype float64 where torch gives float32"],
    ),
    "an in-place form": (
        "plant_kernel('add', lambda found: found + 1)",
        "torch.ones(2, 2).mul_(2).add_(torch.ones(2, 2))  # here",
        ["torch.Tensor.add_ differs"],
    ),
    "a rule": (
        "plant_rule('tanh', lambda found: found * 1.01)",
        "y = torch.tanh(torch.randn(3, 4, requires_grad=True))  # here\ny.sum().backward()",
        ["the gradient of torch.tanh differs", "gradient of tensor 0 of the arguments", "came in     float32[3, 4] strides (0, 0)"],
    ),
    "a rule, within other operations": (
        "plant_rule('mm', lambda found: (found[0] * -1, found[1]))",
        "w = torch.randn(4, 2, requires_grad=True)\nx = torch.randn(3, 4, requires_grad=True)\n"
        "y = torch.mm(torch.sigmoid(x), w)  # here\n(y ** 2).mean().backward()",
        ["the gradient of torch.mm differs", "gradient of tensor 0"],
    ),
    "an error": (
        "from mstorch._commands.debug import compare\ndef fails(*args):\n    raise ValueError('planted')\nkernel('exp').host['float32'] = fails",
        "torch.exp(torch.ones(2))  # here",
        ["mstorch raises ValueError: planted", "torch gives a result"],
    ),
    "an optimiser": (
        "from mstorch._src.ops.layers.optim import Steps\ngood = Steps.plain\nSteps.plain = lambda *args: (good(*args), good(*args))[0]",
        "p = nn.Parameter(torch.ones(3))\np.grad = torch.ones(3)\ntorch.optim.SGD([p], lr=0.1).step()  # here",
        ["torch.optim.SGD.step differs", "parameter 0"],
    ),
}



@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the difference that each fault raises; one process plants, finds and removes all faults in turn."""
    program = f"""
import json
from mstorch._src.backend.table import _KERNELS
from mstorch._src.ops.layers.optim import Steps
FAULTS = {[(name, plant, text) for name, (plant, text, _) in FAULTS.items()]!r}
told = {{}}
for name, plant, text in FAULTS:
    kept = dict(RULES), {{n: d.rule for n, d in RULES.items()}}, {{n: dict(k.host) for n, k in _KERNELS.items()}}, Steps.plain
    space = dict(globals())
    try:
        exec(plant, space)
        exec(compile(text, f"<{{name}}>", "exec"), space)
    except Exception as error:
        told[name] = f"{{type(error).__name__}}: {{error}}"
    for n, rule in kept[1].items():
        RULES[n].rule = rule
    for n, k in _KERNELS.items():
        k.host.clear()
        k.host.update(kept[2].get(n, {{}}))
    Steps.plain = kept[3]
print(json.dumps(told))
"""
    ended = run(tmp_path_factory.mktemp("faults"), program)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)  # type: ignore[no-any-return]


@pytest.mark.parametrize("fault", list(FAULTS))
def test_a_planted_fault_is_named(found: dict[str, str], fault: str) -> None:
    _, program, words = FAULTS[fault]
    line = next(n for n, text in enumerate(program.splitlines(), 1) if text.endswith("# here"))
    for word in ["DifferenceError: mstorch: ", *words, f"<{fault}>:{line} (<module>)", "arguments"]:
        assert word in found[fault], found[fault]


def test_the_first_difference_ends_the_program(tmp_path: Path) -> None:
    program = "plant_kernel('exp', lambda found: found * 2)\ntorch.exp(torch.ones(2))\nprint('went on')\n"
    ended = run(tmp_path, program)
    assert ended.returncode == 1 and ended.stdout == ""
    line = len(PLANTS.splitlines()) + 2
    assert f"called at   {tmp_path}/program.py:{line} (<module>)\n              torch.exp(torch.ones(2))\n" in ended.stderr


def test_all_tells_each_operation_once_and_goes_on(tmp_path: Path) -> None:
    program = """
plant_kernel('exp', lambda found: found * 2)
plant_kernel('log', lambda found: found * 2)
for _ in range(3):
    torch.exp(torch.ones(2))
    torch.log(torch.full((2,), 3.0))
print('went on')
"""
    ended = run(tmp_path, program, "compare,all")
    assert ended.stdout == "went on\n"
    assert ended.stderr.count("torch.exp differs") == ended.stderr.count("torch.log differs") == 1


def test_equal_results_print_nothing(tmp_path: Path) -> None:
    program = """
from mstorch.utils.data import DataLoader, TensorDataset
torch.manual_seed(1)
x = torch.rand(4, 6)
torch.bernoulli(x); torch.normal(0.0, x); x.clone().exponential_(); torch.multinomial(x, 3); torch.randperm(9)
F.dropout(x, 0.3); nn.init.orthogonal_(torch.empty(3, 3)); nn.init.trunc_normal_(torch.empty(3, 3))
g = torch.Generator().manual_seed(4)
torch.rand(3, generator=g); torch.randn(3, generator=g)
y = x.clone()
y[0] = 5; y[:, 1] += 1; y[y > 0.5] = 0; y.t_(); y.add_(y); torch.add(x, 1, out=y.t())
w = torch.randn(3, 6, requires_grad=True)
v = (w * 2)
v[1].mul_(3)
v.relu_()
a, b, c = v.unbind()
(a * b + c).sum().backward()
u = v.detach().requires_grad_()
torch.autograd.grad(torch.autograd.grad((u ** 3).sum(), u, create_graph=True)[0].sum(), u)
with torch.autocast("cpu", dtype=torch.bfloat16):
    F.linear(x, w).sum().backward()
with torch.inference_mode():
    x @ x.t()
try:
    w.add_(1)
except RuntimeError:
    print("refused")
try:
    torch.ones(2) @ torch.ones(3)
except RuntimeError:
    print("refused")
torch.func.grad(lambda t: (t ** 2).sum())(x); torch.vmap(torch.sin)(x)
net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.2), nn.Flatten(), nn.Linear(64, 10))
data = TensorDataset(torch.rand(32, 1, 8, 8), torch.randint(0, 10, (32,)))
optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
for images, labels in DataLoader(data, batch_size=8, shuffle=True, num_workers=1):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(images), labels, label_smoothing=0.1)
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
import threading
def work():
    for _ in range(5):
        y = torch.randn(3, requires_grad=True)
        (y * torch.rand(3)).sum().backward()
threads = [threading.Thread(target=work) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
rnn = nn.LSTM(4, 5, num_layers=2, dropout=0.1, bidirectional=True)
rnn(torch.randn(3, 2, 4))[0].sum().backward()
nn.TransformerEncoderLayer(8, 2, 16)(torch.randn(3, 2, 8)).sum().backward()
print("loss", loss.item())
"""
    watched = run(tmp_path, program, "compare,all")
    assert watched.stderr == "", watched.stderr
    plain = run(tmp_path, program, "")
    assert plain.stderr == "" and watched.stdout == plain.stdout
    assert watched.stdout.count("refused") == 2


def test_a_digits_run_is_silent() -> None:
    environment = {**os.environ, "MSTORCH_DEBUG": "compare", "GLOG_v": "3", "PYTHONPATH": str(ROOT)}
    command = ["-m", "mstorch", str(ROOT / "examples" / "digits_cnn.py"), "--epochs", "1"]
    ended = warm.done(*command, environment=environment, library="mindspore", seconds=300)
    assert ended.returncode == 0 and ended.stderr == "" and "epoch  1" in ended.stdout, ended.stderr


def test_without_torch_the_import_names_the_missing_package(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nexec {sys.executable} -S \"$@\"\n")
    python.chmod(0o755)
    ended = run(tmp_path, "", "compare", MSTORCH_DEBUG_PYTHON=str(python))
    assert ended.returncode == 1
    assert "ImportError: mstorch: MSTORCH_DEBUG=compare needs real torch" in ended.stderr
    ended = run(tmp_path, "", "compare", MSTORCH_DEBUG_PYTHON="/nowhere/python")
    assert "ImportError: mstorch: MSTORCH_DEBUG=compare needs real torch" in ended.stderr


DEVICES = """
x = torch.ones(2, 3, device="npu")
y, z = x.to("npu:0"), torch.zeros(2, device="npu:0")
(x @ y.t()).to("cpu")
torch.tensor([1.0, 2.0]).to(device="npu").new_zeros(3, device="npu")
layer = nn.Linear(3, 2, device="npu")
F.dropout(layer(x), 0.5).sum().backward()
torch.randn(3, device="npu").normal_()
torch.rand(3)
print("the end", flush=True)
"""


def test_devices_named_by_texts(tmp_path: Path) -> None:
    run_on_device = run(tmp_path, DEVICES, MSTORCH_FAKE_DEVICE="Ascend")
    assert run_on_device.returncode == 0 and "the end" in run_on_device.stdout, run_on_device.stderr[-1000:]


def test_other_words_are_refused(tmp_path: Path) -> None:
    ended = run(tmp_path, "", "compute")
    assert "ValueError: mstorch: MSTORCH_DEBUG='compute' is not known" in ended.stderr


def test_trace_prints_operations_kernels_gradients_and_host_copies(tmp_path: Path) -> None:
    program = """
x = torch.randn(2, 3, requires_grad=True)
y = torch.tanh(x)
y.sum().backward()
y.detach().numpy()
"""
    ended = run(tmp_path, program, "trace")
    line = len(PLANTS.splitlines())
    assert f"mstorch: torch.tanh(float32[2, 3])  # {tmp_path}/program.py:{line + 3}" in ended.stderr
    assert "mstorch:   kernel tanh for float32, on host memory: " in ended.stderr
    assert "mstorch:   → float32[2, 3]" in ended.stderr
    assert "mstorch: gradient of torch.tanh: (float32[2, 3])" in ended.stderr
    on_device = run(tmp_path, program.replace("2, 3", "2, 3, device='npu'").replace(".numpy()", ".cpu().numpy()"), "trace", MSTORCH_FAKE_DEVICE="Ascend")
    assert "MindSpore on Ascend" in on_device.stderr
    assert "mstorch:   host copy of float32[2, 3]" in on_device.stderr


def test_nothing_is_added_where_the_variable_is_not_set() -> None:
    code = (
        "import mstorch\nfrom mstorch._src.core import above, overriding\nfrom mstorch._src.backend import table\n"
        "assert not (overriding.watchers or above.step_watchers or above.copy_watchers or table.tracers)\n"
        "cells = [cell.cell_contents for cell in mstorch.tanh.__self__.__closure__]\n"
        "assert not any('_commands/debug' in getattr(getattr(item, '__code__', None), 'co_filename', '') for item in cells)\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "MSTORCH_DEBUG"}
    warm.said("-c", code, environment={**environment, "PYTHONPATH": str(ROOT)}, library="mindspore", seconds=300)


def test_torchs_process_that_is_killed_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, """
import os, signal
x = torch.ones(3)
torch.relu(x)
parents = {line.split()[0]: line.split()[1] for line in os.popen("ps -ewwo pid=,ppid=,args= | grep [m]storch_oracle").read().splitlines()}
for child, parent in parents.items():
    if int(parent) == os.getpid():
        print("OMP_NUM_THREADS=1" in open(f"/proc/{child}/environ").read().split(chr(0)))
        os.kill(int(child), signal.SIGKILL)
try:
    torch.relu(x)
except RuntimeError as error:
    print(error)
print(torch.relu(x).tolist())
""")  # fmt: skip
    assert "the process with real torch has ended (exit status -9)" in done.stdout and "[1.0, 1.0, 1.0]" in done.stdout, done.stderr
    assert done.stdout.startswith("True"), done.stdout  # two thread pools would compete for the cores
