"""Process-wide settings, build information, and memory-mapped files."""
from __future__ import annotations

import enum
import importlib
import os
import pathlib
from typing import Any

import numpy as np

from ..._tensor import Tensor
from ..core import cuda_names, settings
from ..core import device as devices
from ..core.dtype import dtype, get_default_dtype, set_default_dtype
from ..core.formats import layout
from ..core.shared import mapped
from ..core.warned import warn_once
from ..ops.memory.copying import as_dtype, place_of_type
from ..ops.memory.from_data import made

_state: dict[str, Any] = {"interop": None}


class AggregationType(enum.Enum):
    """Aggregation of values logged under one name: SUM or AVG."""

    SUM = 0
    AVG = 1

    def __str__(self) -> str:
        return f"AggregationType.{self.name}"

    def __repr__(self) -> str:
        return f"<AggregationType.{self.name}: {self.value}>"


SUM, AVG = AggregationType.SUM, AggregationType.AVG
PRIVATE_OPS = ("unique_dim",)


class _QScheme(type):
    """Metaclass of quantization schemes, which cannot be called."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("cannot create 'torch.qscheme' instances")


class qscheme(metaclass=_QScheme):
    """Quantization scheme: how a quantized tensor maps integers to real numbers."""

    name: str

    def __copy__(self) -> qscheme:
        return self

    def __deepcopy__(self, memo: dict[Any, Any]) -> qscheme:
        return self

    def __reduce__(self) -> str:
        return self.name  # a singleton, pickled by its name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


def _scheme(name: str) -> qscheme:
    made_ = object.__new__(qscheme)
    made_.name = name
    return made_


per_tensor_affine = _scheme("per_tensor_affine")
per_channel_affine = _scheme("per_channel_affine")
per_tensor_symmetric = _scheme("per_tensor_symmetric")
per_channel_symmetric = _scheme("per_channel_symmetric")
per_channel_affine_float_qparams = _scheme("per_channel_affine_float_qparams")

# Features that scripts query; factorizations use NumPy's LAPACK, MindSpore's kernels OpenMP.
has_lapack = has_openmp = has_spectral = True
has_mkl = False


def get_num_interop_threads() -> int:
    """Return the number of inter-op threads."""
    return _state["interop"] or os.cpu_count() or 1


def set_num_interop_threads(int: int, /) -> None:
    """Set the number that ``get_num_interop_threads`` returns, without effect: MindSpore runs operations sequentially. Raise RuntimeError
    for a number below 1 and at a second call."""
    if int < 1:
        raise RuntimeError("set_num_interop_threads expects a positive integer")
    if _state["interop"] is not None:
        raise RuntimeError(
            "Error: cannot set number of interop threads after parallel work has started or set_num_interop_threads called"
        )
    _state["interop"] = int


def init_num_threads() -> None:
    """Do nothing: MindSpore initializes its threads itself."""


def set_flush_denormal(mode: bool) -> bool:
    """Return False: MindSpore has no option to flush denormal numbers."""
    return False


def get_deterministic_debug_mode() -> int:
    """Return 0 (default), 1 (nondeterministic operations warn) or 2 (they raise)."""
    if not settings.are_deterministic_algorithms_enabled():
        return 0
    return 1 if settings.is_deterministic_algorithms_warn_only_enabled() else 2


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Set ``use_deterministic_algorithms`` by a number or a word: 0 default, 1 warn, 2 error."""
    words = ("default", "warn", "error")
    if isinstance(debug_mode, str):
        if debug_mode not in words:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        debug_mode = words.index(debug_mode)
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    settings.use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def set_default_tensor_type(t: Any, /) -> None:
    """Make the dtype of a tensor type the default dtype. Deprecated in torch in favour of ``set_default_dtype``."""
    if getattr(t, "__module__", "") in ("torch.cuda", "mstorch.cuda") and not cuda_names.is_on():
        raise TypeError(f"type torch.cuda.{t.__name__} not available. Torch not compiled with CUDA enabled.")
    warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives."
    )
    if isinstance(t, str):
        module, _, name = t.rpartition(".")
        if module == "torch.cuda" and not cuda_names.is_on():
            raise TypeError(f"type {t} not available. Torch not compiled with CUDA enabled.")
        if module not in ("torch", "torch.cuda", f"torch.{devices.current().type}"):
            raise ModuleNotFoundError(f"No module named '{module or name}'")
    elif not hasattr(t, "_legacy_dtype"):
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    kind = as_dtype(t)
    if not kind.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    set_default_dtype(kind)
    place = place_of_type(t)
    if place != "cpu" or devices.defaults.chosen is not None:
        devices.defaults.chosen = devices.named(place)


def is_vulkan_available() -> bool:
    """Return False: MindSpore does not run on Vulkan."""
    return False


def compiled_with_cxx11_abi() -> bool:
    """Return True, as current versions of torch do."""
    return True


def get_file_path(*path_components: str) -> str:
    """Return a path relative to the parent of the package's directory."""
    return str(pathlib.Path(__file__).resolve().parents[3].joinpath(*path_components))


def get_device_module(device: int | str | devices.device | None = None) -> Any:
    """Return the module of a device, such as ``torch.cuda``; for None, the module of the current device."""
    kind = devices.current().type if device is None else devices.device(device).type
    try:
        return importlib.import_module(f"mstorch.{kind}")
    except ModuleNotFoundError:
        raise RuntimeError(f"mstorch has no module for the device {kind}") from None


def prepare_multiprocessing_environment(path: str) -> None:
    """Do nothing: subprocesses find MindSpore by themselves."""


def from_file(
    filename: str, shared: bool | None = None, size: int | None = 0, *, dtype: dtype | None = None, layout: layout | None = None,
    device: int | str | devices.device | None = None,
    pin_memory: bool | None = False, requires_grad: bool | None = False,
) -> Tensor:  # fmt: skip
    """Return a tensor over a memory-mapped file; with ``shared``, writes go to the file."""
    devices.resolve(device)
    kind = dtype or get_default_dtype()
    array = mapped(filename, bool(shared), (size or 0) * kind.itemsize)
    made_ = made(np.frombuffer(array, kind.np))
    made_._ms_storage.shared = array
    return made_.requires_grad_() if requires_grad else made_
