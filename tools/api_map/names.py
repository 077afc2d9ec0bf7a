"""torch's public names by page, and the call forms of mstorch's."""
from __future__ import annotations

import ast
import enum
import functools
import importlib
import inspect
import pathlib
import re
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

STUBS = pathlib.Path(__file__).parents[2] / "mstorch" / "_src" / "stubs"
PAGES = {
    "torch": ("torch",),
    "tensor": ("torch.Tensor",),
    "nn": (
        "torch.nn", "torch.nn.init", "torch.nn.utils", "torch.nn.utils.rnn", "torch.nn.utils.parametrize",
        "torch.nn.utils.parametrizations",
    ),
    "functional": ("torch.nn.functional",),
    "mathematics": ("torch.linalg", "torch.fft", "torch.special"),
    "optim": ("torch.optim", "torch.optim.lr_scheduler", "torch.optim.swa_utils"),
    "autograd": ("torch.autograd", "torch.autograd.functional", "torch.autograd.forward_ad", "torch.func"),
    "distributions": ("torch.distributions",),
    "data": ("torch.utils.data", "torch.utils.checkpoint", "torch.utils.dlpack", "torch.utils.tensorboard"),
    "distributed": (
        "torch.distributed", "torch.distributed.fsdp", "torch.distributed.tensor", "torch.distributed.checkpoint",
        "torch.distributed.pipelining", "torch.nn.parallel",
    ),
    "devices": ("torch.amp", "torch.accelerator", "torch.cuda", "torch.random"),
    "more": (
        "torch.sparse", "torch.jit", "torch.fx", "torch.export", "torch.library", "torch.profiler", "torch.testing", "torch.onnx",
        "torch.hub", "torch.nested",
    ),
}  # fmt: skip
"""By page: the modules and classes of torch whose names it lists."""
_FILES = {
    "torch": "torch_*.pyi", "torch.Tensor": "methods*.pyi", "torch.nn.functional": "*nn_functional.pyi", "torch.linalg": "linalg.pyi",
    "torch.fft": "fft.pyi", "torch.special": "special.pyi",
}  # fmt: skip
_INTERNAL = re.compile(
    r"^(cudnn_|miopen_|mkldnn_|fbgemm_|quantized_|q_|fake_quantize|fused_moving|choose_qparams|quantize_per|sym_|Sym|native_|batch_norm_|"
    r"_|unsafe_|segment_reduce|dsmm|spmm|hsmm|saddmm|smm|sspaddmm|int_repr|is_distributed|is_vulkan|grid_sampler_|embedding_renorm_|"
    r"rnn_(tanh|relu)$|lstm$|gru$|\w+_(jvp|vjp|backward)$|xpu$|xla$|mtia$|ipu$|hpu$)"
)


class Name(NamedTuple):
    """A public name of torch: its namespace, whether mstorch has it, and the call forms."""

    space: str
    name: str
    state: str  # "there", "raises" or "absent"
    forms: tuple[str, ...]

    @property
    def full(self) -> str:
        """The dotted name."""
        return f"{self.space}.{self.name}"


def names(space: str) -> Iterator[Name]:
    """Return torch's public names in a module or class, in order."""
    theirs, ours = _resolved("torch", space), _resolved("mstorch", space)
    for name in sorted(_public(theirs, space), key=lambda text: (text.lower(), text)):
        yield Name(space, name, _state(ours, name), tuple(_forms(space, ours, name)))


def _resolved(root: str, space: str) -> Any:
    """Return a module or class by its dotted name; None if it does not exist."""
    path = root + space.removeprefix("torch")
    try:
        return importlib.import_module(path)
    except ImportError:
        parent, _, last = path.rpartition(".")
        return getattr(importlib.import_module(parent), last, None) if parent in ("torch", "mstorch") else None


def _public(theirs: Any, space: str) -> Iterator[str]:
    listed = getattr(theirs, "__all__", None) if isinstance(theirs, types.ModuleType) else None
    for name in dict.fromkeys(listed or (name for name in dir(theirs) if not name.startswith("_"))):
        value = getattr(theirs, name, None)
        home = getattr(value, "__module__", None) or "torch"
        foreign = isinstance(value, types.ModuleType) or (not listed and space != "torch.Tensor" and not str(home).startswith("torch"))
        parser = isinstance(value, type) and home == "torch._C" and not value.__doc__  # of torch's own compiler
        if value is not None and not foreign and not parser and not _INTERNAL.match(name):
            yield name


def _state(ours: Any, name: str) -> str:
    from mstorch._src.unbuilt import is_unbuilt  # late: mstorch is imported where it is first asked for

    if ours is None or not hasattr(ours, name):
        return "absent"
    return "raises" if is_unbuilt(getattr(ours, name)) else "there"


@functools.cache
def _stubbed(space: str) -> dict[str, list[str]]:
    """Return for each name in a stub the parameters of each of its overloads."""
    found: dict[str, list[str]] = {}
    for path in sorted(STUBS.glob(_FILES[space])) if space in _FILES else ():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                found.setdefault(node.name, []).append(_parameters(node.args))
    return found


def _parameters(args: ast.arguments) -> str:
    """Return the parameters of an overload without types and without ``self``."""
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))):
        arg.annotation = None
    text = ast.unparse(args)
    return re.sub(r"^self(, /)?(, )?", "", text)


def _forms(space: str, ours: Any, name: str) -> Iterator[str]:
    forms = dict.fromkeys(_stubbed(space).get(name, ()))
    if forms:
        yield from forms
        return
    value = getattr(ours, name, None)
    if not callable(value) or isinstance(value, enum.EnumMeta):  # an enumeration's is Python's own, of each version another
        return
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return
    plain = [item.replace(annotation=item.empty) for item in signature.parameters.values() if item.name != "self"]
    text = str(signature.replace(parameters=plain, return_annotation=signature.empty))[1:-1]
    yield re.sub(r"<(?:function|class|object|built-in)?[^>]*?'?([\w.]+)'?(?: (?:object )?at 0x\w+)?>", r"\1", text)


__all__ = ["Name", "PAGES", "names"]
