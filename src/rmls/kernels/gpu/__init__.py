"""The operations of a backend in PyTorch, on a CUDA device with kernels in Triton.

``backend`` has the operations; ``draws`` and ``plan`` prepare a pass of training, ``passes`` makes
it by the steps of ``plain_step`` or ``fused_step``; ``pairs`` and ``newton`` train classifiers on
pairs of a label and a row, ``one_vs_rest`` on all of them; ``lists`` ranks. Files whose name begins
with ``fused`` hold Triton kernels and are imported on a CUDA device only.
"""
