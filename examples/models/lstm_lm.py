"""A language model of two LSTM layers (Zaremba et al., "Recurrent Neural Network Regularization", 2014)."""
import torch
import torch.nn as nn


class LSTMLanguageModel(nn.Module):
    """Predicts each next token; the weights of the output layer are those of the embedding."""

    def __init__(self, tokens, size, layers=2, dropout=0.3):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(tokens, size)
        self.lstm = nn.LSTM(size, size, layers, dropout=dropout)
        self.decoder = nn.Linear(size, tokens)
        self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, tokens, state=None):
        output, state = self.lstm(self.drop(self.encoder(tokens)), state)
        return self.decoder(self.drop(output)), state

    def start(self, batch):
        """The state before the first token."""
        weight = next(self.parameters())
        shape = self.lstm.num_layers, batch, self.lstm.hidden_size
        return weight.new_zeros(shape), weight.new_zeros(shape)


def build():
    """A small one, and the optimizer that trains it."""
    model = LSTMLanguageModel(50, 24)
    return model, torch.optim.Adam(model.parameters(), lr=5e-3)


def batch():
    """Tokens that count up by 1, 2 or 3 (time, batch)."""
    first, step = torch.randint(50, (1, 4)), torch.randint(1, 4, (1, 4))
    return ((first + step * torch.arange(13).unsqueeze(1)) % 50,)


def loss(model, tokens):
    """The loss over two stretches; the state is carried over, its history is not."""
    total, state = 0, model.start(tokens.shape[1])
    for piece, target in ((tokens[:6], tokens[1:7]), (tokens[6:12], tokens[7:])):
        state = tuple(part.detach() for part in state)
        logits, state = model(piece, state)
        total = total + nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]), target.reshape(-1))
    return total / 2
