"""Mapping between torch's names in files and mstorch's objects."""

from __future__ import annotations

import importlib
import itertools
import sys
from functools import cache
from types import FunctionType, GenericAlias, ModuleType
from typing import Any

from mstorch._src.core import homes
from mstorch._src.core.built_in import written
from mstorch._src.core.naming import is_torch
from mstorch._src.serialization import rebuild
from mstorch.storage import _load_from_bytes

# The module of each nn class is part of torch's file format: pickles contain it.
_NN_HOMES = {
    "activation": "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish "
    "MultiheadAttention PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin Softplus Softshrink "
    "Softsign Tanh Tanhshrink Threshold",
    "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d SyncBatchNorm",
    "channelshuffle": "ChannelShuffle",
    "container": "Container ModuleDict ModuleList ParameterDict ParameterList Sequential",
    "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d LazyConv2d LazyConv3d "
    "LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d",
    "distance": "CosineSimilarity PairwiseDistance",
    "dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
    "flatten": "Flatten Unflatten",
    "fold": "Fold Unfold",
    "instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d "
    "LazyInstanceNorm3d",
    "linear": "Bilinear Identity LazyLinear Linear",
    "loss": "BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss "
    "HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss LinearCrossEntropyLoss MSELoss MarginRankingLoss MultiLabelMarginLoss "
    "MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss NLLLoss2d PoissonNLLLoss SmoothL1Loss SoftMarginLoss "
    "TripletMarginLoss TripletMarginWithDistanceLoss",
    "module": "Module",
    "normalization": "CrossMapLRN2d GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    "padding": "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d "
    "ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d",
    "pixelshuffle": "PixelShuffle PixelUnshuffle",
    "pooling": "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d "
    "AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d "
    "LPPool3d MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d",
    "rnn": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase",
    "sparse": "Embedding EmbeddingBag",
    "transformer": "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer",
    "upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
}
_HOME_OF = {name: f"torch.nn.modules.{home}" for home, names in _NN_HOMES.items() for name in names.split()}
_HOME_OF.update(dict.fromkeys(("Parameter", "Buffer", "UninitializedParameter", "UninitializedBuffer"),
                              "torch.nn.parameter"))  # fmt: skip
# Packages that are a single file in torch, and private files with torch's names.
_MOVED = {"mstorch.init": "mstorch.nn.init"}  # a module with another name in torch
_FILES = {f"mstorch.optim.{name}": f"torch.optim.{name}" for name in ("lr_scheduler", "_adafactor", "_muon")}
_CORE = ("Tensor", "Size", "device", "dtype", "layout", "memory_format", "Generator")
_RENAMED = {
    # https://github.com/pytorch/pytorch/pull/51633 moved the module; old files contain the old name.
    "torch.tensor": "torch._tensor",
    "torch._C": "torch",
    "torch._C._nn": "torch.nn.functional",
}


def torch_name(obj: Any, qualname: str | None = None) -> tuple[str, str] | None:
    """Return torch's (module, name) of an mstorch class or function; None for other objects."""
    module = home_of(obj) if isinstance(obj, _KINDS) else getattr(obj, "__module__", None)
    if not isinstance(module, str) or module.split(".", 1)[0] != "mstorch":
        return None
    own = _own_name(obj)
    name = qualname or own
    place, known = homes.home(module, own)
    if qualname in (None, own) and (place, known) != (module, own) or "._C._" in module:
        return _of_torch(place), known
    if module == "mstorch._src.serialization.rebuild":
        home = next((home for home, functions in rebuild.OF_NPU.items() if name in functions), None)
        return home or rebuild.HOMES.get(name, "torch._utils"), name
    head = name.split(".", 1)[0]
    if isinstance(obj, type) and head in _CORE:
        return ("torch._C" if head == "Generator" else "torch"), name
    if isinstance(obj, type) and head in _HOME_OF and module.startswith("mstorch.nn"):
        return _HOME_OF[head], name
    for ours, torchs in _FILES.items():
        if module == ours or module.startswith(ours + "."):
            return torchs, name
    public = list(itertools.takewhile(lambda part: not part.startswith("_"), module.split(".")[1:]))
    if len(public) == module.count("."):
        return ".".join(["torch", *public]), name
    # Torch has no such private module; public names are in the package that contains it, or at the top.
    room = sys.modules.get(".".join(["mstorch", *public]))
    if head in getattr(room, "__all__", ()):
        return ".".join(["torch", *public]), name
    # An object that torch lacks keeps its own name: a file with a name that does not exist could not be loaded.
    return ("torch", name) if head in vars(sys.modules["mstorch"]) else None


def _own_name(obj: Any) -> str:
    if isinstance(obj, _KINDS) and obj in _own:
        return _own[obj][1]
    return getattr(obj, "__qualname__", obj.__name__) if written(obj) is obj else obj.__name__


def is_torch_module(module: str) -> bool:
    """Return whether a module name in a file belongs to torch."""
    return module == "torch" or module.startswith("torch.") or module in rebuild.OF_NPU


def find(module: str, name: str) -> Any:
    """Return mstorch's counterpart of torch's ``module.name``. Raise AttributeError if there is none."""
    module = module if name == "_VariableFunctionsClass" else _RENAMED.get(module, module)
    if module in ("torch._utils", "torch._tensor") and name in rebuild.FUNCTIONS:
        return rebuild.FUNCTIONS[name]
    if f"{module}.{name}" in rebuild.CLASSES:
        return rebuild.CLASSES[f"{module}.{name}"]()
    if name in rebuild.OF_NPU.get(module, ()):
        return rebuild.OF_NPU[module][name]
    parts = module.split(".")[1:]
    # From the exact module upwards: mstorch may be divided into other files than torch, but public names are the same.
    for count in range(len(parts), -1, -1):
        home = _import(".".join(["mstorch", *parts[:count]]))
        found = home
        for piece in name.split("."):
            found = getattr(found, piece, None)
        if found is not None:
            return found
    raise AttributeError(f"Can't get attribute '{name}' of torch's module '{module}': mstorch has no counterpart of it")


def _import(module: str) -> ModuleType | None:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(error.name + ".")):
            return None
        raise


# Names that classes, functions and modules report if `import torch` imports mstorch

_Names = tuple[str, str, str]  # module, qualified name, name
_KINDS = (type, FunctionType, type(cache(len)))  # types of objects that pickles refer to by name
_REBUILT = {
    function: (rebuild.HOMES.get(name, "torch._utils").replace("torch", "mstorch", 1), name) for name, function in rebuild.FUNCTIONS.items()
} | {_load_from_bytes: ("mstorch.storage", "_load_from_bytes")}
_own: dict[Any, _Names] = {}  # renamed objects, with their own names
_searched: set[str] = set()


def name_classes(package: str) -> None:
    """Rename the modules of mstorch's classes, functions and modules to torch's, or back to their own."""
    if package != "torch":
        for item, names in _own.items():
            if isinstance(item, ModuleType):
                item.__name__ = names[0]
            else:
                item.__module__, item.__qualname__, item.__name__ = names
        _own.clear()
        _searched.clear()
        return
    if not _searched:
        for function, (home, name) in _REBUILT.items():
            _say(function, _of_torch(home), name)
        # torch's pickles look it up there, and so do pickles of subclasses that Python's own pickler writes.
        sys.modules["mstorch._tensor"]._rebuild_from_type_v2 = rebuild.FUNCTIONS["_rebuild_from_type_v2"]  # type: ignore[attr-defined]
    for key in [key for key in sys.modules if key.startswith("mstorch") and key not in _searched]:
        module: Any = sys.modules[key]
        if not isinstance(module, ModuleType) or getattr(getattr(module, "__spec__", None), "_initializing", False):
            continue
        _searched.add(key)
        if key != "mstorch" and module.__name__ == key and homes.is_torchs(key):
            _own[module], module.__name__ = (key, "", ""), _of_torch(_MOVED.get(key, key))
        for item in list(vars(module).values()):
            if isinstance(item, _KINDS) and not isinstance(item, GenericAlias):
                _name(item)


def _name(item: Any) -> None:
    """Rename the module of an mstorch class or function, and of a class's members, to torch's."""
    own = getattr(item, "__module__", None)
    if type(own) is not str or not own.startswith("mstorch") or item in _own:
        return
    module, name = homes.home(own, item.__qualname__)
    if homes.is_torchs(module):
        _say(item, _of_torch(_MOVED.get(module, module)), name)
    if isinstance(item, type):
        for member in vars(item).values():
            member = getattr(member, "__func__", member)
            if isinstance(member, _KINDS) and member is not item:
                _name(member)


def _say(item: Any, module: str, name: str) -> None:
    _own[item] = item.__module__, item.__qualname__, item.__name__
    item.__module__ = module
    if name != item.__qualname__:
        item.__qualname__, item.__name__ = name, name.rpartition(".")[2]


def _of_torch(module: str) -> str:
    return "torch" + module.removeprefix("mstorch")


def home_of(item: Any) -> str:
    """Return the mstorch module of a class or function, even if it is renamed to torch's."""
    return _own[item][0] if item in _own else str(getattr(item, "__module__", ""))


if is_torch():
    name_classes("torch")
