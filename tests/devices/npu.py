"""Calls of torch.npu that users of Ascend devices write, on the stand-in device: ``python -m tests.devices.npu``."""
from __future__ import annotations

import copy
import gc
import io
import pickle
import time
import warnings
from typing import Any

import mstorch as torch
from mstorch._src.backend import streams


def _timed() -> list[str]:
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record()
    time.sleep(0.02)
    end.record()
    torch.npu.synchronize()
    passed = start.elapsed_time(end)
    return [] if 15 < passed < 5000 and end.query() else [f"20 ms are {passed}"]


def _untimed() -> list[str]:
    found = []
    for make, words in (
        (lambda: torch.npu.Event().elapsed_time(torch.npu.Event()), "enable_timing=True"),
        (lambda: torch.npu.Event(True).elapsed_time(torch.npu.Event(True)), "must be recorded"),
    ):
        try:
            make()
            found.append(words)
        except ValueError as error:
            found += [] if words in str(error) else [str(error)]
    return found


def _of_torch() -> list[str]:
    """Check that torch.Stream and torch.Event are the device's, unless the CPU is named."""
    start, end = (torch.Event("npu", enable_timing=True) for _ in range(2))
    side, before = torch.Stream(device="npu:0", priority=-1), torch.accelerator.current_stream()
    start.record(side)
    with side:
        inside = torch.accelerator.current_stream() == side
        x = torch.ones(2).npu() * 3
    end.record(side)
    side.wait_event(start)
    side.synchronize()
    torch.accelerator.set_stream(side)
    chosen = torch.npu.current_stream() == side
    torch.accelerator.set_stream(before)
    kinds = [isinstance(item, torch.Stream) for item in (side, before, torch.Stream("cpu"))] + [isinstance(end, torch.Event)]
    places = [str(torch.Stream(place).device) for place in (None, "npu", 0, "cpu")]
    try:
        torch.Stream("npu:1")
    except RuntimeError as error:
        places.append(str(error))
    wanted = ["npu:0", "npu:0", "npu:0", "cpu", "Invalid device ID: npu:1 was asked for, and this process sees 1, from npu:0 on"]
    good = inside and chosen and all(kinds) and start.elapsed_time(end) >= 0 and x.tolist() == [3.0, 3.0] and places == wanted
    return [] if good else [f"torch.Stream: {inside} {chosen} {kinds} {places}"]


class _Batch:
    pinned = 0

    def pin_memory(self) -> _Batch:
        self.pinned += 1
        return self


def _pinned() -> list[str]:
    """Check that loaders pin tensors without a warning about a missing accelerator; the memory is ordinary, and ``is_pinned`` says so."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        own = list(torch.utils.data.DataLoader([1, 2], 1, collate_fn=lambda _: {"own": (_Batch(), "a")}, pin_memory=True))
        rows = list(torch.utils.data.DataLoader(torch.arange(4.0), 2, pin_memory=True))
    good = [batch["own"][0].pinned for batch in own] == [1, 1] and [row.npu(non_blocking=True).tolist() for row in rows] == [[0, 1], [2, 3]]
    return [] if good and not rows[0].is_pinned() and torch.ones(2, pin_memory=True).device.type == "cpu" else ["pinned memory"]


def _recorded() -> list[str]:
    """Check that memory which another stream uses is kept: when it is freed, the current stream waits for that stream."""
    done: list[Any] = []
    old = streams.StandInEvent.record, streams.StandInStream.wait_event
    streams.StandInEvent.record = lambda event, stream=None: done.append(("event", stream))
    streams.StandInStream.wait_event = lambda stream, event: done.append(("wait", stream))
    side, tensor = torch.npu.Stream(), torch.ones(4, device="npu")
    try:
        tensor[1:].record_stream(side)
        early = list(done)
        del tensor
        gc.collect()
    finally:
        streams.StandInEvent.record, streams.StandInStream.wait_event = old
    refused = []
    for make in (lambda: torch.ones(2, device="npu").record_stream(3), lambda: torch.ones(2).record_stream(side)):
        try:
            make()
        except (TypeError, NotImplementedError) as error:
            refused.append(type(error))
    good = not early and done == [("event", side._native), ("wait", streams.current_stream())] and refused == [TypeError, NotImplementedError]
    return [] if good else [f"record_stream: {early} {done} {refused}"]


def _streams() -> list[str]:
    side, main = torch.npu.Stream(), torch.npu.current_stream()
    x = torch.ones(3).npu()
    side.wait_stream(main)
    with torch.npu.stream(side):
        inside = torch.npu.current_stream() == side
        y = x * 2
    main.wait_stream(side)
    main.wait_event(side.record_event())
    side.synchronize()
    with torch.npu.stream(None):
        after = torch.npu.current_stream() == main == torch.npu.default_stream() != side
    return [] if inside and after and side.query() and y.tolist() == [2.0] * 3 else ["streams"]


def _scaled() -> list[str]:
    torch.manual_seed(0)  # with other weights the scaled gradients may overflow, and the step is correctly skipped
    net = torch.nn.Linear(4, 2).npu()
    optimizer, scaler = torch.optim.AdamW(net.parameters(), lr=0.1), torch.npu.amp.GradScaler()
    before = net.weight.detach().clone()
    with torch.npu.amp.autocast():
        out = net(torch.ones(3, 4).npu())
    scaler.scale(out.float().square().mean()).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    with torch.autocast("npu", dtype=torch.bfloat16):
        wide = net(torch.ones(3, 4).npu()).softmax(1).dtype
    changed = not torch.equal(before, net.weight)
    return [] if (out.dtype, wide, changed) == (torch.float16, torch.float32, True) else [f"amp: {out.dtype} {wide} {changed}"]


def _random() -> list[str]:
    torch.npu.manual_seed_all(3)
    state = torch.npu.get_rng_state()
    torch.npu.set_rng_state_all(torch.npu.get_rng_state_all())
    return [] if torch.npu.initial_seed() == 3 and torch.equal(torch.npu.get_rng_state(), state) else ["states of generators"]


def _memory() -> list[str]:
    kinds = [type(value) for value in (
        torch.npu.memory_allocated(), torch.npu.max_memory_reserved(), torch.npu.memory_summary(), torch.npu.mem_get_info()[1],
        torch.npu.get_device_properties(0).name, torch.accelerator.memory_reserved(),
    )]  # fmt: skip
    torch.npu.reset_peak_memory_stats()
    torch.npu.empty_cache()
    same = set(torch.npu.memory_stats()) == set(torch.accelerator.memory_stats()) >= {"allocated_bytes.all.peak"}
    free, total = torch.npu.mem_get_info()
    known = 0 < free <= total == torch.npu.get_device_properties("npu").total_memory  # device_map="auto" relies on it
    return [] if kinds == [int, int, str, int, str, int] and same and known else [f"memory: {kinds}"]


def _loaded() -> list[str]:
    net, found = torch.nn.Linear(2, 2).npu(), []
    file = io.BytesIO()
    torch.save(net, file)
    for place in (None, "cpu", {"npu:0": "cpu"}, lambda storage, location: storage, "npu"):
        file.seek(0)
        found.append(torch.load(file, map_location=place, weights_only=False).weight.device.type)
    found.append(pickle.loads(pickle.dumps(net)).weight.device.type)
    first, second = copy.deepcopy([net.weight.data, net.weight.data.view(-1)])
    first.data[0, 0] = 7.0
    return [] if [*found, second[0].item()] == ["npu", "cpu", "cpu", "cpu", "npu", "npu", 7.0] else [f"loaded: {found}"]


def _storages() -> list[str]:
    x = torch.arange(6.0).npu()
    y = x.view(2, 3)
    x.untyped_storage().copy_(torch.full((6,), 2.0).untyped_storage())
    told = x.data_ptr() == y.data_ptr() != x.clone().data_ptr() and x[1:].data_ptr() == x.data_ptr() + 4
    places = [str(s.device) for s in (x.untyped_storage(), torch.ones(1).untyped_storage(), x.untyped_storage().cpu())]
    ok = told and y.tolist() == [[2.0] * 3] * 2 and places == ["npu:0", "cpu", "cpu"]
    return [] if ok else [f"storages: {told} {y.tolist()} {places}"]


def _inside() -> list[str]:
    with torch.inference_mode():
        inferred = torch.ones(2, device="npu").is_inference()
    leaf = torch.ones(2, device="npu", requires_grad=True)
    leaf.sum().backward()
    first: Any = leaf.grad
    leaf.sum().backward()
    versions = torch.zeros(2, device="npu")
    versions.add_(1)
    return [] if (inferred, leaf.grad is first, versions._version) == (True, True, 1) else ["inference, gradients or versions"]


def _complex() -> list[str]:
    """Check gradients of the parts of complex numbers."""
    functions: dict[str, Any] = {
        "real": lambda z: z.real, "imag": lambda z: z.imag, "abs": lambda z: z.abs(), "product": lambda z: (z * z.conj() * z).imag,
        "made": lambda z: torch.complex(z.imag, z.real).imag, "view": lambda z: torch.view_as_real(z)[..., 1], "sgn": lambda z: z.sgn().real,
    }  # fmt: skip
    found = []
    for name, function in functions.items():
        leaves = [torch.tensor([1 + 2j, 3 - 1j], device=place, requires_grad=True) for place in ("cpu", "npu")]
        values = [function(leaf) for leaf in leaves]
        for value in values:
            (value * torch.tensor([1.0, 2.0], device=value.device)).sum().backward()
        pairs = [values, [leaf.grad for leaf in leaves]]
        if not all(torch.allclose(here, there.cpu()) for here, there in pairs):
            found.append(f"complex: {name}")
    return found


def _windows() -> list[str]:
    """Check views of a storage beyond the tensor, elements written by position, and copies of tensors that are written to."""
    x = (torch.arange(6.0) + 1).reshape(2, 3).npu()
    seen = x.diagonal().as_strided((2, 2), (1, 2)).tolist()
    leaf = torch.tensor([2.0], device="npu", requires_grad=True)
    whole = torch.zeros(3, device="npu")
    whole[[0, 1]] = leaf * leaf
    whole[1:2].mul_(leaf)
    whole.sum().backward()
    return [] if seen == [[1.0, 3.0], [2.0, 4.0]] and leaf.grad.tolist() == [16.0] else [f"windows: {seen} {leaf.grad}"]


def _leaves() -> list[str]:
    """Check that leaves that are written by index without autograd stay leaves, and can be trained."""
    writes: dict[str, Any] = {
        "mask": lambda x: x.__setitem__(x > 0, 2.0), "positions": lambda x: x.__setitem__([0, 1], 2.0),
        "both": lambda x: x[1:].__setitem__(torch.tensor([0], device="npu"), 2.0), "added": lambda x: x.__setitem__([0], x[[0]] + 1),
        "put": lambda x: x.index_put_((torch.tensor([0], device="npu"),), torch.tensor(2.0, device="npu")),
        "filled": lambda x: x.index_fill_(0, torch.tensor([0], device="npu"), 2.0), "masked": lambda x: x.masked_fill_(x > 0, 2.0),
        "view": lambda x: x[:2].mul_(2), "scattered": lambda x: x.scatter_(0, torch.tensor([0], device="npu"), 2.0),
    }  # fmt: skip
    found = []
    for name, write in writes.items():
        leaf = torch.ones(3, device="npu").requires_grad_()
        with torch.no_grad():
            write(leaf)
        (leaf * 2).sum().backward()
        torch.optim.SGD([leaf], lr=0.5).step()
        if not leaf.is_leaf or leaf.grad is None or leaf.grad.tolist() != [2.0] * 3:
            found.append(f"leaf written by {name}")
    return found


def _halves() -> list[str]:
    """Check numbers that half precision cannot hold next to half-precision tensors, and the dtype of gradients."""
    functions: dict[str, Any] = {
        "mul": lambda x: x * 1e-8, "div": lambda x: x / 1e5, "under": lambda x: 1e5 / x, "in place": lambda x: x.clone().mul_(1e-3),
        "amax": lambda x: x.amax(0), "max": lambda x: x.max(), "prod": lambda x: (x * 0).prod(0), "maximum": lambda x: torch.maximum(x, x * 2),
        "fmod": lambda x: x.fmod(x * 2), "median": lambda x: x.median(),
    }  # fmt: skip
    found = []
    for kind in (torch.float16, torch.bfloat16):
        for name, function in functions.items():
            leaves = [torch.tensor([1.0, 3.0, 1000.0]).to(kind).to(place).requires_grad_() for place in ("cpu", "npu")]
            values = [function(leaf) for leaf in leaves]
            slopes = [torch.autograd.grad(value.float().sum(), leaf)[0] for value, leaf in zip(values, leaves)]
            same = all(here.dtype == there.dtype == kind and here.tolist() == there.tolist() for here, there in (values, slopes))
            if not same:
                found.append(f"{kind} {name}: {values} {slopes}")
    whole = torch.ones((), device="npu").scatter_add_(0, torch.zeros((), dtype=torch.int64, device="npu"), torch.ones((), device="npu"))
    return found if whole.item() == 2 else [*found, "a number scattered to a number"]


if __name__ == "__main__":
    parts = (
        _timed, _untimed, _of_torch, _pinned, _streams, _recorded, _scaled, _random, _memory, _loaded, _storages, _inside, _complex, _windows, _leaves,
        _halves,
    )  # fmt: skip
    print([line for part in parts for line in part()])
