"""Two models on the same rows: what the second one gains and loses against the first."""
