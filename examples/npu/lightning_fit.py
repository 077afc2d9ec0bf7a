"""lightning's Trainer: `accelerator="gpu"` is the NPU where cuda means npu (`python -m mstorch --cuda-is-npu`)."""
import warnings

import lightning
import torch
from torch import nn


class Classifier(lightning.LightningModule):
    """A classifier that prints its losses."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4))

    def training_step(self, batch, number):
        loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        print(f"step {self.global_step}: {loss.item():.3f}")
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    net = Classifier()
    rows = torch.utils.data.TensorDataset(torch.randn(64, 16), torch.randint(4, (64,)))
    silent = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
    kind = "gpu" if torch.cuda.is_available() else "cpu"
    trainer = lightning.Trainer(max_epochs=8, accelerator=kind, devices=1, **silent)
    trainer.fit(net, torch.utils.data.DataLoader(rows, batch_size=64))


if __name__ == "__main__":
    main()
