"""torch.utils.data.datapipes: composable steps of loading and transforming data."""

from . import dataframe, iter, map

__all__ = ["dataframe", "iter", "map"]
