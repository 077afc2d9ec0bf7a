"""Which symbols MindSpore's Ascend libraries want of CANN: those that they leave undefined and no other library defines, those that they look up by
name (dlsym), and the ACLNN functions.
"""
from __future__ import annotations

import re
import subprocess
from pathlib import Path

LOADED = (
    "libmindspore_ascend.so.2", "libmindspore_ops_ascend.so", "ascend/libmindspore_ascend_res_manager.so", "ascend/libd_collective.so",
    "ascend/libhccl_plugin.so", "ascend/libmindspore_graph_ir.so", "ascend/ms_kernels_symmetric_memory/shmem/shmem/lib/libshmem.so",
)  # fmt: skip
BY_NAME = re.compile(r"(acl(rt|mdl|op|prof|tdt|sys|dvpp)?[A-Z]\w*|Hccl[A-Z]\w*|rt[A-Z]\w*|hal[A-Z]\w*|Msprof[A-Z]\w*|\w*PTA\w*|\w+HugeMem\w*)")
SYSTEM = ("libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libgomp.so.1", "libpthread.so.0", "ld-linux-x86-64.so.2")


def _symbols(path: Path | str, which: str) -> set[tuple[str, str]]:
    out = subprocess.run(["nm", "-D", which, path], capture_output=True, text=True).stdout
    return {(words[-1].split("@")[0], words[-2]) for words in map(str.split, out.splitlines()) if len(words) > 1}


def _defined_by_system() -> set[str]:
    names: set[str] = set()
    table = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, env={"PATH": "/usr/sbin:/sbin:/usr/bin:/bin"}).stdout
    for name in SYSTEM:
        line = re.search(rf"\s{re.escape(name)} .*=> (\S+)", table)
        if line is not None:
            names |= {symbol for symbol, _ in _symbols(line[1], "--defined-only")}
    return names


def wants(mindspore: Path) -> tuple[dict[str, set[str]], set[str], set[str]]:
    """Return undefined symbols by library, names that are looked up, and ACLNN functions, of MindSpore in a folder."""
    lib = mindspore / "lib"
    defined = _defined_by_system()
    for path in [*lib.glob("*.so*"), *lib.glob("plugin/*.so*"), *lib.glob("plugin/ascend/*.so")]:
        if "gpu" not in path.name:
            defined |= {symbol for symbol, _ in _symbols(path, "--defined-only")}
    undefined: dict[str, set[str]] = {}
    for name in LOADED:
        symbols = _symbols(lib / "plugin" / name, "--undefined-only")
        undefined[name] = {symbol for symbol, kind in symbols if kind == "U" and not symbol.startswith(("Py", "_Py"))} - defined
    by_name: set[str] = set()
    aclnn: set[str] = set()
    for path in [*(lib / "plugin" / name for name in LOADED), lib / "libmindspore_pyboost.so"]:
        text = subprocess.run(["strings", "-a", path], capture_output=True, text=True).stdout.split("\n")
        aclnn |= {word for word in text if re.fullmatch(r"aclnn[A-Z]\w*", word) and not word.endswith("GetWorkspaceSize")}
        by_name |= {word for word in text if BY_NAME.fullmatch(word) and not word.startswith("aclnn")}
    by_name |= {word.removeprefix("Un") for word in by_name if word.startswith("UnInit")}  # linkers keep one text where another ends with it
    return undefined, by_name, aclnn
