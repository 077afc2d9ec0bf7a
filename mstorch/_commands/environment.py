"""Environment report, ``python -m mstorch env``, which works even if NumPy or MindSpore cannot be imported.

It imports only the standard library, because ``mstorch/__init__.py`` imports it first.
"""
from __future__ import annotations

import importlib
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from .._src import hook as _hook

_PACKAGES = ("mindspore", "mstorch", "numpy", "scipy", "ml_dtypes", "safetensors", "torch", "torchvision", "torchaudio", "triton", "onnx")
_VARIABLES = ("MSTORCH_", "GLOG_", "ASCEND_", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "ONEDNN_", "MALLOC_", "PYTHONHASHSEED", "TORCH_")
_INSTALL = ": pip install 'mindspore>=2.7.2,<2.11' 'numpy>=1.26'"
_ASCEND = Path("/usr/local/Ascend")


def packages() -> list[str]:
    """Return the relevant installed packages with their versions."""
    from importlib import metadata  # 40 ms, which every import of mstorch would take

    found = []
    for name in _PACKAGES:
        try:
            found.append(f"{name}=={metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return found


def python_version() -> str:
    """Return Python's version and whether it is a 32-bit or 64-bit build, in one line."""
    return f"{sys.version} ({sys.maxsize.bit_length() + 1}-bit runtime)".replace("\n", " ")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.processor())
    return f"{model or platform.machine()}, {os.cpu_count()} threads"


def cann() -> str:
    """Return the version of CANN, from its own files where MindSpore and CANN's scripts look for it; empty without CANN."""
    told = [Path(os.environ[name]) for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME") if os.environ.get(name)]
    operators = os.environ.get("ASCEND_OPP_PATH")
    homes = [*told, *([Path(operators).parent] if operators else []), _ASCEND / "ascend-toolkit" / "latest", _ASCEND / "cann"]
    for home in homes:
        named = (home / "compiler" / "version.info", home / "runtime" / "version.info", home / "opp" / "version.info", home / "version.cfg")
        for path in (*sorted(home.glob("*/ascend_toolkit_install.info")), *named):
            for line in path.read_text("utf-8", "replace").splitlines() if path.is_file() else ():
                if line.lower().startswith(("version=", "toolkit_running_version=")):
                    return line.partition("=")[2].strip()
    return ""


def _cann() -> str:
    """Return the version of CANN and the number of devices that the driver shows."""
    devices = [path for path in Path("/dev").glob("davinci[0-9]*") if path.name[7:].isdigit()]
    return f"{cann() or 'not found'}; {len(devices)} devices of the driver"


def _folders_of_cuda() -> Iterator[Path]:
    """Yield the folders with CUDA's runtime 11: those of LD_LIBRARY_PATH, of toolkits, and of NVIDIA's packages for pip."""
    told = [Path(part) for part in os.environ.get("LD_LIBRARY_PATH", "").split(":") if part]
    homes = [Path(os.environ["CUDA_HOME"])] if os.environ.get("CUDA_HOME") else []
    homes += sorted(Path("/usr/local").glob("cuda*"))
    packages = [Path(part) / "nvidia" / "cuda_runtime" / "lib" for part in sys.path if part]
    for folder in (*told, *(home / name for home in homes for name in ("lib64", "lib")), *packages):
        if any(folder.glob("libcudart.so.11*")):
            yield folder


def _cuda() -> str:
    """Return what there is of CUDA, and what to install or to set so that MindSpore finds a GPU."""
    count = len(list(Path("/dev").glob("nvidia[0-9]*")))
    if not count:
        return "no device of an NVIDIA driver"
    folder = next(_folders_of_cuda(), None)
    if folder is None:
        missing = " ".join(f"nvidia-{name}-cu11" for name in ("cuda-runtime", "cublas", "cudnn", "curand", "cusolver", "cufft", "cusparse"))
        return f"{count} devices of the driver; no libcudart.so.11: pip install {missing}, and put their folders lib into LD_LIBRARY_PATH"
    if not os.environ.get("CUDA_HOME"):
        return f"{count} devices of the driver; libcudart.so.11 in {folder}; MindSpore uses no GPU: export CUDA_HOME={folder.parent}"
    return f"{count} devices of the driver; libcudart.so.11 in {folder}"


def lines(rows: dict[str, str], problem: str) -> Iterator[str]:
    """Yield the report in the form of torch.utils.collect_env: ``rows`` come from mstorch itself, ``problem`` is why it cannot be imported.
    """
    mine, api = _hook.versions()
    yield f"PyTorch version: {api}"
    yield f"mstorch version: {mine}"
    if problem:
        yield f"mstorch cannot be imported: {problem}"
    for name, value in rows.items():
        yield f"{name}: {value}"
    yield f"CANN: {_cann()}"
    yield f"CUDA: {_cuda()}"
    yield ""
    yield f"OS: {platform.system()} {platform.release()} ({platform.machine()})"
    yield f"Libc version: {'-'.join(platform.libc_ver()) or 'N/A'}"
    yield f"Python version: {python_version()}"
    yield f"Python platform: {platform.platform()}"
    yield f"CPU: {_processor()}"
    yield ""
    yield "Variables:"
    yield from (f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith(_VARIABLES))
    yield ""
    yield "Versions of relevant libraries:"
    yield from (f"[pip3] {line}" for line in packages())


def answer() -> None:
    """Print the report and exit, if the command is ``python -m mstorch env`` and the package cannot be imported."""
    if sys.argv[:2] != ["-m", "env"]:
        return
    try:
        importlib.import_module("mstorch._src.backend.runtime")
    except Exception as error:  # noqa: BLE001 - whatever keeps it from being imported is what the report is about
        text = str(error) or type(error).__name__
        if isinstance(error, ModuleNotFoundError) and error.name in ("numpy", "mindspore"):
            text += _INSTALL
        print("\n".join(lines({}, text)))
        sys.exit(1)


answer()
