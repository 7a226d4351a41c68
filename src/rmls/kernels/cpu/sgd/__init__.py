"""Stochastic gradient passes over sampled labels.

``visits`` is a pass of RMLS and ``warp`` one of WSABIE; ``arithmetic`` has losses, activations and
AdaGrad steps; ``sampler`` chooses irrelevant labels by ``draw`` (uniform) or ``alias`` (weighted);
``merge`` brings together what threads learned apart.
"""
