"""Scripts that name cuda where cuda means npu: ``python -m tests.devices.scripts_for_cuda`` (MSTORCH_FAKE_DEVICE=Ascend)."""
from __future__ import annotations

import io
import pickle
import warnings
from typing import Any

import mstorch as torch
from mstorch._src.core import cuda_names


def _before() -> list[str]:
    """Check the state without the switch: no GPU, one warning; a device named "cuda" is the Ascend device later."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        answers = [torch.cuda.is_available() for _ in range(3)]
    found = [] if answers == [False] * 3 and [("npu" in str(one.message)) for one in told] == [True] else [f"before: {answers} {told}"]
    for call in (lambda: torch.zeros(2, device="cuda"), lambda: torch.zeros(2).cuda(), torch.cuda.current_stream, torch.cuda.current_device):
        try:
            found.append(f"before: {call()}")
        except AssertionError as error:
            assert "not compiled with CUDA" in str(error)
    named_before = torch.device("cuda:0")
    cuda_names.turn_on()
    if torch.zeros(2, device=named_before).device != torch.device("npu:0"):
        found.append("a device that was named before")
    return found


def _places() -> list[str]:
    """Check that each way to name cuda gives a tensor on npu:0 with the right values."""
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    file = io.BytesIO()
    torch.save(x, file)

    def load(**kwargs: Any) -> Any:
        file.seek(0)
        return torch.load(file, **kwargs)

    def of_default() -> Any:
        torch.set_default_device("cuda")
        try:
            return torch.tensor(x.tolist())
        finally:
            torch.set_default_device(None)

    def inside(context: Any) -> Any:
        with context:
            return torch.tensor(x.tolist(), device="cuda")

    layer = torch.nn.Linear(2, 2, bias=False).cuda()
    ways: dict[str, Any] = {
        "cuda()": lambda: x.cuda(), "cuda(0)": lambda: x.cuda(0), "cuda(device)": lambda: x.cuda(torch.device("cuda", 0)),
        "to": lambda: x.to("cuda"), "to index": lambda: x.to("cuda:0"), "to(device=)": lambda: x.to(device="cuda", non_blocking=True),
        "to int": lambda: x.to(0), "tensor": lambda: torch.tensor(x.tolist(), device="cuda"), "default": of_default,
        "like": lambda: torch.zeros_like(x, device="cuda") + x.cuda(), "new": lambda: x.new_tensor(x.tolist(), device="cuda:0"),
        "load": lambda: load(map_location="cuda"), "load device": lambda: load(map_location=torch.device("cuda:0")),
        "load dict": lambda: load(map_location={"cpu": "cuda:0"}), "load function": lambda: load(map_location=lambda s, _: s.cuda(0)),
        "with device": lambda: inside(torch.device("cuda")), "with cuda.device": lambda: inside(torch.cuda.device(0)),
        "with stream": lambda: inside(torch.cuda.stream(torch.cuda.Stream())), "pinned": lambda: x.pin_memory().cuda(non_blocking=True),
        "module": lambda: layer.load_state_dict({"weight": x}) and layer.weight.detach(),
        "module to": lambda: torch.nn.Module.to(torch.nn.ParameterList([x]), "cuda:0")[0].detach(),
        "storage": lambda: torch.tensor([]).set_(x.cuda().untyped_storage(), 0, (2, 2)),
    }  # fmt: skip
    found = []
    for name, way in ways.items():
        value = way()
        place = value.device
        alike = str(place) == "npu:0" and place.type == "npu" and place == torch.device("cuda:0") and value.is_cuda and value.tolist() == x.tolist()
        if not alike:
            found.append(f"{name}: {value}")
    return found


def _of_cuda() -> list[str]:
    """Return the functions of torch.cuda whose results differ from those of torch.npu, and other errors."""
    cuda: Any = torch.cuda
    names = (
        "is_available device_count current_device is_initialized is_bf16_supported get_device_name memory_allocated "
        "max_memory_allocated memory_reserved max_memory_reserved memory_stats memory_summary initial_seed empty_cache synchronize "
        "reset_peak_memory_stats"
    ).split()
    found = [name for name in names if getattr(cuda, name)() != getattr(torch.npu, name)()]
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    start.record()
    end.record()
    cuda.current_stream().wait_event(end)
    cuda.manual_seed(7)
    state = cuda.get_rng_state()
    cuda.set_rng_state(state, "cuda:0")
    kinds = isinstance(cuda.Stream(), cuda.Stream) and isinstance(start, cuda.Event) and not isinstance(start, cuda.Stream)
    checks = {
        "events": start.elapsed_time(end) >= 0, "kinds": kinds, "seeds": cuda.initial_seed() == 7 == torch.npu.initial_seed(),
        "states": state.tolist() == torch.npu.get_rng_state().tolist(), "there": cuda.is_available() and cuda.device_count() == 1,
        "other": not isinstance(3, cuda.Event),
        "properties": str(cuda.get_device_properties()) == str(torch.npu.get_device_properties(0)),
    }  # fmt: skip
    cuda.set_device("cuda:0")
    try:
        cuda.set_device(1)
        found.append("another device is taken")
    except RuntimeError as error:
        assert "npu:1" in str(error)
    return found + [name for name, good in checks.items() if not good]


def _types() -> list[str]:
    """Check tensor types of cuda and npu, as classes and as strings."""
    x = torch.tensor([1.0, 2.0])
    cuda: Any = torch.cuda
    there = x.cuda()
    checks = {
        "isinstance": isinstance(there, cuda.FloatTensor) and isinstance(there, torch.npu.FloatTensor) and isinstance(there, torch.FloatTensor),
        "of the host": not isinstance(x, cuda.FloatTensor), "of another dtype": not isinstance(there, cuda.LongTensor),
        "made": str(cuda.FloatTensor([1, 2]).device) == "npu:0" and cuda.LongTensor([1, 2]).dtype is torch.int64,
        "word": there.type() == "torch.npu.FloatTensor" and x.type() == "torch.FloatTensor" and there.half().type() == "torch.npu.HalfTensor",
        "to a word": x.type("torch.cuda.HalfTensor").type() == "torch.npu.HalfTensor" and x.type("torch.npu.LongTensor").tolist() == [1, 2],
        "to a class": x.type(cuda.DoubleTensor).type() == "torch.npu.DoubleTensor" and x.type(torch.npu.IntTensor).is_cuda,
        "back": there.type(torch.FloatTensor).type() == "torch.FloatTensor" and there.type("torch.LongTensor").type() == "torch.LongTensor",
        "dtype alone": there.type(torch.float64).type() == "torch.npu.DoubleTensor" and there.type(there.type()) is there,
    }  # fmt: skip
    torch.set_default_tensor_type("torch.cuda.FloatTensor")
    checks["default"] = torch.zeros(2).is_cuda
    torch.set_default_tensor_type(torch.FloatTensor)
    checks["default again"] = torch.zeros(2).device.type == "cpu"
    return [name for name, good in checks.items() if not good]


def _precision() -> list[str]:
    """Check that autocast and GradScaler of cuda are the device's, under each of their names."""
    x = torch.ones(2, 2, device="cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        regions = [
            (torch.autocast("cuda"), torch.float16), (torch.autocast(device_type="cuda", dtype=torch.bfloat16), torch.bfloat16),
            (torch.amp.autocast("cuda", dtype=torch.bfloat16), torch.bfloat16), (torch.cuda.amp.autocast(), torch.float16),
            (torch.autocast("cuda", enabled=False), torch.float32),
        ]  # fmt: skip
        scalers = torch.amp.GradScaler("cuda"), torch.amp.GradScaler(), torch.cuda.amp.GradScaler()
    found = []
    for region, kind in regions:
        with region:
            on = torch.is_autocast_enabled("cuda"), torch.is_autocast_enabled("npu"), torch.is_autocast_enabled()
            if (x @ x).dtype != kind or on != (kind != torch.float32,) * 3:
                found.append(f"autocast: {kind} {(x @ x).dtype} {on}")
    found += ["GradScaler" for scaler in scalers if not scaler.is_enabled() or scaler.scale(x.sum()).item() != 4 * 65536]
    return found


def _random() -> list[str]:
    """Check that seeds, states and generators control the device's random numbers, and leave the host's unchanged."""
    draws: dict[str, Any] = {
        "rand": lambda **rest: torch.rand(5, device="cuda", **rest), "randn": lambda **rest: torch.randn(2, 2, device="npu", **rest),
        "randint": lambda **rest: torch.randint(0, 99, (5,), device="cuda:0", **rest),
        "randperm": lambda **rest: torch.randperm(9, device="cuda", **rest), "normal": lambda **rest: torch.normal(0.0, 1.0, (5,), device="npu", **rest),
        "like": lambda **rest: torch.randn_like(torch.zeros(5).cuda(), **rest), "out": lambda **rest: torch.rand(5, out=torch.empty(5).cuda(), **rest),
    }  # fmt: skip
    found = []
    for name, draw in draws.items():
        torch.cuda.manual_seed(3)
        state, host = torch.npu.get_rng_state(), torch.get_rng_state()
        first, second = draw(), draw()
        torch.cuda.set_rng_state(state)
        again = draw()
        torch.npu.manual_seed(3)
        seeded = draw()
        own = [draw(generator=torch.Generator(place).manual_seed(3)) for place in ("cuda", "npu")]
        alike = first.tolist() == again.tolist() == seeded.tolist() == own[0].tolist() == own[1].tolist() != second.tolist()
        if not (alike and first.is_cuda and torch.equal(host, torch.get_rng_state())):
            found.append(f"{name}: {first} {second} {again} {seeded} {own}")
    try:
        torch.rand(2, device="cuda", generator=torch.Generator())
        found.append("a generator of the host draws for the device")
    except RuntimeError as error:
        assert "Expected a 'npu' device type for generator but found 'cpu'" in str(error)
    return found


def _environment() -> list[str]:
    """Check that CUDA_VISIBLE_DEVICES and ASCEND_RT_VISIBLE_DEVICES may not differ, and that torch's private functions agree with the
    public ones."""
    kind, made = torch.ones(2).cuda().device.type, torch.device("cuda")
    checks = {
        "types": kind == "npu" == made.type and kind == "cuda" and "cuda" == made.type and kind in ("cpu", "cuda"),
        "other types": kind not in ("cpu", "meta") and torch.ones(2).device.type != "cuda" and kind != torch.device("cpu").type,
        "texts of types": str(kind) == f"{kind}" == "npu" and str(made) == "npu" and type(pickle.loads(pickle.dumps(made.type))) is str,
        "keys": {"npu": 1}[kind] == 1 and b"cuda_names" not in pickle.dumps((made, kind, torch.device("npu", 0))),
        "storages": torch.ones(2).cuda().untyped_storage().is_cuda and not torch.ones(2).storage().is_cuda and torch.ones(2).npu().storage().is_cuda,
        "initialized": torch.cuda._initialized is True, "capability": torch.cuda.get_device_capability() == (0, 0),
        "class": torch.cuda.FloatTensor.is_cuda and not torch.FloatTensor.is_cuda, "version": torch.version.cuda is None,
    }  # fmt: skip
    return [name for name, good in checks.items() if not good]


if __name__ == "__main__":
    print([line for part in (_before, _places, _of_cuda, _types, _precision, _random, _environment) for line in part()])
