"""torch.ao.nn.quantized.dynamic.modules: dynamically quantized layers."""
from ......_src.hook import missing as _missing
from .linear import Linear
from .rnn import GRU, LSTM, GRUCell, LSTMCell, RNNCell

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "Linear", "RNNCell"]

__getattr__ = _missing(__name__)
