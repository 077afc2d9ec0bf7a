# %% [markdown]
# # On a device
#
# On an Ascend the device is `npu:0`. Without one, start the notebook with `MSTORCH_FAKE_DEVICE=Ascend` in the environment,
# and the CPU plays it; with neither, all of it runs on the CPU.

# %%
import mstorch as torch
import mstorch.nn as nn

device = torch.accelerator.current_accelerator() or torch.device("cpu")
device

# %% [markdown]
# ## Half precision where it is safe
#
# `autocast` chooses the dtype of each operation, and `GradScaler` keeps small gradients.

# %%
torch.manual_seed(0)
network = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 2)).to(device)
optimizer = torch.optim.AdamW(network.parameters(), lr=1e-2)
inputs = torch.randn(256, 32)
targets = (inputs.sum(1) > 0).long()
inputs, targets = inputs.to(device), targets.to(device)
losses = []
for _ in range(30):
    with torch.autocast(device.type, torch.bfloat16):
        loss = nn.functional.cross_entropy(network(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())

# %% [markdown]
# The losses stayed on the device until now: a value that Python asks for in each step makes it wait.

# %%
first, *_, last = torch.stack(losses).cpu().tolist()
print(f"loss {first:.3f}, then {last:.3f}, computed on {losses[0].device.type}")
assert last < first / 2
