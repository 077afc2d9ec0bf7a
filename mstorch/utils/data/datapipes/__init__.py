"""torch.utils.data.datapipes: steps of loading and changing data that are put one behind another."""

from . import dataframe, iter, map

__all__ = ["dataframe", "iter", "map"]
