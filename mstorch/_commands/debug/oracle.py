"""Server process with real torch: it runs the calls that it receives, and imports no module of mstorch.

Requests and answers are pickled dictionaries, each preceded by its length in 8 bytes. A request contains everything that its call needs
except for large memories sent before, which are kept until a request drops them. See ``messages.py`` for values, ``memories.py`` for
memories.
"""
from __future__ import annotations

import contextlib
import importlib
import io
import os
import pickle
import struct
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Message = Any
BUFFER = 1 << 16  # number of bytes; a usual message fits, so that the other process is woken once


class Unpickler(pickle.Unpickler):
    """Unpickler of messages; ``kept`` holds blocks of memory, to which later messages may refer by number."""

    def __init__(self, file: Any, kept: dict[int, bytes]) -> None:
        super().__init__(file)
        self._kept = kept

    def persistent_load(self, reference: tuple[int, bytes | None, tuple[int, ...]]) -> bytes:
        """Return a block of memory, referred to by its number or received now; store it, and drop the blocks that are no longer needed."""
        number, data, forgotten = reference
        for old in forgotten:
            del self._kept[old]
        if data is not None:
            self._kept[number] = data
        return self._kept[number]


def send(file: Any, data: Any) -> None:
    """Write a pickled message to a pipe."""
    file.write(struct.pack("<Q", len(data)))
    file.write(data)
    file.flush()


def receive(file: Any, kept: dict[int, bytes]) -> Message:
    """Return the next message of a pipe. Raise EOFError at its end."""
    head = file.read(8)
    if len(head) < 8:
        raise EOFError("the other process has ended")
    return Unpickler(io.BytesIO(file.read(struct.unpack("<Q", head)[0])), kept).load()


class Decoder:
    """Decodes arguments from messages into a library's values, each tensor a leaf that owns its memory."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.tensors: dict[int, Any] = {}

    def decode(self, message: Message) -> Any:
        """Return the value of a message."""
        if not isinstance(message, dict):
            return message
        found: Any = getattr(self, "_" + message["is"])(message)
        return found

    def _again(self, message: Message) -> Any:
        return self.tensors[message["number"]]

    def _tensor(self, message: Message) -> Any:
        torch = self.library
        kind = getattr(torch, message["dtype"])
        if message["data"] is None:
            made = torch.empty_strided(message["shape"], message["strides"], dtype=kind, device="meta")
        elif not message["data"]:
            made = torch.empty_strided(message["shape"], message["strides"], dtype=kind)
        else:
            name = message["dtype"]
            flat = np.frombuffer(message["data"], np.int16 if name == "bfloat16" else np.dtype(name))
            made = torch.empty(flat.size, dtype=torch.int16 if name == "bfloat16" else kind, device="cpu")  # memory that can be resized
            made.numpy()[...] = flat
            made = (made.view(kind) if name == "bfloat16" else made).as_strided(message["shape"], message["strides"])
        made = made.detach()
        if message["grad"]:
            made.requires_grad_()
        self.tensors[message["number"]] = made
        return made

    def _list(self, message: Message) -> Any:
        return [self.decode(item) for item in message["items"]]

    def _tuple(self, message: Message) -> Any:
        return tuple(self._list(message))

    def _dict(self, message: Message) -> Any:
        return {self.decode(key): self.decode(item) for key, item in message["items"]}

    def _slice(self, message: Message) -> Any:
        return slice(*self._list(message))

    def _ellipsis(self, message: Message) -> Any:
        return Ellipsis

    def _ms_array(self, message: Message) -> Any:
        array: Any = np.ndarray(message["shape"], np.dtype(message["dtype"]), bytearray(message["data"]) or None, 0, message["strides"])
        return array[()] if message["number"] else array

    def _name(self, message: Message) -> Any:
        return getattr(self.library, message["name"].removeprefix("torch."))

    def _device(self, message: Message) -> Any:
        return self.library.device(message["name"])

    def _generator(self, message: Message) -> Any:
        made = self.library.Generator()
        made.set_state(self.library.from_numpy(np.frombuffer(bytearray(message["state"]), np.uint8)))
        return made

    def _type(self, message: Message) -> Any:
        return {"bool": bool, "int": int, "float": float, "complex": complex}[message["name"]]


def tensors_in(value: Any, kind: type) -> Iterator[Any]:
    """Yield the tensors of a result, in order."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item, kind)


def gradients(library: Any, function: Callable[..., Any], request: Message, decoder: Decoder | None = None) -> dict[int, Any]:
    """Return the gradients of a call's tensors, by the tensors' numbers, for given gradients of the call's results.

    ``request``: the call, ``writes`` (numbers of tensors that it writes to), ``given`` (numbers of results → gradients).
    """
    decoder = Decoder(library) if decoder is None else decoder
    with library.enable_grad():
        args, kwargs = decoder.decode(request["args"]), decoder.decode(request["kwargs"])
        leaves = dict(decoder.tensors)
        written = {id(leaves[number]): copied(library, leaves[number]) for number in request["writes"]}
        args, kwargs = exchanged(args, written), exchanged(kwargs, written)
        results = list(tensors_in(function(*args, **kwargs), library.Tensor))
    given = {number: decoder.decode(message) for number, message in request["given"].items()}
    followed = [number for number in given if number < len(results) and results[number].requires_grad]
    wanted = [number for number, leaf in leaves.items() if leaf.requires_grad]
    if not followed or not wanted:
        return {}
    found = library.autograd.grad(
        [results[number] for number in followed], [leaves[number] for number in wanted], [given[number] for number in followed],
        allow_unused=True,
    )  # fmt: skip
    return dict(zip(wanted, found))


def copied(library: Any, tensor: Any) -> Any:
    """Return a non-leaf copy with the same strides, which may be modified in place where a leaf may not."""
    return library.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device).copy_(tensor)


def exchanged(value: Any, replacements: dict[int, Any]) -> Any:
    """Return the value with objects replaced, by identity."""
    if id(value) in replacements:
        return replacements[id(value)]
    if isinstance(value, (list, tuple)):
        return type(value)(exchanged(item, replacements) for item in value)
    if isinstance(value, dict):
        return {key: exchanged(item, replacements) for key, item in value.items()}
    return value


def settings_of(library: Any, request: Message, stack: contextlib.ExitStack) -> None:
    """Enter the modes of a request: autocast, default dtype, generator state."""
    if request["autocast"] is not None:
        stack.enter_context(library.autocast("cpu", dtype=getattr(library, request["autocast"]), cache_enabled=False))
    elif library.is_autocast_enabled("cpu"):
        stack.enter_context(library.autocast("cpu", enabled=False))
    library.set_rng_state(library.from_numpy(np.frombuffer(bytearray(request["state"]), np.uint8)))


class Server:
    """Server of real torch, which computes the calls it receives."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch

    def function(self, name: str) -> Any:
        """Return the function with a dotted name such as ``torch.nn.functional.linear``, or None."""
        found = self.torch
        for part in name.split(".")[1:]:
            found = getattr(found, part, None)
        return found

    def message(self, value: Any) -> Message:
        """Return the message of a result."""
        torch = self.torch
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, (list, tuple)):
            return {"is": "list" if type(value) is list else "tuple", "items": [self.message(item) for item in value]}
        if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
            return {"is": "name", "name": str(value)}
        if isinstance(value, torch.device):
            return {"is": "device", "name": value.type}
        return value if type(value) in (int, float, bool, complex, str, type(None)) else {"is": "unknown"}

    def tensor(self, value: Any) -> Message:
        """Return a tensor's message: shape, strides, and the bytes from its first element to its last."""
        torch = self.torch
        if value.layout != torch.strided or value.device.type not in ("cpu", "meta"):
            return {"is": "unknown"}
        shape, strides = tuple(value.shape), value.stride()
        message = {"is": "tensor", "dtype": str(value.dtype).removeprefix("torch."), "shape": shape, "strides": strides,
                   "grad": value.requires_grad, "data": None}  # fmt: skip
        if value.device.type == "cpu":
            span = 0 if 0 in shape else 1 + sum((length - 1) * step for length, step in zip(shape, strides))
            flat = value.detach().resolve_conj().resolve_neg()
            if flat.stride() != strides:
                message["strides"] = strides = flat.stride()
            flat = flat.as_strided((span,), (1,))
            message["data"] = (flat.view(torch.int16) if flat.dtype == torch.bfloat16 else flat).numpy().tobytes()
        return message

    def answer(self, request: Message) -> Message:
        """Return torch's answer to a request."""
        torch = self.torch
        if "optimizer" in request:
            return self.stepped(request)
        function = self.function(request["name"])
        if not callable(function):
            return {"absent": True}
        torch.set_default_dtype(getattr(torch, request["default"]))
        with contextlib.ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
            settings_of(torch, request, stack)
            try:
                if request["given"] is not None:
                    return {"gradients": {number: self.message(value) for number, value in gradients(torch, function, request).items()}}
                return self.computed(function, request)
            except Exception as error:  # noqa: BLE001 - what torch raises is the answer
                return {"error": (type(error).__name__, str(error))}

    def stepped(self, request: Message) -> Message:
        """Return the parameters after an optimizer step."""
        torch = self.torch
        kind = getattr(torch.optim, request["optimizer"], None)
        if kind is None:
            return {"absent": True}
        params = []
        for value, gradient in request["params"]:
            param = Decoder(torch).decode(value)
            param.grad = None if gradient is None else Decoder(torch).decode(gradient)
            params.append(param)
        try:
            groups = [{**Decoder(torch).decode(options), "params": [params[at] for at in places]} for places, options in request["groups"]]
            made = kind(groups)
            for at, state in request["states"].items():
                made.state[params[at]] = Decoder(torch).decode(state)
            made.step()
        except Exception as error:  # noqa: BLE001 - what torch raises is the answer
            return {"error": (type(error).__name__, str(error))}
        return {"params": [self.message(param) for param in params]}

    def computed(self, function: Any, request: Message) -> Message:
        """Return the result of a call, the tensors that it wrote to, and the generator state after it."""
        torch = self.torch
        decoder = Decoder(torch)
        with torch.inference_mode(request["inference"]), torch.set_grad_enabled(request["recording"]):
            args, kwargs = decoder.decode(request["args"]), decoder.decode(request["kwargs"])
            written = {number: decoder.tensors[number] for number in request["writes"]}
            copies = {id(tensor): copied(torch, tensor) for number, tensor in written.items() if number not in request["leaves"]}
            written = {number: copies.get(id(tensor), tensor) for number, tensor in written.items()}
            result = function(*exchanged(args, copies), **exchanged(kwargs, copies))
        state = bytes(torch.get_rng_state().numpy())
        return {
            "result": self.message(result), "state": None if state == request["state"] else state,
            "written": {number: self.message(tensor) for number, tensor in written.items()},
        }  # fmt: skip


def serve() -> None:
    """Answer requests from standard input until it ends; torch's output goes to standard error."""
    answers, requests = os.fdopen(os.dup(1), "wb", BUFFER), os.fdopen(0, "rb", BUFFER)
    os.dup2(2, 1)
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        send(answers, pickle.dumps({"missing": f"{type(error).__name__}: {error}"}))
        return
    send(answers, pickle.dumps({"version": str(torch.__version__)}))
    server = Server(torch)
    kept: dict[int, bytes] = {}
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            send(answers, pickle.dumps(server.answer(receive(requests, kept)), protocol=5))
