# %% [markdown]
# # Handwritten digits
#
# torch's own code, on MindSpore: one import is another. Under `import torch` this notebook gives the same numbers.

# %%
import mstorch as torch
import mstorch.nn as nn
import numpy as np
from mstorch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.__version__

# %% [markdown]
# ## Data
#
# 1,797 pictures of 8×8 pixels, with the digit that each shows in the last column.

# %%
rows = torch.from_numpy(np.loadtxt("../data/digits.csv.gz", delimiter=",", skiprows=1, dtype=np.float32))
images, labels = rows[:, :64].reshape(-1, 1, 8, 8) / 16, rows[:, 64].long()
trained, tested = TensorDataset(images[:1437], labels[:1437]), TensorDataset(images[1437:], labels[1437:])
images.shape, labels[:10]

# %% [markdown]
# ## Network

# %%
network = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.2), nn.Linear(256, 10)
)
network

# %% [markdown]
# ## Training

# %%
optimizer = torch.optim.AdamW(network.parameters(), lr=5e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 8)
for epoch in range(8):
    network.train()
    total = 0.0
    for x, target in DataLoader(trained, batch_size=64, shuffle=True):
        loss = nn.functional.cross_entropy(network(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    schedule.step()
    print(f"epoch {epoch + 1}: loss {total / len(trained):.4f}")

# %% [markdown]
# ## How many are right

# %%
network.eval()
with torch.no_grad():
    found = network(tested.tensors[0]).argmax(1)
accuracy = (found == tested.tensors[1]).float().mean().item()
print(f"accuracy {accuracy:.1%}")
assert accuracy > 0.9

# %% [markdown]
# ## A file that torch reads, too

# %%
torch.save(network.state_dict(), "digits.pt")
network.load_state_dict(torch.load("digits.pt"))
