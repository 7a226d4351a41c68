"""One file per peer, run inside the peer's own environment by `worker.py`."""
