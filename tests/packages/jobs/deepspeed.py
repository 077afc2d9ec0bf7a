"""Jobs of deepspeed: what works on the CPU without its compiled operators."""
from __future__ import annotations

import os

import deepspeed
import torch
from deepspeed.runtime.utils import clip_grad_norm_
from deepspeed.runtime.zero.partition_parameters import ZeroParamStatus

deepspeed.ops.__compatible_ops__ = {}  # nothing is compiled against torch
os.environ.update({"MASTER_ADDR": "localhost", "MASTER_PORT": "0", "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"})


def _begun():
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
        deepspeed.init_distributed("gloo", auto_mpi_discovery=False)


def job_names():
    _begun()
    x = torch.ones(3, requires_grad=True)
    (x * torch.arange(3.0)).sum().backward()
    norm = clip_grad_norm_([x], 1.0)
    return ZeroParamStatus.AVAILABLE.name, hasattr(deepspeed.zero, "GatheredParameters"), norm, x.grad


def _engine(stage):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    settings = {"train_batch_size": 4, "zero_optimization": {"stage": stage}, "gradient_clipping": 1.0, "zero_force_ds_cpu_optimizer": False,
                "zero_allow_untested_optimizer": True, "bf16": {"enabled": stage > 0}}  # fmt: skip
    _begun()
    return deepspeed.initialize(model=net, optimizer=torch.optim.SGD(net.parameters(), 0.1, momentum=0.9), config=settings)[0]


def _trained(stage):
    engine, losses = _engine(stage), []
    torch.manual_seed(1)
    kind = torch.bfloat16 if stage else torch.float32
    x, y = torch.randn(4, 8).to(kind), torch.tensor([0, 1, 0, 1])
    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(engine(x), y)
        engine.backward(loss)
        engine.step()
        losses.append(round(loss.item(), 2) if stage else loss.item())
    engine.save_checkpoint("saved", tag="last")
    engine.load_checkpoint("saved", tag="last")
    return losses


def job_engine():
    return _trained(0)


def job_zero():
    return _trained(1), _trained(2)
