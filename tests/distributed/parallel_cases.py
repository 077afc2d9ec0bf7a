"""DistributedDataParallel and differentiable collectives: run with torch and with mstorch in two processes, and compared."""
from __future__ import annotations


def two(torch):
    class Two(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(2, 3)
            self.b = torch.nn.Linear(3, 2)

        def forward(self, x, both=True):
            return {"out": self.b(self.a(x)) if both else self.a(x)}

    return Two()


def ddp(torch, module, **options):
    return torch.nn.parallel.DistributedDataParallel(module, **options)


def grads(model):
    return [None if one.grad is None else one.grad.clone() for one in model.parameters()]


def case_gradients_in_many_ways(torch, dist, rank, size):
    torch.manual_seed(rank)
    x = torch.randn(4, 2) * (rank + 1)
    found = {}
    for name, options in {
        "plain": {}, "views": {"gradient_as_bucket_view": True}, "static": {"static_graph": True}, "found": {"find_unused_parameters": True},
        "small": {"bucket_cap_mb": 1e-5}, "list": {"bucket_cap_mb_list": [1e-5, 25]},
    }.items():  # fmt: skip
        torch.manual_seed(rank + 7)
        model = ddp(torch, two(torch), **options)
        steps = []
        for _ in range(3):
            model(x)["out"].square().sum().backward()
            steps.append(grads(model))
        model.zero_grad(set_to_none=False)
        with model.no_sync():
            model(x)["out"].sum().backward()
        steps.append(grads(model))
        (model(x)["out"] + model(2 * x)["out"]).sum().backward()
        steps.append(grads(model))
        model.zero_grad()
        model(x)["out"].sum().backward()
        model.eval()
        with torch.no_grad():
            steps.append([*grads(model), model(x)["out"], list(model.state_dict())])
        found[name] = steps
    return found


def case_backward_that_is_announced(torch, dist, rank, size):
    """Two forwards under ``no_sync``, of which the second's backward is averaged nevertheless, as accelerate does."""
    torch.manual_seed(rank)
    x = torch.randn(4, 2) * (rank + 1)
    torch.manual_seed(7)
    model, steps = ddp(torch, two(torch)), []
    for _ in range(2):
        with model.no_sync():
            first, second = model(x)["out"].sum(), model(2 * x)["out"].square().sum()
        first.backward()
        steps.append(grads(model))
        model.require_backward_grad_sync = True
        model.reducer.prepare_for_backward([])
        second.backward()
        steps.append(grads(model))
    return steps


def case_unused(torch, dist, rank, size):
    torch.manual_seed(rank)
    model = ddp(torch, two(torch), find_unused_parameters=True)
    found = []
    for both in (False, True, rank == 0):
        model.zero_grad()
        model(torch.ones(3, 2) * (rank + 1), both)["out"].sum().backward()
        found.append(grads(model))
    plain = ddp(torch, two(torch))
    for _ in range(2):
        try:
            plain(torch.ones(3, 2), False)["out"].sum().backward()
            found.append("ran")
        except RuntimeError as error:
            found.append(str(error)[:300])
    return found


def case_unused_for_good(torch, dist, rank, size):
    """A parameter that a static graph never uses, and outputs that the loss ignores, on all processes and on one."""

    class Side(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = (torch.nn.Linear(2, 2) for _ in range(3))

        def forward(self, x, sides):
            return (self.a(x), self.b(x)) if sides else self.a(x)

    x = torch.ones(3, 2) * (rank + 1)
    found = []
    for options in ({"static_graph": True}, {"static_graph": True, "find_unused_parameters": True}):
        model = ddp(torch, Side(), **options)
        for _ in range(3):
            model.zero_grad()
            model(x, False).sum().backward()
            found.append(grads(model))
    model = ddp(torch, Side(), find_unused_parameters=True)
    for step in range(4):
        if step != 2:
            model.zero_grad()
        first, second = model(x, True)
        (first + second if step == 3 and rank == 0 else first).sum().backward()
        found.append(grads(model))
    return found


def case_hooks(torch, dist, rank, size):
    import importlib

    hooks = importlib.import_module("torch.distributed.algorithms.ddp_comm_hooks.default_hooks")
    x = torch.randn(4, 2) * (rank + 1)
    seen = []

    def own(state, bucket):
        seen.append([state, bucket.index(), bucket.is_last(), bucket.buffer().shape, len(bucket.gradients()), len(bucket.parameters())])
        return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda done: done.value()[0] / 2)

    found = []
    for hook in (own, hooks.allreduce_hook, hooks.fp16_compress_hook, hooks.fp16_compress_wrapper(hooks.allreduce_hook)):
        torch.manual_seed(3)
        model = ddp(torch, two(torch))
        model.register_comm_hook("state" if hook is own else None, hook)
        model(x)["out"].sum().backward()
        found.append([(one * 8).round() for one in grads(model)] if hook not in (own, hooks.allreduce_hook) else grads(model))
    refused = []
    for call in (lambda: model.register_comm_hook(None, own), lambda: model.register_comm_hook(None, 3)):
        try:
            call()
        except Exception as error:  # noqa: BLE001 - compared
            refused.append([type(error).__name__, str(error)])
    return found, seen, refused


def case_refusals(torch, dist, rank, size):
    found = []
    frozen = two(torch).requires_grad_(False)
    for make in (lambda: ddp(torch, torch.nn.ReLU()), lambda: ddp(torch, frozen)):
        try:
            make()
        except Exception as error:  # noqa: BLE001 - compared
            found.append([type(error).__name__, str(error)])
    return found


def case_buffers(torch, dist, rank, size):
    torch.manual_seed(rank)
    found = []
    for broadcast in (True, False):
        model = ddp(torch, torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)), broadcast_buffers=broadcast)
        for _ in range(2):
            model(torch.randn(5, 2))
        found.append(dict(model.state_dict()))
    return found


def case_join(torch, dist, rank, size):
    found = []
    for initially in (True, False):
        torch.manual_seed(1)
        model = ddp(torch, torch.nn.Linear(2, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with model.join(divide_by_initial_world_size=initially):
            for step in range(3 + 2 * rank):
                optimizer.zero_grad()
                model(torch.ones(3, 2) * (step + 1)).sum().backward()
                optimizer.step()
        found.append([model.module.weight, model.module.bias])
    return found


def case_sampler(torch, dist, rank, size):
    sampler = torch.utils.data.DistributedSampler(list(range(11)), seed=3)
    sampler.set_epoch(2)
    return list(sampler), len(sampler)


def case_differentiable(torch, dist, rank, size):
    from importlib import import_module

    functional = import_module("torch.distributed.nn.functional")
    found = {}
    calls = {
        "all_reduce": lambda x: functional.all_reduce(x),
        "all_gather": lambda x: torch.stack(functional.all_gather(x)) * torch.arange(1.0, size + 1).view(-1, 1),
        "broadcast": lambda x: functional.broadcast(x, 0),
        "reduce": lambda x: functional.reduce(x, 0) if rank == 0 else functional.reduce(x, 0) * 0,
        "reduce_scatter": lambda x: functional.reduce_scatter(torch.empty(4 // size), list(x.chunk(size))),
        "all_to_all": lambda x: torch.cat(functional.all_to_all([torch.empty(4 // size) for _ in range(size)], list(x.chunk(size)))),
        "all_to_all_single": lambda x: functional.all_to_all_single(torch.empty(4), x),
        "gather": lambda x: torch.stack(functional.gather(x, 0)) * (rank + 1),
        "scatter": lambda x: functional.scatter([part * x for part in range(1, size + 1)], 0),
    }
    for name, call in calls.items():
        x = torch.arange(4.0).requires_grad_()
        with torch.no_grad():
            x += rank
        y = call(x * 2)
        (y * torch.arange(1.0, y.numel() + 1).view(y.shape) * (rank + 1)).sum().backward()
        found[name] = [y, x.grad]
    return found


def case_functional(torch, dist, rank, size):
    from importlib import import_module

    functional = import_module("torch.distributed._functional_collectives")
    x = torch.arange(4.0) + rank
    group = dist.group.WORLD
    return [
        functional.wait_tensor(functional.all_reduce(x, "sum", group)), functional.wait_tensor(functional.all_reduce(x, "avg", group)), x,
        functional.wait_tensor(functional.all_gather_tensor(x, 0, group)), functional.wait_tensor(functional.broadcast(x, 0, group)),
        functional.wait_tensor(functional.all_gather_tensor(x.view(2, 2), 1, group)),
        functional.wait_tensor(functional.reduce_scatter_tensor(x, "sum", 0, group)),
        functional.wait_tensor(functional.all_to_all_single(x, None, None, group)),
        functional.all_reduce(x, "sum", group) + 1,
    ]  # fmt: skip
