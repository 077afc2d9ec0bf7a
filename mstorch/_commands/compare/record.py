"""Runs a script under the torch that ``import torch`` imports, and records its modules, gradients and optimizers.

    python record.py RECORD OPTIONS script.py [args]     # OPTIONS: seed, steps, checkpoint, device, as JSON

The file is self-contained, because real torch's Python runs it too: it imports nothing of mstorch.
"""
from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import pickle
import random
import runpy
import sys
import types
import zlib
from typing import Any

import numpy as np

_MOST = 1024
_PRINTED = 200
_PLAIN = (int, float, str, bool, type(None))  # arguments that are compared as they are, beside tensors


class Enough(SystemExit):
    """Raised when the requested steps are done."""


class Record:
    """Hooks on all modules, tensors and optimizers; ``events`` lists what they have observed, in order."""

    def __init__(self, torch: Any, options: dict[str, Any]) -> None:
        self.torch, self.options = torch, options
        self.events: list[dict[str, Any]] = []
        self.names: dict[int, str] = {}
        self.kept: list[Any] = []  # keeps named modules and optimizers alive, so that their ids stay unique
        self.named: list[tuple[Any, dict[str, Any]]] = []  # running calls of modules, with their keyword arguments
        self.depth = 0
        self.calls = 0
        self.step = 0
        self.optimizers: dict[int, int] = {}
        self.watched: dict[int, Any] = {}  # parameters whose gradients are recorded
        self._loads = options.get("checkpoint")
        self._libraries = (os.path.dirname(torch.__file__), os.path.dirname(os.path.abspath(__file__)))
        self._reads = True  # False while the recorder itself reads a tensor, or a method of reading calls another one

    def stats(self, value: Any) -> dict[str, Any] | None:
        """Return a tensor's shape, dtype, norm, largest element, and a sample of its elements."""
        with self.torch.no_grad():
            plain = value.detach()
            if plain.layout != self.torch.strided or plain.device.type == "meta":
                return None
            plain = plain.cpu().resolve_conj().resolve_neg()
            if plain.dtype in (self.torch.bfloat16, self.torch.float16):
                plain = plain.float()
            array = self.array(plain).reshape(-1)
            array = array.view(array.real.dtype) if array.dtype.kind == "c" else array
        floats = array.astype("float64") if array.size else np.zeros(0)
        sample = floats[:: max(1, -(-array.size // _MOST))].copy()
        return {
            "shape": tuple(value.shape), "dtype": str(value.dtype).removeprefix("torch."), "sample": sample,
            "norm": float(np.sqrt((floats * floats).sum())), "largest": float(np.abs(floats).max()) if floats.size else 0.0,
        }  # fmt: skip

    def tensors(self, value: Any) -> list[Any]:
        """Return the tensors in a value, in order."""
        if isinstance(value, self.torch.Tensor):
            return [value]
        if isinstance(value, dict):
            return [tensor for item in value.values() for tensor in self.tensors(item)]
        if isinstance(value, (list, tuple)):
            return [tensor for item in value for tensor in self.tensors(item)]
        inner = getattr(value, "__dict__", None)
        return self.tensors(dict(inner)) if isinstance(inner, dict) and type(value).__module__ != "builtins" else []

    def array(self, tensor: Any) -> Any:
        """Return a tensor of the CPU as a NumPy array, without recording that it is read."""
        self._reads, reads = False, self._reads
        try:
            return tensor.numpy()
        finally:
            self._reads = reads

    def random(self) -> int:
        """Return a number that stands for the state of the CPU's generator."""
        return zlib.crc32(bytes(self.array(self.torch.get_rng_state())))

    def many(self, values: list[Any]) -> list[Any]:
        """Return the statistics of several tensors."""
        return [found for found in map(self.stats, values) if found is not None]

    # Modules

    def before(self, module: Any, args: Any) -> None:
        """Record the start of a module's call."""
        if id(module) not in self.names:
            self.name_below(module)
        if self.depth == 0 and self._loads:
            self._load(module)
        own = {name: value for name, value in module._parameters.items() if value is not None}
        own |= {name: value for name, value in module._buffers.items() if value is not None}
        event = {
            "kind": "forward", "call": self.calls, "step": self.step, "module": self.names[id(module)], "class": type(module).__name__,
            "settings": module.extra_repr()[:_PRINTED], "training": module.training, "depth": self.depth,
            "random": self.random(),
            "own": {name: self.stats(value) for name, value in own.items()}, "buffers": sorted(module._buffers),
            "plain": {str(key): value for key, value in [*enumerate(args), *self.keywords(module).items()] if isinstance(value, _PLAIN)},
        }  # fmt: skip
        self.calls += 1
        self.depth += 1
        module.__dict__.setdefault("_compare_calls", []).append(event)
        given = self.tensors(args) + self.tensors(self.keywords(module))
        self.watch_all(given, event["call"], "in")  # before the call: a module that writes into its input replaces the tensor

    def after(self, module: Any, args: Any, output: Any) -> None:
        """Record the end of a module's call."""
        self.depth -= 1
        stack = module.__dict__.get("_compare_calls")
        if not stack:
            return
        event = stack.pop()
        if not stack:
            del module.__dict__["_compare_calls"]
        given, found = self.tensors(args) + self.tensors(self.keywords(module)), self.tensors(output)
        event["in"], event["out"], event["random after"] = self.many(given), self.many(found), self.random()
        self.events.append(event)
        if self.torch.is_grad_enabled():
            self.watch_parameters(module)
            self.watch_all(found, event["call"], "out")

    def keywords(self, module: Any) -> dict[str, Any]:
        """Return the keyword arguments of a module's running call, which torch's global hooks do not get."""
        return self.named[-1][1] if self.named and self.named[-1][0] is module else {}

    def watch_all(self, values: list[Any], call: int, side: str) -> None:
        """Record the gradients of a module's inputs or outputs."""
        for number, tensor in enumerate(values):
            if self.torch.is_grad_enabled() and tensor.requires_grad and tensor.is_floating_point():
                self.watch(tensor, call, side, number)

    def watch(self, tensor: Any, call: int, side: str, number: int) -> None:
        """Record a tensor's gradient."""

        def seen(gradient: Any) -> None:
            self.events.append({"kind": "gradient", "call": call, "side": side, "number": number, "value": self.stats(gradient)})

        tensor.register_hook(seen)

    def watch_parameters(self, module: Any) -> None:
        """Record the gradients of a module's own parameters as backward computes them, before clipping and accumulation."""
        for name, param in module._parameters.items():
            if param is not None and param.requires_grad and id(param) not in self.watched:
                self.watched[id(param)] = param

                def seen(gradient: Any, full: str = f"{self.names[id(module)]}.{name}") -> None:
                    self.events.append({"kind": "parameter", "name": full, "value": self.stats(gradient)})

                param.register_hook(seen)

    def name_below(self, root: Any) -> None:
        """Name a module and its descendants, as ``named_modules`` does."""
        first = type(root).__name__
        for name, module in root.named_modules():
            if id(module) not in self.names:
                self.names[id(module)] = f"{first}.{name}" if name else first
                self.kept.append(module)

    def _load(self, module: Any) -> None:
        found = self.torch.load(self._loads, map_location="cpu")
        state = found.get("state_dict", found.get("model", found)) if isinstance(found, dict) else found
        if isinstance(state, dict) and set(state) == set(module.state_dict()):
            module.load_state_dict(state)
            self._loads = None

    # Reads of the script

    def read(self, tensor: Any, method: str) -> None:
        """Record a tensor whose values a line outside of the library reads: a metric, a loss that is printed. What the library reads for
        itself, such as an optimizer's count of steps, is its own affair."""
        frame: Any = sys._getframe(2)
        while frame is not None and frame.f_code.co_name == "__format__":
            frame = frame.f_back
        if frame is not None and not frame.f_code.co_filename.startswith(self._libraries):
            line = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
            self.events.append({"kind": "read", "method": method, "line": line, "value": self.stats(tensor)})

    def watch_reads(self) -> None:
        """Replace the methods by which Python gets a tensor's values."""
        record, kind = self, self.torch.Tensor

        def replace(name: str) -> None:
            method = getattr(kind, name)

            @functools.wraps(method)
            def reading(tensor: Any, *args: Any, **kwargs: Any) -> Any:
                if not record._reads:
                    return method(tensor, *args, **kwargs)
                record._reads = False
                try:
                    record.read(tensor, name)
                    return method(tensor, *args, **kwargs)
                finally:
                    record._reads = True

            setattr(kind, name, reading)

        for name in ("item", "tolist", "numpy", "__float__", "__int__"):
            replace(name)

    # Losses and steps

    def loss(self, tensor: Any) -> None:
        """Record the tensor on which ``backward`` is called."""
        self.events.append({"kind": "loss", "value": self.stats(tensor)})

    def before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Record an optimizer's options and gradients before its step."""
        number = self.optimizers.setdefault(id(optimizer), len(self.optimizers))
        self.kept.append(optimizer)
        kinds = (*_PLAIN, tuple)
        options = [{key: value for key, value in group.items() if isinstance(value, kinds)} for group in optimizer.param_groups]
        grads = {name: self.stats(param.grad) for name, param in self.params(optimizer) if param.grad is not None}
        params = {name: self.stats(param) for name, param in self.params(optimizer)}
        kind = type(optimizer).__name__
        self.events.append({"kind": "grads", "optimizer": number, "class": kind, "options": options, "value": grads, "before": params})

    def after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Record an optimizer's parameters after its step."""
        params = {name: self.stats(param) for name, param in self.params(optimizer)}
        number, kind = self.optimizers[id(optimizer)], type(optimizer).__name__
        self.events.append({"kind": "step", "optimizer": number, "class": kind, "value": params})
        self.step += 1
        if self.step >= self.options["steps"]:
            raise Enough(0)

    def params(self, optimizer: Any) -> list[tuple[str, Any]]:
        """Return the parameters of an optimizer, named after their modules if these were called."""
        names = {id(param): f"{self.names[id(module)]}.{name}" for module in self.kept if id(module) in self.names
                 for name, param in module._parameters.items() if param is not None}  # fmt: skip
        every = [param for group in optimizer.param_groups for param in group["params"]]
        return [(names.get(id(param), f"parameter {number}"), param) for number, param in enumerate(every)]

    def install(self) -> None:
        """Install the hooks."""
        torch, record = self.torch, self
        hooks, steps = torch.nn.modules.module, importlib.import_module("torch.optim.optimizer")
        hooks.register_module_forward_pre_hook(self.before)
        hooks.register_module_forward_hook(self.after)
        steps.register_optimizer_step_pre_hook(self.before_step)
        steps.register_optimizer_step_post_hook(self.after_step)
        backward = torch.Tensor.backward

        def noted(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            record.loss(tensor)
            return backward(tensor, *args, **kwargs)

        torch.Tensor.backward = noted
        call = torch.nn.Module.__call__

        def called(module: Any, *args: Any, **kwargs: Any) -> Any:
            record.named.append((module, kwargs))
            try:
                return call(module, *args, **kwargs)
            finally:
                record.named.pop()

        torch.nn.Module.__call__ = called
        self.watch_reads()


class _Torch(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder by which ``import mstorch`` imports torch: the run under torch of a script that says ``import mstorch as torch``."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        known = fullname == "mstorch" or fullname.startswith("mstorch.")
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if known else None

    def create_module(self, spec: Any) -> Any:
        module = importlib.import_module("torch" + spec.name[len("mstorch") :])
        spec.loader_state = module.__spec__
        if spec.name == "mstorch":
            _show_npu(module)
        return module

    def exec_module(self, module: Any) -> None:
        # The import system has set the other name's spec on the module.
        module.__spec__ = module.__spec__.loader_state


def _show_npu(torch: Any) -> None:
    """Give torch the device and the module ``npu`` of a machine without an NPU, which ported scripts name: ``torch.npu.is_available()``."""
    if hasattr(torch, "npu"):  # torch_npu is there
        return
    npu = types.ModuleType("torch.npu", "torch.cuda, without a device.")
    vars(npu).update(
        is_available=lambda: False, device_count=lambda: 0, get_amp_supported_dtype=lambda: [torch.float16, torch.bfloat16],
        __getattr__=lambda name: getattr(torch.cuda, name),
    )  # fmt: skip
    torch.utils.rename_privateuse1_backend("npu")
    torch._register_device_module("npu", npu)


def run(out: str, options: dict[str, Any], arguments: list[str]) -> None:
    """Run a script, and write the record even if the script fails."""
    torch = importlib.import_module("torch")
    if "mstorch" not in sys.modules:
        sys.meta_path.insert(0, _Torch())
    seed = options["seed"]
    random.seed(seed)
    np.random.seed(seed)  # the generator that scripts use
    torch.manual_seed(seed)
    if options.get("device") and options["default"]:
        torch.set_default_device(options["device"])
    record = Record(torch, options)
    record.install()
    sys.argv = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
    error = None
    try:
        runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit:
        pass
    except BaseException as raised:  # noqa: BLE001 - what the script raises is part of the record
        error = f"{type(raised).__name__}: {raised}"
        sys.excepthook(type(raised), raised, raised.__traceback__)
    with open(out, "wb") as file:
        pickle.dump({"version": str(torch.__version__), "events": record.events, "error": error}, file)


if __name__ == "__main__":
    run(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:])
