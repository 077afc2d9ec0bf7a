"""A new operation needs three files, as CONTRIBUTING says: one is added to a copy of mstorch, and every use of it is tested.

torch's lists of names and schemas, which tools write, get a line each, as if torch had the operation.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mstorch

pytestmark = [pytest.mark.slow, pytest.mark.long]

NAME = "smooth_maximum"
KERNEL = f'''

_root = ops.Sqrt()


def _{NAME}(first: Raw, second: Raw) -> Raw:
    gap = prim_sub(first, second)
    total = prim_add(prim_add(first, second), _root(prim_add(prim_mul(gap, gap), constant(1, gap))))
    return prim_mul(total, constant(0.5, total))


define("{NAME}", cpu=_{NAME}, dtypes=FLOATS, via=VIA_HALF)
'''
RULE = f'''

def _steeper(g: Any, x: Any, y: Any) -> Any:
    gap = v.sub(x, y)
    return v.times(v.mul(g, v.plus(v.div(gap, v.sqrt(v.plus(v.mul(gap, gap), 1))), 1)), 0.5)


_of_two("{NAME}", lambda g, x, y, _: (lambda: _steeper(g, x, y), lambda: _steeper(g, y, x)))
'''
OPERATION = f'''

_{NAME} = kernel("{NAME}")


def {NAME}(input: TensorBase, other: TensorBase, *, out: TensorBase | None = None) -> TensorBase:
    """Return ``(x + y + sqrt((x - y)² + 1)) / 2``, a maximum without a kink."""
    expect_tensors("{NAME}", input, other)
    return binary(_{NAME}, input, other, out)
'''
FILES = {"_src/ops/elementwise/math.py": OPERATION, "_src/backend/kernels/math.py": KERNEL, "_src/tape/rules/math.py": RULE}
SCHEMAS = (
    f"{NAME}(Tensor self, Tensor other) -> Tensor|16,17\n"
    f"{NAME}.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)|14,16,17\n"
)
USE = r'''
import warnings
import mstorch as torch
from mstorch.func import grad, jacrev, jvp, vmap
import mstorch.autograd.forward_ad as forward_ad
from mstorch.fx.experimental.proxy_tensor import make_fx
from mstorch._subclasses import FakeTensorMode

def formula(x, y):
    return (x + y + ((x - y) ** 2 + 1).sqrt()) / 2

def alike(found, wanted):
    torch.testing.assert_close(found, wanted)

made = torch.smooth_maximum
x, y = torch.randn(4, 3, dtype=torch.float64), torch.randn(3, dtype=torch.float64)
alike(made(x, y), formula(x, y))
alike(x.smooth_maximum(y), formula(x, y))
z = x.clone()
assert z.smooth_maximum_(y) is z
alike(z, formula(x, y))
out = torch.empty(0, dtype=torch.float64)
assert made(x, y, out=out) is out
alike(out, formula(x, y))
alike(made(x.t(), y[:, None]).t(), formula(x, y))
assert made(x.half(), y.float()).dtype is torch.float32
for lowered in (torch.float16, torch.bfloat16):
    assert made(x.to(lowered), y.to(lowered)).dtype is lowered
for wrong in (lambda: made(x, 1.0), lambda: made(x), lambda: made(x, y, z)):
    try:
        wrong()
    except TypeError as error:
        assert "smooth_maximum" in str(error), error
    else:
        raise AssertionError("no TypeError")

a, b = x.clone().requires_grad_(), y.clone().requires_grad_()
assert made(a, b).grad_fn.name() == "SmoothMaximumBackward0"
assert torch.autograd.gradcheck(made, (a, b), check_forward_ad=True, check_batched_grad=True)
assert torch.autograd.gradgradcheck(made, (a, b))
alike(vmap(made, (0, None))(x, y), formula(x, y))
alike(vmap(grad(lambda p, q: made(p, q).sum()), (0, None))(x, y), vmap(grad(lambda p, q: formula(p, q).sum()), (0, None))(x, y))
alike(jvp(made, (x, y), (x, y))[1], jvp(formula, (x, y), (x, y))[1])
alike(jacrev(made)(x[0], y), jacrev(formula)(x[0], y))
with forward_ad.dual_level():
    pushed = forward_ad.unpack_dual(made(forward_ad.make_dual(x, x), y)).tangent
alike(pushed, jvp(lambda p: formula(p, y), (x,), (x,))[1])

meta = made(x.to("meta"), y.to("meta"))
assert (meta.shape, meta.dtype, meta.device.type) == ((4, 3), torch.float64, "meta")
with FakeTensorMode():
    assert made(torch.empty(4, 3), torch.empty(3)).shape == (4, 3)

aten = torch.ops.aten.smooth_maximum
alike(aten.default(x, y), formula(x, y))
assert str(aten.default._schema) == "aten::smooth_maximum(Tensor self, Tensor other) -> Tensor"
alike(aten.out(x, y, out=torch.empty(4, 3, dtype=torch.float64)), formula(x, y))
graph = make_fx(made)(x, y)
assert [node.target for node in graph.graph.nodes if node.op == "call_function"] == [aten.default]
alike(graph(x, y), formula(x, y))
class Named(torch.nn.Module):
    def forward(self, x, y):
        return torch.smooth_maximum(x, y)
alike(torch.export.export(Named(), (x, y)).module()(x, y), formula(x, y))

class Seen(torch.Tensor):
    calls = []
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})
made(x.as_subclass(Seen), y)
assert Seen.calls == ["smooth_maximum"]

try:
    made(x.to_sparse(), y)
except NotImplementedError as error:
    assert "SparseCPU" in str(error), error
else:
    raise AssertionError("a sparse operand was taken")
captured = torch.compile(made)
alike(captured(x, y), formula(x, y))
if DEVICE:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        p, q = x.float().npu(), y.float().npu()
        found = made(p.requires_grad_(), q)
        found.sum().backward()
    assert found.is_npu and p.grad.is_npu
    alike(found.cpu(), formula(x, y).float())
    alike(p.grad.cpu(), torch.autograd.grad(formula(a, b).sum(), a)[0].float())
    assert any("smooth_maximum" in str(item.message) for item in told), [str(item.message) for item in told]
else:
    import mstorch.distributed as dist
    from mstorch.distributed.device_mesh import init_device_mesh
    from mstorch.distributed.tensor import Shard, distribute_tensor
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
    mesh = init_device_mesh("cpu", (1,))
    sharded = distribute_tensor(x, mesh, [Shard(0)])
    other = distribute_tensor(x * 2, mesh, [Shard(0)])
    result = made(sharded, other)
    assert result.placements == (Shard(0),), result.placements
    alike(result.full_tensor(), formula(x, x * 2))
    dist.destroy_process_group()
print("complete")
'''


def _with_name(page: str) -> str:
    """Return the list of torch's public names with the new ones: a function, a method, an in-place method."""
    for section, names in {"[]\n": NAME, "[Tensor]\n": f"{NAME} {NAME}_"}.items():
        page = re.sub(re.escape(section), f"{section}{names} ", page, count=1)
    return page


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    package = folder / "mstorch"
    shutil.copytree(Path(mstorch.__file__).parent, package)
    names = package / "_src" / "core" / "public_names.txt"
    names.write_text(_with_name(names.read_text()))
    for page, tags in (("_library/schemas.txt", True), ("_src/aten/overloads.txt", False)):
        with open(package / page, "a") as file:
            file.write(SCHEMAS if tags else SCHEMAS.splitlines()[0].partition("|")[0] + "\n")
    for file, text in FILES.items():
        with open(package / file, "a") as written:
            written.write(text)
    return folder


@pytest.mark.parametrize("device", ["", "Ascend"])
def test_three_files_make_an_operation(copy: Path, device: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(copy), "MSTORCH_FAKE_DEVICE": device, "GLOG_v": "3"}
    program = USE.replace("DEVICE", repr(bool(device)))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, cwd=copy, check=False)
    assert done.stdout.endswith("complete\n"), done.stderr[-3000:]
