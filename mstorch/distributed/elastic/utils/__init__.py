"""torch.distributed.elastic.utils: free ports, stores, and samplers of data for a changing number of processes."""
from ...._src.hook import missing as _missing

__getattr__ = _missing(__name__, ("data", "distributed"))
