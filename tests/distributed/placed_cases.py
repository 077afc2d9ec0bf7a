"""FullyShardedDataParallel and fully_shard on a device: where shards are kept and full parameters are computed with. On the CPU all are
there."""
from __future__ import annotations

from importlib import import_module

from tests.distributed import flat_cases, together


def case_parts_on_the_cpu(torch, dist, rank, size):
    """Shards, gradients and states are kept on the CPU; computation is on the device."""
    fsdp, wrap, found = import_module("torch.distributed.fsdp"), import_module("torch.distributed.fsdp.wrap"), []
    place = torch.device(together.PLACE)
    for visible in (None, False, True):
        net, Block = flat_cases.model(torch)
        if visible is None:
            mesh = dist.device_mesh.init_device_mesh(together.PLACE, (size,))
            for part in (net[1], net[2], net):
                fsdp.fully_shard(part, mesh=mesh, offload_policy=fsdp.CPUOffloadPolicy(pin_memory=False))
            made = net
        else:
            made = fsdp.FullyShardedDataParallel(
                net, auto_wrap_policy=wrap.ModuleWrapPolicy({Block}), device_id=place, cpu_offload=fsdp.CPUOffload(offload_params=True),
                use_orig_params=visible,
            )  # fmt: skip
        optimizer = torch.optim.SGD(made.parameters(), lr=0.05, momentum=0.9)
        losses = []
        for _ in range(3):
            out = made(torch.linspace(-1, 2, 20).exp().view(5, 4) + rank)
            assert out.device.type == together.PLACE
            loss = out.square().mean()
            optimizer.zero_grad()
            loss.backward()
            losses.append(loss)
            if visible is not None:
                losses.append(made.clip_grad_norm_(0.7))
            kept = [*made.parameters(), *(one.grad for one in made.parameters() if one.grad is not None)]
            assert {getattr(one, "_local_tensor", one).device.type for one in kept} == {"cpu"}
            optimizer.step()
        state = made.state_dict()
        found.append(losses)
        if visible is not None:
            options = fsdp.FullStateDictConfig(offload_to_cpu=True)
            with fsdp.FullyShardedDataParallel.state_dict_type(made, fsdp.StateDictType.FULL_STATE_DICT, options):
                state = made.state_dict()
            assert {one.device.type for one in state.values()} == {"cpu"}
            moments = fsdp.FullyShardedDataParallel.optim_state_dict(made, optimizer)["state"]
            assert {value.device.type for one in moments.values() for value in one.values()} == {"cpu"}
            found.append([dict(state), {key: moments[key]["momentum_buffer"] for key in sorted(moments)}])
    return found


def case_modules_of_the_cpu(torch, dist, rank, size):
    """A module on the CPU is moved to the named device, or must be moved before it is used."""
    fsdp, found = import_module("torch.distributed.fsdp"), []
    place = torch.device(together.PLACE) if together.PLACE == "cpu" else torch.device(together.PLACE, rank)

    def fresh():
        with torch.device("cpu"):
            return flat_cases.model(torch)[0]

    def step(made):
        loss = made(torch.linspace(-1, 2, 20, device="cpu").view(5, 4).to(place)).square().mean()
        loss.backward()
        assert {one.device for one in made.parameters()} == {place} == {one.grad.device for one in made.parameters() if one.grad is not None}
        assert loss.device == place == made.compute_device
        found.append([loss, flat_cases.sizes(made), dict(made.state_dict())])

    flat = fsdp.FullyShardedDataParallel
    step(flat(fresh(), device_id=place))
    step(flat(fresh(), device_id=place if together.PLACE == "cpu" else rank, use_orig_params=True))
    step(flat(fresh().to(place), device_id=place if together.PLACE == "cpu" else None))
    for visible in (False, True):  # moved there later
        made = flat(fresh(), device_id=place if together.PLACE == "cpu" else None, use_orig_params=visible)
        if together.PLACE != "cpu":
            try:
                made(torch.ones(2, 4))
            except RuntimeError as error:
                assert "unexpectedly has parameters on cpu. Make sure to move the module to" in str(error)
            else:
                raise AssertionError("a module of the CPU is computed on the device")
        step(made.to(place))
    net = fresh()
    fsdp.fully_shard(net)
    out = net(torch.ones(2, 4, device="cpu"))  # inputs are moved to the module's device
    out.sum().backward()
    assert net[0].weight.device_mesh.device_type == together.PLACE and net[0].weight.grad.to_local().device == out.device == place
    assert net[3].running_mean.device == place
    found += [out, net[0].weight.full_tensor()]
    return found


def case_states_of_the_first_process(torch, dist, rank, size):
    fsdp = import_module("torch.distributed.fsdp")
    place = torch.device(together.PLACE)
    net = flat_cases.model(torch)[0]
    with torch.no_grad():
        for one in (*net.parameters(), net[3].running_mean):
            one.add_(rank)
    if together.PLACE != "cpu":
        made = fsdp.FullyShardedDataParallel(net, device_id=torch.device(together.PLACE, rank), sync_module_states=True)
    else:
        for one in (*net.parameters(), *net.buffers()):
            dist.broadcast(one.detach(), 0)
        made = fsdp.FullyShardedDataParallel(net, device_id=place)
    return dict(made.state_dict())
