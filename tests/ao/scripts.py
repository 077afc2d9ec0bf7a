"""Five scripts as users write them, which run with either library and return the values that they would print."""
from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np


def training_of_a_cnn(torch: Any) -> dict[str, Any]:
    """Train with fake quantization, freeze, convert, and count correct predictions."""
    nn, tq = torch.nn, torch.quantization
    torch.manual_seed(0)
    model = nn.Sequential(
        tq.QuantStub(), nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1),
        nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 2), tq.DeQuantStub(),
    )  # fmt: skip
    draw = np.random.RandomState(0)
    images = draw.randn(64, 1, 8, 8).astype(np.float32)
    images[::2] += 1.5 * np.tri(8, dtype=np.float32)
    x, y = torch.tensor(images), torch.tensor(np.arange(64) % 2)
    model.train()
    model.qconfig = tq.get_default_qat_qconfig("fbgemm")
    model = torch.ao.quantization.fuse_modules_qat(model, [["1", "2", "3"], ["5", "6", "7"]])
    tq.prepare_qat(model, inplace=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for epoch in range(12):
        if epoch > 8:
            model.apply(tq.disable_observer)
            model.apply(torch.nn.intrinsic.qat.freeze_bn_stats)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    quantized = tq.convert(model.eval())
    right = int((quantized(x).argmax(1) == y).sum())
    return {"first loss": losses[0], "fell": losses[-1] < 0.7 * losses[0], "right": right >= 56, "kinds": [type(m).__name__ for m in quantized]}


def weights_of_an_encoder(torch: Any) -> dict[str, Any]:
    """Quantize the linear layers of an encoder, compare results and the sizes of its files."""
    from .networks import TOKENS, encoder

    model = encoder(torch, 64)
    small = torch.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)
    sizes = []
    for one in (model, small):
        file = io.BytesIO()
        torch.save(one.state_dict(), file)
        sizes.append(len(file.getvalue()))
    with torch.no_grad():
        want, got = model(torch.tensor(TOKENS)), small(torch.tensor(TOKENS))
    return {"logits": got.numpy(), "apart": float((want - got).abs().max()), "smaller": sizes[1] < 0.5 * sizes[0], "text": repr(small)}


def lstm_tagger(torch: Any) -> dict[str, Any]:
    """Tag padded sequences with an LSTM with quantized weights."""
    nn = torch.nn

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.lstm = nn.Embedding(30, 12), nn.LSTM(12, 16, num_layers=2, bidirectional=True, batch_first=True)
            self.tags = nn.Linear(32, 5)

        def forward(self, ids: Any, lengths: Any) -> Any:
            packed = nn.utils.rnn.pack_padded_sequence(self.words(ids), lengths, batch_first=True, enforce_sorted=False)
            out, _ = self.lstm(packed)
            return self.tags(nn.utils.rnn.pad_packed_sequence(out, batch_first=True)[0])

    torch.manual_seed(1)
    model = Tagger().eval()
    quantized = torch.ao.quantization.quantize_dynamic(model, {nn.LSTM, nn.Linear}, dtype=torch.qint8)
    ids, lengths = torch.tensor(np.random.RandomState(0).randint(0, 30, (4, 9))), torch.tensor([9, 4, 7, 1])
    with torch.no_grad():
        want, got = model(ids, lengths), quantized(ids, lengths)
    return {"scores": got.numpy(), "apart": float((want - got).abs().max()), "lstm": repr(quantized.lstm), "keys": list(quantized.state_dict())}


def own_configuration(torch: Any) -> dict[str, Any]:
    """Use histogram observers for activations, per-channel weights, another configuration for one layer and none for the last."""
    q, nn = torch.ao.quantization, torch.nn
    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3)).eval()
    wrapped = nn.Sequential(q.QuantWrapper(model[:4]), model[4])
    own = q.QConfig(
        activation=q.HistogramObserver.with_args(bins=512, quant_min=0, quant_max=127),
        weight=q.PerChannelMinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_channel_symmetric),
    )
    wrapped.qconfig = own
    wrapped[0].module[2].qconfig = q.default_qconfig
    wrapped[1].qconfig = None
    prepared = q.prepare(wrapped)
    x = np.random.RandomState(3).randn(50, 8).astype(np.float32)
    for start in range(0, 50, 10):
        prepared(torch.tensor(x[start : start + 10]))
    observed = [repr(m) for m in prepared.modules() if isinstance(m, q.HistogramObserver)]
    converted = q.convert(prepared)
    return {
        "result": converted(torch.tensor(x)).detach().numpy(), "kinds": [type(m).__name__ for m in converted.modules()],
        "scales": converted[0].module[0].weight().q_per_channel_scales().numpy(), "observed": len(observed),
        "scheme": str(converted[0].module[2].weight().qscheme()),
    }  # fmt: skip


def saved_and_loaded(torch: Any) -> dict[str, Any]:
    """Save a converted model's state and load it into a new model."""
    q, nn = torch.ao.quantization, torch.nn

    def made() -> Any:
        torch.manual_seed(4)
        model = q.fuse_modules(nn.Sequential(q.QuantStub(), nn.Conv2d(3, 6, 3), nn.ReLU(), q.DeQuantStub()).eval(), ["1", "2"])
        model.qconfig = q.get_default_qconfig("x86")
        return q.prepare(model)

    x = torch.tensor(np.random.RandomState(5).randn(2, 3, 7, 7).astype(np.float32))
    model = made()
    model(x)
    converted = q.convert(model)
    empty = made()
    empty(x * 0)
    again = q.convert(empty)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pt"
        torch.save(converted.state_dict(), path)
        again.load_state_dict(torch.load(path))
    want = converted(x)
    return {"result": want.numpy(), "same": bool(torch.equal(want, again(x))), "text": repr(again)}


SCRIPTS = (training_of_a_cnn, weights_of_an_encoder, lstm_tagger, own_configuration, saved_and_loaded)
