"""The CPU backend, in Numba."""

from rmls.kernels.cpu.arithmetic import ACTIVATIONS, LOSSES
from rmls.kernels.cpu.select import best_of_rows
from rmls.kernels.cpu.sgd import Objective, Params, Rows, Scratch, Visits, make_scratch, run_visits

__all__ = [
    "ACTIVATIONS",
    "LOSSES",
    "Objective",
    "Params",
    "Rows",
    "Scratch",
    "Visits",
    "best_of_rows",
    "make_scratch",
    "run_visits",
]
