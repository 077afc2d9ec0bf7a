"""Jobs of lightning."""
from __future__ import annotations

import lightning
import torch


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.2), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        self.seen = []

    def training_step(self, batch, index):
        loss = torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])
        self.log("train_loss", loss, on_epoch=True)
        self.seen.append(loss.item())
        return loss

    def validation_step(self, batch, index):
        self.log("val_loss", torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1]))

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), 0.02)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)]


def job_fit():
    lightning.seed_everything(3, verbose=False)
    data = torch.utils.data.TensorDataset(torch.randn(24, 4), torch.randint(0, 2, (24,)))
    net = Net()
    trainer = lightning.Trainer(
        max_epochs=3, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False, enable_model_summary=False, gradient_clip_val=1.0,
        default_root_dir=".",
    )  # fmt: skip
    trainer.fit(net, torch.utils.data.DataLoader(data, 8, shuffle=True), torch.utils.data.DataLoader(data, 8))
    back = Net.load_from_checkpoint(trainer.checkpoint_callback.best_model_path)
    x = torch.ones(1, 4)
    return net.seen, float(trainer.callback_metrics["val_loss"]), net.eval().layer(x), back.eval().layer(x)
