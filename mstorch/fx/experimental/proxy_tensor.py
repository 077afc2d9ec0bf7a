"""torch.fx.experimental.proxy_tensor: tracing by way of tensors, which is not here."""

from ..._hook import missing as _missing


def get_proxy_mode() -> None:
    """The way tensors are traced at the moment: none."""
    return None


__all__ = ["get_proxy_mode"]

__getattr__ = _missing(__name__)
