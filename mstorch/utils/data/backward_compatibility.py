"""torch.utils.data.backward_compatibility: a worker initialization function that is not needed any more."""

from typing_extensions import deprecated


@deprecated(
    "Usage of `backward_compatibility.worker_init_fn` is deprecated "
    "as `DataLoader` automatically applies sharding in every worker",
    category=FutureWarning,
)
def worker_init_fn(worker_id: int) -> None:
    """Do nothing: DataLoader shards datapipes itself."""
