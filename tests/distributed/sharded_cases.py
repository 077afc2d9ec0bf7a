"""Meshes, DTensor, fully_shard and tensor parallelism: run with torch and with mstorch in two processes, and compared."""
from __future__ import annotations

from importlib import import_module

from tests.distributed import together


def calls(names, expressions):
    """Return the values of expressions, or their errors."""
    found = []
    for expression in expressions:
        try:
            found.append(eval(expression, dict(names)))
        except Exception as error:  # noqa: BLE001 - compared
            found.append([type(error).__name__, str(error)[:80]])
    return found


def case_meshes(torch, dist, rank, size):
    mesh = dist.init_device_mesh(together.PLACE, (size,), mesh_dim_names=("dp",))
    grid = dist.init_device_mesh(together.PLACE, (1, size), mesh_dim_names=("dp", "tp"))
    return calls({"m": mesh, "g": grid, "d": dist}, [
        "repr(m)", "m.mesh", "m.shape", "m.ndim", "m.size()", "m.size(0)", "m.get_rank()", "m.get_local_rank()", "m.get_local_rank('dp')",
        "m.get_coordinate()", "m.mesh_dim_names", "m.device_type", "repr(m['dp'])", "len(m.get_all_groups())", "repr(g)", "repr(g['tp'])",
        "g['tp'].mesh", "g.get_coordinate()", "g.get_group('tp').size()", "g.size()", "m['x']", "d.init_device_mesh('cpu', (3,))",
        "d.init_device_mesh('cpu', (2,), mesh_dim_names=('a', 'b'))", "g.get_group()", "m == d.init_device_mesh('cpu', (2,), mesh_dim_names=('dp',))",
    ])  # fmt: skip


def case_dtensors(torch, dist, rank, size):
    tensor = import_module("torch.distributed.tensor")
    mesh = dist.init_device_mesh(together.PLACE, (size,))
    x = tensor.distribute_tensor(torch.arange(10.0).view(5, 2), mesh, [tensor.Shard(0)])
    names = {"x": x, "t": tensor, "m": mesh, "torch": torch, "r": rank, "S": tensor.Shard, "R": tensor.Replicate, "P": tensor.Partial}
    return calls(names, [
        "list(x.shape), x.stride(), x.numel(), x.dim(), len(x), x.requires_grad, x.is_leaf, str(x.dtype)", "x.to_local()", "x.full_tensor()",
        "(x + 1).to_local()", "(x + x).full_tensor()", "x.sum().full_tensor()", "x.sum(0).full_tensor()", "x.sum(1).full_tensor()",
        "x.t().full_tensor()", "x.mean().full_tensor()", "x.redistribute(m, [R()]).to_local()", "x.redistribute(m, [S(1)]).to_local()",
        "(x @ t.distribute_tensor(torch.ones(2, 3), m, [R()])).full_tensor()", "t.DTensor.from_local(torch.ones(2, 2) * r, m, [P()]).full_tensor()",
        "list(t.DTensor.from_local(torch.ones(2, 2), m, [S(1)]).shape)", "t.zeros(4, 2, device_mesh=m, placements=[S(0)]).to_local()",
        "t.DTensor.from_local(torch.ones(4, 2) * r, m, [P()]).redistribute(m, [S(0)]).to_local()", "repr(S(0)), repr(R()), repr(P())",
        "(x > 3).full_tensor()", "torch.relu(x - 4).full_tensor()", "x.max().full_tensor()", "(x * 2).placements == x.placements",
    ])  # fmt: skip


def case_elementwise_operations_stay_cut(torch, dist, rank, size):
    tensor = import_module("torch.distributed.tensor")
    mesh = dist.init_device_mesh(together.PLACE, (size,))
    x = torch.linspace(-0.9, 0.9, 10).view(5, 2)
    cut, other = (tensor.distribute_tensor(one, mesh, [tensor.Shard(0)]) for one in (x, x.flip(0)))
    found = [
        torch.acos(cut), torch.atan2(cut, other), cut > other, torch.logical_and(cut, other), cut.exp2(), torch.erfc(cut), torch.sinh(cut),
        torch.where(cut > 0, cut, other), torch.clamp_min(cut, 0.1), 2 - cut, cut.clone().mul_(other), cut.clone().atan2_(other),
    ]  # fmt: skip
    return [(str(one.placements), one.full_tensor()) for one in found]


def case_gradients_of_dtensors(torch, dist, rank, size):
    tensor = import_module("torch.distributed.tensor")
    mesh = dist.init_device_mesh(together.PLACE, (size,))
    found = []
    for placement in (tensor.Shard(0), tensor.Shard(1), tensor.Replicate()):
        w = torch.nn.Parameter(tensor.distribute_tensor(torch.arange(8.0).view(4, 2), mesh, [placement]))
        (w * w).full_tensor().square().sum().backward()
        found.append(w.grad.full_tensor())
        optimizer = torch.optim.SGD([w], lr=0.01, momentum=0.9)
        optimizer.step()
        found.append(w.full_tensor())
    return found


def network(torch):
    torch.manual_seed(5)
    return torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 3))


def case_tensor_parallel(torch, dist, rank, size):
    parallel = import_module("torch.distributed.tensor.parallel")
    mesh = dist.init_device_mesh(together.PLACE, (size,))
    model = parallel.parallelize_module(network(torch), mesh, {"0": parallel.ColwiseParallel(), "2": parallel.RowwiseParallel()})
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    torch.manual_seed(2)
    x, losses = torch.randn(5, 4), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return losses, [one.grad.full_tensor() for one in model.parameters()], [one.full_tensor() for one in model.parameters()]


def block(torch):
    class Block(torch.nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm = torch.nn.LayerNorm(width)
            self.up, self.down = torch.nn.Linear(width, 5), torch.nn.Linear(5, width)

        def forward(self, x):
            return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))

    return Block


def case_fully_shard(torch, dist, rank, size):
    fsdp = import_module("torch.distributed.fsdp")
    mesh = dist.init_device_mesh(together.PLACE, (size,))
    found = {}
    for name, options in {"default": {}, "kept": {"reshard_after_forward": False}, "freed": {"reshard_after_forward": True}}.items():
        torch.manual_seed(1)
        Block = block(torch)
        model = torch.nn.Sequential(torch.nn.Embedding(7, 3), Block(3), Block(3), torch.nn.Linear(3, 7))
        for part in (model[1], model[2]):
            fsdp.fully_shard(part, mesh=mesh, **options)
        fsdp.fully_shard(model, mesh=mesh, **options)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
        torch.manual_seed(10 + rank)
        losses = []
        for step in range(4):
            tokens = torch.randint(0, 7, (4, 6))
            loss = torch.nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            losses += [loss, norm.full_tensor() if hasattr(norm, "full_tensor") else norm]
            if step != 1:
                optimizer.step()
                optimizer.zero_grad()
        with torch.no_grad():
            model(tokens)
        state = {key: value.full_tensor() for key, value in model.state_dict().items()}
        found[name] = [losses, state, [list(one.to_local().shape) for one in model.parameters()], type(model).__name__]
    return found


def case_initialisation(torch, dist, rank, size):
    tensor, found = import_module("torch.distributed.tensor"), []
    mesh = dist.init_device_mesh(together.PLACE, (size,))
    for placement in (tensor.Shard(0), tensor.Shard(1), tensor.Replicate()):
        for name in ("uniform_", "normal_", "trunc_normal_", "ones_", "xavier_uniform_", "kaiming_uniform_", "kaiming_normal_"):
            torch.manual_seed(rank)
            weight = torch.nn.Parameter(tensor.distribute_tensor(torch.full((4, 6), 7.0), mesh, [placement]))
            getattr(torch.nn.init, name)(weight)
            found.append(weight.full_tensor())
        torch.nn.init.constant_(weight, 2.5)
        plain = tensor.distribute_tensor(torch.arange(24.0).view(4, 6), mesh, [placement])
        found += [weight.full_tensor(), plain.sigmoid_().full_tensor(), plain.clamp_min_(0.9).full_tensor()]
    return found


def case_fully_shard_with_copies(torch, dist, rank, size):
    """A mesh of replicas and shards, of 1 × size and of size × 1."""
    fsdp, found = import_module("torch.distributed.fsdp"), []
    for grid in ((1, size), (size, 1)):
        mesh = dist.init_device_mesh(together.PLACE, grid, mesh_dim_names=("copies", "parts"))
        torch.manual_seed(1)
        Block = block(torch)
        model = torch.nn.Sequential(Block(3), Block(3))
        for part in (*model, model):
            fsdp.fully_shard(part, mesh=mesh)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        torch.manual_seed(10 + rank)
        for step in range(4):
            model.set_requires_all_reduce(step != 1)
            loss = model(torch.randn(4, 3)).square().sum()
            loss.backward()
            if step != 1:
                norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                found += [loss, norm.full_tensor() if hasattr(norm, "full_tensor") else norm]
                optimizer.step()
                optimizer.zero_grad()
        found.append([[one.full_tensor(), str(one.placements), list(one.to_local().shape)] for one in model.parameters()])
    return found


def case_fully_shard_from_meta(torch, dist, rank, size):
    """Parameters on the meta device that get memory after sharding; full states; methods of the module."""
    fsdp, states = import_module("torch.distributed.fsdp"), import_module("torch.distributed.checkpoint.state_dict")
    Block, found = block(torch), []

    def sharded():
        with torch.device("meta"):
            model = torch.nn.Sequential(Block(3), Block(3))
        for part in (*model, model):
            fsdp.fully_shard(part, mp_policy=fsdp.MixedPrecisionPolicy(reduce_dtype=together.wide(torch)))
        return model

    model = sharded()
    model.to_empty(device=together.PLACE)
    torch.manual_seed(3 + rank)
    for part in model.modules():
        if hasattr(part, "reset_parameters"):
            part.reset_parameters()
    model[0].set_modules_to_forward_prefetch([model[1]])
    model[1].set_modules_to_backward_prefetch([model[0]])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(2):
        handle = model.unshard(async_op=True)
        handle.wait()
        loss = model(torch.linspace(-1, 2 + rank, 6).exp().view(2, 3)).square().sum()
        loss.backward()
        found += [loss, [one.grad.full_tensor() for one in model.parameters()]]
        optimizer.step()
        optimizer.zero_grad()
    options = states.StateDictOptions(full_state_dict=True)
    whole = states.get_model_state_dict(model, options=options)
    again = sharded()
    states.set_model_state_dict(again, dict(whole), options=options)
    fsdp.register_fsdp_forward_method(again[1], "extra_repr")
    found.append([whole, again(torch.ones(1, 3)), again[1].extra_repr(), type(again[1].down.weight).__name__])
    return found + calls({"m": model}, ["m.set_modules_to_forward_prefetch([3])"])


def case_zero_redundancy(torch, dist, rank, size):
    Zero = import_module("torch.distributed.optim").ZeroRedundancyOptimizer
    model = torch.nn.parallel.DistributedDataParallel(network(torch))
    optimizer = Zero(model.parameters(), torch.optim.AdamW, lr=0.05)
    torch.manual_seed(rank)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(torch.randn(5, 4)).square().sum()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    held = len(optimizer.optim.state)
    optimizer.consolidate_state_dict(to=0)
    state = optimizer.state_dict() if rank == 0 else None
    refused = calls({"o": optimizer}, ["o.state_dict()"]) if rank else None
    box = [state]
    dist.broadcast_object_list(box, src=0)
    again = Zero(model.parameters(), torch.optim.AdamW, lr=0.01)
    again.load_state_dict(box[0])
    model(torch.ones(2, 4)).sum().backward()
    again.step()
    return losses, held, list(model.parameters()), sorted(state["state"]) if state else None, refused, again.param_groups[0]["lr"]


def case_checkpoints(torch, dist, rank, size):
    import os
    import tempfile

    checkpoint, tensor = import_module("torch.distributed.checkpoint"), import_module("torch.distributed.tensor")
    fsdp = import_module("torch.distributed.fsdp")
    states = import_module("torch.distributed.checkpoint.state_dict")
    box = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(box, src=0)
    mesh = dist.init_device_mesh(together.PLACE, (size,))
    whole = torch.arange(15.0).view(5, 3)
    state = {
        "cut": tensor.distribute_tensor(whole, mesh, [tensor.Shard(0)]), "same": tensor.distribute_tensor(whole, mesh, [tensor.Replicate()]),
        "plain": whole * 2, "deep": {"list": [torch.ones(2), 3], "text": "x"}, "number": 1.5,
    }  # fmt: skip
    checkpoint.save(state, checkpoint_id=os.path.join(box[0], "a"))
    empty = {
        "cut": tensor.zeros(5, 3, device_mesh=mesh, placements=[tensor.Shard(1)]), "same": torch.zeros(5, 3), "plain": torch.zeros(5, 3),
        "deep": {"list": [torch.zeros(2), 0], "text": ""}, "number": 0.0,
    }  # fmt: skip
    checkpoint.load(empty, checkpoint_id=os.path.join(box[0], "a"))
    found = [empty["cut"].full_tensor(), empty["same"], empty["plain"], empty["deep"]["list"], empty["deep"]["text"], empty["number"]]
    try:
        checkpoint.load({"other": torch.zeros(2)}, checkpoint_id=os.path.join(box[0], "a"))
    except BaseException as error:  # noqa: BLE001 - torch wraps it
        found.append("Missing key in checkpoint state_dict: other." in str(error))
    if rank == 0:  # another number of processes
        alone = {"cut": torch.zeros(5, 3), "same": torch.zeros(5, 3)}
        checkpoint.load(alone, checkpoint_id=os.path.join(box[0], "a"), no_dist=True)
        found.append([alone["cut"], alone["same"]])
    results = []
    for attempt in range(2):
        model = network(torch)
        fsdp.fully_shard(model[0], mesh=mesh)
        fsdp.fully_shard(model, mesh=mesh)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
        if attempt:
            model_state, optimizer_state = states.get_state_dict(model, optimizer)
            checkpoint.load({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=os.path.join(box[0], "b"))
            states.set_state_dict(model, optimizer, model_state_dict=model_state, optim_state_dict=optimizer_state)
        for step in range(2):
            model(torch.ones(2, 4) * (rank + 1)).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            if not attempt and not step:
                model_state, optimizer_state = states.get_state_dict(model, optimizer)
                checkpoint.save({"model": model_state, "optimizer": optimizer_state}, checkpoint_id=os.path.join(box[0], "b"))
        full = states.get_model_state_dict(model, options=states.StateDictOptions(full_state_dict=True))
        results.append([full, sorted(optimizer_state["state"]), [len(optimizer_state["param_groups"])]])
    return found, results


def case_sequence_parallel(torch, dist, rank, size):
    parallel, tensor = import_module("torch.distributed.tensor.parallel"), import_module("torch.distributed.tensor")
    nn, Shard, Replicate = torch.nn, tensor.Shard, tensor.Replicate

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.norm = nn.Embedding(8, 4), nn.LayerNorm(4)
            self.up, self.down, self.head = nn.Linear(4, 3 * size), nn.Linear(3 * size, 4), nn.Linear(4, 8)

        def forward(self, x):
            x = self.words(x)
            return self.head(x + self.down(torch.relu(self.up(self.norm(x)))))

    mesh = dist.init_device_mesh(together.PLACE, (size,))
    found = []
    for words in (parallel.RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
                  parallel.ColwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1))):  # fmt: skip
        torch.manual_seed(4)
        model = parallel.parallelize_module(Model(), mesh, {
            "words": words,
            "norm": parallel.SequenceParallel(),
            "up": parallel.ColwiseParallel(input_layouts=Shard(1)),
            "down": parallel.RowwiseParallel(output_layouts=Shard(1)),
            "head": parallel.ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
        })  # fmt: skip
        tokens = torch.arange(6 * size).view(2, 3 * size) % 8
        for _ in range(2):
            logits = model(tokens)
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), (tokens.flatten() * 3) % 8)
            loss.backward()
        found.append([logits, loss, {name: one.grad.full_tensor() for name, one in model.named_parameters()}])
    return found


def case_losses_of_parts(torch, dist, rank, size):
    tensor, parallel = import_module("torch.distributed.tensor"), import_module("torch.distributed.tensor.parallel")
    mesh, found = dist.init_device_mesh(together.PLACE, (size,)), []
    for shape, target in (((5, 7), [1, 2, -100, 6, 3]), ((2, 5 if size == 2 else 7, 3), [[1, 0, 4], [-100, 2, 2]])):
        for reduction in ("mean", "sum", "none"):
            torch.manual_seed(0)
            logits = tensor.distribute_tensor(torch.randn(shape) * 30, mesh, [tensor.Shard(1)]).requires_grad_()
            with parallel.loss_parallel():
                loss = torch.nn.functional.cross_entropy(logits, torch.tensor(target), reduction=reduction)
                (loss.sum() if reduction == "none" else loss).backward()
            found.append([loss.full_tensor(), str(loss.placements), logits.grad.full_tensor(), str(logits.grad.placements)])
    return found


def case_modules_of_dtensors(torch, dist, rank, size):
    tensor = import_module("torch.distributed.tensor")
    mesh = dist.init_device_mesh(together.PLACE, (size,))
    nn, found = torch.nn, []
    for make, x in (
        (lambda: nn.LayerNorm(4), torch.randn(2, 4)), (lambda: nn.Conv1d(4, 3, 2), torch.randn(2, 4, 5)), (lambda: nn.Linear(4, 3), torch.randn(2, 4)),
        (lambda: nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Softmax(-1)), torch.randn(2, 4)),
    ):  # fmt: skip
        torch.manual_seed(1)
        module = tensor.distribute_module(make(), mesh)
        given = tensor.distribute_tensor(x * 0 + torch.linspace(-1, 1, x.numel()).view(x.shape), mesh)
        y = module(given)
        y.full_tensor().square().sum().backward()
        found.append([y.full_tensor(), [one.grad.full_tensor() for one in module.parameters()]])
    return found
