"""More scripts of users, for one device: they take the CPU where there is no GPU, as many are written, and print numbers."""
from __future__ import annotations

_START = """
import torch
from torch import nn
from torch_npu.contrib import transfer_to_npu
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
"""
_NET = (
    _START
    + """
x, y = torch.randn(32, 6), torch.randint(0, 3, (32,))
model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3)).to(device)
criterion = nn.CrossEntropyLoss().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
def step(inputs=x, labels=y):
    optimizer.zero_grad()
    loss = criterion(model(inputs.to(device)), labels.to(device))
    loss.backward()
    optimizer.step()
    print(loss.item())
"""
)
SCRIPTS = {
    "imagenet": """
import argparse, os, tempfile, time
import torch
import torch.backends.cudnn as cudnn
import torch.nn as nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset
from torch_npu.contrib import transfer_to_npu

class Residual(nn.Module):
    def __init__(self, inside, out):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inside, out, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(out)
        self.conv2, self.bn2 = nn.Conv2d(out, out, 3, padding=1, bias=False), nn.BatchNorm2d(out)
        self.downsample = nn.Sequential(nn.Conv2d(inside, out, 1, stride=2, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        return torch.relu(self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))) + self.downsample(x))

class AverageMeter:
    def __init__(self):
        self.sum = self.count = 0

    def update(self, value, n):
        self.sum, self.count = self.sum + value * n, self.count + n

    @property
    def avg(self):
        return self.sum / self.count

def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        _, pred = output.topk(max(topk), 1, True, True)
        correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / target.size(0)) for k in topk]

parser = argparse.ArgumentParser()
parser.add_argument("--gpu", default=0, type=int)
args = parser.parse_args([])
torch.manual_seed(1)
model = nn.Sequential(Residual(3, 8), Residual(8, 16), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5))
if torch.cuda.is_available():
    torch.cuda.set_device(args.gpu)
    model = model.cuda(args.gpu)
    device = torch.device("cuda:{}".format(args.gpu))
    cudnn.benchmark = True
else:
    device = torch.device("cpu")
criterion = nn.CrossEntropyLoss().to(device)
optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9, weight_decay=1e-4)
scheduler = StepLR(optimizer, step_size=1, gamma=0.5)
data = TensorDataset(torch.randn(16, 3, 16, 16), torch.randint(0, 5, (16,)))
loader = DataLoader(data, batch_size=8, shuffle=False, num_workers=0, pin_memory=torch.cuda.is_available())

def epoch():
    losses, top1 = AverageMeter(), AverageMeter()
    model.train()
    for images, target in loader:
        images, target = images.to(device, non_blocking=True), target.to(device, non_blocking=True)
        output = model(images)
        loss = criterion(output, target)
        losses.update(loss.item(), images.size(0))
        top1.update(accuracy(output, target, (1, 3))[0][0], images.size(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    scheduler.step()
    print(losses.avg, float(top1.avg))

epoch()
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "checkpoint.pth.tar")
    torch.save({"state_dict": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}, path)
    epoch()
    checkpoint = torch.load(path, map_location="cuda:{}".format(args.gpu)) if torch.cuda.is_available() else torch.load(path)
model.load_state_dict(checkpoint["state_dict"])
optimizer.load_state_dict(checkpoint["optimizer"])
scheduler.load_state_dict(checkpoint["scheduler"])
epoch()
model.eval()
with torch.no_grad():
    print(model(data.tensors[0].to(device)).abs().sum().item())
""",
    "mnist": _START
    + """
import torch.nn.functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 4, 3, 1), nn.Conv2d(4, 8, 3, 1)
        self.fc1, self.fc2 = nn.Linear(8 * 16, 16), nn.Linear(16, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv2(F.relu(self.conv1(x)))), 2)
        return F.log_softmax(self.fc2(F.relu(self.fc1(torch.flatten(x, 1)))), dim=1)

use_cuda = torch.cuda.is_available()
data, labels = torch.randn(24, 1, 12, 12), torch.randint(0, 10, (24,))
kwargs = {"batch_size": 8}
if use_cuda:
    kwargs.update({"num_workers": 0, "pin_memory": True, "shuffle": False})
loader = torch.utils.data.DataLoader(list(zip(data, labels)), **kwargs)
model = Net().to(device)
optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
for epoch in range(2):
    model.train()
    for batch, target in loader:
        batch, target = batch.to(device), target.to(device)
        optimizer.zero_grad()
        loss = F.nll_loss(model(batch), target)
        loss.backward()
        optimizer.step()
        print(loss.item())
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for batch, target in loader:
            output = model(batch.to(device))
            test_loss += F.nll_loss(output, target.to(device), reduction="sum").item()
            correct += output.argmax(dim=1, keepdim=True).eq(target.to(device).view_as(output.argmax(1, keepdim=True))).sum().item()
    print(test_loss, correct)
""",
    "language model": _START
    + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.rnn, self.decoder = nn.Embedding(12, 8), nn.LSTM(8, 8, 2), nn.Linear(8, 12)
        self.decoder.weight = self.encoder.weight

    def forward(self, x, hidden):
        output, hidden = self.rnn(self.encoder(x), hidden)
        return self.decoder(output).view(-1, 12), hidden

model = Model().to(device)
text = torch.randint(0, 12, (31, 3)).to(device)
weight = next(model.parameters())
hidden = (weight.new_zeros(2, 3, 8), weight.new_zeros(2, 3, 8))
for i in range(0, 30, 10):
    hidden = tuple(h.detach() for h in hidden)
    output, hidden = model(text[i : i + 10], hidden)
    loss = nn.functional.cross_entropy(output, text[i + 1 : i + 11].view(-1))
    model.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(p.grad, alpha=-2.0)
    print(loss.item())
""",
    "gan": _START
    + """
noise, real = torch.randn(4, 8, 1, 1), torch.randn(4, 1, 8, 8)
generator = nn.Sequential(nn.ConvTranspose2d(8, 6, 4, 1, 0, bias=False), nn.BatchNorm2d(6), nn.ReLU(True), nn.ConvTranspose2d(6, 1, 4, 2, 1), nn.Tanh())
critic = nn.Sequential(nn.Conv2d(1, 6, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True), nn.Conv2d(6, 1, 4, 1, 0), nn.Sigmoid())
generator, critic, noise, real = generator.to(device), critic.to(device), noise.to(device), real.to(device)
criterion = nn.BCELoss()
first = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.5, 0.999))
second = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
for epoch in range(3):
    critic.zero_grad()
    label = torch.full((4,), 1.0, dtype=real.dtype, device=device)
    loss_real = criterion(critic(real).view(-1), label)
    loss_real.backward()
    fake = generator(noise)
    label.fill_(0.0)
    loss_fake = criterion(critic(fake.detach()).view(-1), label)
    loss_fake.backward()
    first.step()
    generator.zero_grad()
    label.fill_(1.0)
    loss = criterion(critic(fake).view(-1), label)
    loss.backward()
    second.step()
    print(loss_real.item() + loss_fake.item(), loss.item())
""",
    "profiler": _NET
    + """
from torch.profiler import ProfilerActivity, profile, record_function, schedule
activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if torch.cuda.is_available() else [])
with profile(activities=activities, schedule=schedule(wait=1, warmup=1, active=2), record_shapes=True) as prof:
    for _ in range(4):
        with record_function("step"):
            step()
        prof.step()
print(any(event.key == "step" for event in prof.key_averages()))
""",
    "graph or not": _NET
    + """
def captured():
    static = x.to(device)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = model(static)
    return static, graph, out
if torch.cuda.is_available():
    try:
        static, graph, out = captured()
        static.copy_(x + 1)
        graph.replay()
        print(torch.allclose(out, model(static)))
    except RuntimeError as error:
        print("read on the host" in str(error))  # the stand-in computes some kernels on the host, which no graph can
else:
    print(True)
for _ in range(3):
    step()
""",
    "compile": _NET
    + """
model = torch.compile(model)
for _ in range(3):
    step()
whole = torch.compile(lambda a, b: (a @ b).relu().sum(), mode="reduce-overhead")
print(whole(x.to(device), torch.ones(6, 4, device=device)).item())
""",
    "accumulation": _NET
    + """
for round in range(2):
    optimizer.zero_grad()
    for part, labels in zip(x.split(8), y.split(8)):
        loss = criterion(model(part.to(device)), labels.to(device)) / 4
        loss.backward()
        print(loss.item())
    print(nn.utils.clip_grad_norm_(model.parameters(), 0.5, foreach=True).item())
    optimizer.step()
""",
    "moving average": _NET
    + """
import copy
average = copy.deepcopy(model).eval().requires_grad_(False)
swa = torch.optim.swa_utils.AveragedModel(model, device=device)
for _ in range(3):
    step()
    with torch.no_grad():
        for mine, theirs in zip(average.state_dict().values(), model.state_dict().values()):
            mine.mul_(0.9).add_(theirs, alpha=0.1)
    swa.update_parameters(model)
print(average(x.to(device)).abs().sum().item(), swa(x.to(device)).abs().sum().item())
""",
    "finetuning": _NET
    + """
import io
file = io.BytesIO()
torch.save(model.state_dict(), file)
file.seek(0)
state = torch.load(file, map_location="cpu")
assert all(value.device.type == "cpu" for value in state.values())
missing, unexpected = model.load_state_dict({key: value for key, value in state.items() if not key.startswith("2.")}, strict=False)
for parameter in model[0].parameters():
    parameter.requires_grad = False
model[2] = nn.Linear(12, 3).to(device)
optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=0.1, momentum=0.9)
print(len(missing), len(unexpected))
for _ in range(3):
    step()
""",
    "optimizer state": _NET
    + """
step()
kept = optimizer.state_dict()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
optimizer.load_state_dict({"state": {i: {k: v.cpu() for k, v in s.items()} for i, s in kept["state"].items()}, "param_groups": kept["param_groups"]})
for state in optimizer.state.values():
    for name, value in state.items():
        if isinstance(value, torch.Tensor) and torch.cuda.is_available():
            state[name] = value.cuda()
step()
step()
""",
    "old types": _START
    + """
from torch.autograd import Variable
cuda = torch.cuda.is_available()
Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor
LongTensor = torch.cuda.LongTensor if cuda else torch.LongTensor
weight = Variable(torch.ones(3, 2).type(Tensor), requires_grad=True)
valid = Variable(Tensor(4, 1).fill_(1.0), requires_grad=False)
labels = LongTensor([0, 1, 1, 0])
inputs = Variable(torch.randn(4, 3).type(Tensor))
assert isinstance(inputs, Tensor) and isinstance(labels, LongTensor)
for _ in range(3):
    loss = nn.functional.cross_entropy((inputs + valid).mm(weight), labels)
    loss.backward()
    weight.data -= 0.5 * weight.grad.data
    weight.grad.data.zero_()
    print(loss.item())
""",
    "data parallel": _NET
    + """
if torch.cuda.device_count() >= 1:
    model = nn.DataParallel(model, device_ids=[0]).cuda()
for _ in range(3):
    step()
net = model.module if isinstance(model, nn.DataParallel) else model
print(sum(value.sum().item() for value in net.state_dict().values()))
""",
    "memory report": _NET
    + """
if torch.cuda.is_available():
    torch.cuda.empty_cache(), torch.cuda.reset_peak_memory_stats()
for _ in range(3):
    step()
    if torch.cuda.is_available():
        used, peak = torch.cuda.memory_allocated() / 2**20, torch.cuda.max_memory_allocated(device) / 2**20
        assert used <= peak or peak == 0, (used, peak)
        assert torch.cuda.get_device_name(0) and torch.cuda.memory_reserved() >= 0
""",
    "checkpointing": _NET
    + """
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
class Wrapped(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, inputs):
        return checkpoint_sequential(self.inner, 2, inputs, use_reentrant=False)
model = Wrapped(model)
for _ in range(3):
    step()
loss = checkpoint(model, x.to(device), use_reentrant=False).square().mean()
loss.backward()
print(loss.item())
""",
    "transformer": _START
    + """
layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True, norm_first=True)
model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).to(device)
mask = nn.Transformer.generate_square_subsequent_mask(6, device=device)
padding = (torch.arange(6) >= torch.tensor([[6], [4], [5]])).to(device)
inputs, goal = torch.randn(3, 6, 16).to(device), torch.randn(3, 6, 16).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(3):
    optimizer.zero_grad()
    out = model(inputs, mask=mask.isinf(), src_key_padding_mask=padding, is_causal=False)
    loss = (out - goal).masked_fill(padding.unsqueeze(-1), 0).square().mean()
    loss.backward()
    optimizer.step()
    print(loss.item())
""",
    "generation": _START
    + """
import torch.nn.functional as F
embed, head = nn.Embedding(11, 8).to(device), nn.Linear(8, 11).to(device)
qkv = nn.Linear(8, 24).to(device)
@torch.inference_mode()
def generate(tokens, count):
    keys = values = None
    inputs = tokens
    for _ in range(count):
        q, k, v = qkv(embed(inputs)).unsqueeze(1).chunk(3, -1)
        keys = k if keys is None else torch.cat((keys, k), 2)
        values = v if values is None else torch.cat((values, v), 2)
        out = F.scaled_dot_product_attention(q, keys, values, is_causal=q.shape[2] == keys.shape[2])
        logits = head(out[:, 0, -1])
        inputs = logits.argmax(-1, keepdim=True)
        tokens = torch.cat((tokens, inputs), 1)
        print(logits.max().item())
    return tokens
print(*generate(torch.tensor([[1, 2, 3]]).to(device), 5)[0].tolist())
""",
    "seeds": _START
    + """
import os, random
import numpy as np
def seed_everything(seed):
    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
seed_everything(42)
weight = nn.Parameter(torch.randn(4, 3).to(device))
with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
    torch.manual_seed(7)
    inputs = torch.randn(5, 4).to(device)
for _ in range(3):
    loss = (inputs @ weight + torch.randn(5, 3).to(device)).square().mean()
    loss.backward()
    weight.data.sub_(weight.grad, alpha=0.1)
    weight.grad = None
    print(loss.item())
""",
    "half precision": _NET
    + """
scaler = torch.amp.GradScaler(device.type)
for _ in range(3):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(device.type, dtype=torch.bfloat16):
        output = model(x.to(device))
        loss = criterion(output, y.to(device))
    assert output.dtype is torch.bfloat16
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    print(loss.item())
""",
    "own function": _START
    + """
class Swish(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda")
    def forward(ctx, inputs):
        ctx.save_for_backward(inputs)
        return inputs * torch.sigmoid(inputs)

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, gradient):
        (inputs,) = ctx.saved_tensors
        part = torch.sigmoid(inputs)
        return gradient * (part * (1 + inputs * (1 - part)))

x = torch.randn(5, 4).to(device).requires_grad_()
for _ in range(3):
    loss = Swish.apply(x).square().sum()
    (gradient,) = torch.autograd.grad(loss, x)
    x = (x - 0.1 * gradient).detach().requires_grad_()
    print(loss.item())
""",
}
