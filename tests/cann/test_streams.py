"""Streams on MindSpore's plugin: many that compute, their numbers, and waits between them, with queues that lag."""
from __future__ import annotations

import gc
import threading

import mstorch as torch
from tests.cann.plugin import on_plugin

LAG = 2000


@on_plugin
def test_forty_streams_compute() -> None:
    x = torch.ones(1000, device="npu")
    torch.npu.synchronize()
    streams = [torch.npu.Stream(priority=-(number % 2)) for number in range(40)]
    events = []
    sums = []
    for number, stream in enumerate(streams):
        with torch.npu.stream(stream):
            sums.append((x * number).sum())
            events.append(stream.record_event())
    for event in events:
        torch.npu.current_stream().wait_event(event)
    assert torch.stack(sums).tolist() == [1000 * number for number in range(40)]
    assert all(stream.query() for stream in streams) and all(event.query() for event in events)


@on_plugin
def test_streams_are_handed_out_in_turn() -> None:
    streams = [torch.npu.Stream() for _ in range(40)]
    high = [torch.npu.Stream(priority=-1) for _ in range(33)]
    assert len({stream.stream_id for stream in streams}) == 32 and streams[0] == streams[32] != streams[1] and hash(streams[0]) == hash(streams[32])
    assert high[0] == high[32] and not {stream.stream_id for stream in streams} & {stream.stream_id for stream in high}
    assert {stream.priority for stream in streams} == {0} and {stream.priority for stream in high} == {-1}
    default = torch.npu.default_stream()
    assert default.stream_id == 0 and default not in streams + high and default == torch.npu.current_stream()
    same = torch.npu.Stream(stream_id=streams[5].stream_id, device_index=streams[5].device_index, device_type=streams[5].device_type)
    assert same == streams[5] and same != 5 and same.npu_stream == streams[5].npu_stream


@on_plugin
def test_the_current_stream_is_the_one_that_was_set() -> None:
    default = torch.npu.current_stream()
    streams = [torch.npu.Stream() for _ in range(32)]
    inside = []
    with torch.npu.stream(streams[0]):
        for stream in streams:  # several share a queue of MindSpore's
            with stream:
                inside.append(torch.npu.current_stream() == stream)
            inside.append(torch.npu.current_stream() == streams[0])
        thread = threading.Thread(target=lambda: inside.append(torch.npu.current_stream() == default))
        thread.start()
        thread.join()
        torch.npu.set_stream(streams[4])
        inside.append(torch.accelerator.current_stream() == streams[4])
    assert all(inside) and torch.npu.current_stream() == default
    try:
        torch.npu.set_stream(streams[7])
        assert torch.npu.current_stream() == streams[7]
    finally:
        torch.npu.set_stream(default)
    assert torch.npu.current_stream() == default


@on_plugin(EMULATED_CANN_LAG_US=LAG)
def test_waits_across_streams() -> None:
    x = torch.arange(4000.0, device="npu")
    torch.npu.synchronize()
    streams = [torch.npu.Stream() for _ in range(9)]
    y, wanted = x, x.cpu()
    for number, stream in enumerate(streams):
        stream.wait_stream(streams[number - 1] if number else torch.npu.current_stream())
        with torch.npu.stream(stream):
            y = y * 2 + number
        wanted = wanted * 2 + number
    torch.npu.current_stream().wait_event(streams[-1].record_event())
    assert torch.equal((y - 0).cpu(), wanted)


@on_plugin(EMULATED_CANN_LAG_US=LAG)
def test_memory_that_another_stream_reads_is_kept() -> None:
    # MindSpore keeps what its kernels of another stream read, without being told (2.10); record_stream must not get in its way
    main, side = torch.npu.current_stream(), torch.npu.Stream()
    totals = []
    for number in range(6):
        x = torch.full((3000,), float(number), device="npu")
        side.wait_stream(main)
        with torch.npu.stream(side):
            y = x
            for _ in range(5):
                y = y + 1
            totals.append(y + x)
        x.record_stream(side)
        del x, y
        gc.collect()
        torch.full((3000,), -100.0, device="npu")  # would get the memory of x
    main.wait_stream(side)
    assert [total.cpu().unique().tolist() for total in totals] == [[2.0 * number + 5] for number in range(6)]


@on_plugin
def test_a_capture_in_a_stream_of_its_own() -> None:
    streams = [torch.npu.Stream() for _ in range(6)]
    x = torch.ones(16, device="npu")
    for number, stream in enumerate(streams):
        graph = torch.npu.NPUGraph()
        stream.wait_stream(torch.npu.current_stream())
        with torch.npu.graph(graph, stream=stream):
            assert torch.npu.current_stream() == stream
            y = (x * 2 + number).relu()
        x.fill_(number + 1)
        graph.replay()
        assert y.tolist() == [2 * (number + 1) + number] * 16
    assert torch.npu.current_stream() == torch.npu.default_stream()
