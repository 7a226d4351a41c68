"""What the other kernels share.

``csr`` and ``products`` multiply sparse with dense and sparse matrices, ``rows`` is arithmetic on
rows of dense ones, ``select`` finds the best of many scores, ``prefetch`` asks for memory ahead of
its use, ``functions`` are functions of one number.
"""
