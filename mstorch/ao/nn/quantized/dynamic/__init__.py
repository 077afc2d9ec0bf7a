"""torch.ao.nn.quantized.dynamic: dynamically quantized layers: quantized weights, float inputs."""
from ....._src.hook import missing as _missing
from .modules import GRU, LSTM, GRUCell, Linear, LSTMCell, RNNCell

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "Linear", "RNNCell"]

__getattr__ = _missing(__name__)
