"""Jobs of openai-whisper, with a tiny random model."""
from __future__ import annotations

import torch
import whisper
from whisper.model import ModelDimensions, Whisper


def _model():
    torch.manual_seed(0)
    return Whisper(ModelDimensions(n_mels=80, n_audio_ctx=1500, n_audio_state=32, n_audio_head=2, n_audio_layer=1, n_vocab=51865, n_text_ctx=32, n_text_state=32,
                                   n_text_head=2, n_text_layer=1))  # fmt: skip


def job_model():
    model = _model()
    wave = torch.sin(torch.arange(16000) / 6.0)
    mel = whisper.log_mel_spectrogram(whisper.pad_or_trim(wave))
    with torch.no_grad():
        model.decoder.positional_embedding.normal_(0, 0.1)
    tokens = torch.tensor([[50258, 50259, 50359, 7, 9]])
    logits = model(mel[None], tokens)
    loss = torch.nn.functional.cross_entropy(logits[0, :-1], tokens[0, 1:])
    loss.backward()
    torch.save(model.state_dict(), "whisper.pt")
    back = _model()
    back.load_state_dict(torch.load("whisper.pt"))
    grads = sum(float(p.grad.abs().sum()) for p in model.parameters() if p.grad is not None)
    return mel[:, :100], loss, logits[:, :, ::1000], grads, back.eval()(mel[None], tokens)[:, :, ::1000]


def job_decoding():
    model = _model().eval()
    with torch.no_grad():
        model.decoder.positional_embedding.normal_(0, 0.1)
    mel = torch.randn(80, 3000)
    found = whisper.decode(model, mel, whisper.DecodingOptions(language="en", fp16=False, sample_len=6, without_timestamps=True))
    return found.tokens, found.avg_logprob
