"""Programs for ``tests.interrupts`` with blocks that switch something on, register hooks, patch functions, train in a group or load with
workers."""
from __future__ import annotations

import _thread
from collections.abc import Callable
from typing import Any

import mstorch as torch
from mstorch import nn
from mstorch.autograd import forward_ad
from mstorch.nn import attention
from mstorch.nn.utils import parametrize
from mstorch.utils import checkpoint as checkpointing

WATCHED: list[Any] = []  # networks that a program is about to change
PROGRAMS: dict[str, Callable[[], Callable[[], Any]]] = {}  # by name: a function that returns the program whose steps are interrupted


def program(make: Callable[[], Callable[[], Any]]) -> Callable[[], Callable[[], Any]]:
    """Register a program under its name."""
    PROGRAMS[make.__name__] = make
    return make


@program
def saving_switches() -> Callable[[], Any]:
    mapped = torch.serialization.mmap_module.MAP_PRIVATE

    def run() -> None:
        with torch.serialization.safe_globals([dict, _thread.allocate_lock]), torch.serialization.skip_data():
            pass
        with torch.serialization.set_default_mmap_options(mapped):
            pass

    return run


@program
def switches() -> Callable[[], Any]:
    """Return blocks of torch.backends, of attention and of checkpointing, and those that print and count."""
    from mstorch.testing._internal import common_utils

    def run() -> None:
        with torch.backends.cudnn.flags(enabled=False), torch.backends.cuda.sdp_kernel(enable_flash=False), torch.backends.mkldnn.flags(False):
            pass
        with attention.sdpa_kernel(attention.SDPBackend.MATH), checkpointing.set_checkpoint_early_stop(False), parametrize.cached():
            pass
        with torch._tensor_str.printoptions(precision=2), common_utils.set_default_dtype(torch.float64):
            pass

    return run


@program
def operators_of_a_library() -> Callable[[], Any]:
    def run() -> None:
        with torch.library._scoped_library("interrupted", "DEF") as made:
            made.define("twice(Tensor x) -> Tensor")
            made.impl("twice", lambda x: x * 2, "CPU")

    return run


@program
def dual_level() -> Callable[[], Any]:
    x = torch.ones(2)

    def run() -> None:
        with forward_ad.dual_level():
            forward_ad.unpack_dual(forward_ad.make_dual(x, x).sin())

    return run


@program
def handle_of_a_hook() -> Callable[[], Any]:
    net, x = nn.Linear(2, 2), torch.ones(1, 2)
    WATCHED.append(net)
    hook = lambda module, args, output: None
    handles = [net.register_forward_hook(hook) for _ in range(2)]
    several = torch.autograd.graph._MultiHandle(handles[1:])

    def run() -> None:  # a hook whose handle is lost in an interrupt before the block begins remains, as in torch
        with handles[0], several:
            net._forward_hooks.update({handle.id: hook for handle in handles})
            net(x)

    run()
    return run


@program
def profiled() -> Callable[[], Any]:
    x = torch.ones(2)

    def run() -> None:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]), torch.profiler.record_function("block"):
            torch.add(x, x)

    return run


@program
def counted_operations() -> Callable[[], Any]:
    from mstorch.utils.flop_counter import FlopCounterMode

    net, x = nn.Sequential(nn.Linear(2, 2)), torch.ones(1, 2)

    def run() -> None:
        with FlopCounterMode(display=False):
            net(x)

    return run


@program
def other_parameters() -> Callable[[], Any]:
    net, x = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)), torch.ones(3, 2)
    WATCHED.append(net)
    given = {name: tensor.detach().clone() for name, tensor in (*net.named_parameters(), *net.named_buffers())}
    return lambda: torch.func.functional_call(net, dict(given), (x,))


@program
def traced() -> Callable[[], Any]:
    from mstorch.fx import symbolic_trace

    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    WATCHED.append(net)
    return lambda: symbolic_trace(net)


@program
def scripted() -> Callable[[], Any]:
    x = torch.ones(2)
    return lambda: torch.jit.script(_doubled)(x)


def _doubled(x: Any) -> Any:
    return x * 2


@program
def overriding_off() -> Callable[[], Any]:
    from mstorch.utils._python_dispatch import _disable_current_modes

    def run() -> None:
        with torch._C.DisableTorchFunctionSubclass(), torch._C.DisableTorchFunction(), _disable_current_modes():
            pass

    return run


@program
def config() -> Callable[[], Any]:
    def run() -> None:
        with torch._dynamo.config.patch(suppress_errors=True):
            pass
        with torch.cpu.stream(torch.cpu.Stream()):
            pass

    return run


def _alone() -> None:
    """Create a process group with one rank."""
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)


@program
def data_parallel() -> Callable[[], Any]:
    _alone()
    net, x = nn.parallel.DistributedDataParallel(nn.Linear(2, 2)), torch.ones(1, 2)
    WATCHED.append(net)

    def run() -> None:  # as in torch, the backward after an interrupted one raises, because other ranks wait for its averages
        with net.no_sync():
            net(x).sum().backward()

    return run


@program
def sharded() -> Callable[[], Any]:
    _alone()
    from mstorch.distributed.fsdp import FullyShardedDataParallel, StateDictType

    net = FullyShardedDataParallel(nn.Linear(2, 2), device_id=torch.device("cpu"))
    WATCHED.append(net)

    def run() -> None:
        with net.no_sync(), FullyShardedDataParallel.state_dict_type(net, StateDictType.SHARDED_STATE_DICT):
            pass

    return run


@program
def sharded_training() -> Callable[[], Any]:
    _alone()
    from mstorch.distributed.fsdp import FullyShardedDataParallel

    net = FullyShardedDataParallel(nn.Linear(2, 2), device_id=torch.device("cpu"))
    WATCHED.append(net)
    x = torch.ones(1, 2)

    def run() -> None:
        net(x).sum().backward()
        with FullyShardedDataParallel.summon_full_params(net):
            pass

    return run


@program
def loader_with_workers() -> Callable[[], Any]:
    data = torch.utils.data.TensorDataset(torch.ones(4, 2))
    return lambda: list(torch.utils.data.DataLoader(data, batch_size=2, num_workers=2))


@program
def replicated() -> Callable[[], Any]:
    from mstorch.distributed.tensor.experimental import implicit_replication
    from mstorch.distributed.tensor.parallel import loss_parallel

    def run() -> None:
        with implicit_replication(), loss_parallel():
            pass

    return run
