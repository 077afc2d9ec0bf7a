"""Files of torch that mstorch loads, and files of mstorch that torch loads: each case both ways."""

import collections
import pathlib

import numpy as np
import pytest
import torch

import mstorch as ms
from tests.serialization.serialization_files import DTYPES, assert_same


class Settings:
    """A user's class, which weights_only loads only if it is allowed."""

    def __init__(self, rate, weight):
        self.rate, self.weight = rate, weight


def network(torch):
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 3)
    )


def trained(torch, optimizer, **options):
    net = network(torch)
    optimizer = getattr(torch.optim, optimizer)(net.parameters(), lr=0.01, **options)
    for step in range(2):
        optimizer.zero_grad()
        net(torch.full((2, 1, 8, 8), float(step))).square().mean().backward()
        optimizer.step()
    return net, optimizer


def scheduled(torch, name, *args, **options):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1, momentum=0.9)
    scheduler = getattr(torch.optim.lr_scheduler, name)(optimizer, *args, **options)
    for _ in range(3):
        optimizer.step()
        scheduler.step()
    return scheduler.state_dict()


def whole(torch):
    net, optimizer = trained(torch, "Adam")
    return {
        "model": net.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduled(torch, "StepLR", 2), "epoch": 3,
        "best": 0.97, "rng": torch.get_rng_state(), "args": {"lr": 0.01, "name": "run", "sizes": (8, 8), "device": torch.device("cpu")},
    }  # fmt: skip


def values_of(torch, name, shape=(3, 4)):
    whole = torch.arange(int(np.prod(shape))).reshape(shape)
    kind = getattr(torch, name)
    return torch.complex(whole.double(), whole.double() + 1).to(kind) if kind.is_complex else whole.to(kind)


def shared(torch):
    base = torch.arange(12.0)
    return {"base": base, "rows": base.view(3, 4), "part": base[2:5], "again": base}


def nested(torch):
    inner = [torch.ones(2), (None, True, 2**70, -1.5, "text", b"bytes", 1j), {1, 2}, frozenset([3])]
    table = collections.OrderedDict(first=inner, second={"a": [torch.zeros(0, 3)], ("k", 1): torch.float16})
    return {"table": table, "size": torch.Size([2, 3]), "device": torch.device("cpu"), "counts": collections.Counter("aab")}


LEGACY = {"_use_new_zipfile_serialization": False}
# Name: the saved object, options of save, options of load, whether through a path.
CASES = {f"dtype {name}": (lambda torch, name=name: values_of(torch, name), {}, {}, False) for name in DTYPES}
CASES |= {
    f"legacy {name}": (lambda torch, name=name: values_of(torch, name), LEGACY, {}, False)
    for name in ("bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex128")
}
CASES |= {
    "shared storages": (shared, {}, {}, False),
    "shared storages, legacy": (shared, LEGACY, {}, False),
    "transposed": (lambda torch: torch.arange(6.0).reshape(2, 3).t(), {}, {}, False),
    "every second": (lambda torch: torch.arange(20)[1::2], {}, {}, False),
    "expanded": (lambda torch: torch.arange(3.0).expand(4, 3), {}, {}, False),
    "bfloat16, strided": (lambda torch: values_of(torch, "bfloat16", (4, 6))[1:, ::2].t(), {}, {}, False),
    "0-d and empty": (lambda torch: [torch.tensor(5), torch.empty(0), torch.empty(2, 0, 3).half()], {}, {}, False),
    "parameters": (lambda torch: [torch.nn.Parameter(torch.ones(2)), torch.ones(1, requires_grad=True)], {}, {}, False),
    "nested containers": (nested, {}, {"weights_only": False}, False),
    "a network": (lambda torch: network(torch).state_dict(), {}, {}, True),
    "a network, legacy": (lambda torch: network(torch).state_dict(), LEGACY, {}, True),
    "protocol 4": (lambda torch: network(torch).state_dict(), {"pickle_protocol": 4}, {"weights_only": False}, False),
    "SGD": (lambda torch: trained(torch, "SGD", momentum=0.9, nesterov=True)[1].state_dict(), {}, {}, False),
    "AdamW": (lambda torch: trained(torch, "AdamW", amsgrad=True)[1].state_dict(), {}, {}, False),
    "RMSprop": (lambda torch: trained(torch, "RMSprop", centered=True)[1].state_dict(), {}, {}, False),
    "StepLR": (lambda torch: scheduled(torch, "StepLR", 2), {}, {}, False),
    "CosineAnnealingLR": (lambda torch: scheduled(torch, "CosineAnnealingLR", 10), {}, {}, False),
    "OneCycleLR": (lambda torch: scheduled(torch, "OneCycleLR", 0.5, total_steps=9), {}, {"weights_only": False}, False),
    "a whole checkpoint": (whole, {}, {}, True),
    "a whole checkpoint, legacy": (whole, LEGACY, {}, True),
    "map_location by name": (whole, {}, {"map_location": "cpu"}, False),
    "map_location by device": (shared, {}, {"map_location": "DEVICE"}, False),
    "map_location by dict": (shared, {}, {"map_location": {"cuda:0": "cpu"}}, False),
    "map_location by function": (shared, {}, {"map_location": lambda storage, location: storage}, False),
    "mmap": (lambda torch: network(torch).state_dict(), {}, {"mmap": True}, True),
    "mmap, strided bfloat16": (lambda torch: values_of(torch, "bfloat16", (4, 6)).t(), {}, {"mmap": True}, True),
    "a class that is allowed": (lambda torch: Settings(0.5, torch.ones(3)), {}, {"weights_only": True}, False),
    "a class, unrestricted": (lambda torch: Settings(0.5, torch.ones(3)), {}, {"weights_only": False}, True),
    "a whole module": (network, {}, {"weights_only": False}, True),
}  # fmt: skip


def memory(tensor):
    """Return the bytes of a tensor's whole storage."""
    storage = tensor.untyped_storage()
    return bytes(storage.tolist()) if storage.nbytes() else b""


def same(ours, real):
    if isinstance(real, torch.nn.Module):
        assert type(ours).__name__ == type(real).__name__ and str(ours) == str(real)
        same(dict(ours.state_dict()), dict(real.state_dict()))
    elif isinstance(real, Settings):
        assert type(ours) is Settings and ours.rate == real.rate
        same(ours.weight, real.weight)
    else:
        assert_same(ours, real)
        same_memory(ours, real)


def same_memory(ours, real):
    if isinstance(real, torch.Tensor):
        assert memory(ours) == memory(real)
    elif isinstance(real, dict):
        for key in real:
            same_memory(ours[key], real[key])
    elif isinstance(real, (list, tuple)):
        for one, other in zip(ours, real):
            same_memory(one, other)


def there_and_back(saver, loader, case, tmp_path):
    make, save_options, load_options, by_path = CASES[case]
    options = {key: loader.device("cpu") if value == "DEVICE" else value for key, value in load_options.items()}
    given = make(saver)
    path = tmp_path / "file.pt"
    if by_path:
        saver.save(given, path, **save_options)
    else:
        with open(path, "wb") as file:
            saver.save(given, file, **save_options)
    with loader.serialization.safe_globals([Settings, collections.Counter]):
        if by_path:
            return given, loader.load(path, **options)
        with open(path, "rb") as file:
            return given, loader.load(file, **options)


def test_there_are_forty_cases():
    assert len(CASES) >= 40


@pytest.mark.parametrize("case", list(CASES))
def test_files_of_torch_load_byte_for_byte(case, tmp_path):
    real, ours = there_and_back(torch, ms, case, tmp_path)
    same(ours, real)


@pytest.mark.parametrize("case", list(CASES))
def test_files_of_ours_load_in_torch(case, tmp_path):
    ours, real = there_and_back(ms, torch, case, tmp_path)
    same(ours, real)


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("saver, loader", [(torch, ms), (ms, torch)], ids=["torch's", "ours"])
def test_shared_storages_stay_shared(saver, loader, legacy, tmp_path):
    saver.save(shared(saver), tmp_path / "a.pt", _use_new_zipfile_serialization=not legacy)
    found = loader.load(tmp_path / "a.pt")
    found["base"][3] = 99.0
    assert found["rows"][0, 3] == 99 and found["part"][1] == 99 and found["again"][3] == 99


def test_a_class_that_is_not_allowed(tmp_path):
    for saver, loader in ((torch, ms), (ms, torch), (ms, ms)):
        saver.save(Settings(0.5, saver.ones(3)), tmp_path / "a.pt")
        with pytest.raises(Exception, match="Settings") as caught:
            loader.load(tmp_path / "a.pt", weights_only=True)
        assert type(caught.value).__name__ == "UnpicklingError"


def test_training_goes_on_from_the_other_librarys_checkpoint(tmp_path):
    """Two steps in one library, two more in the other: the weights equal those of four steps in torch."""

    def steps(torch, net, optimizer, count):
        for _ in range(count):
            optimizer.zero_grad()
            net(torch.linspace(-1, 1, 128).reshape(2, 1, 8, 8)).square().mean().backward()
            optimizer.step()

    def start(torch):
        net = network(torch)
        return net, torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)

    want, optimizer = start(torch)
    steps(torch, want, optimizer, 4)
    for first, second in ((torch, ms), (ms, torch)):
        net, optimizer = start(first)
        steps(first, net, optimizer, 2)
        first.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "a.pt")
        net, optimizer = start(second)
        state = second.load(tmp_path / "a.pt")
        net.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])
        steps(second, net, optimizer, 2)
        for one, other in zip(net.parameters(), want.parameters()):
            np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_a_file_that_is_read_while_it_is_saved_over(tmp_path):
    path = pathlib.Path(tmp_path / "a.pt")
    ms.save(ms.ones(50_000), path)
    mapped = ms.load(path, mmap=True)
    with open(path, "rb") as file:
        ms.save(ms.zeros(50_000), path)
        assert (ms.load(file) == 1).all()
    assert (mapped == 1).all() and (ms.load(path) == 0).all()
