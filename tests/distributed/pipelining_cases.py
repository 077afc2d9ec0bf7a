"""Models in two stages, one per process: results of torch, of mstorch, and of one process without stages."""
from __future__ import annotations

import contextlib
from importlib import import_module

from tests.distributed import together

BATCH, WIDTH = 8, 6


def place(torch):
    return torch.device(together.PLACE)


def pipes():
    return import_module("torch.distributed.pipelining")


class Block:
    """Layers of several kinds in sequence; constructed anew for each library."""

    def __new__(cls, torch, number):
        nn = torch.nn
        torch.manual_seed(number)
        return nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH), nn.LayerNorm(WIDTH))


def data(torch):
    torch.manual_seed(5)
    return torch.randn(BATCH, WIDTH), torch.randn(BATCH, WIDTH)


def optimizer(torch, kind, parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9) if kind == "SGD" else torch.optim.AdamW(parameters, lr=0.01)


def alone(torch, blocks, kind, steps, mean=True):
    """Return losses, outputs and parameters by block of the same training without stages."""
    blocks = [Block(torch, number) for number in range(blocks)]
    chosen = optimizer(torch, kind, [p for block in blocks for p in block.parameters()])
    x, target = data(torch)
    found = []
    for _ in range(steps):
        chosen.zero_grad()
        y = x
        for block in blocks:
            y = block(y)
        loss = torch.nn.functional.mse_loss(y, target) if mean else summed(y, target)
        loss.backward()
        chosen.step()
        found.append([loss.detach(), y.detach()])
    return found, [[p.detach() for p in block.parameters()] for block in blocks]


def summed(y, target):
    return ((y - target) ** 2).sum() / (BATCH * WIDTH)


def near(torch, left, right):
    return all(torch.allclose(one, other, rtol=1e-4, atol=1e-5) for one, other in zip(left, right, strict=True))


def trained(torch, dist, rank, size, name, kind="SGD", microbatches=4, local=1, steps=3, mean=True):
    """Return losses, outputs, gradients and parameters of a training in stages; they equal those of one process."""
    pipelining = pipes()
    indices = list(range(rank, size * local, size))
    stages = [pipelining.PipelineStage(Block(torch, index), index, size * local, place(torch)) for index in indices]
    schedule = getattr(pipelining, name)(
        stages if local > 1 else stages[0], microbatches, loss_fn=torch.nn.functional.mse_loss if mean else summed, scale_grads=mean
    )
    parameters = [p for stage in stages for p in stage.submod.parameters()]
    chosen = optimizer(torch, kind, parameters)
    x, target = data(torch)
    whole, final = alone(torch, size * local, kind, steps, mean)
    found = []
    for step in range(steps):
        losses = ["an old one"]
        chosen.zero_grad()
        output = schedule.step(*([x] if rank == 0 else []), target=target if rank == size - 1 else None, losses=losses)
        gradients = [p.grad.clone() for p in parameters]
        chosen.step()
        found.append([output, losses, gradients])
        if rank == size - 1:
            total = torch.stack([loss.detach() for loss in losses])
            assert near(torch, [total.mean() if mean else total.sum(), output.detach()], whole[step])
    for stage in stages:
        assert near(torch, [p.detach() for p in stage.submod.parameters()], final[stage.stage_index])
    return found, parameters


def case_gpipe(torch, dist, rank, size):
    return trained(torch, dist, rank, size, "ScheduleGPipe")


def case_gpipe_adamw(torch, dist, rank, size):
    return trained(torch, dist, rank, size, "ScheduleGPipe", "AdamW", microbatches=8)


def case_gpipe_of_one_microbatch(torch, dist, rank, size):
    return trained(torch, dist, rank, size, "ScheduleGPipe", microbatches=1)


def case_gpipe_sum(torch, dist, rank, size):
    return trained(torch, dist, rank, size, "ScheduleGPipe", microbatches=2, mean=False, steps=1)


def case_one_forward_one_backward(torch, dist, rank, size):
    return trained(torch, dist, rank, size, "Schedule1F1B")


def case_one_forward_one_backward_adamw(torch, dist, rank, size):
    return trained(torch, dist, rank, size, "Schedule1F1B", "AdamW", microbatches=8)


def case_interleaved(torch, dist, rank, size):
    return trained(torch, dist, rank, size, "ScheduleInterleaved1F1B", local=2)


def case_interleaved_adamw(torch, dist, rank, size):
    return trained(torch, dist, rank, size, "ScheduleInterleaved1F1B", "AdamW", microbatches=8, local=3, steps=2)


def case_breadth_first(torch, dist, rank, size):
    return trained(torch, dist, rank, size, "ScheduleLoopedBFS", local=2)


def orders(torch, dist, name, local, sizes, group):
    found = {}
    for size, microbatches in sizes:
        class Stage:
            """The members of a stage that a schedule's constructor reads."""

            num_stages, group_size, group_rank, stage_index = size * local, size, 0, 0
            is_first, is_last = True, False

        with contextlib.suppress(ValueError):
            made = getattr(pipes(), name)([Stage() for _ in range(local)] if group else Stage(), microbatches)
            ranks = range(size - 1 if name == "Schedule1F1B" else size)  # torch writes actions beyond the last stage and ignores them
            found[str((size, local, microbatches))] = [str(made.pipeline_order[rank]) for rank in ranks]
    return found


SIZES = [(size, microbatches) for size in (1, 2, 3, 4) for microbatches in (1, 2, 3, 4, 6, 8)]


def case_orders(torch, dist, rank, size):
    """Return the order of each rank's actions, for several numbers of processes, stages and microbatches."""
    found = [orders(torch, dist, name, 1, SIZES, False) for name in ("ScheduleGPipe", "Schedule1F1B")]
    return found + [orders(torch, dist, name, local, SIZES, True) for name in ("ScheduleInterleaved1F1B", "ScheduleLoopedBFS") for local in (1, 2, 3)]


class Several:
    """A stage that returns three tensors: one without gradients, one that the next stage does not use."""

    def __new__(cls, torch):
        class First(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(WIDTH, WIDTH)

            def forward(self, x, scale=1.0):
                y = self.layer(x)
                return y * scale, x.argmax(1), y + 1

        class Second(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(WIDTH, WIDTH)

            def forward(self, y, index, unused, mask=None):
                y = self.layer(y) * torch.nn.functional.one_hot(index % WIDTH, WIDTH)
                return y if mask is None else y * mask

        torch.manual_seed(1)
        return [First(), Second(), Block(torch, 2), Block(torch, 3)]


def case_several_tensors(torch, dist, rank, size):
    module = Several(torch)[rank]
    stage = pipes().PipelineStage(module, rank, size, place(torch))
    schedule = pipes().Schedule1F1B(stage, 4, loss_fn=lambda y, target, weight: ((y - target) ** 2).mean() * weight)
    x, target = data(torch)
    x.requires_grad_()
    named = {"scale": 3.0} if rank == 0 else {"mask": torch.arange(float(BATCH))[:, None]} if rank == 1 else {}
    out = schedule.step(*([x] if rank == 0 else []), **named, target=target, loss_kwargs={"weight": 2.0})
    again = schedule.step(*([x] if rank == 0 else []), **named, target=target, loss_kwargs={"weight": 1.0}, return_outputs=False)
    return out, again, [p.grad for p in module.parameters()], x.grad


def case_forwards_alone(torch, dist, rank, size):
    """Evaluation between steps, with other batch sizes, and schedules without a loss."""
    module = Block(torch, rank)
    schedule = pipes().ScheduleGPipe(pipes().PipelineStage(module, rank, size, place(torch)), 2, loss_fn=torch.nn.functional.mse_loss)
    x, target = data(torch)
    found = []
    for length in (BATCH, BATCH // 2):
        given = [x[:length]] if rank == 0 else []
        with torch.no_grad():
            losses = []
            found += [schedule.eval(*given, target=target[:length], losses=losses), losses]
        found.append(schedule.step(*given, target=target[:length]))
    module.zero_grad()
    only = pipes()._ScheduleForwardOnly(pipes().PipelineStage(module, rank, size, place(torch)), 4)
    found.append(only.step(*([x] if rank == 0 else [])))
    return found, [p.grad is None for p in module.parameters()]


def case_dropout(torch, dist, rank, size):
    """The numbers of a step begin where the generator stands."""
    module = torch.nn.Sequential(Block(torch, rank), torch.nn.Dropout(0.5))
    schedule = pipes().Schedule1F1B(pipes().PipelineStage(module, rank, size, place(torch)), 4, loss_fn=torch.nn.functional.mse_loss)
    x, target = data(torch)
    torch.manual_seed(3)
    return schedule.step(*([x] if rank == 0 else []), target=target), [p.grad for p in module.parameters()]


def case_large_messages(torch, dist, rank, size):
    """Transfers in both directions at once, each too large for a socket's buffer."""
    torch.manual_seed(rank)
    module = torch.nn.Linear(300, 300)
    schedule = pipes().Schedule1F1B(pipes().PipelineStage(module, rank, size, place(torch)), 8, loss_fn=lambda y, target: (y - target).pow(2).mean())
    torch.manual_seed(7)
    x = torch.randn(1024, 300)
    for _ in range(3):
        losses = []
        out = schedule.step(*([x] if rank == 0 else []), target=x, losses=losses)
    return losses, None if out is None else out.sum(0), module.weight.grad, module.bias.grad


def case_expected_tensors(torch, dist, rank, size):
    """Example arguments that are passed to the constructor."""
    example = torch.empty(BATCH // 4, WIDTH)
    flowing = torch.empty(BATCH // 4, WIDTH, requires_grad=True)
    module = Block(torch, rank)
    stage = pipes().PipelineStage(module, rank, size, place(torch), input_args=(flowing if rank else example,), output_args=flowing)
    schedule = pipes().ScheduleGPipe(stage, 4, loss_fn=torch.nn.functional.mse_loss)
    x, target = data(torch)
    return schedule.step(*([x] if rank == 0 else []), target=target), [p.grad for p in module.parameters()]


def case_bfloat16(torch, dist, rank, size):
    module = Block(torch, rank).to(torch.bfloat16)
    schedule = pipes().ScheduleGPipe(pipes().PipelineStage(module, rank, size, place(torch)), 4, loss_fn=lambda y, t: (y.float() - t).pow(2).mean())
    x, target = data(torch)
    return schedule.step(*([x.bfloat16()] if rank == 0 else []), target=target)


def told(call):
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - compared between the libraries
        return type(error).__name__, str(error)


def case_refused_schedules(torch, dist, rank, size):
    """Return the errors of a pipeline of one stage per process; no process waits for another."""
    pipelining = pipes()
    groups = [dist.new_group([one]) for one in range(size)]
    here, x = place(torch), torch.ones(4, WIDTH)

    def stage(module=None, index=0, number=1, **more):
        return pipelining.PipelineStage(module or torch.nn.Linear(WIDTH, WIDTH), index, number, here, group=groups[rank], **more)

    def schedule(kind="ScheduleGPipe", loss_fn=torch.nn.functional.mse_loss, microbatches=2, module=None, **more):
        return getattr(pipelining, kind)(stage(module), microbatches, loss_fn=loss_fn, **more)

    def without_gradients():
        with torch.no_grad():
            schedule().step(x, target=x)

    names = import_module("torch.distributed.pipelining.schedules")
    calls = [
        lambda: stage(index=1), lambda: stage(index=3, number=2), lambda: pipelining.PipelineStage(torch.nn.Linear(2, 2), 0, 1, here),
        lambda: stage(input_args=3), lambda: stage(input_args=[None]), lambda: stage(output_args=(x, "a")), lambda: stage(output_grads=(3,)),
        lambda: pipelining.Schedule1F1B(stage(number=4), 3),
        lambda: schedule().step(x), lambda: schedule().step(x, target=x, losses=(1,)), lambda: schedule(microbatches=8).step(x, target=x),
        lambda: schedule().step(x, target=x[:1]), lambda: schedule().step(3, target=x), without_gradients,
        lambda: schedule(module=torch.nn.LSTM(WIDTH, WIDTH)).step(x, target=x), lambda: schedule().step(torch.ones(4, 2), target=x),
        lambda: pipelining._ScheduleForwardOnly(stage(), 2).step(x, target=x), lambda: schedule().eval(x, losses=[]),
        lambda: schedule()._step_microbatches([(x,)], None, [x, x]), lambda: schedule()._step_microbatches((x,), None, [x, x]),
        lambda: schedule(args_chunk_spec=()).step(x, target=x), lambda: schedule(args_chunk_spec=(3,)).step(x, target=x),
        lambda: schedule(output_merge_spec=(3, 4)).step(x, target=x), lambda: schedule(loss_fn=lambda y: y).step(x, target=x),
        lambda: schedule(loss_fn=lambda y, target: y).step(x, target=x),
        lambda: names.get_schedule_class("none"), lambda: names._Action.from_str("x"), lambda: names._ComputationType.from_str("x"),
    ]  # fmt: skip
    return [told(call) for call in calls]


def case_names(torch, dist, rank, size):
    names = import_module("torch.distributed.pipelining.schedules")
    utils = import_module("torch.distributed.pipelining._utils")
    found = [names.get_schedule_class(name).__name__ for name in ("gpipe", "1f1b", "LoopedBFS", "interleaved1f1b", "dualpipev", "ZBVZeroBubble")]
    texts = ["2F0", "1UNSHARD", "3SEND_F1", "0B12", "(1F0;2B3)OVERLAP_F_B", " "]
    found += [str(names._Action.from_str(text)) for text in texts]
    found += [utils.generate_stage_to_rank_mapping(2, 6, style) for style in ("loop", "v")]
    found += [utils.generate_rank_to_stage_mapping(3, 6, style) for style in ("loop", "v")]
    return found + [told(lambda: utils.generate_stage_to_rank_mapping(4, 6, "v")), told(lambda: utils.generate_stage_to_rank_mapping(4, 8, "w"))]


def case_chunks(torch, dist, rank, size):
    """Split and merged arguments."""
    parts = import_module("torch.distributed.pipelining.microbatch")
    along, whole = parts.TensorChunkSpec, parts._Replicate
    x, y = torch.arange(12.0).view(6, 2), torch.arange(8).view(2, 4)
    calls = [
        lambda: parts.split_args_kwargs_into_chunks((x,), None, 3), lambda: parts.split_args_kwargs_into_chunks((x,), {"y": y, "z": 3}, 4),
        lambda: parts.split_args_kwargs_into_chunks((x, [y, "a"]), {}, 2), lambda: parts.split_args_kwargs_into_chunks((), {}, 2),
        lambda: parts.split_args_kwargs_into_chunks((x, y), None, 2, (along(1), along(-1))),
        lambda: parts.split_args_kwargs_into_chunks((x, y), None, 2, (whole, whole())),
        lambda: parts.split_args_kwargs_into_chunks((x,), {"y": y}, 2, along.from_tuple((0,)), along.from_dict({"y": 1})),
        lambda: parts.split_args_kwargs_into_chunks((3,), {"y": y}, 4), lambda: parts.split_args_kwargs_into_chunks((3,), None, 2, (along(0),)),
        lambda: parts.split_args_kwargs_into_chunks((x,), None, 2, (along(0), along(0))), lambda: parts.split_args_kwargs_into_chunks((x,), None, 7),
        lambda: parts.merge_chunks([x, x + 1], None), lambda: parts.merge_chunks([(x, {"a": y}), (x, {"a": y})], None),
        lambda: parts.merge_chunks([x, x], along(1)), lambda: parts.merge_chunks([(x, 3), (x, 3)], (along(0), None)),
        lambda: parts.merge_chunks([(x, 3), (x, 4)], (along(0), None)), lambda: parts.merge_chunks([(x, 3)], along(0)),
        lambda: parts.merge_chunks([torch.tensor(2.0), torch.tensor(3.0)], parts.sum_reducer),
        lambda: repr(along(2)), lambda: str(along(2)),
    ]  # fmt: skip
    return [told(call) for call in calls]
