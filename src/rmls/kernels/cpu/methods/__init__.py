"""Hot loops of single methods.

``nearest`` (KNN), ``windows`` (MultiWindowKNN), ``binary_linear`` (IRUS, COCOA), ``f_cuts``
(ReverseMultiLabel), and ``poisson`` with ``gamma`` and ``weighted_ridge`` (BMLPL).
"""
