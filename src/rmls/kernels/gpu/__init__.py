"""The operations of a backend in PyTorch, on a CUDA device with kernels in Triton.

``backend`` has the operations. Vectors: ``rows`` brings what a pass visits, ``draws`` and ``plan``
prepare it, ``passes`` makes it by the steps of ``plain_step`` or their fused forms.
Classifiers: ``pairs`` and ``newton`` train them on pairs of a label and a row, ``one_vs_rest`` on
all of them. ``lists`` ranks, ``memory`` knows what fits, ``cluster`` spreads work over devices.
Files whose name begins with ``fused`` hold Triton kernels and are imported on a CUDA device only.
"""
