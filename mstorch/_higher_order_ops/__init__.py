"""torch._higher_order_ops: operators that take functions."""
from .._src.hook import missing as _missing
from .associative_scan import associative_scan
from .scan import scan

__all__ = ["associative_scan", "scan"]

__getattr__ = _missing(__name__, ("inline_asm_elementwise", "out_dtype", "while_loop"))  # torch's import binds these, too
