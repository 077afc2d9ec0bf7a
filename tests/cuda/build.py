"""Builds the emulated CUDA runtime for the installed MindSpore, once: ``environment()`` returns the variables with which a program finds it.

MindSpore's package is seen through links, with one plugin, whose library of kernels is replaced. Needs gcc and nm.
"""
from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests import emulated

HERE = Path(__file__).parent.absolute()
PLUGIN, KERNELS = "lib/plugin/libmindspore_gpu.so.11.6", "lib/plugin/gpu/libcuda_ops.so.11"
# By library: the beginning of its functions' names.
LIBRARIES = {
    "libcublas.so.11": "cublas", "libcudnn.so.8": "cudnn", "libcurand.so.10": "curand", "libcusolver.so.11": "cusolver", "libcufft.so.10": "cufft",
    "libcusparse.so.11": "cusparse", "libnvrtc.so.11.2": "nvrtc",
}  # fmt: skip


def missing() -> str:
    """Return why the emulation can't be built here, or "" if it can."""
    return emulated.missing("CUDA runtime", ("gcc", "nm"), PLUGIN, "CUDA")


def folder() -> Path:
    """Return the folder of libraries and of MindSpore; build it if there is none yet."""
    return emulated.built("cuda", [HERE / "build.py", *sorted((HERE / "native").iterdir())], _build)


def _left_out(folder: Path, names: list[str]) -> list[str]:
    """Return the names in a folder of MindSpore that are not seen: other plugins, of which MindSpore chooses one, and headers."""
    if folder == Path("lib/plugin"):
        return [name for name in names if "ascend" in name or "11.1" in name]
    return [name for name in names if name == "__pycache__" or folder == Path() and name == "include"]


def _symbols(path: Path, which: str) -> list[tuple[str, str]]:
    lines = subprocess.run(["nm", "-D", which, path], capture_output=True, text=True, check=True).stdout.splitlines()
    return [(words[-1].split("@")[0], words[-2]) for words in map(str.split, lines) if len(words) > 1]


def _build(mindspore: Path, place: Path) -> None:
    lib, work, site = place / "lib", place / "work", place / "site/mindspore"
    lib.mkdir(parents=True)
    work.mkdir()
    shutil.copytree(mindspore, site, ignore=lambda folder, names: _left_out(Path(folder).relative_to(mindspore), names), copy_function=os.symlink)
    wanted = {name for path in (PLUGIN, KERNELS) for name, kind in _symbols(mindspore / path, "--undefined-only") if kind == "U"}
    _link(lib, work, "libcudart.so.11.0", HERE / "native/cudart.c")
    for name, prefix in LIBRARIES.items():
        own = [HERE / "native/cudnn.c"] if prefix == "cudnn" else []
        written = "".join(path.read_text() for path in own)
        names = {symbol for symbol in wanted if symbol.startswith(prefix) and f" {symbol}(" not in written}
        _link(lib, work, name, *own, _returning_zero(work / f"{prefix}.s", names))
    driver = {name for name in wanted if name.startswith("cu") and name[2:3].isupper()}
    _link(lib, work, "libcuda.so.1", _returning_zero(work / "cuda.s", driver), versioned=False)
    kernels = {name for name, kind in _symbols(mindspore / KERNELS, "--defined-only") if kind in "TW" and not name.startswith(("_ZT", "_init", "_fini"))}
    _link(lib, work, "libcuda_ops.so.11", _returning_zero(work / "kernels.s", kernels), versioned=False)
    (site / KERNELS).unlink()
    (site / KERNELS).symlink_to(lib / "libcuda_ops.so.11")


def _returning_zero(path: Path, names: set[str]) -> Path:
    functions = "".join(f'.weak "{name}"\n.type "{name}",@function\n.set "{name}",f0\n' for name in sorted(names))
    path.write_text(f'.text\nf0: xor %eax,%eax\n ret\n{functions}.section .note.GNU-stack,"",@progbits\n')
    return path


def _link(lib: Path, work: Path, name: str, *parts: Path, versioned: bool = True) -> None:
    script = work / f"{name}.map"
    script.write_text(f"{name} {{ global: *; }};\n")
    version = [f"-Wl,--version-script={script}"] if versioned else []
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-w", f"-Wl,-soname,{name}", *version, "-o", lib / name, *parts], check=True)


def environment(**changes: object) -> dict[str, str]:
    """Return this process's environment, in which MindSpore finds a GPU, with ``changes`` (None removes a variable)."""
    place = folder()
    return emulated.environment(place / "site", place / "lib", {"CUDA_HOME": str(place)}, changes)
