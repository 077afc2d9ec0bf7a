"""torch.nn.quantized.dynamic.modules.rnn: the deprecated name of torch.ao.nn.quantized.dynamic.modules.rnn."""
from .....ao._old_names import of

__all__, __getattr__, __dir__ = of(__name__, without=("apply_permutation",))
