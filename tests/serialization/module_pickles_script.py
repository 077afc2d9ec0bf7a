"""Modules of every layer, pickled and copied by a process's torch in every protocol, and compared with another process's.

    python module_pickles_script.py write ARGUMENTS FILE    # by whichever torch this process has
    python module_pickles_script.py read ARGUMENTS FILE     # prints what is not as this process's own
"""
from __future__ import annotations

import copy
import importlib
import pickle
import sys
import warnings
from typing import Any

import torch

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


def _back(value: Any) -> Any:
    """Return the arguments: tensors, dtypes and modules are encoded by their values and names."""
    if isinstance(value, dict):
        return {key: _back(item) for key, item in value.items()}
    if isinstance(value, tuple) and value[:1] == ("a tensor",):
        return torch.tensor(value[1])
    if isinstance(value, tuple) and value[:1] == ("a dtype",):
        return getattr(torch, value[1])
    return type(value)(_back(item) for item in value) if isinstance(value, (list, tuple)) else value


def modules(arguments: dict[tuple[str, str], tuple[Any, Any]]) -> dict[str, Any]:
    """Return a module of each layer, by name."""
    nn = torch.nn
    made = {}
    for (home, name), (given, options) in arguments.items():
        made[f"{home}.{name}"] = getattr(importlib.import_module(home), name)(*_back(given), **_back(options))
    made |= {
        "Module": nn.Module(), "Sequential": nn.Sequential(nn.Linear(1, 1), nn.ReLU()), "ModuleList": nn.ModuleList([nn.ReLU()]),
        "ModuleDict": nn.ModuleDict({"a": nn.ReLU()}), "ParameterList": nn.ParameterList([nn.Parameter(torch.ones(2))]),
        "ParameterDict": nn.ParameterDict({"a": nn.Parameter(torch.ones(2))}), "FakeQuantize": torch.ao.quantization.FakeQuantize(),
        "MinMaxObserver": torch.ao.quantization.MinMaxObserver(),
        "AveragedModel": torch.optim.swa_utils.AveragedModel(nn.Linear(2, 2)), "DataParallel": nn.DataParallel(nn.Linear(2, 2)),
        "qat": torch.ao.nn.qat.Linear(2, 3, qconfig=torch.ao.quantization.get_default_qat_qconfig("fbgemm")),
        "quantized Linear": torch.ao.nn.quantized.Linear(2, 3), "quantized Quantize": torch.ao.nn.quantized.Quantize(0.1, 2, torch.quint8),
        "quantized LSTM": torch.ao.nn.quantized.dynamic.LSTM(2, 3), "quantized dynamic Linear": torch.ao.nn.quantized.dynamic.Linear(2, 3),
        "encoder": nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2),
    }  # fmt: skip
    return made


def protocols(name: str) -> range:
    """Return the protocols in which torch pickles a module: its packed weights crash in the first two."""
    return PROTOCOLS[2:] if name.startswith("quantized ") else PROTOCOLS


def seen(module: Any) -> Any:
    """Return the visible state of a module, with the kinds of its attributes by name."""
    kinds = {name: type(value).__name__ for name, value in vars(module).items() if not name.startswith("_flat_weight")}
    return str(module), module.training, list(kinds), kinds, list(module.state_dict()), bool(module)


def copied(module: Any, protocols: range) -> list[Any]:
    """Return copies and their keys, and the result of ``__reduce__``."""
    ways = [module.__reduce__(), *(module.__reduce_ex__(protocol) for protocol in PROTOCOLS)]
    return [
        seen(copy.copy(module)), seen(copy.deepcopy(module)), *(seen(pickle.loads(pickle.dumps(module, protocol))) for protocol in protocols),
        [(len(way), way[1][0].__name__, [name for name in way[2] if not name.startswith("_flat_weight")]) for way in ways],
    ]  # fmt: skip


def write(arguments: str, path: str) -> None:
    """Write all modules, pickled in each protocol, and the visible state of them and of their copies."""
    with open(arguments, "rb") as file:
        made = modules(pickle.load(file))
    found = {
        name: ([pickle.dumps(module, protocol) for protocol in protocols(name)], seen(module), copied(module, protocols(name)))
        for name, module in made.items()
    }
    with open(path, "wb") as file:
        pickle.dump(found, file)


def read(arguments: str, path: str) -> list[str]:
    """Return the differences of another process's modules from this one's."""
    with open(arguments, "rb") as file:
        made = modules(pickle.load(file))
    with open(path, "rb") as file:
        found = pickle.load(file)
    wrong = [f"{name}: not there" for name in made.keys() ^ found.keys()]
    for name, (pickles, theirs, copies) in found.items():
        ours = made[name]
        if seen(ours) != theirs:
            wrong.append(f"{name}: {theirs} expected, {seen(ours)} given")
        own = copied(ours, protocols(name))
        if own != copies:
            wrong.append(f"{name}: copies are {copies}, {own} given")
        for protocol, data in zip(protocols(name), pickles):
            try:
                back = seen(pickle.loads(data))
            except Exception as error:  # noqa: BLE001 - said
                back = repr(error)
            if back != theirs:
                wrong.append(f"{name} in protocol {protocol}: {theirs} expected, {back} given")
    return wrong


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print("\n".join({"write": write, "read": read}[sys.argv[1]](*sys.argv[2:]) or ()))
