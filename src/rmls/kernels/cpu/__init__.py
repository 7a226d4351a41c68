"""The CPU backend, in Numba: `backend` is what models see, the folders hold the hot loops."""
