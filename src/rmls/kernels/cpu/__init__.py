"""The CPU backend, in Numba."""

from rmls.kernels.cpu.alias import MAX_TRIES, build_alias
from rmls.kernels.cpu.arithmetic import ACTIVATIONS, LOSSES, slopes_of_scores
from rmls.kernels.cpu.merge import merge_copies
from rmls.kernels.cpu.nearest import Csr, nearest_rows
from rmls.kernels.cpu.products import csr_times_dense, products_at
from rmls.kernels.cpu.sampler import IN_BATCH, UNIFORM, WEIGHTED, Sampler
from rmls.kernels.cpu.select import best_of_rows
from rmls.kernels.cpu.sgd import Objective, Params, Rows, Scratch, Visits, make_scratch, run_visits
from rmls.kernels.cpu.warp import Warp, rank_weights, run_warp

__all__ = [
    "ACTIVATIONS",
    "IN_BATCH",
    "LOSSES",
    "MAX_TRIES",
    "UNIFORM",
    "WEIGHTED",
    "Csr",
    "Objective",
    "Params",
    "Rows",
    "Sampler",
    "Scratch",
    "Visits",
    "Warp",
    "best_of_rows",
    "build_alias",
    "csr_times_dense",
    "make_scratch",
    "merge_copies",
    "nearest_rows",
    "products_at",
    "rank_weights",
    "run_visits",
    "run_warp",
    "slopes_of_scores",
]
