"""Jobs of pytorch-ignite."""
from __future__ import annotations

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import Checkpoint, DiskSaver, EarlyStopping
from ignite.metrics import Accuracy, ConfusionMatrix, Loss, RunningAverage


def job_training():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    optimizer, loss_of = torch.optim.Adam(net.parameters(), 1e-2), torch.nn.CrossEntropyLoss()
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(24, 4), torch.randint(0, 3, (24,))), 8)
    trainer, seen = create_supervised_trainer(net, optimizer, loss_of), []
    evaluator = create_supervised_evaluator(net, {"accuracy": Accuracy(), "loss": Loss(loss_of), "confusion": ConfusionMatrix(3)})
    RunningAverage(output_transform=lambda x: x).attach(trainer, "running")
    trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda engine: seen.append((engine.state.output, engine.state.metrics["running"])))
    evaluator.add_event_handler(Events.COMPLETED, EarlyStopping(5, lambda engine: -engine.state.metrics["loss"], trainer))
    trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda engine: evaluator.run(data))
    saver = Checkpoint({"net": net, "optimizer": optimizer, "trainer": trainer}, DiskSaver("saved", create_dir=True), n_saved=1)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, saver)
    trainer.run(data, max_epochs=2)
    Checkpoint.load_objects({"net": net, "optimizer": optimizer, "trainer": trainer}, torch.load(f"saved/{saver.last_checkpoint}".replace("saved/saved", "saved")))
    return seen, evaluator.state.metrics, net(torch.ones(1, 4))
