"""torch.cuda.graphs: CUDA graphs."""
from .._src.devices import no_cuda as _no_cuda
from .._src.hook import missing as _missing

CUDAGraph, graph = (_no_cuda.CLASSES[name] for name in ("CUDAGraph", "graph"))
graph_pool_handle, is_current_stream_capturing, make_graphed_callables = (
    _no_cuda.FUNCTIONS[name] for name in ("graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables")
)

__getattr__ = _missing(__name__)
