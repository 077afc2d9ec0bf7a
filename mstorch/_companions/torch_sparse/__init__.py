"""torch_sparse (0.6): SparseTensor, functions of indices and values, samples and parts of graphs; also ``torch.ops.torch_sparse``."""
from __future__ import annotations

# ruff: noqa: F401  (the imports are the package's names)
from . import operators
from .cat import cat as cat
from .coalesce import coalesce as coalesce
from .convert import from_scipy as from_scipy
from .convert import from_torch_sparse as from_torch_sparse
from .convert import to_scipy as to_scipy
from .convert import to_torch_sparse as to_torch_sparse
from .functions import eye as eye
from .functions import spadd as spadd
from .functions import spmm as spmm
from .functions import spspmm as spspmm
from .functions import transpose as transpose
from .matmul import matmul as matmul
from .named import __narrow_diag__ as __narrow_diag__
from .named import add as add
from .named import add_ as add_
from .named import add_nnz as add_nnz
from .named import add_nnz_ as add_nnz_
from .named import fill_diag as fill_diag
from .named import get_diag as get_diag
from .named import index_select as index_select
from .named import index_select_nnz as index_select_nnz
from .named import masked_select as masked_select
from .named import masked_select_nnz as masked_select_nnz
from .named import max_ as max
from .named import mean as mean
from .named import min_ as min
from .named import mul as mul
from .named import mul_ as mul_
from .named import mul_nnz as mul_nnz
from .named import mul_nnz_ as mul_nnz_
from .named import narrow as narrow
from .named import partition as partition
from .named import permute as permute
from .named import random_walk as random_walk
from .named import remove_diag as remove_diag
from .named import reverse_cuthill_mckee as reverse_cuthill_mckee
from .named import saint_subgraph as saint_subgraph
from .named import sample as sample
from .named import sample_adj as sample_adj
from .named import select as select
from .named import set_diag as set_diag
from .named import sum_ as sum
from .named import t as t
from .storage import SparseStorage as SparseStorage
from .tensor import SparseTensor as SparseTensor

__version__ = "0.6.18"

operators.register()
