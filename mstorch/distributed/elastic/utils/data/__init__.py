"""torch.distributed.elastic.utils.data: an iterator over several epochs, and a sampler that goes on where another one ended."""
from .cycling_iterator import CyclingIterator
from .elastic_distributed_sampler import ElasticDistributedSampler

__all__ = ["CyclingIterator", "ElasticDistributedSampler"]
