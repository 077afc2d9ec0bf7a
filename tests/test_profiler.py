"""torch.profiler: torch's steps and names, with times of Python calls."""
from __future__ import annotations

import json
import sys
import threading

import pytest

import mstorch
from tests.against_torch import both


@pytest.mark.parametrize("numbers", [(1, 1, 2, 2, 1), (0, 0, 1), (2, 0, 1, 1), (1, 1, 2, 2, 1, 1), (-1, 0, 1), (0, 0, 0)], ids=str)
def test_schedule(numbers):
    options = dict(zip(["wait", "warmup", "active", "repeat", "skip_first", "skip_first_wait"], numbers))
    both(lambda torch: [torch.profiler.schedule(**options)(step).name for step in range(14)])


@pytest.mark.parametrize("repeat", [1, 2, 0])
def test_steps(repeat):
    def body(torch):
        got = []

        def ready(prof):
            got.append((prof.step_num, sorted((e.key, e.count) for e in prof.key_averages() if "Step" in e.key or e.key == "mine")))

        plan = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=repeat)
        with torch.profiler.profile(schedule=plan, on_trace_ready=ready) as prof:
            for _ in range(9):
                with torch.profiler.record_function("mine"):
                    torch.ones(2) + 1
                prof.step()
        return got

    both(body)


def test_times_of_operations(tmp_path):
    before = sys.getprofile()
    with mstorch.profiler.profile() as prof:
        with mstorch.profiler.record_function("outer"):
            x = mstorch.ones(8, 8) @ mstorch.ones(8, 8)
        mstorch.relu(x)
        mstorch.relu(x)
        worker = threading.Thread(target=lambda: mstorch.sigmoid(x))
        worker.start()
        worker.join()
    assert sys.getprofile() is before
    found = {event.key: event for event in prof.key_averages()}
    assert found["aten::relu"].count == 2 and found["outer"].is_user_annotation and "aten::sigmoid" in found
    assert found["outer"].cpu_time_total > found["outer"].self_cpu_time_total > 0
    outer = next(event for event in prof.events() if event.name == "outer")
    assert any(child.name.startswith("aten::matmul") or child.name.startswith("aten::mm") for child in outer.cpu_children)
    table = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=2)
    assert table.split("\n")[1].split() == "Name Self CPU % Self CPU CPU total % CPU total CPU time avg # of Calls".split()
    assert "Self CPU time total" in table and len(table.split("\n")) == 8
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert {e["name"] for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]} >= {"outer", "aten::relu"}


def test_older_profiler_and_decorators():
    @mstorch.profiler.record_function("named")
    def function(x):
        return mstorch.exp(x)

    with mstorch.autograd.profiler.profile() as prof:
        function(mstorch.ones(2))
    assert {"named", "aten::exp"} <= {event.key for event in prof.key_averages()} and "aten::exp" in str(prof)
    assert prof.total_average().count == len(prof.function_events)
    function(mstorch.ones(2))
    both(lambda torch: torch.profiler.profile().key_averages())
    with pytest.raises(NotImplementedError, match="with_flops"):
        mstorch.profiler.profile(with_flops=True)


def test_tensorboard_files(tmp_path):
    handler = mstorch.profiler.tensorboard_trace_handler(str(tmp_path))
    with mstorch.profiler.profile(on_trace_ready=handler):
        mstorch.ones(1) + 1
    assert [path.name.endswith(".pt.trace.json") for path in tmp_path.iterdir()] == [True]


def test_blocks_as_operations():
    def body(torch):
        with torch.profiler.profile() as prof:
            handle = torch.ops.profiler._record_function_enter("outer")
            block = torch.ops.profiler._record_function_enter_new("inner", "argument")
            torch.ops.profiler._record_function_exit(block)
            torch.ops.profiler._record_function_exit(handle)
        graph = torch.fx.Graph()
        begun = graph.create_node("call_function", torch.ops.profiler._record_function_enter, ("traced",))
        graph.create_node("call_function", torch.ops.profiler._record_function_exit, (begun,))
        graph.output(())
        module = torch.fx.GraphModule(torch.nn.Module(), graph)
        with torch.profiler.profile() as traced:
            module()
        names = [sorted(e.key for e in p.key_averages() if not e.key.startswith("aten")) for p in (prof, traced)]
        return names, handle.dtype, "torch.ops.profiler._record_function_enter" in module.code

    both(body)
