# %% [markdown]
# # A torch module in MindSpore's hands
#
# A Module is a `mindspore.nn.Cell`, and tensors share their memory:
# MindSpore's optimizers, losses and files take what torch's code has made.

# %%
import mindspore
import mstorch as torch
import mstorch.nn as nn

torch.manual_seed(0)
network = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
isinstance(network, mindspore.nn.Cell)

# %% [markdown]
# ## Tensors
#
# A write through one of the two is seen through the other.

# %%
x = torch.zeros(3)
raw = x.to_mindspore()
x[0] = 7
print(raw, type(raw).__module__)
assert raw.asnumpy()[0] == 7

# %% [markdown]
# ## Training by MindSpore, and on by torch

# %%
inputs = torch.randn(64, 4)
targets = inputs.sum(1, keepdim=True)
loss_of = mindspore.nn.MSELoss()
adam = mindspore.nn.Adam(network.trainable_params(), 1e-2)
step = mindspore.value_and_grad(lambda x, y: loss_of(network(x), y), None, adam.parameters)
for _ in range(100):
    loss, gradients = step(inputs.to_mindspore(), targets.to_mindspore())
    adam(gradients)
by_mindspore = float(loss)
print(f"MindSpore's loss {by_mindspore:.4f}")

# %%
sgd = torch.optim.SGD(network.parameters(), lr=0.05)
for _ in range(100):
    loss = nn.functional.mse_loss(network(inputs), targets)
    sgd.zero_grad()
    loss.backward()
    sgd.step()
print(f"torch's loss {loss.item():.4f}")
assert loss.item() < by_mindspore

# %% [markdown]
# ## MindSpore's file of it

# %%
mindspore.save_checkpoint(network, "network.ckpt")
list(mindspore.load_checkpoint("network.ckpt"))
