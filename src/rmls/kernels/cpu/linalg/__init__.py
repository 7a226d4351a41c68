"""Products of sparse and dense matrices, and the selection of the best."""
