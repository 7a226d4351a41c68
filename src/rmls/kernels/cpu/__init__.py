"""The CPU backend, in Numba."""

from rmls.kernels.cpu.linalg.products import csr_times_dense, multiply_rows, products_at
from rmls.kernels.cpu.linalg.select import (
    best_of_rows,
    offer_scores,
    room_for,
    take_best,
)
from rmls.kernels.cpu.methods.nearest import Csr, nearest_rows
from rmls.kernels.cpu.ranker.dual import DUAL_LOSSES, Pairs, Problem, solve_labels
from rmls.kernels.cpu.ranker.listed import (
    Mixture,
    SparseWeights,
    mix_listed,
    rank_listed,
    score_listed,
)
from rmls.kernels.cpu.ranker.pairs import mark_relevant, pair_rows
from rmls.kernels.cpu.sgd.alias import MAX_TRIES, build_alias
from rmls.kernels.cpu.sgd.arithmetic import ACTIVATIONS, LOSSES, slopes_of_scores
from rmls.kernels.cpu.sgd.merge import merge_copies
from rmls.kernels.cpu.sgd.sampler import IN_BATCH, UNIFORM, WEIGHTED, Sampler
from rmls.kernels.cpu.sgd.visits import (
    Objective,
    Params,
    Rows,
    Scratch,
    Visits,
    make_scratch,
    run_visits,
)
from rmls.kernels.cpu.sgd.warp import Warp, rank_weights, run_warp

__all__ = [
    "ACTIVATIONS",
    "DUAL_LOSSES",
    "IN_BATCH",
    "LOSSES",
    "MAX_TRIES",
    "UNIFORM",
    "WEIGHTED",
    "Csr",
    "Mixture",
    "Objective",
    "Pairs",
    "Params",
    "Problem",
    "Rows",
    "Sampler",
    "Scratch",
    "SparseWeights",
    "Visits",
    "Warp",
    "best_of_rows",
    "build_alias",
    "csr_times_dense",
    "make_scratch",
    "mark_relevant",
    "merge_copies",
    "mix_listed",
    "multiply_rows",
    "nearest_rows",
    "offer_scores",
    "pair_rows",
    "products_at",
    "rank_listed",
    "rank_weights",
    "room_for",
    "run_visits",
    "run_warp",
    "score_listed",
    "slopes_of_scores",
    "solve_labels",
    "take_best",
]
