"""Cases that torch refuses on the CPU or leaves undefined: results are checked directly, in two processes of mstorch."""
from __future__ import annotations

import time
from datetime import timedelta
from importlib import import_module

import numpy as np

from tests.distributed import together
from tests.distributed.algorithm_cases import trained


def case_batch_norm_of_all(torch, dist, rank, size):
    torch.manual_seed(3)
    whole = torch.randn(10, 3, 4, requires_grad=True)
    weights = torch.randn(10, 3, 4)
    plain = torch.nn.BatchNorm1d(3)
    synced = torch.nn.SyncBatchNorm.convert_sync_batchnorm(torch.nn.BatchNorm1d(3))
    part = slice(0, 4) if rank == 0 else slice(4, 10)
    mine = whole.detach()[part].clone().requires_grad_()
    for _ in range(2):
        want = plain(whole)
        got = synced(mine)
    (want * weights).sum().backward()
    (got * weights[part]).sum().backward()
    grads = [synced.weight.grad, synced.bias.grad]
    for one in grads:
        dist.all_reduce(one)
    pairs = [(want[part], got), (plain.running_mean, synced.running_mean), (plain.running_var, synced.running_var),
             (whole.grad[part], mine.grad), (plain.weight.grad, grads[0]), (plain.bias.grad, grads[1])]  # fmt: skip
    for a, b in pairs:
        np.testing.assert_allclose(a.detach().cpu().numpy(), b.detach().cpu().numpy(), rtol=1e-4, atol=1e-5)
    synced.eval()
    assert synced(mine).shape == mine.shape


def case_messages_in_order(torch, dist, rank, size):
    """Large and empty messages in both directions at once: HCCL preserves their order and has no tags."""
    other, large, got = 1 - rank, torch.arange(2_000_000.0), torch.empty(2_000_000)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.irecv, got, other), dist.P2POp(dist.isend, large + rank, other)]):
        work.wait()
    assert got[-1] == 1_999_999 + other
    first, second, third = torch.empty(0), torch.empty(2), torch.empty(3, dtype=torch.int64)
    sent = [torch.empty(0), torch.ones(2) * rank, torch.full((3,), rank)]
    calls = [[dist.isend(one, other) for one in sent], [dist.irecv(one, other) for one in (first, second, third)]] if rank == 0 else [
        [dist.irecv(one, other) for one in (first, second, third)], [dist.isend(one, other) for one in sent]]  # fmt: skip
    for work in [work for works in calls for work in works]:
        work.wait()
    assert second.tolist() == [other] * 2 and third.tolist() == [other] * 3
    assert dist.recv(second, other) == other if rank == 0 else dist.send(torch.zeros(2), other) is None
    if rank == 0:
        later = dist.irecv(second, other)
        later.wait()
        assert later.is_completed() and later.source_rank() == other and second.tolist() == [5, 5]
    else:
        dist.send(torch.full((2,), 5.0), other)


def case_messages_in_any_order(torch, dist, rank, size):
    if together.PLACE != "cpu":
        return
    other = 1 - rank
    large, got = torch.arange(2_000_000.0), torch.empty(2_000_000)
    works = [dist.irecv(got, other, tag=1), dist.isend(large + rank, other, tag=1)]
    works[1].wait()
    works[0].wait()
    assert got[-1] == 1_999_999 + other
    first, second = torch.empty(0), torch.empty(2)
    dist.isend(torch.ones(2) * rank, other, tag=5)
    dist.isend(torch.empty(0), other, tag=6)
    dist.recv(first, other, tag=6)
    assert dist.recv(second, tag=5) == other and second.tolist() == [other] * 2
    later = dist.irecv(second, other, tag=7)
    assert not later.is_completed()
    dist.barrier()
    dist.send(torch.zeros(2), other, tag=7)
    later.wait()
    assert later.is_completed() and later.source_rank() == other


def case_patience(torch, dist, rank, size):
    dist.barrier()
    if rank == 0:
        start = time.monotonic()
        for wait in (lambda: dist.barrier(timeout=timedelta(seconds=0.2)), lambda: dist.monitored_barrier(timeout=timedelta(seconds=0.2))):
            try:
                wait()
                raise AssertionError("nobody came")
            except RuntimeError as error:
                assert "200" in str(error), error
        assert time.monotonic() - start < 5
    else:
        group = dist.group.WORLD
        group._sequence += 2  # as if it had not been called
    dist.barrier()
    dist.monitored_barrier()


def case_different_sizes(torch, dist, rank, size):
    try:
        dist.all_reduce(torch.ones(2 + rank))
        raise AssertionError("refused by nobody")
    except RuntimeError as error:
        assert "Detected mismatch between collectives" in str(error) or f"rank {1 - rank} calls all_reduce sum float32 {3 - rank}" in str(error), error
    dist.barrier()


def case_nothing(torch, dist, rank, size):
    """Parts, and tensors, without elements."""
    into, given = torch.full((2 + rank,), -1.0), torch.arange(2.0 + 1 - rank) + 10 * rank
    dist.all_to_all_single(into, given, [0, 2] if rank == 0 else [3, 0], [0, 3] if rank == 0 else [2, 0])
    assert into.tolist() == ([10.0, 11.0] if rank == 0 else [0.0, 1.0, 2.0]), into
    only = torch.full((2 * (1 - rank),), -1.0)
    dist.all_to_all_single(only, torch.arange(2.0 * rank), [0, 2 * (1 - rank)], [2 * rank, 0])
    assert only.tolist() == ([0.0, 1.0] if rank == 0 else [])
    none, whole = torch.empty(0, 3), torch.empty(0, 3)
    for call in (lambda: dist.all_reduce(none), lambda: dist.broadcast(none, 0), lambda: dist.all_gather_single(whole, none),
                 lambda: dist.reduce_scatter_single(whole, none, dist.ReduceOp.AVG), lambda: dist.all_to_all_single(whole, none),
                 lambda: dist.all_gather([whole, whole], none), lambda: dist.reduce(none, 0)):  # fmt: skip
        call()
    for group in (dist.new_group([0, 1], sort_ranks=False), dist.new_group([1, 0], sort_ranks=False)):
        parts, order = [torch.empty(1) for _ in range(2)], dist.get_process_group_ranks(group)
        dist.all_gather(parts, torch.tensor([float(rank)]), group=group)
        assert [int(part) for part in parts] == order, (order, parts)
        own = torch.empty(1)
        dist.reduce_scatter_single(own, torch.tensor([1.0, 10.0]), group=group)
        assert own.item() == [2.0, 20.0][order.index(rank)]


def case_groups_again(torch, dist, rank, size):
    local = dist.new_group([0, 1], use_local_synchronization=True)
    x = torch.ones(2)
    dist.all_reduce(x, group=local)
    dist.destroy_process_group(local)
    assert x.tolist() == [2, 2] and dist.is_initialized()
    for call in (lambda: dist.all_reduce(torch.ones(2, 2).to_sparse()), lambda: dist.new_group(backend="nccl")):
        try:
            call()
            raise AssertionError("not refused")
        except (NotImplementedError, RuntimeError):
            pass


def case_threads_overlap(torch, dist, rank, size):
    """Many concurrent operations give the same results as sequential ones."""
    tensors = [torch.full((50_000,), float(number + rank)) for number in range(20)]
    works = [dist.all_reduce(one, async_op=True) for one in tensors]
    for number, (work, one) in enumerate(zip(works, tensors)):
        work.wait()
        assert one[0] == one[-1] == 2 * number + 1
    futures = [dist.all_reduce(one, async_op=True).get_future() for one in tensors]
    total = torch.futures.collect_all(futures).then(lambda done: sum(one.value()[0][0].item() for one in done.value()))
    assert total.wait() == sum(2 * (2 * number + 1) for number in range(20))


def case_hooks_that_gloo_lacks(torch, dist, rank, size):
    """Quantization to 8 bits, and one matrix per bucket: results are near the mean, and equal in both processes."""
    hooks = torch.distributed.algorithms.ddp_comm_hooks
    want, _ = trained(torch, rank, lambda model: None, 1)
    power = hooks.powerSGD_hook
    state = power.PowerSGDState(None, 16, start_powerSGD_iter=2, orthogonalization_epsilon=1e-8)
    for steps, register in (
        (1, lambda model: model.register_comm_hook(None, hooks.quantization_hooks.quantization_pertensor_hook)),
        (1, lambda model: model.register_comm_hook(None, hooks.quantization_hooks.quantization_perchannel_hook)),
        (5, lambda model: model.register_comm_hook(state, power.batched_powerSGD_hook)),
    ):
        grads, parameters = trained(torch, rank, register, steps)
        if steps == 1:
            for a, b in zip(want[0], grads[0]):
                assert (a - b).abs().max() < 0.02 * max(one.abs().max() for one in want[0])
        else:
            last = trained(torch, rank, lambda model: None, steps)[1]
            assert all((a - b).abs().max() < 0.05 for a, b in zip(last, parameters))
        for one in parameters:
            other = one.clone()
            dist.broadcast(other, 0)
            assert torch.equal(one, other)


def case_states_of_the_first_process(torch, dist, rank, size):
    from torch.distributed.fsdp import FullStateDictConfig, FullyShardedDataParallel, StateDictType

    model = FullyShardedDataParallel(torch.nn.Linear(3, 5), device_id=torch.device(together.PLACE))
    with FullyShardedDataParallel.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(rank0_only=True)):
        assert sorted(model.state_dict()) == ([] if rank else ["bias", "weight"])
    assert sorted(model.state_dict()) == ["bias", "weight"]
    for visible in (False, True):
        model = FullyShardedDataParallel(torch.nn.Linear(3, 5), device_id=torch.device(together.PLACE), use_orig_params=visible)
        for offload in (False, True):
            with FullyShardedDataParallel.summon_full_params(model, writeback=False, rank0_only=True, offload_to_cpu=offload):
                shapes = {name: tuple(one.shape) for name, one in model.named_parameters()}
                assert all(one.device.type == ("cpu" if offload and not rank else together.PLACE) for one in model.parameters())
            part = {"weight": (4,), "bias": (5,)} if visible else {"_flat_param": (10,)}
            assert shapes == (part if rank else {"weight": (5, 3), "bias": (5,)}), shapes


def everything_on(torch, dist, rank, size, place):
    """Modules, hooks, DTensors, states and checkpoints of tensors on a named device: all results are on this device."""
    hooks, nn = torch.distributed.algorithms.ddp_comm_hooks, torch.nn
    mesh = dist.init_device_mesh(place, (size,))

    def net(width=6):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, 2)).to(place)

    def step(model, optimizer=None):
        loss = model(torch.ones(3, 4, device=place) * (rank + 1)).square().mean()
        loss.backward()
        for one in model.parameters():
            assert one.grad is None or one.grad.device.type == place
        if optimizer is not None:
            optimizer.step()
            optimizer.zero_grad()

    power = hooks.powerSGD_hook
    for hook in (power.powerSGD_hook, power.batched_powerSGD_hook):
        model = nn.parallel.DistributedDataParallel(net(40))
        model.register_comm_hook(power.PowerSGDState(None, 1, start_powerSGD_iter=2, min_compression_rate=1), hook)
        for _ in range(4):
            step(model)
    for options in ({"find_unused_parameters": True}, {"static_graph": True}):
        model = nn.parallel.DistributedDataParallel(net(), **options)
        with torch.distributed.algorithms.join.Join([model]):
            for _ in range(2 + rank):
                step(model)
    Zero = import_module("torch.distributed.optim").ZeroRedundancyOptimizer
    model = nn.parallel.DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(net(), nn.BatchNorm1d(2).to(place))))
    zero = Zero(model.parameters(), torch.optim.AdamW, lr=0.1)
    step(model, zero)
    zero.consolidate_state_dict()

    tensor = import_module("torch.distributed.tensor")
    made = [getattr(tensor, name)(3, 2, device_mesh=mesh, placements=[tensor.Shard(0)]) for name in ("zeros", "ones", "randn")]
    made.append(tensor.full((3, 2), 2.0, device_mesh=mesh, placements=[tensor.Shard(0)]))
    made.append(tensor.distribute_tensor(torch.ones(3, 2, device="cpu"), mesh, [tensor.Shard(0)]))
    made.append(tensor.DTensor.from_local(torch.ones(3, 2, device="cpu"), mesh, [tensor.Replicate()]))
    for one in made:
        assert one.to_local().device.type == one.full_tensor().device.type == place, one
    first = dist.init_device_mesh(place, (1,))  # without the second process
    outside = tensor.distribute_tensor(torch.ones(3, 2, device=place), first, [tensor.Shard(0)])
    assert outside.shape == (3, 2) and outside.to_local().numel() == (6 if rank == 0 else 0) and outside.to_local().device.type == place
    cut = nn.Parameter(tensor.distribute_tensor(torch.ones(1, 2, device=place), mesh, [tensor.Shard(0)]))  # one process has no elements
    (cut * 2).full_tensor().sum().backward()
    assert nn.utils.clip_grad_norm_([cut], 1.0, float("inf")).device.type == place

    fsdp, states = import_module("torch.distributed.fsdp"), import_module("torch.distributed.checkpoint.state_dict")
    sharded = net()
    fsdp.fully_shard(sharded, mesh=mesh)
    optimizer = torch.optim.Adam(sharded.parameters(), lr=torch.tensor(0.1, device=place))
    states.get_state_dict(sharded, optimizer)
    step(sharded, optimizer)
    whole = states.get_model_state_dict(sharded, options=states.StateDictOptions(full_state_dict=True))
    assert {one.device.type for one in whole.values()} == {place}
    found = [None] * size
    dist.all_gather_object(found, {"x": torch.ones(2, device=place)})
    assert {one["x"].device.type for one in found} == {place}


def case_stages_tell_what_they_send(torch, dist, rank, size):
    """Stages exchange metadata without a computation (torch runs the model on uninitialized memory); strides are preserved, and another
    shape is refused."""
    pipelining, place = import_module("torch.distributed.pipelining"), torch.device(together.PLACE)
    calls = []

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3, 3))

        def forward(self, x):
            calls.append(x.stride())
            return (x @ self.weight).t().contiguous().t()

    layer = Layer()
    stage = pipelining.PipelineStage(layer, rank, size, place)
    schedule = pipelining.Schedule1F1B(stage, 2, loss_fn=lambda y, target: (y - target).sum())
    x = torch.arange(12.0).view(4, 3)
    for _ in range(2):
        layer.zero_grad()
        schedule.step(*([x] if rank == 0 else []), target=x)
    assert calls == [((3, 1), (1, 2))[rank]] * 4, calls
    want = [x.sum(0)[:, None].expand(3, 3) * 3, (x @ torch.ones(3, 3)).sum(0)[:, None].expand(3, 3)][rank]
    np.testing.assert_allclose(layer.weight.grad.cpu().numpy(), want.cpu().numpy() / 2)
    alone = dist.new_group([0]), dist.new_group([1])
    both = [pipelining.PipelineStage(Layer(), index, 2, place, group=alone[rank]) for index in range(2)]
    names = import_module("torch.distributed.pipelining.schedules")
    order = [names._Action.from_str(text) for text in "0F0 1F0 1B0 0B0 0F1 1F1 1B1 0B1".split()]
    schedule = names.PipelineScheduleMulti(both, 2, loss_fn=lambda y, target: (y - target).sum())
    schedule.pipeline_order = {0: order}
    schedule.step(x, target=x)
    for one, known in zip(both, (x.sum(0)[:, None].expand(3, 3) * 3, (x @ torch.ones(3, 3)).sum(0)[:, None].expand(3, 3))):
        np.testing.assert_allclose(one.submod.weight.grad.cpu().numpy(), known.cpu().numpy() / 2)
    try:
        schedule.step(torch.ones(6, 3), target=torch.ones(6, 3))
    except RuntimeError as found:
        assert "Stage 0 forward outputs[0]: shape mismatch: torch.Size([2, 3]) vs torch.Size([3, 3])" in str(found), found
    else:
        raise AssertionError("not refused")
    schedule.pipeline_order = {0: order[1:] + order[:1]}
    try:
        schedule.step(x, target=x)
    except AssertionError as found:
        assert "Malformed" in str(found)
    else:
        raise AssertionError("not refused")
    try:
        pipelining.PipelineStage(torch.nn.parallel.DistributedDataParallel(layer), rank, size, place)
    except NotImplementedError as found:
        assert "DistributedDataParallel" in str(found)
    else:
        raise AssertionError("not refused")


def case_tensors_beside_the_default_device(torch, dist, rank, size):
    """Tensors on the device while the default device is the CPU, and the reverse."""
    for place, default in ((together.PLACE, "cpu"), ("cpu", together.PLACE)):
        torch.set_default_device(default)
        try:
            everything_on(torch, dist, rank, size, place)
        finally:
            torch.set_default_device(together.PLACE)


def case_replicas_average_what_some_parameters_deferred(torch, dist, rank, size):
    """Gradients that are averaged over the replicas at once, beside some of the same unit that wait since the last backward."""
    fsdp = import_module("torch.distributed.fsdp")
    mesh = dist.init_device_mesh(together.PLACE, (size, 1), mesh_dim_names=("copies", "parts"))
    first, second = torch.nn.Linear(3, 4), torch.nn.Linear(3, 4)
    plain = [torch.full_like(one, 0.5).requires_grad_() for one in (first.weight, second.weight)]
    for one in (first, second):
        torch.nn.init.constant_(one.weight, 0.5)
        torch.nn.init.zeros_(one.bias)

    class Both(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = first, second

        def forward(self, x, both):
            return self.first(x).square().sum() + (self.second(x).square().sum() if both else 0)

    model = fsdp.fully_shard(Both(), mesh=mesh)
    torch.manual_seed(rank)
    for both in (False, True):  # the first backward reaches one of the layers, and its gradients are not averaged yet
        model.set_requires_all_reduce(both)
        x = torch.randn(5, 3)
        model(x, both).backward()
        for weight in plain[: 1 + both]:
            (x @ weight.T).square().sum().backward()
    for weight, layer in zip(plain, (first, second)):
        dist.all_reduce(weight.grad)
        np.testing.assert_allclose(
            layer.weight.grad.full_tensor().cpu().numpy(), weight.grad.cpu().numpy() / size, rtol=1e-4, atol=1e-5
        )
