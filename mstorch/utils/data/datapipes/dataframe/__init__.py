"""torch.utils.data.datapipes.dataframe: datapipes of data frames (a prototype in torch)."""

from . import dataframe_wrapper
from .dataframes import CaptureDataFrame, DFIterDataPipe
from .datapipes import DataFramesAsTuplesPipe

__all__ = ["CaptureDataFrame", "DFIterDataPipe", "DataFramesAsTuplesPipe", "dataframe_wrapper"]
