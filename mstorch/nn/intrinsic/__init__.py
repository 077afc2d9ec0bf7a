"""torch.nn.intrinsic: the deprecated name of torch.ao.nn.intrinsic."""
from ...ao._old_names import of

__all__, __getattr__, __dir__ = of(__name__, without=("ConvAdd2d", "ConvAddReLU2d", "LinearLeakyReLU", "LinearTanh"))
