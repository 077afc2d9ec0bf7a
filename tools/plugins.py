"""Read the kernel names in MindSpore's installed plugins from their files, without a device."""
from __future__ import annotations

import mmap
import pathlib
import re
import struct
from collections.abc import Iterator
from functools import cache

ROOT = "lib/plugin"
ASCEND = f"{ROOT}/libmindspore_ops_ascend.so"
AICPU = f"{ROOT}/ascend/custom_aicpu_ops/op_impl/cpu/aicpu_kernel/impl/libcust_cpu_kernels.so"
VIEWS = "lib/libmindspore_ops.so"
CPU = f"{ROOT}/libmindspore_ops_cpu.so"

# An Itanium type name: each part has its length before it.
_PYBOOST = re.compile(r"_ZTIN9mindspore6kernel7pyboost(\d+)(\w+)E$")
_KERNEL_MOD = re.compile(rb"N9mindspore6kernel(?:\d+[a-z_0-9]+?)?(\d+)([A-Z][A-Za-z0-9]*?)(Ascend|GpuKernelMod|AscendKernelMod)E")
_AI_CPU = re.compile(rb"N5aicpu(\d+)([A-Z][A-Za-z0-9]*)CpuKernelE")
_STRIDES = re.compile(r"_ZN9mindspore3ops(\d+)([A-Z]\w*?)(ViewBasicTypeCalc|StridesCalc|StrideCalc|BasicTypeCalc)")
_ACLNN = re.compile(rb"\0(aclnn[A-Z][A-Za-z0-9]*)(?=\0)")


# Classes of the CUDA plugin that serve primitives of other names.
_REGISTERED = re.compile(r"_ZN9mindspore6kernel7pyboost9OpFactoryINS1_(\d+)(\w+?)EE8Register")
_SERVES = {
    "ArrayReduce": ("ReduceAll", "ReduceAny", "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"),
    "Conv2dInputGrad": ("Conv2DBackpropInput",), "Conv2dFilterGrad": ("Conv2DBackpropFilter",), "Conv2dFwd": ("Conv2D",),
    "TensorScatterArithmetic": ("TensorScatterAdd", "TensorScatterMul", "TensorScatterMax", "TensorScatterMin", "TensorScatterUpdate"),
    "FloatStatus": ("IsNan", "IsInf", "IsFinite"),
}  # fmt: skip


@cache
def home() -> pathlib.Path:
    """Return the folder of MindSpore's package."""
    import mindspore  # late: reading files needs no MindSpore that runs

    return pathlib.Path(mindspore.__file__).parent


def symbols(path: pathlib.Path) -> Iterator[str]:
    """Yield the names in the dynamic symbol table of a 64-bit little-endian ELF file."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is no ELF file of 64 bits")
        start, size, count = (*struct.unpack_from("<Q", data, 0x28), *struct.unpack_from("<HH", data, 0x3A))
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, start + size * number) for number in range(count)]
        for section in sections:
            if section[1] != 11:  # SHT_DYNSYM
                continue
            names = sections[section[6]]
            text = data[names[4] : names[4] + names[5]]
            for place in range(section[4], section[4] + section[5], 24):
                begin = struct.unpack_from("<I", data, place)[0]
                yield text[begin : text.index(b"\0", begin)].decode("ascii", "replace")


def _matches(path: pathlib.Path, pattern: re.Pattern[bytes]) -> set[str]:
    """Return the class names that a pattern finds in a file's mangled C++ names; a mangled name whose length prefix is wrong is skipped."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        found = set()
        for match in pattern.finditer(data):
            whole = match.group(0)[: -1].split(match.group(1), 1)[1]
            if len(whole) == int(match.group(1)):
                found.add(match.group(2).decode())
        return found


@cache
def ascend() -> dict[str, str]:
    """Return the primitives of the Ascend plugin, each with how it is served: ``aclnn``, ``view`` (strides only) or ``aicpu``."""
    found: dict[str, str] = {}
    if (home() / AICPU).exists():
        found.update(dict.fromkeys(_matches(home() / AICPU, _AI_CPU), "aicpu"))
        if "Cumprod" in found:
            found["CumProd"] = "aicpu"  # the primitive's own spelling
    found.update(dict.fromkeys(views(), "view"))
    for name in _classes(ASCEND, "Ascend"):
        found[name] = "aclnn"
    for name in _matches(home() / ASCEND, _KERNEL_MOD):
        found.setdefault(name, "aclnn")
    return found


def _classes(file: str, suffix: str) -> Iterator[str]:
    for symbol in symbols(home() / file):
        match = _PYBOOST.match(symbol)
        if match and len(match[2]) == int(match[1]) and match[2].endswith(suffix):
            yield match[2].removesuffix(suffix)


@cache
def views() -> set[str]:
    """Return the primitives that MindSpore computes by strides alone, on every device."""
    found = set()
    for symbol in symbols(home() / VIEWS):
        match = _STRIDES.match(symbol)
        if match:
            name = match[2]
            found |= {name, f"{name}View", name.replace("BroadCastTo", "BroadcastTo")}
    return found


@cache
def aclnn() -> set[str]:
    """Return the names of the CANN functions in the plugin."""
    with (home() / ASCEND).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return {name.decode() for name in _ACLNN.findall(data)}


@cache
def gpu() -> set[str]:
    """Return the names of the CUDA plugin's kernel classes, without their suffix, and of the operations that it registers."""
    files = sorted((home() / ROOT).glob("libmindspore_gpu.so*"))
    found = _matches(files[-1], _KERNEL_MOD) if files else set()
    for match in map(_REGISTERED.match, symbols(files[-1]) if files else ()):
        if match and len(match[2]) == int(match[1]):
            found.add(match[2])
    return found | {name for kernel, names in _SERVES.items() if kernel in found for name in names}
