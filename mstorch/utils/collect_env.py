"""torch.utils.collect_env: a report of the environment for bug reports; ``python -m mstorch.utils.collect_env`` prints it."""
from __future__ import annotations

import platform
import subprocess
import sys
from typing import Any, NamedTuple

import mstorch as torch

from .._commands.environment import packages, python_version


def run(command: str | list[str]) -> tuple[int, str, str]:
    """Return a command's exit code, stdout and stderr; a string runs in a shell."""
    done = subprocess.run(command, shell=isinstance(command, str), capture_output=True, check=False)
    return done.returncode, done.stdout.decode(errors="replace").strip(), done.stderr.decode(errors="replace").strip()


class SystemEnv(NamedTuple):
    """Properties of the environment; None for those that are absent or not collected."""

    torch_version: Any = None
    is_debug_build: Any = None
    cuda_compiled_version: Any = None
    gcc_version: Any = None
    clang_version: Any = None
    cmake_version: Any = None
    os: Any = None
    libc_version: Any = None
    python_version: Any = None
    python_platform: Any = None
    is_cuda_available: Any = None
    cuda_runtime_version: Any = None
    cuda_module_loading: Any = None
    nvidia_driver_version: Any = None
    nvidia_gpu_models: Any = None
    cudnn_version: Any = None
    is_xpu_available: Any = None
    pip_version: Any = None
    pip_packages: Any = None
    conda_packages: Any = None
    hip_compiled_version: Any = None
    hip_runtime_version: Any = None
    miopen_runtime_version: Any = None
    caching_allocator_config: Any = None
    is_xnnpack_available: Any = None
    cpu_info: Any = None


def get_platform() -> str:
    """Return the operating system: linux, darwin, win32."""
    return "linux" if sys.platform.startswith("linux") else sys.platform


def get_python_platform() -> str:
    """Return Python's name of the platform."""
    return platform.platform()


def get_libc_version() -> str:
    """Return the name and version of the C library, on Linux."""
    return "-".join(platform.libc_ver()) if get_platform() == "linux" else "N/A"


def get_env_info() -> SystemEnv:
    """Return the SystemEnv of this machine."""
    return SystemEnv(
        torch_version=str(torch.__version__), is_debug_build="False", cuda_compiled_version=torch.version.cuda,
        os=f"{platform.system()} {platform.release()} ({platform.machine()})", libc_version=get_libc_version(),
        python_version=python_version(), python_platform=get_python_platform(),
        is_cuda_available=str(torch.cuda.is_available()), is_xpu_available=torch.xpu.is_available(), pip_version="pip3",
        pip_packages="\n".join(packages()), conda_packages="", is_xnnpack_available="False", cpu_info=platform.processor() or None,
    )  # fmt: skip


def pretty_str(envinfo: SystemEnv) -> str:
    """Format a SystemEnv as text."""
    lines = [
        f"PyTorch version: {envinfo.torch_version}", f"Is debug build: {envinfo.is_debug_build}",
        f"CUDA used to build PyTorch: {envinfo.cuda_compiled_version}", "", f"OS: {envinfo.os}",
        f"Libc version: {envinfo.libc_version}", "", f"Python version: {envinfo.python_version}",
        f"Python platform: {envinfo.python_platform}", f"Is CUDA available: {envinfo.is_cuda_available}",
        f"Is XPU available: {envinfo.is_xpu_available}", f"CPU: {envinfo.cpu_info}", "", "Versions of relevant libraries:",
        *(f"[{envinfo.pip_version}] {line}" for line in (envinfo.pip_packages or "").splitlines()),
    ]  # fmt: skip
    return "\n".join(lines)


def get_pretty_env_info() -> str:
    """Return this machine's report as text."""
    return pretty_str(get_env_info())


def main() -> None:
    """Print the report."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
