"""A training loop of one's own: bfloat16 by autocast on the device that there is."""
import torch
from torch import nn


def main():
    device = torch.accelerator.current_accelerator() or torch.device("cpu")
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4)).to(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    x, target = torch.randn(64, 16), torch.randint(4, (64,))
    for step in range(8):
        with torch.autocast(device.type, torch.bfloat16):
            loss = nn.functional.cross_entropy(net(x.to(device)), target.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: {loss.item():.3f}")


if __name__ == "__main__":
    main()
