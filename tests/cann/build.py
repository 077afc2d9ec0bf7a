"""Builds the emulated CANN for the installed MindSpore, in five seconds, once: ``folder()`` returns where it is, ``environment()`` the variables
with which a program finds it. Needs gcc, g++, nm and strings.
"""
from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests import emulated

from .wants import wants

HERE = Path(__file__).parent.absolute()
TOOLS = ("gcc", "g++", "nm", "strings")
WRITTEN = ("acl.c", "streams.c", "hccl.c")
# Libraries of CANN whose functions MindSpore finds in libascendcl.so, to which these are linked.
OTHERS = (
    "graph", "msprofiler", "hccl", "runtime", "profapi", "nnopbase", "acl_op_compiler", "acl_tdt_channel", "acl_tdt_queue", "ascend_hal", "gmem",
    "ascend_ml", "platform", "exe_graph", "c_sec", "mmpa", "register", "ascendalog",
)  # fmt: skip


def missing() -> str:
    """Return why the emulation can't be built here, or "" if it can."""
    return emulated.missing("CANN", TOOLS, "lib/plugin/libmindspore_ascend.so.2", "Ascend")


def folder() -> Path:
    """Return CANN's folder; build it if this MindSpore has none yet."""
    return emulated.built("cann", [HERE / "build.py", HERE / "wants.py", *sorted((HERE / "native").iterdir())], build)


def build(mindspore: Path, out: Path) -> None:
    """Make the libraries. MindSpore asks the loader which file has aclrtMalloc, and takes that path up to "latest" for CANN's folder."""
    undefined, by_name, aclnn = wants(mindspore)
    lib, work = out / "x86_64-linux/lib64", out / "work"
    for place in (lib, work, out / "opp/built-in", out / "compiler"):
        place.mkdir(parents=True, exist_ok=True)
    (out / "lib64").symlink_to("x86_64-linux/lib64")
    sources = "".join((HERE / "native" / name).read_text() for name in WRITTEN)
    written = set(re.findall(r"^(?:R|P|size_t|const char \*)\s*\*?(\w+)\(", sources, re.MULTILINE))
    wanted = set().union(*undefined.values())
    # PTA*: CANN's own cache of executors; that there is none is one of the cases that MindSpore knows.
    runtime = {name for name in wanted | by_name if not name.startswith("_Z") and "PTA" not in name} - written - {"aclDataType"}
    (work / "zero.s").write_text(".text\n" + _returning_zero(runtime))
    mangled = {name for name in wanted if name.startswith("_Z") and "StatusFactory" not in name and "OperatorFactory" not in name}
    (work / "ge.s").write_text(".text\n" + _returning_zero(mangled))
    setting_up = {"aclnnInit", "aclnnFinalize"}
    text = [(HERE / "native/trampoline.h").read_text(), _returning_zero(setting_up), ".text\n"]
    for name in sorted(aclnn - setting_up):
        text.append(
            f'.globl {name}GetWorkspaceSize\n.type {name}GetWorkspaceSize,@function\n{name}GetWorkspaceSize: call emulated_entry\n.asciz "{name}"\n'
            f".globl {name}\n.type {name},@function\n{name}: jmp emulated_launch@PLT\n"
        )
    (work / "opapi.s").write_text("".join(text) + '.section .note.GNU-stack,"",@progbits\n')
    (work / "none.c").write_text("int emulated_nothing;\n")
    beside = ("-Wl,--no-as-needed,-rpath,$ORIGIN", lib / "libascendcl.so")  # libraries must *have* the symbols that are looked up by name
    _link(lib, "libascendcl.so", HERE / "native/acl.c", work / "zero.s")
    _link(lib, "libge_runner.so", HERE / "native/ge.cpp", work / "ge.s")
    _link(lib, "libopapi.so", work / "opapi.s", *beside)
    for name in OTHERS:
        _link(lib, f"lib{name}.so", work / "none.c", *beside)
    (out / "compiler/version.info").write_text("Version=8.5.0\n")
    # Without CANN's package hccl MindSpore starts no group. A package te would have to be whole: MindSpore imports tik from it.
    package = out / "python/site-packages/hccl"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "sys_version.py").write_text("__sys_version__ = '8.5.0'\n")


def _returning_zero(names: set[str]) -> str:
    functions = "".join(f'.globl "{name}"\n.type "{name}",@function\n"{name}": xor %eax,%eax\n ret\n' for name in sorted(names))
    return functions + '.section .note.GNU-stack,"",@progbits\n'


def _link(lib: Path, name: str, *parts: str | Path) -> None:
    compiler = "g++" if any(str(part).endswith("cpp") for part in parts) else "gcc"
    flags = ("-D_GLIBCXX_USE_CXX11_ABI=0", "-shared", "-fPIC", "-O1", "-w", f"-Wl,-soname,{name}")
    subprocess.run([compiler, *flags, "-o", lib / name, *parts, "-pthread"], check=True)


def environment(**changes: object) -> dict[str, str]:
    """Return this process's environment with CANN's variables, the repository's root on PYTHONPATH, and ``changes`` (None removes one)."""
    cann = folder()
    variables = {
        "ASCEND_HOME_PATH": str(cann), "ASCEND_OPP_PATH": str(cann / "opp"), "ASCEND_CUSTOM_PATH": str(cann),
        "EMULATED_CANN_PYTHON": sys.executable, "EMULATED_CANN_DEVICE": str(HERE / "device"),
    }  # fmt: skip
    return emulated.environment(cann / "python/site-packages", cann / "x86_64-linux/lib64", variables, changes)
