"""Communication hooks, averages of models, wrappers: run with torch and with mstorch in two processes, and compared."""
from __future__ import annotations

import warnings
from importlib import import_module

from tests.distributed import together


def trained(torch, rank, register, steps=5, optimizer=None):
    """Return the gradients of each step, and the final parameters, of a DistributedDataParallel with a hook."""
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(12, 16), torch.nn.Tanh(), torch.nn.Linear(16, 16), torch.nn.Tanh(), torch.nn.Linear(16, 5))
    model = torch.nn.parallel.DistributedDataParallel(net)
    register(model)
    chosen = torch.optim.SGD(model.parameters(), lr=0.05)
    chosen = optimizer(chosen) if optimizer else chosen
    torch.manual_seed(20 + rank)
    found = []
    batches = [torch.randn(8, 12) for _ in range(steps)]  # as in torch, PowerSGD changes the seed, which stays changed on a device
    for batch in batches:
        chosen.zero_grad()
        model(batch).square().sum().backward()
        found.append([one.grad.clone() for one in model.parameters()])
        chosen.step()
    return found, [one.detach().clone() for one in model.parameters()]


def case_hooks_by_name(torch, dist, rank, size):
    hooks = import_module("torch.distributed.algorithms.ddp_comm_hooks")
    kinds = hooks.DDPCommHookType
    found = {}
    for kind in (kinds.NOOP, kinds.POWER_SGD):
        found[kind.name] = trained(torch, rank, lambda model, kind=kind: hooks.register_ddp_comm_hook(kind, model, dist.group.WORLD), 3)
    return found, [kind.name for kind in kinds]


def case_power(torch, dist, rank, size):
    power = import_module("torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook")
    found = []
    for options in ({}, {"matrix_approximation_rank": 2, "batch_tensors_with_same_shape": True}, {"matrix_approximation_rank": 3},
                    {"use_error_feedback": False, "warm_start": False, "start_powerSGD_iter": 0}):  # fmt: skip
        state = power.PowerSGDState(None, **{"start_powerSGD_iter": 2, "orthogonalization_epsilon": 1e-8, **options})
        grads = trained(torch, rank, lambda model, s=state: model.register_comm_hook(s, power.powerSGD_hook))
        found.append([grads, list(state.compression_stats()), state.iter])
    try:
        power.PowerSGDState(None, start_powerSGD_iter=1)
    except ValueError as error:
        found.append(str(error))
    return found


def case_means_of_models(torch, dist, rank, size):
    averagers = import_module("torch.distributed.algorithms.model_averaging.averagers")
    optim = import_module("torch.distributed.optim")
    local = import_module("torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook")
    found, made = [], []

    def wrapped(inner):
        made.append(optim.PostLocalSGDOptimizer(inner, averagers.PeriodicModelAverager(period=2, warmup_steps=3)))
        return made[-1]

    alone = [dist.new_group([one]) for one in range(size)][rank]
    for kept in (True, False):
        state = local.PostLocalSGDState(None, alone, start_localSGD_iter=2, post_local_gradient_allreduce=kept)
        found.append(trained(torch, rank, lambda model, s=state: model.register_comm_hook(s, local.post_localSGD_hook), 6, wrapped))
        found.append([made[-1].state_dict()["step"], made[-1].averager.step])
    state = made[-1].state_dict()
    del state["step"]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        made[-1].load_state_dict(state)
    found.append([[str(one.message) for one in seen], made[-1].averager.step])
    for options in ({"period": 0}, {"period": 2, "warmup_steps": -1}):
        try:
            averagers.PeriodicModelAverager(**options)
        except ValueError as error:
            found.append(str(error))
    return found


def case_scaler(torch, dist, rank, size):
    scaler = import_module("torch.distributed.fsdp.sharded_grad_scaler").ShardedGradScaler(together.PLACE, init_scale=4.0, growth_interval=2)
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    found = []
    for step in range(5):
        loss = (weight * (float("inf") if step == 1 and rank == 1 else 1.0 + rank)).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        found.append([weight.detach().clone(), scaler.get_scale()])
    return found


def case_wrappers(torch, dist, rank, size):
    wrapper = import_module("torch.distributed.algorithms._checkpoint.checkpoint_wrapper")
    found = []
    for kind in (*wrapper.CheckpointImpl, "offload"):
        torch.manual_seed(2)
        net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
        if kind == "offload":
            net[0] = wrapper.offload_wrapper(net[0])
        else:
            wrapper.apply_activation_checkpointing(
                net, lambda part, kind=kind: wrapper.checkpoint_wrapper(part, kind), lambda part: isinstance(part, torch.nn.Linear)
            )
        x = torch.linspace(-1, 2, 6).view(2, 3).requires_grad_()
        net(x).square().sum().backward()
        state = net.state_dict()
        net.load_state_dict(state)
        found.append([[one.grad for one in net.parameters()], x.grad, list(state), [name for name, _ in net.named_parameters()],
                      net[0].in_features, type(net[0]).__name__])  # fmt: skip
    return found
