"""Code compiled for torch's library or for GPUs: what raises, with the files' names and what to write; what a setup.py does without it."""

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

import mstorch
from mstorch.library import triton_op, wrap_triton
from mstorch.utils import cpp_extension
from tests.against_torch import both

WAY_ROUND = r"torch\.library\.custom_op over NumPy or numba .*mindspore\.ops\.Custom"
ABSENT = {
    "load": (
        lambda: cpp_extension.load("fast", ["csrc/fast.cpp", "csrc/fast.cu"], verbose=True),
        "'fast' of csrc/fast.cpp, csrc/fast.cu is written",
    ),
    "load, one file": (lambda: cpp_extension.load(name="fast", sources="fast.cpp"), "'fast' of fast.cpp is written"),
    "load_inline": (
        lambda: cpp_extension.load_inline("fast", "int f();", functions=["f", "g"]),
        "'fast' with the functions f, g of sources given as text",
    ),
    "include_paths": (cpp_extension.include_paths, "headers"),
    "library_paths": (lambda: cpp_extension.library_paths("cuda"), "libraries"),
}


@pytest.mark.parametrize("case", ABSENT)
def test_what_raises_names_the_files_and_the_way_round(case: str) -> None:
    call, text = ABSENT[case]
    with pytest.raises(RuntimeError, match=f"{text}.*{WAY_ROUND}"):
        call()


@pytest.mark.parametrize("place", ["ops", "classes"])
def test_libraries(place: str, tmp_path: Path) -> None:
    file = tmp_path / "kernels.so"
    file.write_bytes(b"no library")
    both(lambda torch: getattr(torch, place).load_library(str(file)), message=f"Could not load this library: {file}")
    with pytest.raises(OSError, match=f"{file} .*{WAY_ROUND}"):
        getattr(mstorch, place).load_library(str(file))
    assert mstorch.classes.loaded_libraries is mstorch.ops.loaded_libraries


SETUP = """\
import torch
from setuptools import setup, Extension
from torch.utils import cpp_extension
from torch.utils.cpp_extension import CUDA_HOME, BuildExtension, CppExtension, CUDAExtension
assert issubclass(BuildExtension, __import__("setuptools").Command) and BuildExtension is cpp_extension.BuildExtension
modules = [CUDAExtension("project._C", ["csrc/a.cpp", "csrc/b.cu"], include_dirs=["csrc"], extra_compile_args={{"cxx": [], "nvcc": ["-O3"]}}),
           CppExtension(name="project._D", sources=["csrc/d.cpp"], define_macros=[("A", None)])]
if CUDA_HOME is not None or torch.cuda.is_available():
    modules.append(CUDAExtension("project._E", ["csrc/e.cu"]))
plain = [Extension("project.plain", ["plain.c"])]
setup(name="project", version="1", packages=["project"], ext_modules={modules}, cmdclass={{"build_ext": {command}}})
"""
PLAIN = """\
#include <Python.h>
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "plain", 0, -1, 0};
PyMODINIT_FUNC PyInit_plain(void) { return PyModule_Create(&module); }
"""
BUILDS = {
    "all": ("modules", "BuildExtension"),
    "options": ("modules", "BuildExtension.with_options(no_python_abi_suffix=True, use_ninja=False)"),
    "beside a plain one": ("modules + plain", "BuildExtension"),
}


@pytest.mark.parametrize("case", BUILDS)
def test_setup(case: str, tmp_path: Path) -> None:
    """The Python part and other extensions are installed; one warning names the files of those that are not."""
    modules, command = BUILDS[case]
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "__init__.py").write_text("")
    (tmp_path / "setup.py").write_text(SETUP.format(modules=modules, command=command))
    (tmp_path / "plain.c").write_text(PLAIN)
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(mstorch.__file__))}
    command_line = [sys.executable, "-m", "mstorch", "setup.py", "-q", "install_lib", "--install-dir", "there"]
    run = subprocess.run(command_line, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert {file.name.partition(".")[0] for file in (tmp_path / "there" / "project").glob("*.*")} == {
        "__init__",
        *(["plain"] if "plain" in modules else []),
    }
    assert run.stderr.count("mstorch: not built") == 1
    assert (
        "project._C (csrc/a.cpp, csrc/b.cu); project._D (csrc/d.cpp); write it with" in run.stderr
        and "_E" not in run.stderr
    )


class JITFunction:  # what triton.jit returns
    __module__ = "triton.runtime.jit"

    def __init__(self, fn: types.FunctionType) -> None:
        self.fn = fn


class Autotuner(JITFunction):  # what triton.autotune returns
    __module__ = "triton.runtime.autotuner"


def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: int) -> None:
    raise AssertionError("Triton compiles it")


@pytest.mark.parametrize(
    "kernel", [JITFunction(add_kernel), Autotuner(JITFunction(add_kernel))], ids=["jit", "autotune"]
)
def test_kernels_of_triton(kernel: JITFunction) -> None:
    name = f"mstorch_tests_triton::add_{type(kernel).__name__}"

    @triton_op(name, mutates_args={})
    def add(x: mstorch.Tensor, y: mstorch.Tensor) -> mstorch.Tensor:
        out = mstorch.empty_like(x)
        wrap_triton(kernel)[(1,)](x, y, out, out.numel(), BLOCK=16)
        return out

    x = mstorch.ones(3)
    line = add_kernel.__code__.co_firstlineno
    with pytest.raises(
        RuntimeError, match=rf"add_kernel \({__file__}:{line}\) is compiled for GPUs.*{WAY_ROUND}.*register_kernel"
    ):
        add(x, x)
    assert add(x.to("meta"), x.to("meta")).shape == (3,)
    with pytest.raises(RuntimeError, match="without a grid"):
        wrap_triton(kernel)(x)
    add.register_kernel("cpu")(lambda x, y: x + y)
    assert add(x, x).tolist() == [2, 2, 2]


def test_triton_op() -> None:
    def body(torch):
        @torch.library.triton_op(f"mstorch_tests_triton::scaled_{torch.__name__}", mutates_args={})
        def scaled(x: torch.Tensor, k: float = 2.0) -> torch.Tensor:
            return torch.sin(x) * k

        def write(x: torch.Tensor, out: torch.Tensor) -> None:
            out.copy_(x * 2)

        written = torch.library.triton_op(f"mstorch_tests_triton::write_{torch.__name__}", write, mutates_args={"out"})
        out = torch.zeros(3)
        written(torch.arange(3.0), out)
        scaled.register_autograd(
            lambda ctx, grad: (grad * ctx.x.cos() * ctx.k, None),
            setup_context=lambda ctx, inputs, output: vars(ctx).update(x=inputs[0], k=inputs[1]),
        )
        x = torch.linspace(0, 1, 5, requires_grad=True)
        scaled(x, 3.0).sum().backward()
        space = torch.ops.mstorch_tests_triton
        meta = scaled(torch.ones(2, 3, device="meta"))
        return (
            scaled(x.detach()),
            x.grad,
            out,
            getattr(space, f"scaled_{torch.__name__}")(x.detach(), k=1.0),
            meta.shape,
            meta.device.type,
            type(scaled).__name__,
        )

    both(body)


@pytest.mark.parametrize("schema", [None, "(Tensor a) -> Tensor"])
def test_schema_of_triton_op(schema: str | None) -> None:
    def body(torch):
        def same(x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        name = f"same_{schema is None}"
        operator = torch.library.triton_op(f"mstorch_tests_triton::{name}", same, mutates_args=(), schema=schema)
        return str(operator._opoverload._schema)

    both(body)


@pytest.mark.parametrize("kernel", ["len", "lambda x: x", "None"])
def test_wrap_triton_of_other_objects(kernel: str) -> None:
    both(lambda torch: torch.library.wrap_triton(eval(kernel)))


def test_triton_op_without_annotations() -> None:
    both(lambda torch: torch.library.triton_op("mstorch_tests_triton::bare", lambda x: x, mutates_args=()))
