"""`rmls train`: its options, the training of any method, what is kept of it."""
