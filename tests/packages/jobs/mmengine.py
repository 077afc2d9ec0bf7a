"""Jobs of mmengine."""
from __future__ import annotations

import torch
from mmengine.config import Config
from mmengine.model import BaseModel, ExponentialMovingAverage
from mmengine.registry import DefaultScope
from mmengine.runner import Runner


class Net(BaseModel):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 2))

    def forward(self, x, y, mode="tensor"):
        out = self.layer(x)
        if mode == "loss":
            return {"loss": torch.nn.functional.cross_entropy(out, y)}
        return out if mode == "tensor" else [out, y]


def job_runner():
    torch.manual_seed(0)
    model = Net()
    data = [(torch.randn(4), i % 2) for i in range(16)]
    seen = []

    from mmengine.hooks import Hook

    class Watch(Hook):
        def after_train_iter(self, runner, batch_idx, data_batch=None, outputs=None):
            seen.append(float(outputs["loss"]))

    runner = Runner(
        model=model, work_dir="work", train_dataloader={"dataset": data, "batch_size": 4, "sampler": {"type": "DefaultSampler", "shuffle": False},
                                                       "num_workers": 0, "collate_fn": {"type": "default_collate"}},
        train_cfg={"by_epoch": True, "max_epochs": 2}, optim_wrapper={"optimizer": {"type": "SGD", "lr": 0.1, "momentum": 0.9}, "clip_grad": {"max_norm": 1.0}},
        param_scheduler={"type": "MultiStepLR", "milestones": [1], "by_epoch": True}, custom_hooks=[Watch()], randomness={"seed": 0},
        default_hooks={"checkpoint": {"type": "CheckpointHook", "interval": 1}}, log_level="ERROR", experiment_name="job",
    )  # fmt: skip
    runner.train()
    DefaultScope.get_instance("end", scope_name="mmengine")
    saved = torch.load("work/epoch_2.pth", weights_only=False)
    back = Net()
    back.load_state_dict(saved["state_dict"])
    average = ExponentialMovingAverage(back)
    average.update_parameters(model)
    x = torch.ones(2, 4)
    return seen, back.eval()(x, None), average.eval()(x, None), sorted(saved), Config({"a": {"b": 1}}).a.b
