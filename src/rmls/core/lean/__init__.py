"""A process that answers once and ends, without imports that take longer than its answer.

``process`` starts it, ``learn`` and ``parameters`` stand for scikit-learn in it, ``plain_rows`` for
matrices of scipy; `rmls.kernels.jit` is what becomes of kernels. ``postponed`` is of use to every
process.
"""

from rmls.core.lean.process import is_lean, start_lean

__all__ = ["is_lean", "start_lean"]
