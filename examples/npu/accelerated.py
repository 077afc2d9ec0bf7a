"""A loop with accelerate: `accelerate launch` starts a process for each NPU."""
import torch
from accelerate import Accelerator
from torch import nn


def main():
    accelerator = Accelerator()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    rows = torch.utils.data.TensorDataset(torch.randn(64, 16), torch.randint(4, (64,)))
    loader = torch.utils.data.DataLoader(rows, batch_size=64 // accelerator.num_processes)
    net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    for step in range(8):
        for x, target in loader:
            loss = nn.functional.cross_entropy(net(x), target)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            mean = accelerator.reduce(loss.detach(), "mean")
        accelerator.print(f"step {step}: {mean.item():.3f}")


if __name__ == "__main__":
    main()
