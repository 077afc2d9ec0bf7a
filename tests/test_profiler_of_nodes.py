"""What the profiler tells of operators and nodes: names, numbers that connect both, shapes of arguments."""
from __future__ import annotations

import mstorch as torch


def test_operators_and_their_nodes_have_one_number():
    with torch.autograd.profiler.profile() as told:
        x, y = torch.randn(10, 10, requires_grad=True), torch.randn(10, 10, requires_grad=True)
        (x + y).sum().backward()
    events = {event.name: event for event in told.function_events}
    for operator, node in (("aten::add", "AddBackward0"), ("aten::sum", "SumBackward0")):
        forward, around, inner = events[operator], events[f"autograd::engine::evaluate_function: {node}"], events[node]
        assert forward.sequence_nr == around.sequence_nr == inner.sequence_nr >= 0
        assert forward.fwd_thread == 0 and around.fwd_thread == inner.fwd_thread == forward.thread
        assert inner.cpu_parent is around
    assert events["aten::randn"].sequence_nr == -1
    assert sum(event.name == "torch::autograd::AccumulateGrad" for event in told.function_events) == 2


def test_shapes_of_arguments():
    layer = torch.nn.Linear(20, 30)
    with torch.profiler.profile(record_shapes=True) as told:
        layer(torch.ones(128, 20))
        layer(torch.ones(4, 20))
        torch.ones(2, 3) * 2
    shapes = [event.input_shapes for event in told.events() if event.name == "aten::linear"]
    assert shapes == [[[128, 20], [30, 20], [30]], [[4, 20], [30, 20], [30]]]  # as torch lists them
    apart = told.key_averages(group_by_input_shape=True)
    assert sum(event.key == "aten::linear" for event in apart) == 2
    assert "[[128, 20], [30, 20], [30]]" in apart.table() and "Input Shapes" in apart.table()
    assert [event.count for event in told.key_averages() if event.key == "aten::linear"] == [2]
