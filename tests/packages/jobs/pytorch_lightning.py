"""Jobs of pytorch-lightning, under the older of lightning's two names."""
from __future__ import annotations

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint, StochasticWeightAveraging


class Net(pl.LightningModule):
    def __init__(self, width=8):
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(torch.nn.Linear(3, width), torch.nn.Tanh(), torch.nn.Linear(width, 1))

    def training_step(self, batch, index):
        loss = torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, index):
        self.log("val", torch.nn.functional.mse_loss(self.net(batch[0]), batch[1]))

    def predict_step(self, batch, index):
        return self.net(batch[0])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1, momentum=0.9)


def job_fit_and_resume():
    pl.seed_everything(7, verbose=False)
    data = torch.utils.data.TensorDataset(torch.randn(16, 3), torch.randn(16, 1))
    loader = torch.utils.data.DataLoader(data, 4)
    quiet = {"accelerator": "cpu", "devices": 1, "logger": False, "enable_progress_bar": False, "enable_model_summary": False, "default_root_dir": "."}
    kept = ModelCheckpoint(dirpath="kept", monitor="val", save_last=True)
    net, trainer = Net(), pl.Trainer(max_epochs=2, callbacks=[kept, EarlyStopping("val")], accumulate_grad_batches=2, **quiet)
    trainer.fit(net, loader, loader)
    first = [float(trainer.callback_metrics[name]) for name in ("loss", "val")]
    again = pl.Trainer(max_epochs=4, callbacks=[StochasticWeightAveraging(0.05)], **quiet)
    again.fit(net, loader, loader, ckpt_path="kept/last.ckpt", weights_only=False)
    return first, again.current_epoch, torch.cat(again.predict(net, loader)), list(Net.load_from_checkpoint(kept.best_model_path, weights_only=False).parameters())
