"""``tools.imports``, and private modules of torch that packages are known to import."""
from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import mstorch
from tools import imports

SOURCE = """
import torch.nn.functional as F
from torch import Tensor, no_such_name
from torch.nn import init, not_there
from torch.optim import *
from . import torch
try:
    from torch import guarded
except ImportError:
    pass
try:
    from torch.jit import _enabled
except ImportError:
    from torch.jit._state import _enabled, not_there_either
try:
    from torch import relu
except ImportError:
    from torch.old import relu
if False:
    from torch import sometimes
if version > 2:
    from torch import newer
else:
    from torch import older
class Made:
    from torch import within
def function():
    from torch import later
"""

INNER = """
nn.init._no_grad_fill_ nn.init._no_grad_normal_ nn.init._no_grad_trunc_normal_ nn.init._no_grad_uniform_ nn.init._no_grad_zero_
nn.modules.conv._ConvTransposeMixin distributions.transforms._InverseTransform utils.data.dataloader._collate_fn_t
utils.collect_env.run distributed._rank_not_in_group fx._symbolic_trace.compatibility fx._compatibility.compatibility
testing._comparison testing._internal.common_utils.TestCase utils._ordered_set.OrderedSet utils._contextlib._DecoratorContextManager
utils.data._utils.signal_handling utils.data._utils.worker.ManagerWatchdog utils.data.dataloader._sharding_worker_init_fn
_functorch.vmap._add_batch_dim _prims_common.suggest_memory_format nn.utils._named_member_accessor.swap_tensor _int_mm _grouped_mm
distributed.distributed_c10d.rendezvous optim.optimizer.StateDict autograd.profiler_util TensorType sparse._triton_ops_meta.minimize
DeviceObjType _disable_dynamo utils._foreach_utils distributed._tensor.experimental utils.data._utils.HAS_NUMPY _dynamo.utils.warn_once
ao.quantization.FakeQuantizeBase ao.quantization.ObserverBase ao.quantization.fx ao.quantization.observer ao.quantization.qconfig
ao.quantization.quantize library.triton_op library.wrap_triton _inductor.config distributed.checkpoint.planner.SavePlan
distributed.checkpoint.default_planner.DefaultSavePlanner distributed.checkpoint.metadata distributed.checkpoint.DefaultLoadPlanner
distributed.checkpoint.storage.StorageReader distributed._shard.sharded_tensor.ShardedTensor distributed._shard.shard_module
nn.attention.flex_attention._mask_mod_signature nn.attention.flex_attention._score_mod_signature _weight_int8pack_mm
autograd.SavedTensor autograd._functions.Resize _masked_softmax _amp_foreach_non_finite_check_and_unscale_ nn.parallel._functions.Broadcast
_scaled_mm fx._symbolic_trace._Patcher _utils_internal Tensor._cdata _dynamo.explain _dynamo.utils.counters _dynamo.testing.CompileCounter
distributed.Reducer utils._contextlib jit._state._enabled distributed.autograd.context distributed.rpc.RRef package.sys_importer
distributed.checkpoint.utils.CheckpointException distributed.fsdp._common_utils.clean_tensor_name optim.lbfgs._cubic_interpolate
_jit_internal.boolean_dispatched _C._is_tracing _C.ScriptObject _functorch.config fx.experimental._config
""".split()


def test_what_is_imported_at_once_is_found(tmp_path: Path) -> None:
    assert imports.imported(SOURCE) == {"nn.functional", "Tensor", "no_such_name", "nn.init", "nn.not_there", "within", "newer", "older",
                                        "jit._state._enabled", "jit._state.not_there_either"}
    package = tmp_path / "site" / "package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(SOURCE)
    (package / "two.py").write_text("from torch import Tensor, _C\nfrom torch.nn.modules.module import Module, hidden")
    wanted = imports.wanted(tmp_path / "site")
    assert wanted["Tensor"] == {"package"} and "guarded" not in wanted
    assert imports.missing(wanted) == {}
    assert imports.missing({"nn.init.ones_": {"a"}, "eye": {"a"}}, oracle="numpy") == {}
    assert imports.missing({"linalg.LinAlgError": {"a"}, "ndarray": {"b"}, "neither": {"c"}}, oracle="numpy") == {"ndarray": {"b"}}


@pytest.mark.parametrize("name", INNER)
def test_inner_names_that_packages_import(name: str) -> None:
    assert imports.has("torch", name) and imports.has("mstorch", name)


def test_they_do_what_theirs_do(both) -> None:
    def body(torch):
        init = importlib.import_module(f"{torch.__name__}.nn.init")
        torch.manual_seed(3)
        x = torch.nn.Parameter(torch.zeros(20))
        found = []
        for name, args in (
            ("uniform_", (-1.0, 2.0)), ("normal_", (1.0, 0.5)), ("trunc_normal_", (0.0, 1.0, -1.0, 1.0)), ("fill_", (3.0,)), ("zero_", ()),
        ):  # fmt: skip
            assert getattr(init, f"_no_grad_{name}")(x, *args) is x
            found.append(x.detach().clone())
        run = importlib.import_module(f"{torch.__name__}.utils.collect_env").run
        return found, run("echo out; echo err >&2; exit 3"), run(["echo", "a b"]), torch.distributed._rank_not_in_group(None)

    both(body)



_BOUND = """
import json, sys
import {0} as library
found = []
for path in json.load(sys.stdin) or sorted(name[6:] for name in sys.modules if name.startswith("torch.")):
    place = library
    try:
        for part in path.split("."):
            place = getattr(place, part)
    except AttributeError:
        continue
    found.append(path)
print(json.dumps(found))
"""


def _bound(library: str, paths: list[str]) -> list[str]:
    """Return which modules are attributes of their parents after ``import torch``; without arguments, all loaded modules."""
    program = _BOUND.format(library)
    done = subprocess.run([sys.executable, "-c", program], input=json.dumps(paths), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.mark.slow
def test_modules_that_torchs_import_binds_are_attributes() -> None:
    root = Path(mstorch.__file__).parent
    theirs = _bound("torch", [])
    bound = [path for path in theirs if any((root / f"{path.replace('.', '/')}{end}").exists() for end in (".py", "/__init__.py"))]
    assert len(bound) > 300
    assert sorted(set(bound) - set(_bound("mstorch", bound))) == []
