"""Where torch says that its classes and functions are, as far as our own modules do not tell: (module that has them, home) → names."""
from __future__ import annotations

HOMES = {
    ("torch", "torch"): (
        "Future PyTorchFileReader ScriptModule Size Tensor celu_ device dtype finfo is_storage norm_except_dim "
        "promote_types randperm rrelu_ selu_ threshold_"
    ),
    ("torch", "torch._C"): "Generator to_dlpack",
    ("torch", "torch._higher_order_ops.while_loop"): "while_loop",
    ("torch", "torch._linalg_utils"): "eig lstsq matrix_rank solve symeig",
    ("torch", "torch._lobpcg"): "lobpcg",
    ("torch", "torch._lowrank"): "pca_lowrank svd_lowrank",
    ("torch", "torch._tensor_str"): "set_printoptions",
    ("torch", "torch._utils_internal"): "get_file_path prepare_multiprocessing_environment",
    ("torch", "torch.utils.dlpack"): "from_dlpack",
    ("torch._C", "torch._C"): "_LinAlgError",
    ("torch.accelerator", "torch.accelerator.graphs"): "Graph",
    ("torch.accelerator", "torch.accelerator.memory"): (
        "empty_cache empty_host_cache get_memory_info max_memory_allocated max_memory_reserved memory_allocated "
        "memory_reserved memory_stats reset_accumulated_memory_stats reset_peak_memory_stats"
    ),
    ("torch.autograd", "torch._C"): "is_multithreading_enabled",
    ("torch.autograd", "torch._C._autograd"): "kineto_available",
    ("torch.autograd", "torch.autograd"): "backward grad",
    ("torch.autograd.profiler", "torch.autograd.profiler_util"): "EventList FunctionEvent FunctionEventAvg",
    ("torch.autograd.variable", "torch._C"): "ImperativeEngine",
    ("torch.cuda", "torch.cuda"): "device",
    ("torch.cuda", "torch.cuda.graphs"): "CUDAGraph graph graph_pool_handle is_current_stream_capturing make_graphed_callables",
    ("torch.cuda", "torch.cuda.memory"): (
        "CUDAPluggableAllocator MemPool caching_allocator_alloc caching_allocator_delete caching_allocator_disabled "
        "caching_allocator_enable change_current_allocator empty_cache get_allocator_backend "
        "get_per_process_memory_fraction host_memory_stats host_memory_stats_as_nested_dict list_gpu_processes "
        "max_memory_allocated max_memory_cached max_memory_reserved mem_get_info memory_allocated memory_cached "
        "memory_reserved memory_snapshot memory_stats memory_stats_as_nested_dict memory_summary "
        "reset_accumulated_host_memory_stats reset_accumulated_memory_stats reset_max_memory_allocated "
        "reset_max_memory_cached reset_peak_host_memory_stats reset_peak_memory_stats set_per_process_memory_fraction "
        "use_mem_pool"
    ),
    ("torch.cuda", "torch.cuda.random"): (
        "get_rng_state get_rng_state_all initial_seed manual_seed manual_seed_all seed seed_all set_rng_state "
        "set_rng_state_all"
    ),
    ("torch.cuda", "torch.cuda.streams"): "Event ExternalStream Stream",
    ("torch.distributed", "torch._C._distributed_c10d"): (
        "BuiltinCommHookType FileStore GradBucket HashStore TCPStore set_debug_level set_debug_level_from_env"
    ),
    ("torch.distributed", "torch.distributed"): "DistBackendError DistError DistNetworkError DistStoreError breakpoint is_available",
    ("torch.distributed", "torch.distributed.distributed_c10d"): (
        "AllToAllOptions AllreduceCoalescedOptions AllreduceOptions BarrierOptions BroadcastOptions GatherOptions "
        "PrefixStore ReduceOp ReduceOptions ReduceScatterOptions ScatterOptions Store all_gather_object all_reduce "
        "broadcast_object_list gather_object get_global_rank get_rank get_world_size is_initialized new_subgroups"
    ),
    ("torch.distributed.checkpoint", "torch.distributed.checkpoint.api"): "CheckpointException",
    ("torch.distributed.checkpoint", "torch.distributed.checkpoint.filesystem"): "FileSystemReader FileSystemWriter",
    ("torch.distributed.checkpoint", "torch.distributed.checkpoint.state_dict_loader"): "load load_state_dict",
    ("torch.distributed.checkpoint", "torch.distributed.checkpoint.state_dict_saver"): "async_save save save_state_dict",
    ("torch.distributed.fsdp", "torch.distributed.fsdp"): "MixedPrecisionPolicy",
    ("torch.distributed.tensor", "torch.distributed.tensor"): "DTensor distribute_tensor empty ones rand randn zeros",
    ("torch.futures", "torch.jit"): "Future",
    ("torch.fx", "torch.fx._symbolic_trace"): "Tracer symbolic_trace wrap",
    ("torch.fx", "torch.fx.node"): "map_arg",
    ("torch.fx.graph", "torch._C"): "map_arg",
    ("torch.fx.graph", "torch.fx.graph"): "PythonCode",
    ("torch.library", "torch._library.custom_ops"): "CustomOpDef",
    ("torch.linalg", "torch._C"): "LinAlgError",
    ("torch.masked", "torch.masked._ops"): (
        "amax amin argmax argmin cumprod cumsum log_softmax logaddexp logsumexp mean median norm normalize prod softmax "
        "softmin std sum var"
    ),
    ("torch.monitor", "torch._C._monitor"): (
        "Aggregation Event EventHandlerHandle Stat log_event register_event_handler unregister_event_handler"
    ),
    ("torch.mtia", "torch.mtia"): "device",
    ("torch.nn", "torch.nn.modules.linear_cross_entropy_options"): "LinearCrossEntropyOptions",
    ("torch.nn", "torch.nn.modules.loss"): "LinearCrossEntropyLoss",
    ("torch.nn.functional", "torch"): "celu_ selu_ threshold_",
    ("torch.optim", "torch.optim"): "swap_in_optimizer_params_and_state",
    ("torch.overrides", "torch._C"): "has_torch_function has_torch_function_unary has_torch_function_variadic",
    ("torch.profiler", "torch._C._profiler"): "ProfilerActivity",
    ("torch.profiler", "torch.profiler.profiler"): "ProfilerAction profile schedule supported_activities tensorboard_trace_handler",
    ("torch.signal.windows", "torch.signal.windows.windows"): (
        "bartlett blackman cosine exponential gaussian general_cosine general_hamming hamming hann kaiser nuttall"
    ),
    ("torch.testing", "torch"): "FileCheck",
    ("torch.testing", "torch.testing._comparison"): "assert_allclose assert_close",
    ("torch.testing", "torch.testing._creation"): "make_tensor",
    ("torch.types", "torch"): "DispatchKey SymBool SymFloat SymInt",
    ("torch.utils.data", "torch.utils.data._utils.collate"): "default_collate default_convert",
    ("torch.utils.data", "torch.utils.data._utils.worker"): "get_worker_info",
    ("torch.utils.data", "torch.utils.data.datapipes._decorator"): (
        "argument_validation functional_datapipe guaranteed_datapipes_determinism non_deterministic runtime_validation "
        "runtime_validation_disabled"
    ),
    ("torch.utils.hooks", "torch.utils.hooks"): "RemovableHandle",
    ("torch.xpu", "torch.xpu"): "device",
}  # fmt: skip
