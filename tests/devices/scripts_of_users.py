"""Scripts as users of Ascend devices write them, and the same on the CPU: ``python -m tests.devices.scripts_of_users cpu|NAME``.

Each prints numbers. "cpu" runs all of them there, as ``on_cpu`` rewrites them, and prints a line of JSON for each.
"""
from __future__ import annotations

import contextlib
import io
import json
import sys

from .scripts_of_cuda import SCRIPTS as _OF_CUDA

_NET = """
torch.manual_seed(0)
x, y = torch.randn(64, 8), torch.randint(0, 3, (64,))
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 3))
criterion = torch.nn.CrossEntropyLoss()
"""
SCRIPTS = {
    "import torch_npu": """
import torch
import torch_npu
"""
    + _NET
    + """
device = torch.device("npu:0")
torch.npu.set_device(device)
model = model.to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for step in range(4):
    loss = criterion(model(x.to(device)), y.to(device))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(loss.item())
""",
    "transfer_to_npu": """
import torch
import torch_npu
from torch_npu.contrib import transfer_to_npu
"""
    + _NET
    + """
device = "cuda" if torch.cuda.is_available() else "cpu"
assert device == "cuda"
model = model.to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
for step in range(4):
    loss = criterion(model(x.to(device)), y.to(device))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    scheduler.step()
    print(loss.item())
""",
    "loader": """
import torch
import torch_npu
from torch_npu.contrib import transfer_to_npu
from torch.utils.data import DataLoader, TensorDataset
"""
    + _NET
    + """
torch.backends.cudnn.benchmark = True
torch.backends.cuda.matmul.allow_tf32 = True
model.cuda()
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=False, pin_memory=True)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for inputs, labels in loader:
    inputs, labels = inputs.cuda(non_blocking=True), labels.cuda(0, non_blocking=True)
    optimizer.zero_grad()
    loss = criterion(model(inputs), labels)
    loss.backward()
    optimizer.step()
    print(loss.item(), (model(inputs).argmax(1) == labels).sum().item())
torch.cuda.synchronize()
torch.cuda.empty_cache()
print(torch.cuda.max_memory_allocated() >= 0)
""",
    "mixed precision": """
import torch
from torch_npu.contrib import transfer_to_npu
"""
    + _NET
    + """
model.cuda()
scaler = torch.amp.GradScaler("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    optimizer.zero_grad()
    with torch.autocast(device_type="cuda", dtype=torch.bfloat16):
        loss = criterion(model(x.cuda()), y.cuda())
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    print(loss.item(), scaler.get_scale())
""",
    "older mixed precision": """
import torch
from torch_npu.contrib import transfer_to_npu
from torch.cuda.amp import GradScaler, autocast
"""
    + _NET
    + """
model, x, y = model.cuda(), x.cuda(), y.cuda()
scaler, optimizer = GradScaler(), torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    with autocast(dtype=torch.bfloat16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    print(loss.item())
""",
    "nanogpt": """
import contextlib, math, inspect
import torch
import torch.nn.functional as F
from torch_npu.contrib import transfer_to_npu

device = "cuda"
device_type = 'cuda' if 'cuda' in device else 'cpu'
ptdtype = torch.float32
ctx = contextlib.nullcontext() if device_type == 'cpu' else torch.amp.autocast(device_type=device_type, dtype=torch.bfloat16, enabled=False)

class Block(torch.nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads, self.qkv, self.proj = heads, torch.nn.Linear(size, 3 * size, bias=False), torch.nn.Linear(size, size)
        self.one, self.two = torch.nn.LayerNorm(size), torch.nn.LayerNorm(size)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(size, 4 * size), torch.nn.GELU(), torch.nn.Linear(4 * size, size))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (item.view(b, t, self.heads, -1).transpose(1, 2) for item in self.qkv(self.one(x)).split(c, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).contiguous().view(b, t, c)
        x = x + self.proj(y)
        return x + self.mlp(self.two(x))

torch.manual_seed(1337)
data = torch.randint(0, 20, (400,))
table, blocks = torch.nn.Embedding(20, 16), torch.nn.Sequential(Block(16, 2), Block(16, 2))
head = torch.nn.Linear(16, 20, bias=False)
table.weight = head.weight
model = torch.nn.ModuleList([table, blocks, head]).to(device)
fused = "fused" in inspect.signature(torch.optim.AdamW).parameters and device_type == 'cuda'
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.95), **(dict(fused=True) if fused else dict()))
for step in range(4):
    ix = torch.arange(4) * 13 + step
    x, y = torch.stack([data[i : i + 12] for i in ix]), torch.stack([data[i + 1 : i + 13] for i in ix])
    if device_type == 'cuda':
        x, y = x.pin_memory().to(device, non_blocking=True), y.pin_memory().to(device, non_blocking=True)
    with ctx:
        logits = head(blocks(table(x)))
        loss = F.cross_entropy(logits.view(-1, 20), y.view(-1), ignore_index=-1)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    print(loss.item())
""",
    "checkpoint": """
import io
import torch
import torch_npu
from torch_npu.contrib import transfer_to_npu
"""
    + _NET
    + """
model.cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
def steps(count):
    for step in range(count):
        optimizer.zero_grad()
        loss = criterion(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        print(loss.item())
steps(2)
file = io.BytesIO()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
steps(1)
file.seek(0)
state = torch.load(file, map_location=torch.device("cuda:0"))
model.load_state_dict(state["model"])
optimizer.load_state_dict(state["optimizer"])
steps(2)
file.seek(0)
print(sum(value.sum().item() for value in torch.load(file, map_location=lambda storage, location: storage)["model"].values()))
""",
    "local rank": """
import os
import torch
import torch_npu
"""
    + _NET
    + """
local_rank = int(os.environ.get("LOCAL_RANK", 0))
torch.npu.set_device(local_rank)
model, x, y = model.npu(), x.npu(), y.npu()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for step in range(3):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    print(loss.item())
""",
    "prefetcher": """
import torch
from torch_npu.contrib import transfer_to_npu
"""
    + _NET
    + """
class Prefetcher:
    def __init__(self, batches):
        self.batches, self.stream = iter(batches), torch.cuda.Stream()
        self.preload()

    def preload(self):
        self.next = next(self.batches, None)
        if self.next is not None:
            with torch.cuda.stream(self.stream):
                self.next = [item.cuda(non_blocking=True) for item in self.next]

    def __call__(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        found = self.next
        if found is not None:
            self.preload()
        return found

start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
start.record()
model.cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batches = Prefetcher(zip(x.split(16), y.split(16)))
while (batch := batches()) is not None:
    optimizer.zero_grad()
    loss = criterion(model(batch[0]), batch[1])
    loss.backward()
    optimizer.step()
    print(loss.item())
end.record()
torch.cuda.synchronize()
assert start.elapsed_time(end) >= 0
""",
    "fused operators": """
import torch
import torch.nn.functional as F
try:
    import torch_npu
except ImportError:
    torch_npu = None

def norm(x, weight):
    if torch_npu is not None:
        return torch_npu.npu_rms_norm(x, weight, epsilon=1e-6)[0]
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight

def rotate(x, cos, sin):
    if torch_npu is not None:
        return torch_npu.npu_rotary_mul(x, cos, sin)
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin

def attend(q, k, v):
    if torch_npu is not None:
        mask = torch.triu(torch.ones(2048, 2048, device=q.device), diagonal=1).bool()
        return torch_npu.npu_fusion_attention(q, k, v, q.shape[1], "BNSD", atten_mask=mask, scale=0.25, sparse_mode=3)[0]
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.25)

def gate(x):
    if torch_npu is not None:
        return torch_npu.npu_swiglu(x, dim=-1)
    first, second = x.chunk(2, -1)
    return F.silu(first) * second

torch.manual_seed(0)
device = "npu"
weights = [torch.randn(shape).mul(0.2).to(device).requires_grad_() for shape in ((32,), (32, 96), (32, 64), (32, 32))]
x, goal = torch.randn(2, 10, 32).to(device), torch.randn(2, 10, 32).to(device)
angles = torch.outer(torch.arange(10.0), 1 / 100 ** (torch.arange(0, 16, 2) / 16)).repeat(1, 2).to(device)
cos, sin = angles.cos()[None, None], angles.sin()[None, None]
optimizer = torch.optim.AdamW(weights, lr=0.02)
for step in range(4):
    q, k, v = ((norm(x, weights[0]) @ weights[1]).view(2, 10, 3, 2, 16)).permute(2, 0, 3, 1, 4)
    y = attend(rotate(q, cos, sin), rotate(k, cos, sin), v).transpose(1, 2).reshape(2, 10, 32)
    loss = (gate(y @ weights[2]) @ weights[3] - goal).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
""",
    "default device": """
import torch
from torch_npu.contrib import transfer_to_npu
torch.manual_seed(0)
seed = torch.randn(4, 3)
torch.set_default_device("cuda")
weight = torch.ones(3, 2, requires_grad=True)
for step in range(3):
    loss = (seed.to("cuda") @ weight + torch.arange(2.0)).tanh().sum()
    loss.backward()
    with torch.no_grad():
        weight -= 0.1 * weight.grad
        weight.grad = None
    print(loss.item())
with torch.device("cuda:0"):
    print(torch.full((2, 2), 3.0).sum().item())
""",
} | _OF_CUDA  # fmt: skip
WORDS = {
    'device = "cuda" if torch.cuda.is_available() else "cpu"\nassert device == "cuda"\n': 'device = "cpu"\n',
    "torch.npu.set_device(device)\n": "", "torch.npu.set_device(local_rank)\n": "", "torch.cuda.synchronize()\n": "", "torch.cuda.empty_cache()\n": "",
    "print(torch.cuda.max_memory_allocated() >= 0)": "print(True)", "pin_memory=True": "pin_memory=False",
    "from torch.cuda.amp import GradScaler, autocast": "from torch.cpu.amp import GradScaler, autocast",
    "torch.cuda.Stream()": "torch.cpu.Stream()", "torch.cuda.stream(": "torch.cpu.stream(", "start.record()\n": "", "end.record()\n": "",
    "torch.cuda.current_stream().wait_stream(self.stream)": "pass", "assert start.elapsed_time(end) >= 0\n": "",
    "start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)\n": "",
    ".cuda(non_blocking=True)": ".cpu()", ".cuda(0, non_blocking=True)": ".cpu()", ".cuda()": ".cpu()", ".npu()": ".cpu()",
    '"cuda:0"': '"cpu"', '"npu:0"': '"cpu"', '"cuda"': '"cpu"', '"npu"': '"cpu"',
}  # fmt: skip


def on_cpu(script: str) -> str:
    """Return the script without torch_npu, with the CPU where it names a device."""
    kept = script.replace("try:\n    import torch_npu\nexcept ImportError:\n    torch_npu = None\n", "torch_npu = None\n")
    kept = "\n".join(line for line in kept.splitlines() if not line.startswith(("import torch_npu", "from torch_npu"))) + "\n"
    for word, other in WORDS.items():
        kept = kept.replace(word, other)
    return kept


def _printed(script: str) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        exec(compile(script, "<script>", "exec"), {"__name__": "__main__"})
    return text.getvalue()


if __name__ == "__main__":
    if sys.argv[1] == "cpu":
        for name, script in SCRIPTS.items():
            try:
                print(json.dumps([name, _printed(on_cpu(script))]))
            finally:
                import torch

                torch.set_default_device(None)
    else:
        exec(compile(SCRIPTS[sys.argv[1]], "<script>", "exec"), {"__name__": "__main__"})
        from mstorch._src.backend import fake

        assert fake.computed.total() > 10, "nothing was computed on the device"
