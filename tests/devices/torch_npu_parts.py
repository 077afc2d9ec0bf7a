"""Modules of torch_npu besides its operators: ``python -m mstorch -m tests.devices.torch_npu_parts`` (MSTORCH_FAKE_DEVICE=Ascend)."""
from __future__ import annotations

import io
import pathlib
import pickle
import tempfile
import unittest
import warnings
from typing import Any

import mstorch as torch
from mstorch._src.serialization.rebuild import OF_NPU

# The names that torch_npu lists for torch_npu.npu.
NAMES = (
    "is_initialized init set_dump synchronize device_count can_device_access_peer set_device current_device get_device_name "
    "get_device_properties get_device_capability mem_get_info is_available device device_of StreamContext stream set_stream current_stream "
    "default_stream set_sync_debug_mode get_sync_debug_mode init_dump utilization finalize_dump manual_seed manual_seed_all seed seed_all "
    "initial_seed caching_allocator_alloc caching_allocator_delete get_per_process_memory_fraction set_per_process_memory_fraction "
    "empty_cache empty_virt_addr_cache memory_stats memory_stats_as_nested_dict reset_accumulated_memory_stats reset_peak_memory_stats "
    "reset_max_memory_allocated reset_max_memory_cached memory_allocated max_memory_allocated memory_reserved max_memory_reserved "
    "memory_cached max_memory_cached memory_snapshot memory_summary MemPool use_mem_pool get_allocator_backend NPUPluggableAllocator "
    "change_current_allocator Stream Event set_option CubeMathType set_aoe set_compile_mode set_mm_bmm_format_nd get_mm_bmm_format_nd "
    "get_npu_overflow_flag clear_npu_overflow_flag stress_detect get_rng_state set_rng_state get_rng_state_all set_rng_state_all "
    "is_jit_compile_false get_amp_supported_dtype is_autocast_enabled is_bf16_supported set_autocast_enabled get_autocast_dtype "
    "set_autocast_dtype BoolStorage ByteStorage ShortStorage LongStorage IntStorage HalfStorage CharStorage DoubleStorage FloatStorage "
    "BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor ShortTensor BFloat16Tensor BFloat16Storage "
    "current_blas_handle stop_device restart_device check_uce_in_memory config matmul conv enable_deterministic_with_backward "
    "disable_deterministic_with_backward mstx SyncLaunchStream NPUGraph graph graph_pool_handle is_current_stream_capturing "
    "make_graphed_callables ExternalEvent ExternalStream graph_task_group_begin graph_task_group_end graph_task_update_begin graph_task_update_end "
    "set_device_limit get_device_limit set_stream_limit reset_stream_limit get_stream_limit ipc_collect obfuscation_initialize "
    "obfuscation_finalize obfuscation_calculate set_op_timeout_ms host_empty_cache host_memory_stats host_memory_stats_as_nested_dict "
    "reset_accumulated_host_memory_stats reset_peak_host_memory_stats set_deterministic_level use_compatible_impl "
    "are_compatible_impl_enabled NpuGraphOpHandler register_npu_graph_handler super_kernel_scope_begin super_kernel_scope_end npurt"
).split()


def names() -> list[str]:
    """Return names that are missing, absent ones that do not raise, and switches that accept a state that mstorch lacks."""
    from mstorch.npu import absent

    npu: Any = torch.npu
    assert len(set(NAMES)) == 142
    found = [f"no {name}" for name in NAMES if not hasattr(npu, name) or name not in npu.__all__]
    answers = {"get_sync_debug_mode": 0, "is_current_stream_capturing": False}
    answers |= {"ipc_collect": None, "host_empty_cache": None}
    for name in [*absent.MADE, *answers]:
        try:
            given = getattr(npu, name)()
            if name not in answers or given != answers[name]:
                found.append(f"{name} gives {given}")
        except NotImplementedError as error:
            if name in answers or name not in str(error):
                found.append(f"{name}: {error}")
    npu.set_compile_mode(jit_compile=False)
    npu.config.allow_internal_format = False
    npu.set_mm_bmm_format_nd(True)
    npu.matmul.allow_hf32 = False
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        npu.set_compile_mode(jit_compile=True)
        npu.set_mm_bmm_format_nd(False)
        npu.use_compatible_impl(True)
        npu.conv.allow_hf32 = npu.aclnn.allow_hf32 = True
        npu.set_option({"ACL_PRECISION_MODE": "allow_fp32_to_fp16"})
        npu.set_option({"ACL_PRECISION_MODE": "allow_fp32_to_fp16"})
    if len(told) != 6 or not npu.are_compatible_impl_enabled() or npu.is_jit_compile_false() or npu.get_mm_bmm_format_nd() or not npu.conv.allow_hf32 or npu.matmul.allow_hf32:
        found.append(f"settings: {len(told)} warnings")
    for wrong in (lambda: npu.set_option("all"), lambda: setattr(npu.conv, "no_such_setting", True)):
        try:
            wrong()
            found.append("a setting that there is not is taken")
        except (TypeError, AttributeError):
            pass
    npu.set_compile_mode(jit_compile=False)
    npu.set_mm_bmm_format_nd(True)
    npu.use_compatible_impl(False)
    npu.conv.allow_hf32 = npu.aclnn.allow_hf32 = False
    npu.set_autocast_dtype(torch.bfloat16)
    npu.set_autocast_enabled(True)
    if not npu.is_autocast_enabled() or npu.get_autocast_dtype() is not torch.bfloat16 or not torch.is_autocast_enabled("npu"):
        found.append("autocast")
    npu.set_autocast_enabled(False)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        if npu.get_device_capability() is not None or len(told) != 1:
            found.append("capability")
    return found


def optimizers() -> list[str]:
    """Return optimizers whose steps differ from torch's with the same arguments."""
    import torch_npu.optim as fused

    pairs: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "NpuFusedAdam": (fused.NpuFusedAdam, torch.optim.Adam, {"lr": 0.1, "weight_decay": 0.1}),
        "NpuFusedAdamW": (fused.NpuFusedAdamW, torch.optim.AdamW, {"betas": (0.8, 0.9), "eps": 1e-6, "amsgrad": True}),
        "NpuFusedSGD": (fused.NpuFusedSGD, torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
        "NpuFusedAdadelta": (fused.NpuFusedAdadelta, torch.optim.Adadelta, {"rho": 0.8}),
        "NpuFusedRMSprop": (fused.NpuFusedRMSprop, torch.optim.RMSprop, {"momentum": 0.5, "centered": True}),
    }
    found = []
    for name, (mine, theirs, rest) in pairs.items():
        ends = []
        for kind in (mine, theirs):
            weight = torch.nn.Parameter(torch.tensor([1.0, -2.0, 3.0]).npu())
            steps = kind([weight], **rest)
            for _ in range(3):
                steps.zero_grad()
                weight.square().sum().backward()
                steps.step()
            ends.append(weight.tolist())
        if ends[0] != ends[1]:
            found.append(f"{name}: {ends}")
    weight = torch.nn.Parameter(torch.tensor([3.0, 4.0]).npu())
    (weight * weight.detach()).sum().backward()
    norm = fused.NpuFusedSGD([weight], 0.1).clip_optimizer_grad_norm_fused_(1.0)
    if abs(float(norm) - 5) > 1e-5 or abs(float(weight.grad.norm()) - 1) > 1e-4:  # type: ignore[union-attr]
        found.append(f"clipped: {norm} {weight.grad}")
    try:
        fused.NpuFusedLamb([weight])
        found.append("NpuFusedLamb")
    except NotImplementedError as error:
        assert "NpuFusedLamb" in str(error)
    return found


class _AsTorchNpu:
    """A tensor that is pickled as torch_npu's files pickle it."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __reduce__(self) -> Any:
        from torch_npu.utils.storage import _rebuild_npu_tensor

        return _rebuild_npu_tensor, (self.tensor.storage(), 0, tuple(self.tensor.shape), self.tensor.stride(), True, {}, 2)


def files() -> list[str]:
    """Check old files, which refer to a function of torch_npu."""
    import torch_npu.utils.storage as storage

    found = [] if storage._rebuild_npu_tensor is OF_NPU["torch_npu.utils.storage"]["_rebuild_npu_tensor"] else ["the function"]
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    for kept in (True, False):
        for place in ("cpu", "npu:0"):
            file = io.BytesIO()
            torch.save({"w": _AsTorchNpu(x)}, file)
            file.seek(0)
            value = torch.load(file, map_location=place, weights_only=kept)["w"]
            if value.tolist() != x.tolist() or str(value.device) != place or not value.requires_grad:
                found.append(f"{kept} {place}: {value}")
    if b"torch_npu.utils.storage" not in file.getvalue():
        found.append("the file names nothing of torch_npu")
    assert pickle.loads(pickle.dumps(x.npu())).is_npu
    return found


def profiles() -> list[str]:
    """Check a profile as torch_npu's users write it."""
    import torch_npu

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        settings = torch_npu.profiler._ExperimentalConfig(
            profiler_level=torch_npu.profiler.ProfilerLevel.Level1, aic_metrics=torch_npu.profiler.AiCMetrics.PipeUtilization
        )
        with torch_npu.profiler.profile(
            activities=[torch_npu.profiler.ProfilerActivity.CPU, torch_npu.profiler.ProfilerActivity.NPU],
            schedule=torch_npu.profiler.schedule(wait=0, warmup=1, active=1, repeat=1),
            on_trace_ready=torch_npu.profiler.tensorboard_trace_handler(folder), record_shapes=True, experimental_config=settings,
        ) as profile:  # fmt: skip
            for _ in range(3):
                x = torch.ones(4, 4).npu()
                (x @ x).sum().item()
                profile.step()
        traces = [path.read_text() for path in pathlib.Path(folder).iterdir()]
    good = len(traces) == 1 and "aten::matmul" in traces[0] and any("aic_metrics" in str(one.message) for one in told)
    return [] if good else [f"profile: {len(traces)} traces, {[str(one.message) for one in told]}"]


def modules() -> list[str]:
    """Return modules and names of torch_npu that are not there or do not do what they say."""
    import importlib

    import torch_npu
    from torch_npu.testing.common_utils import SupportedDevices, create_common_tensor
    from torch_npu.testing.testcase import TestCase

    found = []
    for name in ("utils.collect_env", "utils.profiler", "utils.flops_count", "testing.decorator", "distributed", "multiprocessing.reductions", "npu.utils", "contrib.module.npu_modules",
                 "contrib.module.ensemble_dropout", "contrib.function.npu_functional", "contrib.function.bbox_coder"):
        if importlib.import_module(f"torch_npu.{name}").__name__.rpartition(".")[2] != name.rpartition(".")[2]:
            found.append(name)
    here, there = create_common_tensor([float, 2, (3, 4)], -1, 1)
    case = TestCase()
    case.assertRtolEqual(here, there.cpu())
    case.assertEqual(here.numpy(), there.cpu().numpy())
    case.assertNotEqual(here, here + 1)
    for wrong in (lambda: case.assertNotEqual(here, there.cpu()), lambda: case.assertEqual(here.numpy(), here.numpy() + 1), lambda: case.assertRtolEqual(here, here + 1), lambda: case.assertEqual(here, here + 1e-3), lambda: case.assertEqual(1, 2)):
        try:
            wrong()
            found.append("a case that must fail")
        except AssertionError:
            pass
    counter = torch_npu.utils.FlopsCounter()
    counter.start()
    torch.ones(2, 3).npu() @ torch.ones(3, 4).npu()
    counter.stop()
    found += ["flops"] * (counter.get_flops() != [48, 48])
    options = torch_npu._C._distributed_c10d.ProcessGroupHCCL.Options()
    options.hccl_config = {"hccl_buffer_size": 200}
    generator: Any = torch.npu.default_generators[0]
    found += ["generator"] * (generator.device.type != "npu")
    found += ["lists"] * ("npu_silu" not in dir(torch_npu) or torch_npu.npu_silu is not torch.ops.npu.npu_silu or torch_npu.Format.FRACTAL_NZ != 29)
    try:
        SupportedDevices(["AscendOther"])(lambda case: found.append("a test of another device"))(case)
        found.append("no skip")
    except unittest.SkipTest:
        pass
    return found


def overflows() -> list[str]:
    """Return what torch_npu.npu.utils says wrongly of overflows and of CANN's version; the device is an Atlas A2, or a stand-in of no kind."""
    from torch_npu.npu import utils

    found, finite, infinite = [], torch.ones(3).npu(), torch.tensor([1.0, float("inf")]).npu()
    if utils.is_support_inf_nan() != (utils.get_soc_version() >= 220):
        found.append("is_support_inf_nan")
    if utils.is_support_inf_nan():
        told = [utils.npu_check_overflow(grad) for grad in (finite, infinite, finite * float("nan"), 1.0, float("-inf"))]
        if told != [False, True, True, False, True]:
            found.append(f"npu_check_overflow: {told}")
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            torch.npu.clear_npu_overflow_flag()
        found += ["clear_npu_overflow_flag"] * (len(warned) != 1)
    refused: Any = RuntimeError if utils.is_support_inf_nan() else NotImplementedError
    for wrong in (torch.npu.get_npu_overflow_flag, lambda: utils.npu_check_overflow("1")):
        try:
            wrong()
            found.append("an error is missing")
        except refused:
            pass
    installed, was = utils.get_cann_version(), utils.get_cann_version
    try:
        utils.get_cann_version = lambda module="CANN": "8.0.RC3"
        told = [utils._is_gte_cann_version(version) for version in ("8.0.RC2", "8.0.RC3", "8.0.0", "10.0.0", "7.9")]
    finally:
        utils.get_cann_version = was
    if told != [True, True, False, False, True] or not installed and utils._is_gte_cann_version("1.0"):
        found.append(f"_is_gte_cann_version: {told}")
    return found


if __name__ == "__main__":
    print(names() + optimizers() + files() + profiles() + modules() + overflows())
